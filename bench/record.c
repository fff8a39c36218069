/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The costs of recording: for the producer, while a recorder drains its records, against a thread
 * that copies them; for the recorder, against a thread that copies the same bytes and writes them
 * without checks.
 *
 *	record FOLDER		the figures; traces are made in FOLDER and removed
 *	record FOLDER N		no figures: makes a trace of N records in FOLDER, for the readers
 *	record FOLDER N memory	the same, of allocations and frees with stacks
 *	record FOLDER N spans	the same, of spans within spans
 */
#include "recording.h"
#include "trace/trace.h"

#include <ringside/memory.h>

#include <math.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#define RING_BYTES (1u << 20) /* a thread's ring, the default */

/* The producer: 4 M records a second, in timed bursts. */
#define BURST	     512u
#define GAP_NS	     120000u
#define PHASE_BURSTS 1000u
#define PHASES	     25u

#define HELPING 24576u /* records that the ring has room for */

RS_TRACE_CLASS(bench, 0)
RS_DEFINE_EVENT(pair, bench, "pair", (u64, a), (u64, b));

static const char *folder;
static char trace_path[4096], piece_path[4096];
static bool copier_stops; /* relaxed */

/* ---- the recorder, on and off ------------------------------------------------------------------
 */

static struct rs_recorder *recorder_start(const char *path)
{
	struct rs_recorder_options options = { .directory = path, .poll_us = BENCH_POLL_US };
	struct rs_recorder *recorder;

	bench_stay_on(1); /* its threads, away from the producer */
	bench_must(rs_clock_host(&options.clock));
	bench_must(rs_recorder_create(&options, &recorder));
	bench_must(rs_recorder_add_trace(recorder));
	bench_stay_on(0);
	return recorder;
}

static struct rs_recorder_summary recorder_stop(struct rs_recorder *recorder)
{
	struct rs_recorder_summary summary;

	bench_must(rs_recorder_close(recorder, &summary));
	return summary;
}

static void ring_empty(void)
{
	struct rs_sbuf *ring = rs_trace_self.ring;

	__atomic_store_n(&ring->head, __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE),
			 __ATOMIC_RELEASE);
}

static void wait_until_drained(void)
{
	struct rs_sbuf *ring = rs_trace_self.ring;

	while (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) != ring->tail)
		usleep(100);
}

/*
 * ---- the producer's cost -----------------------------------------------------------------------
 */

static uint64_t times_interrupted(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_nivcsw;
}

/* Returns the mean of the middle half of the bursts, sorted by their time, in ns per record. */
static double middle_of(double *bursts, uint32_t n)
{
	const uint32_t from = n / 4, to = n - n / 4;
	double ns = 0;

	qsort(bursts, n, sizeof(*bursts), bench_compare);
	for (uint32_t i = from; i < to; i++)
		ns += bursts[i] / (to - from) / BURST;
	return ns;
}

/*
 * The gaps between the bursts are not counted, and neither is a burst in which the kernel gave this
 * CPU to another thread. A neighbour VM's use of the CPU is invisible to this kernel: the middle
 * half excludes it if it affects less than a quarter of the bursts.
 */
static double phase(bool drained)
{
	static double bursts[PHASE_BURSTS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < PHASE_BURSTS; i++) {
		uint64_t interrupted = times_interrupted(), start = bench_ns(), end;

		for (uint64_t k = 0; k < BURST; k++)
			RS_EMIT(pair, .a = k, .b = i);
		end = bench_ns();
		if (times_interrupted() == interrupted)
			bursts[n++] = (double)(end - start);
		if (!drained && i % 32 == 31)
			ring_empty();
		while (bench_ns() - end < GAP_NS)
			;
	}
	return middle_of(bursts, n);
}

/*
 * Fills a new ring for the first time, and returns ns per record until then: at the first use of
 * each of its pages the kernel zeroes it. The other phases use the same ring.
 */
static double first_lap(void)
{
	uint64_t start = bench_ns(), end;

	for (uint64_t i = 0; i < HELPING; i++)
		RS_EMIT(pair, .a = i);
	end = bench_ns();
	wait_until_drained();
	for (uint64_t i = 0; i < RING_BYTES / RS_SLOT_BYTES - HELPING; i++)
		RS_EMIT(pair, .a = i);
	wait_until_drained();
	return (double)(end - start) / HELPING;
}

/* Copies the ring's records as often as the recorder, and does nothing else. */
static void *copy_ring(void *arg)
{
	static uint8_t copy[RING_BYTES];
	struct rs_sbuf_consumer consumer;
	const uint8_t *run;
	uint32_t bytes;

	if (rs_sbuf_attach(&consumer, arg, RING_BYTES) != RS_SBUF_OK)
		abort();
	while (!__atomic_load_n(&copier_stops, __ATOMIC_RELAXED)) {
		while (rs_sbuf_peek(&consumer, &run, &bytes) == RS_SBUF_OK && bytes) {
			memcpy(copy, run, bytes);
			rs_sbuf_release(&consumer, bytes);
		}
		usleep(BENCH_POLL_US);
	}
	return NULL;
}

static double phase_beside_copier(void)
{
	pthread_t thread;
	double ns;

	copier_stops = false;
	bench_stay_on(1);
	if (pthread_create(&thread, NULL, copy_ring, rs_trace_self.ring))
		abort();
	bench_stay_on(0);
	ns = phase(true);
	__atomic_store_n(&copier_stops, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	return ns;
}

/*
 * Any reader on another processor takes the ring's lines away from the producer. What this costs
 * depends on the processors' caches and on the neighbours that share them: the rival copies the
 * same lines. A phase with lost records is not comparable: it is left out and reported.
 */
static void figure_of_producer(void)
{
	static double ratios[PHASES], to_alone[PHASES], with[PHASES], copied[PHASES], alone[PHASES],
		first[PHASES];
	uint32_t n = 0, left_out = 0;

	while (n < PHASES && left_out < 2 * PHASES) {
		struct rs_recorder *recorder = recorder_start(trace_path);
		uint64_t lost;

		RS_EMIT(pair, .a = 1);
		wait_until_drained();
		first[n] = first_lap();
		with[n] = phase(true);
		lost = recorder_stop(recorder).lost;
		bench_folder_remove(trace_path);
		copied[n] = phase_beside_copier();
		ring_empty();
		alone[n] = phase(false);
		ring_empty();
		ratios[n] = with[n] / copied[n];
		to_alone[n] = with[n] / alone[n];
		if (lost)
			left_out++;
		else
			n++;
	}
	bench_figure("producer", n ? bench_median(ratios, n) : INFINITY,
		     "%.2f ns against %.2f ns, in the middle half of the bursts; alone %.2f ns, "
		     "%.2fx of it; %.1f ns in a new ring's first lap; %u of %u phases left out, "
		     "for losses",
		     bench_median(with, n), bench_median(copied, n), bench_median(alone, n),
		     bench_median(to_alone, n), bench_median(first, n), left_out, n + left_out);
}

/* ---- the recorder's cost -----------------------------------------------------------------------
 */

static struct rs_recorder *measured;

static void measured_start(void)
{
	measured = recorder_start(trace_path);
}

static struct rs_recorder_summary measured_stop(void)
{
	struct rs_recorder_summary sum = recorder_stop(measured);

	bench_folder_remove(trace_path);
	return sum;
}

static void put(uint64_t n)
{
	RS_EMIT(pair, .a = n, .b = n);
}

static void rival_fill(struct rs_slot *slots, uint32_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t payload[2] = { i, n };

		slots[i].tsc = rs_tsc();
		slots[i].head = 0x2000001;
		memcpy(slots[i].payload, payload, sizeof(payload));
	}
}

static void figure_of_recorder(void)
{
	static const struct bench_recording recording = {
		.name = "recorder",
		.piece_path = piece_path,
		.helping = HELPING,
		.start = measured_start,
		.stop = measured_stop,
		.put = put,
		.wait_until_drained = wait_until_drained,
		.fill = rival_fill,
	};

	bench_recording_cpu(&recording);
}

/* ---- a trace to read ----------------------------------------------------------------------------
 */

static int make_trace(uint64_t n)
{
	struct rs_recorder *recorder = recorder_start(folder);
	uint64_t lost;

	for (uint64_t i = 0; i < n; i++) {
		RS_EMIT(pair, .a = i, .b = i * 3);
		if (i % HELPING == HELPING - 1)
			wait_until_drained();
	}
	lost = recorder_stop(recorder).lost;
	if (lost)
		fprintf(stderr, "bench: %lu records were lost\n", (unsigned long)lost);
	return lost != 0;
}

/* ---- a trace of allocations ---------------------------------------------------------------------
 */

#define PATH_BITS     6 /* functions above an allocation, each one of two: 64 call paths */
#define LIVE	      4096u
#define PAIRS_AT_ONCE 2048u /* records with their stacks that fit into a ring */

static void allocate(uint32_t path, uint32_t left, uint64_t i);

#define SIDE(name)                                                                                 \
	static __attribute__((noinline)) void name(uint32_t path, uint32_t left, uint64_t i)       \
	{                                                                                          \
		allocate(path, left, i);                                                           \
		__asm__ volatile(""); /* no tail call */                                           \
	}
SIDE(side_a)
SIDE(side_b)

static __attribute__((noinline)) void allocate(uint32_t path, uint32_t left, uint64_t i)
{
	if (!left)
		rs_memory_alloc((const void *)((i % (LIVE + 1) + 1) * 4096), 16 + path, 16);
	else if (path >> (left - 1) & 1)
		side_a(path, left - 1, i);
	else
		side_b(path, left - 1, i);
	__asm__ volatile("");
}

static int make_memory_trace(uint64_t n)
{
	struct rs_recorder *recorder = recorder_start(folder);
	uint64_t lost;

	if (!rs_memory_start(&(struct rs_memory_options){ .stacks = RS_STACKS_FRAMES }))
		return 1;
	for (uint64_t i = 0; i < n / 2; i++) {
		allocate((uint32_t)(i * 2654435761u >> 8) % (1u << PATH_BITS), PATH_BITS, i);
		if (i >= LIVE)
			rs_memory_free((const void *)(((i - LIVE) % (LIVE + 1) + 1) * 4096));
		if (i % PAIRS_AT_ONCE == PAIRS_AT_ONCE - 1)
			wait_until_drained();
	}
	lost = recorder_stop(recorder).lost;
	if (lost)
		fprintf(stderr, "bench: %lu records were lost\n", (unsigned long)lost);
	return lost != 0;
}

/* ---- a trace of spans ---------------------------------------------------------------------------
 */

static __attribute__((noinline)) void inner(uint64_t i)
{
	RS_SPAN_ARG(bench, "inner", i + 1);
	__asm__ volatile("");
}

static __attribute__((noinline)) void outer(uint64_t i)
{
	RS_SPAN(bench, "outer");

	for (uint64_t j = 0; j < 4; j++)
		inner(i + j);
}

static int make_span_trace(uint64_t n)
{
	struct rs_recorder *recorder = recorder_start(folder);
	uint64_t lost;

	for (uint64_t i = 0; i < n / 10; i++) {
		outer(i);
		if (i % PAIRS_AT_ONCE == PAIRS_AT_ONCE - 1)
			wait_until_drained();
	}
	lost = recorder_stop(recorder).lost;
	if (lost)
		fprintf(stderr, "bench: %lu records were lost\n", (unsigned long)lost);
	return lost != 0;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: record FOLDER [N [memory|spans]]\n");
		return 2;
	}
	folder = argv[1];
	bench_must(rs_trace_start(
		&(struct rs_trace_options){ .provider = "bench", .ring_bytes = RING_BYTES }));
	RS_EMIT(pair, .a = 1); /* creates the ring */
	ring_empty();
	if (argc > 3)
		return argv[3][0] == 'm' ? make_memory_trace(strtoull(argv[2], NULL, 10))
					 : make_span_trace(strtoull(argv[2], NULL, 10));
	if (argc > 2)
		return make_trace(strtoull(argv[2], NULL, 10));
	snprintf(trace_path, sizeof(trace_path), "%s/trace", folder);
	snprintf(piece_path, sizeof(piece_path), "%s/pieces", folder);
	figure_of_producer();
	figure_of_recorder();
	return 0;
}
