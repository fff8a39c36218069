/* SPDX-License-Identifier: BSD-2-Clause */
/* Binary search. */
#ifndef RS_BASE_SEARCH_H
#define RS_BASE_SEARCH_H

#include <stddef.h>

/*
 * Returns the first index below n for which `is_before`, an expression of the index `i`, is false,
 * or n. The expression must be true for all smaller indices and false for all larger ones.
 *
 *	first = RS_SEARCH(i, n, entries[i].from <= address)
 */
#define RS_SEARCH(i, n, is_before)                                                                 \
	({                                                                                         \
		size_t low_ = 0, high_ = (n);                                                      \
                                                                                                   \
		while (low_ < high_) {                                                             \
			size_t i = low_ + (high_ - low_) / 2;                                      \
                                                                                                   \
			if (is_before)                                                             \
				low_ = i + 1;                                                      \
			else                                                                       \
				high_ = i;                                                         \
		}                                                                                  \
		low_;                                                                              \
	})

#endif
