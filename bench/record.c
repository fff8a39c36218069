/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What recording costs: the producer, while a recorder takes its records away; the recorder
 * itself, against a thread that copies the same bytes and writes them, and checks nothing.
 *
 *	record FOLDER		the figures; traces are made in FOLDER and removed
 *	record FOLDER N		no figures: makes a trace of N records in FOLDER, for the readers
 */
#include "bench.h"
#include "trace/trace.h"

#include <ringside/recorder.h>

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#define RING_BYTES (1u << 20) /* a thread's ring, as it is if nothing else is said */

/* The producer: 4 M records a second, in bursts that are timed. */
#define BURST	     512u
#define GAP_NS	     120000u
#define PHASE_BURSTS 1000u
#define PHASES	     25u

/* The recorder: so many bytes a round, in helpings that the ring holds. */
#define ROUND_BYTES   (64u << 20)
#define HELPING_SLOTS 24576u
#define PIECE_BYTES   (64u << 10)
#define CPU_ROUNDS    15u
#define POLL_US	      1000u

RS_TRACE_CLASS(bench, 0)
RS_DEFINE_EVENT(pair, bench, "pair", (u64, a), (u64, b));

static const char *folder;
static char trace_path[4096], piece_path[4096];

/* ---- the recorder, on and off ------------------------------------------------------------------
 */

static struct rs_recorder *recorder_start(const char *path)
{
	struct rs_recorder_options options = { .directory = path, .poll_us = POLL_US };
	struct rs_recorder *recorder;

	bench_stay_on(1); /* its threads, away from the producer */
	bench_must(rs_clock_host(&options.clock));
	bench_must(rs_recorder_create(&options, &recorder));
	bench_must(rs_recorder_add_trace(recorder));
	bench_stay_on(0);
	return recorder;
}

/* Only our own files: a trace directory and its subdirectory. */
static void folder_remove(const char *path)
{
	char name[8192];
	struct dirent *entry;
	DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (unlink(name) < 0)
			folder_remove(name);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

static uint64_t recorder_stop(struct rs_recorder *recorder)
{
	struct rs_recorder_summary summary;

	bench_must(rs_recorder_close(recorder, &summary));
	return summary.lost;
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

/* ---- the producer's cost -----------------------------------------------------------------------
 */

static uint64_t times_interrupted(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_nivcsw;
}

/*
 * ns a record in the bursts of a phase, the gaps between them not counted. Nor is a burst in which
 * the kernel gave this CPU to someone else: it would measure him.
 */
static double phase(bool recorded)
{
	uint64_t spent = 0, bursts = 0;

	for (uint32_t i = 0; i < PHASE_BURSTS; i++) {
		uint64_t interrupted = times_interrupted(), start = bench_ns(), end;

		for (uint64_t k = 0; k < BURST; k++)
			RS_EMIT(pair, .a = k, .b = i);
		end = bench_ns();
		if (times_interrupted() == interrupted) {
			spent += end - start;
			bursts++;
		}
		if (!recorded && i % 32 == 31)
			ring_empty();
		while (bench_ns() - end < GAP_NS)
			;
	}
	return bursts ? (double)spent / (double)bursts / BURST : 0;
}

/* A phase in which records were lost compares something else: it is left out, and said. */
static void figure_of_producer(void)
{
	static double ratios[PHASES], with[PHASES], alone[PHASES];
	uint32_t n = 0, left_out = 0;

	while (n < PHASES && left_out < 2 * PHASES) {
		struct rs_recorder *recorder = recorder_start(trace_path);
		uint64_t lost;

		RS_EMIT(pair, .a = 1);
		wait_until_drained();
		with[n] = phase(true);
		lost = recorder_stop(recorder);
		folder_remove(trace_path);
		alone[n] = phase(false);
		ring_empty();
		ratios[n] = with[n] / alone[n];
		if (lost)
			left_out++;
		else
			n++;
	}
	bench_figure("producer", n ? bench_median(ratios, n) : INFINITY,
		     "%.2f ns a record against %.2f ns alone; %u of %u phases left out, for losses",
		     bench_median(with, n), bench_median(alone, n), left_out, n + left_out);
}

/* ---- the recorder's cost -----------------------------------------------------------------------
 */

static uint64_t others_cpu_ns(void)
{
	return bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* CPU time of the recorder's threads for a round's bytes. */
static double cpu_of_recorder(void)
{
	struct rs_recorder *recorder = recorder_start(trace_path);
	uint64_t start = others_cpu_ns(), spent;

	for (uint64_t slots = 0; slots < ROUND_BYTES / RS_SLOT_BYTES; slots += HELPING_SLOTS) {
		for (uint64_t i = 0; i < HELPING_SLOTS; i++)
			RS_EMIT(pair, .a = i, .b = slots);
		wait_until_drained();
	}
	spent = others_cpu_ns() - start;
	if (recorder_stop(recorder)) {
		fprintf(stderr, "bench: the recorder lost records\n");
		exit(1);
	}
	folder_remove(trace_path);
	return (double)spent;
}

/* The rival: wakes up as often, copies and writes; shares a buffer as big as the ring. */
static struct {
	struct rs_slot slots[HELPING_SLOTS];
	bool full, stop; /* release by the one who sets, acquire by the other */
	int fd;
} shared;

static void *copy_and_write(void *arg)
{
	static uint8_t piece[PIECE_BYTES];
	const uint8_t *from = (const uint8_t *)shared.slots;

	(void)arg;
	while (!__atomic_load_n(&shared.stop, __ATOMIC_ACQUIRE)) {
		if (!__atomic_load_n(&shared.full, __ATOMIC_ACQUIRE)) {
			usleep(POLL_US);
			continue;
		}
		for (size_t at = 0; at < sizeof(shared.slots); at += PIECE_BYTES) {
			memcpy(piece, from + at, PIECE_BYTES);
			if (write(shared.fd, piece, PIECE_BYTES) != PIECE_BYTES)
				abort();
		}
		__atomic_store_n(&shared.full, false, __ATOMIC_RELEASE);
	}
	return NULL;
}
_Static_assert(HELPING_SLOTS *RS_SLOT_BYTES % PIECE_BYTES == 0, "whole pieces");

static double cpu_of_rival(void)
{
	pthread_t thread;
	uint64_t start, spent;

	shared.fd = open(piece_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	shared.stop = false;
	bench_stay_on(1);
	if (shared.fd < 0 || pthread_create(&thread, NULL, copy_and_write, NULL))
		abort();
	bench_stay_on(0);
	start = others_cpu_ns();
	for (uint64_t slots = 0; slots < ROUND_BYTES / RS_SLOT_BYTES; slots += HELPING_SLOTS) {
		for (uint64_t i = 0; i < HELPING_SLOTS; i++) {
			uint64_t payload[2] = { i, slots };

			shared.slots[i].tsc = rs_tsc();
			shared.slots[i].head = 0x2000001;
			memcpy(shared.slots[i].payload, payload, sizeof(payload));
		}
		__atomic_store_n(&shared.full, true, __ATOMIC_RELEASE);
		while (__atomic_load_n(&shared.full, __ATOMIC_ACQUIRE))
			usleep(100);
	}
	spent = others_cpu_ns() - start;
	__atomic_store_n(&shared.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	close(shared.fd);
	unlink(piece_path);
	return (double)spent;
}

static void figure_of_recorder(void)
{
	static struct bench_rounds rounds;
	double (*const rivals[])(void) = { cpu_of_recorder, cpu_of_rival };

	bench_run(&rounds, rivals, 2, CPU_ROUNDS);
	bench_figure("recorder", bench_ratio(&rounds, 0, 1),
		     "%.2f ms of CPU against %.2f ms, for %u MiB", bench_of(&rounds, 0) / 1e6,
		     bench_of(&rounds, 1) / 1e6, ROUND_BYTES >> 20);
}

/* ---- a trace to read ----------------------------------------------------------------------------
 */

static int make_trace(uint64_t n)
{
	struct rs_recorder *recorder = recorder_start(folder);
	uint64_t lost;

	for (uint64_t i = 0; i < n; i++) {
		RS_EMIT(pair, .a = i, .b = i * 3);
		if (i % HELPING_SLOTS == HELPING_SLOTS - 1)
			wait_until_drained();
	}
	lost = recorder_stop(recorder);
	if (lost)
		fprintf(stderr, "bench: %lu records were lost\n", (unsigned long)lost);
	return lost != 0;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: record FOLDER [N]\n");
		return 2;
	}
	folder = argv[1];
	bench_must(rs_trace_start(
		&(struct rs_trace_options){ .provider = "bench", .ring_bytes = RING_BYTES }));
	RS_EMIT(pair, .a = 1); /* makes the ring */
	ring_empty();
	if (argc > 2)
		return make_trace(strtoull(argv[2], NULL, 10));
	snprintf(trace_path, sizeof(trace_path), "%s/trace", folder);
	snprintf(piece_path, sizeof(piece_path), "%s/pieces", folder);
	figure_of_producer();
	figure_of_recorder();
	return 0;
}
