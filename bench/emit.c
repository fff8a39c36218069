/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of a put for the program: our record against a stamp and a store, against an LTTng-UST
 * tracepoint, against ck_ring; back to back, and between other work.
 *
 * Rings are emptied between batches, outside of the timed part. bench/run starts LTTng's session;
 * without it (no argument "lttng") its figures are left out.
 */
#include "bench.h"
#include "trace/trace.h"

#include <ck_ring.h>

#include "tp.h"

#define BATCH	    8192u /* operations; fits every ring */
#define ROUNDS	    601u
#define RING_SLOTS  32768u /* as large as our ring of 1 MiB */
#define WORK_NS	    100.0
#define WORK_ROUNDS 1001u

RS_TRACE_CLASS(bench, 0)
RS_DEFINE_EVENT(pair, bench, "pair", (u64, a), (u64, b));

/*
 * The rivals' memory. The minimum for a record: a stamp, and 32 bytes written at the next position.
 */
static struct plain {
	uint64_t tsc, id, a, b;
} plain[RING_SLOTS];
static uint32_t plain_at;

struct entry {
	uint64_t words[4];
};
CK_RING_PROTOTYPE(entry, entry)
static ck_ring_t ck;
static struct entry ck_entries[RING_SLOTS];
static struct rs_sbuf_producer put_producer;

/* As if another thread read it now: each is written before the next, none is optimized away. */
#define WRITTEN() __asm__ volatile("" : : "r"(plain), "r"(ck_entries) : "memory")

static double per_op(uint64_t start)
{
	return (double)(bench_ns() - start) / BATCH;
}

/* ---- back to back ---------------------------------------------------------------------------- */

static double run_plain(void)
{
	struct plain *to = plain + plain_at;
	uint64_t start = bench_ns();

	for (uint64_t i = 0; i < BATCH; i++) {
		to[i] = (struct plain){ rs_tsc(), 0x2000001, i, i + 1 };
		WRITTEN();
	}
	plain_at = (plain_at + BATCH) % RING_SLOTS;
	return per_op(start);
}

/* Returns this thread's ring, emptied. */
static void ring_empty(void)
{
	struct rs_sbuf *ring = rs_trace_self.ring;

	__atomic_store_n(&ring->head, __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

static double run_record(void)
{
	uint64_t start = bench_ns();
	double ns;

	for (uint64_t i = 0; i < BATCH; i++)
		RS_EMIT(pair, .a = i, .b = i + 1);
	ns = per_op(start);
	ring_empty();
	return ns;
}

static double run_lttng(void)
{
	uint64_t start = bench_ns();

	for (uint64_t i = 0; i < BATCH; i++)
		lttng_ust_tracepoint(ringside_bench, pair, i, i + 1);
	return per_op(start);
}

/* ---- without a stamp: 32 bytes through two rings ------------------------------------------------
 */

static double run_put(void)
{
	struct rs_sbuf *ring = put_producer.ring;
	uint64_t start = bench_ns();
	double ns;

	for (uint64_t i = 0; i < BATCH; i++) {
		struct entry entry = { { i, i + 1, i + 2, i + 3 } };

		if (!rs_sbuf_put(&put_producer, &entry, sizeof(entry)))
			abort();
		WRITTEN();
	}
	ns = per_op(start);
	ring->head = ring->tail;
	return ns;
}

static double run_ck(void)
{
	uint64_t start = bench_ns();
	struct entry out;
	double ns;

	for (uint64_t i = 0; i < BATCH; i++) {
		struct entry entry = { { i, i + 1, i + 2, i + 3 } };

		if (!CK_RING_ENQUEUE_SPSC(entry, &ck, ck_entries, &entry))
			abort();
		WRITTEN();
	}
	ns = per_op(start);
	while (CK_RING_DEQUEUE_SPSC(entry, &ck, ck_entries, &out))
		;
	return ns;
}

/*
 * ---- between other work
 * ------------------------------------------------------------------
 */

static uint32_t work_steps = 1;
static uint64_t work_sink;

/* Each step depends on the previous one: about three cycles of multiplication. */
static inline __attribute__((always_inline)) uint64_t work(uint64_t x)
{
	for (uint32_t i = 0; i < work_steps; i++) {
		x = x * UINT64_C(0x9e3779b97f4a7c15) + 1;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

#define WORKING(name, what)                                                                        \
	static double name(void)                                                                   \
	{                                                                                          \
		uint64_t x = work_sink, start = bench_ns();                                        \
		double ns;                                                                         \
                                                                                                   \
		for (uint64_t i = 0; i < BATCH; i++) {                                             \
			x = work(x);                                                               \
			what;                                                                      \
		}                                                                                  \
		work_sink = x;                                                                     \
		ns = per_op(start);                                                                \
		ring_empty();                                                                      \
		return ns;                                                                         \
	}
WORKING(work_alone, (void)0)
WORKING(work_record, RS_EMIT(pair, .a = i, .b = x))
WORKING(work_plain, plain[i] = ((struct plain){ rs_tsc(), 0x2000001, i, x }); WRITTEN())
WORKING(work_lttng, lttng_ust_tracepoint(ringside_bench, pair, i, x))

static void calibrate_work(void)
{
	double ns[9];

	work_steps = 100;
	for (uint32_t i = 0; i < 9; i++)
		ns[i] = work_alone();
	work_steps = (uint32_t)(100 * WORK_NS / bench_median(ns, 9));
}

/* ---- the figures -------------------------------------------------------------------------------
 */

static struct bench_rounds rounds;

static void figures_of_records(bool lttng)
{
	double (*const rivals[])(void) = { run_plain, run_record, run_lttng };

	bench_run(&rounds, rivals, lttng ? 3 : 2, ROUNDS);
	bench_figure("record", bench_ratio(&rounds, 1, 0), "%.1f ns against %.1f ns",
		     bench_of(&rounds, 1), bench_of(&rounds, 0));
	if (lttng)
		bench_figure("lttng", bench_ratio(&rounds, 2, 1), "%.1f ns against our %.1f ns",
			     bench_of(&rounds, 2), bench_of(&rounds, 1));
}

static void figures_of_puts(void)
{
	static uint8_t memory[sizeof(struct rs_sbuf) + RING_SLOTS * 32]
		__attribute__((aligned(64)));
	double (*const rivals[])(void) = { run_put, run_ck };

	rs_sbuf_create(memory, sizeof(memory), 32);
	rs_sbuf_producer_init(&put_producer, memory, sizeof(memory));
	ck_ring_init(&ck, RING_SLOTS);
	bench_run(&rounds, rivals, 2, ROUNDS);
	bench_figure("ck_ring", bench_ratio(&rounds, 0, 1), "%.1f ns against %.1f ns",
		     bench_of(&rounds, 0), bench_of(&rounds, 1));
}

static void figures_of_work(bool lttng)
{
	double (*const rivals[])(void) = { work_alone, work_record, work_plain, work_lttng };
	double added, stamp, theirs;

	calibrate_work();
	bench_run(&rounds, rivals, lttng ? 4 : 3, WORK_ROUNDS);
	added = bench_difference(&rounds, 1, 0);
	stamp = bench_difference(&rounds, 2, 0);
	theirs = lttng ? bench_difference(&rounds, 3, 0) : 0;
	if (lttng)
		bench_figure("work", (added - stamp) / (theirs - stamp),
			     "+%.2f ns against +%.2f ns in %.0f ns; a stamp and a store: +%.2f ns",
			     added, theirs, bench_of(&rounds, 0), stamp);
}

int main(int argc, char **argv)
{
	bool lttng = argc > 1 && !strcmp(argv[1], "lttng");

	bench_stay_on(0);
	bench_must(rs_trace_start(&(struct rs_trace_options){ .provider = "bench" }));
	RS_EMIT(pair, .a = 1);
	if (!rs_trace_self.ring) {
		fprintf(stderr, "bench: no ring\n");
		return 1;
	}
	if (lttng && !lttng_ust_tracepoint_enabled(ringside_bench, pair)) {
		fprintf(stderr, "bench: the LTTng session does not enable our tracepoint\n");
		return 1;
	}
	figures_of_records(lttng);
	figures_of_work(lttng);
	figures_of_puts();
	return rs_trace_self.refused != 0;
}
