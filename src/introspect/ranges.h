/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges of addresses that may lie within each other, and the innermost one at an address. */
#ifndef RS_INTROSPECT_RANGES_H
#define RS_INTROSPECT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rs_range {
	uint64_t lo, hi; /* [lo, hi) */
	uint32_t item;	 /* the caller's */
	/* of two that begin at one address, the one of higher rank is the inner one */
	uint32_t rank;
};

struct rs_ranges { /* valid and empty if all zero */
	struct rs_range *at;
	size_t n, room;
};

void rs_ranges_deinit(struct rs_ranges *ranges);

/* Adds a range, unless it is empty. Returns false if there is no memory. */
bool rs_ranges_add(struct rs_ranges *ranges, struct rs_range range);

/* Replaces the ranges by disjoint parts, sorted by address. Each part refers to the innermost range
 * that covered it. Call it once, after the last range. Returns false if there is no memory. */
bool rs_ranges_flatten(struct rs_ranges *ranges);

/* Returns the flattened range at an address, or NULL. */
const struct rs_range *rs_ranges_find(const struct rs_ranges *ranges, uint64_t address);

#endif
