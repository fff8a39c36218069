/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays that grow: a pointer and how many items it has room for, both the caller's. */
#ifndef RS_BASE_VECTOR_H
#define RS_BASE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the array with room for at least `need` items, and *room as it is now; or NULL, with
 * nothing changed. What is new in it is not set. */
void *rs_vector_reserve(void *items, size_t *room, size_t need, size_t item_bytes);

/*
 * Makes room for at least `need` items in the array `items`, a pointer to them, of which there is
 * room for `room`, an unsigned variable. The room at least doubles, so that appending costs the
 * same per item however many there are. Is false if there is no memory; all is as before then.
 */
#define RS_VECTOR_RESERVE(items, room, need)                                                       \
	({                                                                                         \
		size_t rs_room = (room);                                                           \
		size_t rs_need = (need);                                                           \
		void *rs_more = rs_need <= rs_room ? (items)                                       \
						   : rs_vector_reserve((items), &rs_room, rs_need, \
								       sizeof(*(items)));          \
		bool rs_enough = rs_need <= rs_room;                                               \
		if (rs_enough) {                                                                   \
			(items) = rs_more;                                                         \
			(room) = (__typeof__(room))rs_room;                                        \
		}                                                                                  \
		rs_enough;                                                                         \
	})

#endif
