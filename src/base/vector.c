/* SPDX-License-Identifier: BSD-2-Clause */
/* The growth of arrays. */
#include "base/vector.h"

#include <stdlib.h>

#define ROOM_FIRST 16u

void *rs_vector_reserve(void *items, size_t *room, size_t need, size_t item_bytes)
{
	size_t more = *room < ROOM_FIRST / 2 ? ROOM_FIRST : *room * 2;
	void *bigger;

	/* The room is a 32-bit number in most structures. */
	if (need > UINT32_MAX)
		return NULL;
	if (more > UINT32_MAX)
		more = UINT32_MAX;
	if (more < need)
		more = need;
	bigger = reallocarray(items, more, item_bytes);
	if (bigger)
		*room = more;
	return bigger;
}
