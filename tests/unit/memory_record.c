/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of allocations and of stacks (memory.h): the walk along frame pointers, in memory made
 * for it and in this program, which is built with them; the records themselves, read from the ring;
 * and the sampler, compared with the exponential distribution of the C library's logarithm.
 */
#include "../test.h"

#include <math.h>
#include <sys/mman.h>

#include <ringside/trace.h>

#include "ring/stack.h"

#define SLOTS	   (1u << 16)
#define PAGE_BYTES 4096u

static uint8_t memory[sizeof(struct rs_sbuf) + SLOTS * RS_SLOT_BYTES] __attribute__((aligned(64)));
static struct rs_sbuf *const ring = (struct rs_sbuf *)(void *)memory;
static struct rs_sbuf_producer producer;

/* ---- the ring ----------------------------------------------------------------------------- */

static void start(const struct rs_memory_options *options)
{
	CHECK_EQ_U64(rs_sbuf_create(memory, sizeof(memory), RS_SLOT_BYTES), RS_SBUF_OK);
	producer = (struct rs_sbuf_producer){ 0 };
	CHECK_EQ_U64(rs_sbuf_producer_init(&producer, memory, sizeof(memory)), RS_SBUF_OK);
	CHECK(rs_memory_configure(NULL, options));
}

/* A record of the ring, with its stack; at most one event has other fields first. */
struct got {
	uint64_t id, words[3]; /* up to by_fp */
	uint32_t align;
	uint64_t by_fp, frames[RS_STACK_DEPTH_MAX + 1];
	uint16_t n;
};

/* Reads the next record. Returns false if there is none. Checks that it is padded with zeros. */
static bool next(struct got *got)
{
	const struct rs_slot *slot =
		(const struct rs_slot *)(const void *)((uint8_t *)(ring + 1) + ring->head);
	uint32_t slots, fixed;
	const uint8_t *at;

	*got = (struct got){ 0 };
	if (ring->head == ring->tail)
		return false;
	slots = rs_slot_count(slot->head);
	got->id = rs_slot_id(slot->head);
	ring->head = (ring->head + slots * RS_SLOT_BYTES) % ring->size;
	if (got->id == RS_ID_FILLER)
		return next(got);
	at = (const uint8_t *)slot + RS_RECORD_HEAD;
	switch (got->id) {
	case RS_ID_MEMORY_ALLOC:
		memcpy(got->words, at, 16);
		memcpy(&got->align, at + 16, 4);
		fixed = 20;
		break;
	case RS_ID_MEMORY_FREE:
		memcpy(got->words, at, 8);
		fixed = 8;
		break;
	case RS_ID_MEMORY_REALLOC:
		memcpy(got->words, at, 24);
		fixed = 24;
		break;
	case RS_ID_STACK_SAMPLE:
		memcpy(&got->align, at, 4);
		fixed = 4;
		break;
	default:
		memcpy(got->words, at, 16);
		return true;
	}
	memcpy(&got->by_fp, at + fixed, 8);
	memcpy(&got->n, at + fixed + 8, 2);
	if (!CHECK(got->n <= RS_STACK_DEPTH_MAX))
		return false;
	memcpy(got->frames, at + fixed + 10, got->n * 8u);
	CHECK_EQ_U64(slots, RS_RECORD_SLOTS(fixed + 10 + got->n * 8u));
	for (uint32_t i = fixed + 10 + got->n * 8u; i < slots * RS_SLOT_BYTES - RS_RECORD_HEAD; i++)
		CHECK_EQ_U64(at[i], 0);
	return true;
}

static uint64_t frames_mask(uint32_t n)
{
	uint64_t mask = 0;

	for (uint32_t i = 1; i < n; i++)
		mask |= UINT64_C(1) << i;
	return mask;
}

static const void *at(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

/* ---- the walk ----------------------------------------------------------------------------- */

#define WORDS 64u
static uint64_t stack[WORDS];

static uint64_t address_of(uint32_t word)
{
	return (uintptr_t)&stack[word];
}

#define TOP() address_of(WORDS - 2)

/*
 * Frames at these words, each the caller of the previous one, with return addresses 100, 101, ...
 */
static void frames_make(const uint32_t *words, uint32_t n)
{
	memset(stack, 0xee, sizeof(stack));
	for (uint32_t i = 0; i < n; i++) {
		stack[words[i]] = i + 1 < n ? address_of(words[i + 1]) : 0;
		stack[words[i] + 1] = 100 + i;
	}
}

/* Walks with both implementations, which must agree if frames are aligned. */
static uint32_t walk(uint32_t max, uint64_t *frames)
{
	struct got got;
	uint32_t n = rs_stack_walk(7, stack + 4, TOP(), frames, max);

	start(&(struct rs_memory_options){ .stacks = RS_STACKS_FRAMES, .depth = max });
	producer.stack_low = address_of(0);
	producer.stack_top = TOP();
	rs_memory_put_free(&producer, 7, stack, at(1)); /* takes the slow path of a new ring */
	rs_memory_put_free(&producer, 7, stack + 4, at(1));
	CHECK(next(&got) && next(&got));
	CHECK_EQ_U64(got.n, n);
	CHECK_EQ_U64(got.by_fp, frames_mask(n));
	CHECK(!memcmp(got.frames, frames, n * sizeof(frames[0])));
	return n;
}

TEST(frames_are_followed_to_the_last)
{
	static const uint32_t words[] = { 4, 6, 8, 20, 33, 35, 40, 42, 50, 52, 62 };
	const uint32_t n = sizeof(words) / sizeof(words[0]);
	uint64_t frames[RS_STACK_DEPTH_MAX];

	for (uint32_t callers = 1; callers <= n; callers++) {
		for (uint32_t max = 1; max <= RS_STACK_DEPTH_MAX; max++) {
			uint32_t expected = callers + 1 < max ? callers + 1 : max;

			frames_make(words, callers);
			if (!CHECK_EQ_U64(walk(max, frames), expected))
				return;
			CHECK_EQ_U64(frames[0], 7);
			for (uint32_t i = 1; i < expected; i++)
				CHECK_EQ_U64(frames[i], 100 + i - 1);
		}
	}
}

TEST(a_chain_that_does_not_ascend_ends)
{
	static const uint32_t words[] = { 4, 10, 20 };
	uint64_t frames[RS_STACK_DEPTH_MAX];

	frames_make(words, 3);
	stack[20] = address_of(20); /* itself */
	CHECK_EQ_U64(walk(RS_STACK_DEPTH_MAX, frames), 4);
	stack[20] = address_of(10); /* a loop */
	CHECK_EQ_U64(walk(RS_STACK_DEPTH_MAX, frames), 4);
	stack[20] = TOP() + 8; /* half of it is outside */
	CHECK_EQ_U64(walk(RS_STACK_DEPTH_MAX, frames), 4);
	stack[20] = UINT64_MAX - 7;
	CHECK_EQ_U64(walk(RS_STACK_DEPTH_MAX, frames), 4);
	stack[20] = 1;
	CHECK_EQ_U64(walk(RS_STACK_DEPTH_MAX, frames), 4);
	stack[21] = 0; /* a thread's first function */
	CHECK_EQ_U64(walk(RS_STACK_DEPTH_MAX, frames), 3);
	stack[11] = stack[5] = 0;
	CHECK_EQ_U64(walk(RS_STACK_DEPTH_MAX, frames), 1);
	/* Without a known stack, nothing is read. */
	CHECK_EQ_U64(rs_stack_walk(7, at(8), 0, frames, 9), 1);
	CHECK_EQ_U64(rs_stack_walk(7, (uint8_t *)stack + 4, TOP(), frames, 9), 1);
}

/* xorshift64 */
static uint64_t chance(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* The stack lies between pages that cannot be read. */
TEST(a_million_random_stacks)
{
	uint8_t *pages = mmap(NULL, 3 * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *words = (uint64_t *)(void *)(pages + PAGE_BYTES), frames[RS_STACK_DEPTH_MAX];
	const uint32_t n_words = PAGE_BYTES / 8;
	uint64_t low = (uintptr_t)words, deepest = 0;

	REQUIRE(pages != MAP_FAILED);
	REQUIRE(mprotect(words, PAGE_BYTES, PROT_READ | PROT_WRITE) == 0);
	start(&(struct rs_memory_options){ .stacks = RS_STACKS_FRAMES });
	for (uint32_t i = 0; i < 1000000; i++) {
		uint32_t from = (uint32_t)chance() % n_words;
		struct got got;

		/* Most words point into the stack or close to it. */
		for (uint32_t k = 0; k < (i ? 8 : n_words); k++) {
			uint64_t to = chance();

			words[i ? chance() % n_words : k] =
				to & 7 ? low - 64 + (chance() % (PAGE_BYTES + 128) & ~UINT64_C(7)) +
						 (to & 0x3f0 ? 0 : to & 7)
				       : to;
		}
		producer.stack_low = low;
		producer.stack_top = low + PAGE_BYTES - RS_FRAME_BYTES;
		rs_memory_put_alloc(&producer, 7, words + from, at(i + 1), i, 0);
		if (!CHECK(next(&got)) || !CHECK_EQ_U64(got.words[0], i + 1))
			return;
		deepest = got.n > deepest ? got.n : deepest;
		if (rs_stack_walk(7, words + from, producer.stack_top, frames, RS_STACK_DEPTH_MAX) >
		    got.n)
			CHECK(!"the fast walk is the longer one");
	}
	CHECK(deepest > 8);
	munmap(pages, 3 * PAGE_BYTES);
}

/* ---- this program's stack ----------------------------------------------------------------- */

static uint64_t backs[32];

__attribute__((noinline)) static void deep(uint32_t left)
{
	backs[left] = (uintptr_t)__builtin_return_address(0);
	if (left)
		deep(left - 1);
	else
		rs_memory_put_alloc(&producer, rs_here(), __builtin_frame_address(0), at(64), 48,
				    16);
	__asm__ volatile("" : : : "memory"); /* no tail call */
}

TEST(callers_are_found_in_this_thread)
{
	struct got got;

	start(&(struct rs_memory_options){ .stacks = RS_STACKS_FRAMES });
	for (uint32_t round = 0; round < 3; round++) { /* the stack is looked up in the first */
		deep(16);
		REQUIRE(next(&got));
		CHECK_EQ_U64(got.id, RS_ID_MEMORY_ALLOC);
		CHECK_EQ_U64(got.words[0], 64);
		CHECK_EQ_U64(got.words[1], 48);
		CHECK_EQ_U64(got.align, 16);
		REQUIRE(got.n > 17);
		CHECK_EQ_U64(got.by_fp, frames_mask(got.n));
		for (uint32_t i = 0; i <= 16; i++)
			CHECK_EQ_U64(got.frames[1 + i], backs[i]);
		CHECK(got.frames[0] - (uintptr_t)deep < 4096);
	}
	CHECK(!next(&got));
}

TEST(a_sample_has_a_stack_even_if_allocations_have_none)
{
	struct got got;

	start(&(struct rs_memory_options){ .depth = 5 });
	rs_stack_put_sample(&producer, rs_here(), __builtin_frame_address(0), 9);
	REQUIRE(next(&got));
	CHECK_EQ_U64(got.id, RS_ID_STACK_SAMPLE);
	CHECK_EQ_U64(got.align, 9);
	CHECK(got.n > 1 && got.n <= 5);
}

/* ---- records ------------------------------------------------------------------------------ */

TEST(records_without_stacks)
{
	struct got got;

	start(&(struct rs_memory_options){ 0 });
	rs_memory_put_alloc(&producer, 7, NULL, at(0x1000), 3, 32);
	CHECK(rs_memory_put_moving(&producer, at(0x1000)));
	rs_memory_put_realloc(&producer, 7, NULL, at(0x1000), true, at(0x2000), 5);
	rs_memory_put_realloc(&producer, 7, NULL, at(0x2000), true, NULL, 1); /* failed */
	rs_memory_put_free(&producer, 7, NULL, at(0x2000));
	CHECK(next(&got) && got.id == RS_ID_MEMORY_ALLOC && got.words[0] == 0x1000 &&
	      got.words[1] == 3 && got.align == 32 && !got.n && !got.by_fp);
	CHECK(next(&got) && got.id == RS_ID_MEMORY_REALLOC && got.words[0] == 0x1000 &&
	      got.words[1] == 0x2000 && got.words[2] == 5 && !got.n);
	CHECK(next(&got) && got.id == RS_ID_MEMORY_FREE && got.words[0] == 0x2000 && !got.n);
	CHECK(!next(&got));
}

TEST(invalid_settings_are_refused)
{
	uint64_t live[16] = { 0 };

	CHECK(!rs_memory_configure(NULL,
				   &(struct rs_memory_options){ .depth = RS_STACK_DEPTH_MAX + 1 }));
	CHECK(!rs_memory_configure(NULL, &(struct rs_memory_options){ .stacks = RS_STACKS_HOST }));
	CHECK(!rs_memory_configure(NULL, &(struct rs_memory_options){
						 .interval = 9, .live = live, .live_bytes = 63 }));
	CHECK(!rs_memory_configure(NULL, &(struct rs_memory_options){ .interval = 9,
								      .live = (uint8_t *)live + 1,
								      .live_bytes = 64 }));
	CHECK(rs_memory_configure(NULL, &(struct rs_memory_options){
						.interval = 9, .live = live, .live_bytes = 64 }));
}

/* Rings of all sizes, with records at each position; nothing that has room is lost. */
TEST(a_small_ring_keeps_records_that_have_room)
{
	for (uint32_t slots = 48; slots < 96; slots++) {
		uint64_t kept = 0, lost = 0;
		struct got got;

		start(&(struct rs_memory_options){ .stacks = RS_STACKS_FRAMES });
		rs_sbuf_create(memory, rs_sbuf_bytes(slots, RS_SLOT_BYTES), RS_SLOT_BYTES);
		rs_sbuf_producer_init(&producer, memory, rs_sbuf_bytes(slots, RS_SLOT_BYTES));
		for (uint32_t i = 0; i <= 500; i++) {
			if (i == 500) /* what was lost since the last record */
				rs_memory_put_free(&producer, 7, NULL, at(1));
			else
				deep((uint32_t)chance() % 20);
			if (i < 499 && chance() % 4)
				continue;
			while (next(&got)) {
				lost += got.id == RS_ID_LOST ? got.words[0] : 0;
				kept += got.id == RS_ID_MEMORY_ALLOC;
			}
		}
		CHECK_EQ_U64(kept + lost, 500);
	}
}

/* ---- samples ------------------------------------------------------------------------------ */

TEST(distances_follow_the_logarithm)
{
	const uint64_t mean = UINT64_C(1) << 40;
	double sum = 0, worst = 0;
	const uint32_t n = 1000000;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t random = chance() | 1, got = rs_sample_distance(random, mean);
		double exact = -log((double)random / 18446744073709551616.0) * (double)mean;
		double off = fabs((double)got - exact) / (double)mean;

		worst = off > worst ? off : worst;
		sum += (double)got;
	}
	CHECK(worst < 1.0 / 20000);
	/* The mean of n has a deviation of 1 / sqrt(n) of it. */
	CHECK(fabs(sum / n / (double)mean - 1) < 4 / sqrt(n));
	CHECK_EQ_U64(rs_sample_distance(UINT64_MAX, 1000), 0);
	CHECK_EQ_U64(rs_sample_distance(0, UINT64_MAX), INT64_MAX);
}

static uint64_t live[1 << 16];

/* Allocations of one size after another: each is sampled with the right frequency. */
TEST(each_size_is_sampled_with_its_probability)
{
	static const uint64_t sizes[] = { 1, 16, 100, 1000, 10000, 100000 };
	const uint64_t interval = 4096;
	const uint32_t n = 200000;

	memset(live, 0, sizeof(live));
	start(&(struct rs_memory_options){
		.interval = interval, .seed = 11, .live = live, .live_bytes = sizeof(live) });
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double p = 1 - exp(-(double)sizes[i] / (double)interval);
		uint32_t taken = 0;

		for (uint32_t k = 0; k < n; k++)
			taken += rs_sample_take(&producer, sizes[i]);
		CHECK(fabs(taken - n * p) < 4 * sqrt(n * p * (1 - p)) + 1);
	}
}

TEST(samples_estimate_allocated_and_live_memory)
{
	const uint64_t interval = 1 << 16;
	double estimate = 0, total = 0;
	uint64_t allocs = 0, frees = 0;
	struct got got;

	memset(live, 0, sizeof(live));
	start(&(struct rs_memory_options){
		.interval = interval, .seed = 5, .live = live, .live_bytes = sizeof(live) });
	for (uint64_t i = 1; i <= 400000; i++) {
		uint64_t size = chance() % 4000;

		rs_memory_put_alloc(&producer, 7, NULL, at(i * 4096), size, 0);
		total += (double)size;
		if (i > 1000)
			rs_memory_put_free(&producer, 7, NULL, at((i - 1000) * 4096));
	}
	REQUIRE(next(&got));
	CHECK_EQ_U64(got.id, RS_ID_MEMORY_SAMPLING);
	CHECK_EQ_U64(got.words[0], interval);
	while (next(&got)) {
		if (got.id == RS_ID_MEMORY_ALLOC) {
			estimate += (double)got.words[1] /
				    (1 - exp(-(double)got.words[1] / (double)interval));
			allocs++;
		} else if (CHECK_EQ_U64(got.id, RS_ID_MEMORY_FREE)) {
			frees++;
		}
	}
	CHECK(allocs > 10000);
	/* One record stands for about interval bytes; their number is Poisson distributed. */
	CHECK(fabs(estimate / total - 1) < 4 / sqrt((double)allocs));
	CHECK(frees <= allocs && allocs - frees < 80);
	CHECK_EQ_U64(rs_memory_dropped(), 0);
}

TEST(addresses_without_room_are_counted_as_lost)
{
	uint64_t few[RS_LIVE_WAYS * 2] = { 0 }, kept = 0, before = rs_memory_dropped();
	struct got got;

	start(&(struct rs_memory_options){
		.interval = 1, .seed = 5, .live = few, .live_bytes = sizeof(few) });
	for (uint64_t i = 1; i <= 100; i++)
		rs_memory_put_alloc(&producer, 7, NULL, at(i * 4096), 1 << 20, 0);
	CHECK_EQ_U64(rs_memory_dropped() - before, 100 - RS_LIVE_WAYS * 2);
	for (uint64_t i = 1; i <= 100; i++)
		rs_memory_put_free(&producer, 7, NULL, at(i * 4096));
	for (uint64_t lost = 0; next(&got);) {
		kept += got.id == RS_ID_MEMORY_ALLOC;
		lost += got.id == RS_ID_LOST ? got.words[0] : 0;
		if (ring->head == ring->tail)
			CHECK_EQ_U64(lost, 100 - RS_LIVE_WAYS * 2);
	}
	CHECK_EQ_U64(kept, RS_LIVE_WAYS * 2);
	for (uint32_t i = 0; i < RS_LIVE_WAYS * 2; i++)
		CHECK_EQ_U64(few[i], 0);
}

/* The sampler treats a reallocation as a free and an allocation. */
TEST(reallocated_samples)
{
	uint64_t few[RS_LIVE_WAYS] = { 0 };
	struct got got;

	start(&(struct rs_memory_options){
		.interval = 1, .seed = 5, .live = few, .live_bytes = sizeof(few) });
	rs_memory_put_alloc(&producer, 7, NULL, at(0x1000), 1 << 20, 0);
	CHECK(rs_memory_put_moving(&producer, at(0x1000)));
	rs_memory_put_realloc(&producer, 7, NULL, at(0x1000), true, NULL, 1 << 21);
	CHECK(rs_memory_put_moving(&producer, at(0x1000)));
	rs_memory_put_realloc(&producer, 7, NULL, at(0x1000), true, at(0x2000), 1 << 21);
	CHECK(rs_memory_put_moving(&producer, at(0x2000)));
	rs_memory_put_realloc(&producer, 7, NULL, at(0x2000), true, at(0x3000), 0);
	CHECK(!rs_memory_put_moving(&producer, at(0x3000)));
	rs_memory_put_realloc(&producer, 7, NULL, at(0x3000), false, at(0x4000), 1 << 20);
	CHECK(next(&got) && got.id == RS_ID_MEMORY_SAMPLING);
	CHECK(next(&got) && got.id == RS_ID_MEMORY_ALLOC && got.words[0] == 0x1000);
	CHECK(next(&got) && got.id == RS_ID_MEMORY_REALLOC && got.words[1] == 0x2000);
	CHECK(next(&got) && got.id == RS_ID_MEMORY_FREE && got.words[0] == 0x2000);
	CHECK(next(&got) && got.id == RS_ID_MEMORY_ALLOC && got.words[0] == 0x4000);
	CHECK(!next(&got));
}
