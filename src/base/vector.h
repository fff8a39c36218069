/* SPDX-License-Identifier: BSD-2-Clause */
/* Growing arrays: a pointer and the number of items that it has room for, both owned by the
 * caller. */
#ifndef RS_BASE_VECTOR_H
#define RS_BASE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the array with room for at least `need` items, and updates *room, or returns NULL with no
 * change. New items are uninitialized. */
void *rs_vector_reserve(void *items, size_t *room, size_t need, size_t item_bytes);

/*
 * Makes room for at least `need` items in the array `items`, a pointer, with room for `room` items,
 * an unsigned variable. The room at least doubles, so the cost of appending an item is constant on
 * average. Evaluates to false, with no change, if out of memory.
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
