/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates jansson's memory from a pool that ASan poisons. */
#include "pool.h"

#include <jansson.h>
#include <sanitizer/asan_interface.h>

#include "fuzz.h"

#define POOL_BYTES (16u << 20) /* beyond it, malloc() is used */
#define GRAIN	   16u	       /* alignment of a piece's size, and the gap after it */

static _Alignas(GRAIN) uint8_t pool[POOL_BYTES];
static uint32_t pieces[POOL_BYTES / GRAIN]; /* size of the piece that begins there; 0: none */
static size_t used;
static uint64_t live;

FUZZ_OWN static void *pool_malloc(size_t bytes)
{
	size_t room = ((bytes + GRAIN - 1) & ~(size_t)(GRAIN - 1)) + GRAIN;
	uint8_t *at = pool + used;

	if (!bytes || bytes > POOL_BYTES || room > POOL_BYTES - used)
		return malloc(bytes);
	ASAN_UNPOISON_MEMORY_REGION(at, bytes);
	pieces[used / GRAIN] = (uint32_t)bytes;
	used += room;
	live++;
	return at;
}

FUZZ_OWN static void pool_free(void *at)
{
	size_t offset = (uintptr_t)at - (uintptr_t)pool;

	if (offset >= POOL_BYTES) {
		free(at);
		return;
	}
	MUST(offset % GRAIN == 0 && pieces[offset / GRAIN]); /* otherwise it is freed twice */
	ASAN_POISON_MEMORY_REGION(at, pieces[offset / GRAIN]);
	pieces[offset / GRAIN] = 0;
	live--;
}

void fuzz_pool_begin(void)
{
	static bool made;

	if (!made) {
		ASAN_POISON_MEMORY_REGION(pool, POOL_BYTES);
		json_set_alloc_funcs(pool_malloc, pool_free);
	}
	made = true;
	used = 0;
}

void fuzz_pool_end(void)
{
	MUST(!live);
}
