/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread puts; real signals, sent by another thread and by a timer, interrupt it at any point,
 * and their handlers put into the same ring, handlers interrupting handlers. A third thread reads.
 * Each level's records are read in its order, none twice, none torn, none out of time, and missing
 * records were reported.
 */
#include "../test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <ringside/sbuf.h>

static struct rs_sbuf_producer producer;
#define RS_THIS_PRODUCER() (&producer)
#define RS_THIS_MASK	   1u
#include <ringside/emit.h>

#define ID	   0x51630000u /* | level */
#define RING_SLOTS 512u
#define LEVELS	   4u	 /* the thread, SIGUSR1, SIGUSR2, the timer's SIGRTMIN */
#define SIGNALS	   5000u /* the minimum that the storm ensures are handled */

static union {
	struct rs_sbuf header;
	struct rs_slot slot[2 + RING_SLOTS];
} ring;

/* By level: records emitted. Only that level writes its counter, and it never interrupts itself. */
static struct {
	uint64_t emitted, accepted; /* relaxed */
} level[LEVELS];
static bool stop, stopped; /* relaxed; joins order the rest */
static pthread_t putter;

static void put(uint32_t l)
{
	uint64_t n = __atomic_load_n(&level[l].emitted, __ATOMIC_RELAXED);
	uint64_t words[6] = { n, ~n, n * 3, n * 5, n * 7, l };
	bool accepted;

	__atomic_store_n(&level[l].emitted, n + 1, __ATOMIC_RELAXED);
	if (n % 3)
		accepted = rs_emit(ID | l, words, 16);
	else
		accepted = rs_emit(ID | l, words, 48);
	level[l].accepted += accepted;
}

static void handler(int sig)
{
	int saved = errno;

	put(sig == SIGUSR1 ? 1 : sig == SIGUSR2 ? 2 : 3);
	errno = saved;
}

static uint64_t handled(void)
{
	return __atomic_load_n(&level[1].emitted, __ATOMIC_RELAXED) +
	       __atomic_load_n(&level[2].emitted, __ATOMIC_RELAXED);
}

/* The timer's signals arrive at any time: the storm lasts at least until one has. */
static bool enough(void)
{
	return handled() >= SIGNALS && __atomic_load_n(&level[3].emitted, __ATOMIC_RELAXED);
}

static void *storm(void *arg)
{
	(void)arg;
	while (!enough()) {
		uint64_t before = handled();

		pthread_kill(putter, before % 2 ? SIGUSR1 : SIGUSR2);
		if (before % 4 == 0) /* sometimes one inside the other's handler */
			pthread_kill(putter, before % 2 ? SIGUSR2 : SIGUSR1);
		while (handled() == before)
			sched_yield();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	return NULL;
}

static void *put_always(void *arg)
{
	struct timespec now;
	sigset_t none;

	(void)arg;
	sigemptyset(&none);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (uint32_t i = 0; i < 64; i++)
			put(0);
		/*
		 * ThreadSanitizer runs handlers at calls into the C library that it intercepts; and
		 * a signal inside another one makes it fail to unblock them.
		 */
		clock_gettime(CLOCK_MONOTONIC, &now);
		pthread_sigmask(SIG_SETMASK, &none, NULL);
	}
	return NULL;
}

/* ---- the reader ---------------------------------------------------------------------------- */

static struct {
	uint64_t next[LEVELS], kept[LEVELS], told, last_tsc;
} reader;

static bool check_record(const struct rs_slot *slot, uint32_t slots)
{
	uint32_t l = (uint32_t)rs_slot_id(slot->head) & 0xffff;
	uint64_t w[6] = { 0 };

	if (!CHECK((rs_slot_id(slot->head) & ~UINT64_C(0xffff)) == ID && l < LEVELS))
		return false;
	memcpy(w, slot->payload, slots == 1 ? 16 : 48);
	CHECK_EQ_U64(slots, w[0] % 3 ? 1 : 2);
	CHECK(w[1] == ~w[0]);
	if (slots == 2)
		CHECK(w[2] == w[0] * 3 && w[3] == w[0] * 5 && w[4] == w[0] * 7 && w[5] == l);
	CHECK(w[0] >= reader.next[l]);
	reader.next[l] = w[0] + 1;
	reader.kept[l]++;
	return !test_failures;
}

static bool read_run(const struct rs_slot *slot, uint32_t left)
{
	uint32_t slots;

	for (; left; slot += slots, left -= slots) {
		struct rs_lost lost;

		slots = rs_slot_count(slot->head);
		if (!CHECK(slots > 0 && slots <= left) || !CHECK(slot->tsc >= reader.last_tsc))
			return false;
		reader.last_tsc = slot->tsc;
		if (rs_slot_id(slot->head) == RS_ID_LOST) {
			memcpy(&lost, slot->payload, sizeof(lost));
			CHECK(lost.count > 0 && lost.from <= lost.to && lost.to == slot->tsc);
			reader.told += lost.count;
		} else if (rs_slot_id(slot->head) != RS_ID_FILLER && !check_record(slot, slots)) {
			return false;
		}
	}
	return true;
}

static void *read_always(void *arg)
{
	struct rs_sbuf_consumer c;

	(void)arg;
	if (!CHECK_EQ_U64(rs_sbuf_attach(&c, &ring, sizeof(ring)), RS_SBUF_OK))
		return NULL;
	for (;;) {
		bool last = __atomic_load_n(&stopped, __ATOMIC_ACQUIRE);
		const uint8_t *run = NULL;
		uint32_t bytes = 0;

		if (!CHECK_EQ_U64(rs_sbuf_peek(&c, &run, &bytes), RS_SBUF_OK) ||
		    !read_run((const void *)run, bytes / RS_SLOT_BYTES))
			return NULL;
		rs_sbuf_release(&c, bytes);
		if (!bytes && last)
			return NULL;
		sched_yield();
	}
}

/* ---- the test ------------------------------------------------------------------------------ */

static bool timer_start(timer_t *timer)
{
	/* SIGRTMIN is sent to the process: every other thread blocks it. */
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct itimerspec each = { .it_value.tv_nsec = 50000, .it_interval.tv_nsec = 50000 };

	return CHECK(!timer_create(CLOCK_MONOTONIC, &event, timer)) &&
	       CHECK(!timer_settime(*timer, 0, &each, NULL));
}

TEST(handlers_put_in_the_middle_of_puts)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	uint64_t emitted = 0, kept = 0;
	pthread_t reading, storming;
	sigset_t ours, before;
	timer_t timer;

	REQUIRE_EQ_U64(rs_sbuf_create(&ring, sizeof(ring), RS_SLOT_BYTES), RS_SBUF_OK);
	REQUIRE_EQ_U64(rs_sbuf_producer_init(&producer, &ring, sizeof(ring)), RS_SBUF_OK);
	for (uint32_t l = 1; l < LEVELS; l++)
		sigaction(l == 1 ? SIGUSR1 : l == 2 ? SIGUSR2 : SIGRTMIN, &action, NULL);
	sigemptyset(&ours);
	sigaddset(&ours, SIGRTMIN);
	REQUIRE(!pthread_create(&putter, NULL, put_always, NULL));
	pthread_sigmask(SIG_BLOCK, &ours, &before);
	REQUIRE(!pthread_create(&reading, NULL, read_always, NULL));
	REQUIRE(!pthread_create(&storming, NULL, storm, NULL));
	REQUIRE(timer_start(&timer));
	pthread_join(storming, NULL);
	pthread_join(putter, NULL);
	timer_delete(timer);
	/* The putting thread and its handlers have ended: everything is published. */
	CHECK_EQ_U64(ring.header.tail, (uint32_t)producer.reserve);
	__atomic_store_n(&stopped, true, __ATOMIC_RELEASE);
	pthread_join(reading, NULL);
	for (uint32_t l = 0; l < LEVELS; l++) {
		emitted += level[l].emitted;
		kept += reader.kept[l];
		CHECK_EQ_U64(reader.kept[l], level[l].accepted);
		CHECK(level[l].emitted > 0);
		printf("# level %u: %" PRIu64 " emitted, %" PRIu64 " kept\n", l, level[l].emitted,
		       reader.kept[l]);
	}
	CHECK_EQ_U64(reader.told, producer.reported);
	CHECK_EQ_U64(kept + producer.refused, emitted);
	CHECK_EQ_U64(ring.header.refused, producer.refused);
	/* A pending timer signal is discarded. */
	signal(SIGRTMIN, SIG_IGN);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
