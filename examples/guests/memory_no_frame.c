/* SPDX-License-Identifier: BSD-2-Clause */
/* A part of the guest memory that is compiled without frame pointers. */
#include <stddef.h>
#include <stdint.h>

extern uint32_t until_stop;
void *malloc(size_t bytes);
void *no_frame(size_t bytes);

void *no_frame(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!--until_stop)
		__builtin_trap(); /* so this is not a tail call */
	return memory;
}
