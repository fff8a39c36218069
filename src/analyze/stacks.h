/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stores each distinct call stack once. A stack belongs to the producer whose addresses it has: the
 * schema stands for the producer, because a program or a guest has one.
 *
 * Memory grows with the number of different stacks.
 */
#ifndef RS_ANALYZE_STACKS_H
#define RS_ANALYZE_STACKS_H

#include <ringside/source.h>

#include "base/arena.h"
#include "base/map.h"

#define RS_STACKS_MAX	 (1u << 20)
#define RS_STACKS_OTHERS 0u /* index of the stack that represents those beyond RS_STACKS_MAX */

struct rs_stack {
	const struct rs_schema *schema; /* NULL in RS_STACKS_OTHERS */
	const uint64_t *addresses;	/* innermost first */
	uint64_t by_fp;			/* bit i: address i was found by frame pointers */
	uint32_t n;			/* 0: no stack was recorded */
	uint32_t index;
};

struct rs_stacks {
	struct rs_stack **at; /* by index */
	uint32_t n, room;
	struct rs_map map;
	struct rs_arena arena;
};

/* Initializes a zeroed set, which then contains RS_STACKS_OTHERS. */
struct rs_error *rs_stacks_init(struct rs_stacks *stacks);
void rs_stacks_deinit(struct rs_stacks *stacks);

/* Finds or adds the stack of n addresses at `raw`, as rs_view_stack() returns them. */
struct rs_error *rs_stacks_intern(struct rs_stacks *stacks, const struct rs_schema *schema,
				  const uint8_t *raw, uint32_t n, uint64_t by_fp, uint32_t *index);

#endif
