/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An arena: memory that is allocated piece by piece and freed as a whole, so that pointers into it
 * stay valid as long as their owner. One thread at a time.
 */
#ifndef RS_BASE_ARENA_H
#define RS_BASE_ARENA_H

#include <stddef.h>

struct rs_arena_block;

struct rs_arena {
	struct rs_arena_block *blocks;
	char *at;
	size_t left;
};

void rs_arena_deinit(struct rs_arena *arena); /* an arena of zero bytes is empty and valid */

/* Returns zeroed memory that is aligned for any type, or NULL if out of memory. */
void *rs_arena_alloc(struct rs_arena *arena, size_t bytes);

/* Returns a NUL-terminated copy of len bytes, or NULL if out of memory. */
char *rs_arena_text(struct rs_arena *arena, const char *text, size_t len);

#endif
