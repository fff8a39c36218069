/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One thread puts, another reads, millions of records through small rings; also in the build with
 * ThreadSanitizer. Every record is read once, complete and in order, and missing records were
 * reported at their position.
 */
#include "../test.h"

#include <pthread.h>
#include <time.h>

static __thread struct rs_sbuf_producer *this_producer;
#define RS_THIS_PRODUCER() this_producer
#define RS_THIS_MASK	   1u
#include <ringside/sbuf.h>
#include <ringside/emit.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define RECORDS 300000u
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define RECORDS 300000u
#endif
#endif
#ifndef RECORDS
#define RECORDS 3000000u
#endif
#define ID	   0x7777
#define SLOTS_MAX  3u
#define RING_SLOTS 256u

struct pass {
	union {
		struct rs_sbuf header;
		struct rs_slot slot[2 + RING_SLOTS];
	} ring;
	struct rs_sbuf_producer producer;
	bool done; /* release by the producer, acquire by the consumer */
	uint64_t accepted, emitted;
	/* The consumer's state. */
	uint64_t read, told, next, last_tsc, missing;
};

static uint64_t word_of(uint64_t n, uint32_t i)
{
	return (n + i) * UINT64_C(0x9e3779b97f4a7c15);
}

/*
 * One iteration of a wait. If the other thread runs concurrently, the wait is short; otherwise this
 * thread sleeps, because yielding would give each other busy thread a time slice, thousands of
 * times.
 */
static void wait_a_turn(uint32_t *turns)
{
	if (++*turns % 1024 == 0)
		nanosleep(&(struct timespec){ .tv_nsec = 1 }, NULL);
}

static bool wait_for_room(struct rs_sbuf_producer *p)
{
	uint32_t head = __atomic_load_n(&p->ring->head, __ATOMIC_RELAXED), turns = 0;

	/* A longer record may need more room than the next release gives. */
	for (int i = 0; i < 100; i++) {
		while (__atomic_load_n(&p->ring->head, __ATOMIC_RELAXED) == head &&
		       __atomic_load_n(&p->ring->tail, __ATOMIC_RELAXED) != head)
			wait_a_turn(&turns);
		head = __atomic_load_n(&p->ring->head, __ATOMIC_RELAXED);
		if (head == p->ring->tail)
			break;
	}
	return true;
}

static bool put(uint64_t n)
{
	uint64_t words[2 + 4 * (SLOTS_MAX - 1)];
	uint32_t slots = 1 + (uint32_t)(n % 5 == 0) + (uint32_t)(n % 7 == 0);

	words[0] = n;
	for (uint32_t i = 1; i < 2 + 4 * (slots - 1); i++)
		words[i] = word_of(n, i);
	switch (slots) {
	case 1:
		return rs_emit(ID, words, 16);
	case 2:
		return rs_emit(ID, words, 48);
	default:
		return rs_emit(ID, words, 80);
	}
}

static void *produce(void *arg)
{
	struct pass *pass = arg;

	this_producer = &pass->producer;
	for (uint64_t n = 0; n < RECORDS; n++)
		pass->accepted += put(n);
	pass->emitted = RECORDS;
	__atomic_store_n(&pass->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool check_record(struct pass *pass, const struct rs_slot *slot, uint32_t slots)
{
	uint64_t words[2 + 4 * (RS_RECORD_SLOTS_MAX - 1)];
	uint64_t n;

	memcpy(words, slot->payload, slots * RS_SLOT_BYTES - RS_RECORD_HEAD);
	n = words[0];
	if (slots != 1 + (uint32_t)(n % 5 == 0) + (uint32_t)(n % 7 == 0))
		return CHECK(!"a record of another length");
	for (uint32_t i = 1; i < 2 + 4 * (slots - 1); i++)
		if (words[i] != word_of(n, i))
			return CHECK(!"a record with other words");
	if (!CHECK_EQ_U64(n, pass->next + pass->missing))
		return false;
	pass->next = n + 1;
	pass->missing = 0;
	pass->read++;
	return true;
}

static bool check_slots(struct pass *pass, const struct rs_slot *slot, uint32_t left)
{
	uint32_t slots;

	for (; left; slot += slots, left -= slots) {
		struct rs_lost lost;

		slots = rs_slot_count(slot->head);
		if (!CHECK(slots > 0 && slots <= left) || !CHECK(slot->tsc >= pass->last_tsc))
			return false;
		pass->last_tsc = slot->tsc;
		if (rs_slot_id(slot->head) == RS_ID_LOST) {
			memcpy(&lost, slot->payload, sizeof(lost));
			pass->told += lost.count;
			pass->missing += lost.count;
		} else if (rs_slot_id(slot->head) != RS_ID_FILLER &&
			   !check_record(pass, slot, slots)) {
			return false;
		}
	}
	return true;
}

static void *consume(void *arg)
{
	struct pass *pass = arg;
	struct rs_sbuf_consumer c;
	uint32_t turns = 0;

	if (!CHECK_EQ_U64(rs_sbuf_attach(&c, &pass->ring, sizeof(pass->ring)), RS_SBUF_OK))
		return NULL;
	for (;;) {
		/* Before tail is read: after that, no more records are added. */
		bool done = __atomic_load_n(&pass->done, __ATOMIC_ACQUIRE);
		const uint8_t *run = NULL;
		uint32_t bytes = 0;

		if (!CHECK_EQ_U64(rs_sbuf_peek(&c, &run, &bytes), RS_SBUF_OK))
			return NULL;
		if (!bytes && done)
			return NULL;
		if (!check_slots(pass, (const void *)run, bytes / RS_SLOT_BYTES))
			break;
		rs_sbuf_release(&c, bytes);
		if (!bytes)
			wait_a_turn(&turns);
	}
	/* Lets the producer end, because no thread reads any more. */
	pass->producer.full = NULL;
	return NULL;
}

/* wait: a full ring makes the producer wait, and none is lost. */
static void run_pass(uint32_t slots, bool wait)
{
	static struct pass pass;
	pthread_t producer, consumer;

	memset(&pass, 0, sizeof(pass));
	REQUIRE_EQ_U64(rs_sbuf_create(&pass.ring, rs_sbuf_bytes(slots, 32), 32), RS_SBUF_OK);
	REQUIRE_EQ_U64(rs_sbuf_producer_init(&pass.producer, &pass.ring, sizeof(pass.ring)),
		       RS_SBUF_OK);
	pass.producer.full = wait ? wait_for_room : NULL;
	REQUIRE(!pthread_create(&consumer, NULL, consume, &pass));
	REQUIRE(!pthread_create(&producer, NULL, produce, &pass));
	pthread_join(producer, NULL);
	pthread_join(consumer, NULL);
	CHECK_EQ_U64(pass.read, pass.accepted);
	CHECK_EQ_U64(pass.read + pass.producer.refused, pass.emitted);
	CHECK_EQ_U64(pass.told, pass.producer.reported);
	CHECK_EQ_U64(pass.ring.header.refused, pass.producer.refused);
	if (wait)
		CHECK_EQ_U64(pass.read, RECORDS);
	printf("# ring of %u slots: %" PRIu64 " read, %" PRIu64 " lost\n", slots, pass.read,
	       pass.producer.refused);
}

TEST(a_slow_reader_s_losses_are_reported)
{
	run_pass(RING_SLOTS, false);
	run_pass(13, false);
}

TEST(a_waiting_writer_loses_nothing)
{
	run_pass(RING_SLOTS, true);
	run_pass(13, true);
}
