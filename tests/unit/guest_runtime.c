/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guest runtime, run in a program: it is freestanding, and needs only the architecture's three
 * functions. Covers cases that a machine cannot produce at will: a host that does not answer, and
 * puts abandoned at the end of a lap.
 */
#include "../test.h"

#include <unistd.h>

/* The producer of the only vCPU. */
#define RS_GUEST_THIS() rs_guest_producer(0)
#include "guest/arch.h"
#include "guest/runtime.c"

/* memory.c with other names, for comparison with the C library. */
#define memcpy	guest_memcpy
#define memmove guest_memmove
#define memset	guest_memset
#define memcmp	guest_memcmp
#include "guest/memory.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp

#define SLOTS 16u

static uint64_t memory[(sizeof(struct rs_sbuf) + SLOTS * RS_SLOT_BYTES) / 8];
static struct rs_sbuf *const ring = (struct rs_sbuf *)(void *)memory;
static unsigned int doorbells[3]; /* by request */
static bool host_answers;
static void (*handler)(void); /* interrupts the next doorbell, after the host has drained */

/* ---- the architecture --------------------------------------------------------------------- */

void rs_guest_arch_set_this(struct rs_guest_self *self)
{
	(void)self;
	CHECK(!"own_this requests that it be left alone");
}

void rs_guest_arch_doorbell(uint32_t request, uint64_t area_gpa)
{
	CHECK_EQ_U64(area_gpa, (uintptr_t)&rs_guest_area + 0x1000);
	doorbells[request]++;
	if (request == RS_DOORBELL_FULL && host_answers)
		ring->head = ring->tail;
	if (request == RS_DOORBELL_FULL && handler) {
		void (*now)(void) = handler;

		handler = NULL;
		now();
	}
}

bool rs_guest_tsc_invariant(void)
{
	return true;
}

static void start(enum rs_guest_hand_over how)
{
	rs_guest_start(
		&(struct rs_guest_config){ .hand_over = how, .to_gpa = 0x1000, .own_this = true },
		NULL, NULL);
	doorbells[RS_DOORBELL_REGISTER] = doorbells[RS_DOORBELL_FULL] = 0;
	host_answers = true;
	CHECK_EQ_U64(rs_guest_vcpu_init(0, memory, sizeof(memory)), RS_GUEST_OK);
}

/* A record of one slot. */
static bool put(uint64_t value)
{
	uint64_t payload[2] = { value, ~value };

	return rs_emit(RS_ID(RS_IDS_USER, 1), payload, sizeof(payload));
}

/*
 * Returns the number of published records, and stores their first words; for losses, their counts +
 * 1000.
 */
static unsigned int published(uint64_t *values)
{
	const struct rs_slot *slots = (const struct rs_slot *)(ring + 1);
	unsigned int n = 0;

	while (ring->head != ring->tail) {
		const struct rs_slot *slot = &slots[ring->head / RS_SLOT_BYTES];
		uint32_t count = rs_slot_count(slot->head);

		if (!count)
			return UINT32_MAX;
		if (rs_slot_id(slot->head) != RS_ID_FILLER) {
			memcpy(&values[n], slot->payload, sizeof(values[n]));
			if (rs_slot_id(slot->head) == RS_ID_LOST)
				values[n] += 1000;
			n++;
		}
		ring->head = (ring->head + count * RS_SLOT_BYTES) % ring->size;
	}
	return n;
}

/* ---- the tests ---------------------------------------------------------------------------- */

TEST(sites_are_numbered_from_1_up_to_the_limit)
{
	uint32_t n = RS_GUEST_SITES_MAX + 2;
	struct rs_site *sites = calloc(n, sizeof(*sites));

	REQUIRE(sites);
	rs_guest_start(&(struct rs_guest_config){ .to_gpa = 0x1000, .own_this = true }, sites,
		       sites + n);
	CHECK_EQ_U64(sites[0].id, 1);
	CHECK_EQ_U64(sites[RS_GUEST_SITES_MAX - 1].id, RS_GUEST_SITES_MAX);
	CHECK_EQ_U64(sites[RS_GUEST_SITES_MAX].id, 0);
	CHECK_EQ_U64(rs_guest_area.n_sites, RS_GUEST_SITES_MAX);
	CHECK_EQ_U64(rs_guest_area.sites, (uintptr_t)sites + 0x1000);
	CHECK_EQ_U64(rs_guest_area.magic, RS_GUEST_AREA_MAGIC);
	CHECK_EQ_U64(rs_guest_mask, RS_CLASS_ALL);
	free(sites);
}

TEST(an_invalid_ring_is_refused)
{
	start(RS_GUEST_SHARED);
	CHECK_EQ_U64(rs_guest_vcpu_init(RS_GUEST_VCPUS_MAX, memory, sizeof(memory)),
		     RS_GUEST_TOO_MANY_VCPUS);
	CHECK_EQ_U64(rs_guest_vcpu_init(1, (char *)memory + 4, sizeof(memory) - 4),
		     RS_GUEST_BAD_RING);
	CHECK_EQ_U64(rs_guest_vcpu_init(1, memory, sizeof(struct rs_sbuf) + RS_SLOT_BYTES),
		     RS_GUEST_BAD_RING);
	CHECK_EQ_U64(rs_guest_area.ring[1].bytes, 0);
	CHECK_EQ_U64(rs_guest_area.ring[0].gpa, (uintptr_t)memory + 0x1000);
}

TEST(a_full_ring_rings_once_and_the_put_continues)
{
	uint64_t values[SLOTS];

	start(RS_GUEST_DOORBELL);
	CHECK_EQ_U64(doorbells[RS_DOORBELL_REGISTER], 1);
	for (uint64_t i = 0; i < SLOTS; i++)
		CHECK(put(i));
	CHECK_EQ_U64(doorbells[RS_DOORBELL_FULL], 1);
	CHECK_EQ_U64(published(values), 1);
	CHECK_EQ_U64(values[0], SLOTS - 1);
}

/* Puts a record that the host drains, too, so that the head moves around the ring. */
static void handler_puts_one(void)
{
	CHECK(put(97));
	ring->head = ring->tail;
}

static void handler_fills_the_ring(void)
{
	for (uint64_t i = 0; i < SLOTS - 1; i++)
		CHECK(put(100 + i));
}

TEST(handlers_that_put_at_a_doorbell_lose_no_record)
{
	static void (*const handlers[])(void) = { handler_puts_one, handler_fills_the_ring };
	uint64_t values[SLOTS];
	uint32_t head;

	for (unsigned int h = 0; h < 2; h++) {
		start(RS_GUEST_DOORBELL);
		for (uint64_t i = 0; i < SLOTS - 1; i++)
			CHECK(put(i));
		head = ring->head;
		handler = handlers[h];
		CHECK(put(7));
		CHECK_EQ_U64(doorbells[RS_DOORBELL_FULL], h + 1);
		CHECK(h || ring->head == head);
		CHECK_EQ_U64(published(values), 1);
		CHECK_EQ_U64(values[0], 7);
		CHECK_EQ_U64(ring->refused, 0);
	}
}

TEST(a_host_that_does_not_answer_is_asked_less_often)
{
	uint64_t values[SLOTS], lost = 2 * RS_GUEST_ASK_EVERY + 5;

	start(RS_GUEST_DOORBELL);
	host_answers = false;
	for (uint64_t i = 0; i < SLOTS - 1; i++)
		CHECK(put(i));
	for (uint64_t i = 0; i < lost; i++)
		CHECK(!put(i));
	CHECK_EQ_U64(doorbells[RS_DOORBELL_FULL], 3);
	CHECK_EQ_U64(published(values), SLOTS - 1);
	CHECK(put(7));
	CHECK_EQ_U64(published(values), 2);
	CHECK_EQ_U64(values[0], lost + 1000);
	CHECK_EQ_U64(values[1], 7);
	CHECK_EQ_U64(ring->refused, lost);
}

TEST(a_shared_ring_never_rings)
{
	start(RS_GUEST_SHARED);
	for (uint64_t i = 0; i < 3 * SLOTS; i++)
		put(i);
	CHECK_EQ_U64(doorbells[RS_DOORBELL_FULL] + doorbells[RS_DOORBELL_REGISTER], 0);
}

/*
 * From each position of the ring: records 1 and 2; a put of two slots, interrupted by a handler
 * that puts 3 and returns; then by one that will not return, puts 4, and is itself interrupted in a
 * put by a third handler, which puts 5. The two open puts are lost, and nothing else.
 */
TEST(only_abandoned_puts_are_lost_at_any_position)
{
	uint64_t values[SLOTS];

	for (uint32_t before = 0; before < 2 * SLOTS; before++) {
		start(RS_GUEST_SHARED);
		for (uint32_t i = 0; i < before; i++) {
			CHECK(put(i));
			CHECK_EQ_U64(published(values), 1);
		}
		CHECK(put(1));
		CHECK(put(2));
		CHECK(rs_sbuf_reserve_nested(rs_guest_producer(0), 2 * RS_SLOT_BYTES).at);
		rs_guest_handler_enter(0);
		CHECK(put(3));
		rs_guest_abandon(0);
		CHECK(put(4));
		CHECK(rs_sbuf_reserve_nested(rs_guest_producer(0), RS_SLOT_BYTES).at);
		rs_guest_abandon(0);
		CHECK(put(5));
		CHECK_EQ_U64(published(values), 7);
		CHECK_EQ_U64(values[0], 1);
		CHECK_EQ_U64(values[1], 2);
		CHECK_EQ_U64(values[2], 3);
		CHECK_EQ_U64(values[3], 1001);
		CHECK_EQ_U64(values[4], 4);
		CHECK_EQ_U64(values[5], 1001);
		CHECK_EQ_U64(values[6], 5);
		CHECK_EQ_U64(ring->refused, 2);
	}
}

TEST(without_open_puts_nothing_is_abandoned)
{
	uint64_t values[SLOTS];

	start(RS_GUEST_SHARED);
	rs_guest_abandon(0);
	rs_guest_handler_enter(0);
	CHECK(put(1));
	rs_guest_abandon(0);
	rs_guest_abandon(RS_GUEST_VCPUS_MAX - 1); /* has no ring */
	CHECK_EQ_U64(published(values), 1);
	CHECK_EQ_U64(ring->refused, 0);
}

#define AREA 64

TEST(memory_functions_equal_the_c_library_s)
{
	unsigned char from[AREA], ours[AREA], theirs[AREA];

	for (unsigned int i = 0; i < AREA; i++)
		from[i] = (unsigned char)(i * 37);
	for (unsigned int at = 0; at < 16; at++) {
		for (unsigned int to = 0; to < 16; to++) {
			for (unsigned int n = 0; n <= AREA - 16; n++) {
				memcpy(ours, from, AREA);
				memcpy(theirs, from, AREA);
				CHECK(guest_memmove(ours + to, ours + at, n) == ours + to);
				memmove(theirs + to, theirs + at, n);
				CHECK(!memcmp(ours, theirs, AREA));
				CHECK(guest_memcpy(ours + to, from + at, n) == ours + to);
				memcpy(theirs + to, from + at, n);
				CHECK(!memcmp(ours, theirs, AREA));
				CHECK(guest_memset(ours + at, (int)to - 8, n) == ours + at);
				memset(theirs + at, (int)to - 8, n);
				CHECK(!memcmp(ours, theirs, AREA));
				CHECK((guest_memcmp(ours + at, from + to, n) < 0) ==
				      (memcmp(ours + at, from + to, n) < 0));
				CHECK((guest_memcmp(ours + at, from + to, n) > 0) ==
				      (memcmp(ours + at, from + to, n) > 0));
			}
		}
	}
}
