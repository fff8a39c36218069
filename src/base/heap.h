/* SPDX-License-Identifier: BSD-2-Clause */
/* Binary heaps, for merges: an array whose first item comes before all others. The caller owns the
 * array and counts its items. */
#ifndef RS_BASE_HEAP_H
#define RS_BASE_HEAP_H

#include <stddef.h>

/*
 * Defines NAME_sift() and NAME_push() for heaps of `type`. before(of, a, b) returns whether the
 * item a comes before b; `context` is the type of `of`, which the callers pass on.
 *
 * NAME_sift() moves the item at an index down to its place. Call it for the first index after that
 * item was replaced or its order increased. NAME_push() adds an item to a heap of n; the array must
 * have room for it.
 */
#define RS_HEAP_DEFINE(name, type, context, before)                                                \
	static inline void name##_sift(context of, type *heap, size_t n, size_t at)                \
	{                                                                                          \
		type item = heap[at];                                                              \
		size_t child;                                                                      \
                                                                                                   \
		while ((child = at * 2 + 1) < n) {                                                 \
			if (child + 1 < n && before(of, heap[child + 1], heap[child]))             \
				child++;                                                           \
			if (!before(of, heap[child], item))                                        \
				break;                                                             \
			heap[at] = heap[child];                                                    \
			at = child;                                                                \
		}                                                                                  \
		heap[at] = item;                                                                   \
	}                                                                                          \
                                                                                                   \
	static inline void name##_push(context of, type *heap, size_t n, type item)                \
	{                                                                                          \
		for (; n && before(of, item, heap[(n - 1) / 2]); n = (n - 1) / 2)                  \
			heap[n] = heap[(n - 1) / 2];                                               \
		heap[n] = item;                                                                    \
	}

#endif
