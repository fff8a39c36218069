/* SPDX-License-Identifier: BSD-2-Clause */
/* An arena allocator: blocks of memory that are freed together. */
#include "base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES (16u << 10)

struct rs_arena_block {
	struct rs_arena_block *next;
	alignas(max_align_t) char bytes[];
};

void rs_arena_deinit(struct rs_arena *arena)
{
	struct rs_arena_block *block, *next;

	for (block = arena->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	*arena = (struct rs_arena){ 0 };
}

void *rs_arena_alloc(struct rs_arena *arena, size_t bytes)
{
	size_t need = (bytes + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	struct rs_arena_block *block;
	char *at;

	if (need > arena->left) {
		size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;

		block = malloc(sizeof(*block) + size);
		if (!block)
			return NULL;
		block->next = arena->blocks;
		arena->blocks = block;
		arena->at = block->bytes;
		arena->left = size;
	}
	at = arena->at;
	arena->at += need;
	arena->left -= need;
	return memset(at, 0, bytes);
}

char *rs_arena_text(struct rs_arena *arena, const char *text, size_t len)
{
	char *copy = rs_arena_alloc(arena, len + 1);

	return copy ? memcpy(copy, text, len) : NULL;
}
