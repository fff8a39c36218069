/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An arena: memory that is given piece by piece and taken back as a whole, so that what points
 * into it stays valid as long as its owner. One thread at a time.
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

/* Zeroed and aligned for anything; NULL without memory. */
void *rs_arena_alloc(struct rs_arena *arena, size_t bytes);

/* A NUL-terminated copy of len bytes; NULL without memory. */
char *rs_arena_text(struct rs_arena *arena, const char *text, size_t len);

#endif
