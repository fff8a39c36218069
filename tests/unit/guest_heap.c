/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heap of the guest kit, under other names: blocks of random sizes and alignments keep their
 * content while others are allocated and freed, freed memory is reused, and an invalid block ends
 * the guest.
 */
#include "../test.h"

#define malloc	       kit_malloc
#define calloc	       kit_calloc
#define realloc	       kit_realloc
#define free	       kit_free
#define aligned_alloc  kit_aligned_alloc
#define posix_memalign kit_posix_memalign
#include "guest/kit/heap.c"
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef aligned_alloc
#undef posix_memalign

#include <setjmp.h>

#define BLOCKS 300u
#define BYTES  (4u << 20)

static uint8_t memory[BYTES];
static jmp_buf panicked;

uint32_t rs_guest_mask;

void rs_kit_panic(const char *why)
{
	(void)why;
	longjmp(panicked, 1);
}

static uint32_t chance(uint32_t below)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % below;
}

static struct {
	uint8_t *at;
	uint32_t bytes;
	uint8_t byte;
} blocks[BLOCKS];

static bool intact(uint32_t i)
{
	for (uint32_t k = 0; k < blocks[i].bytes; k++) {
		if (blocks[i].at[k] != blocks[i].byte)
			return false;
	}
	return true;
}

/* Allocates with a random function, or resizes the block. */
static void block_make(uint32_t i)
{
	uint32_t bytes = chance(4) ? chance(200) : chance(9000), align = 8u << chance(8);
	void *at = NULL;

	switch (chance(5)) {
	case 0:
		at = kit_malloc(bytes);
		break;
	case 1:
		at = kit_calloc(bytes / 4 + 1, 4);
		for (uint32_t k = 0; at && k < bytes; k++)
			CHECK(!((uint8_t *)at)[k]);
		break;
	case 2:
		at = kit_aligned_alloc(align, bytes);
		CHECK_EQ_U64((uintptr_t)at % align, 0);
		break;
	case 3:
		CHECK_EQ_U64(kit_posix_memalign(&at, align, bytes), 0);
		CHECK_EQ_U64((uintptr_t)at % align, 0);
		break;
	case 4:
		at = kit_malloc(bytes / 3);
		if (at)
			memset(at, 7, bytes / 3);
		at = kit_realloc(at, bytes);
		for (uint32_t k = 0; at && k < bytes / 3; k++)
			CHECK_EQ_U64(((uint8_t *)at)[k], 7);
		break;
	}
	if (!CHECK(at != NULL))
		return;
	CHECK_EQ_U64((uintptr_t)at % 8, 0);
	CHECK((uint8_t *)at >= memory && (uint8_t *)at + bytes <= memory + BYTES);
	blocks[i].at = at;
	blocks[i].bytes = bytes;
	blocks[i].byte = (uint8_t)chance(256);
	memset(at, blocks[i].byte, bytes);
}

TEST(blocks_keep_their_content)
{
	rs_kit_heap(memory, sizeof(memory));
	for (uint32_t round = 0; round < 100000; round++) {
		uint32_t i = chance(BLOCKS);

		if (blocks[i].at) {
			if (!CHECK(intact(i)))
				return;
			kit_free(blocks[i].at);
			blocks[i].at = NULL;
		} else {
			block_make(i);
		}
	}
	for (uint32_t i = 0; i < BLOCKS; i++) {
		if (blocks[i].at)
			CHECK(intact(i));
	}
}

TEST(a_class_is_the_smallest_that_fits)
{
	for (uint64_t bytes = 32; bytes < 100000; bytes++) {
		uint32_t class = class_of(bytes);

		CHECK(class_bytes(class) >= bytes);
		CHECK(!class || class_bytes(class - 1) < bytes);
	}
	CHECK(class_of((UINT64_C(1) << 40) + UINT32_MAX) < CLASSES);
}

TEST(an_exhausted_heap_has_no_memory)
{
	uint32_t n = 0;
	void *last = NULL, *at;

	rs_kit_heap(memory + 3, 10000);
	while ((at = kit_malloc(100))) {
		last = at;
		n++;
	}
	CHECK(n > 60 && n < 100);
	kit_free(last);
	CHECK(kit_malloc(100) == last);
	CHECK(kit_malloc(100) == NULL);
	CHECK(kit_malloc(SIZE_MAX) == NULL);
	CHECK(kit_aligned_alloc(24, 1) == NULL);
	CHECK(kit_aligned_alloc(0, 1) == NULL);
	CHECK(kit_calloc(SIZE_MAX, SIZE_MAX) == NULL);
	CHECK_EQ_U64(kit_posix_memalign(&at, 4, 1), EINVAL);
	CHECK_EQ_U64(kit_posix_memalign(&at, 64, 1000), ENOMEM);
	kit_free(NULL);
}

TEST(a_block_freed_twice_ends_the_guest)
{
	char *at;

	rs_kit_heap(memory, sizeof(memory));
	at = kit_malloc(100);
	REQUIRE(at);
	kit_free(at);
	if (!setjmp(panicked)) {
		kit_free(at);
		CHECK(!"freed twice");
	}
	memset(memory, 0, 4096);
	if (!setjmp(panicked)) {
		kit_free(memory + 1024);
		CHECK(!"freed what was never allocated");
	}
	CHECK(kit_malloc(1) != NULL); /* nothing is locked */
}
