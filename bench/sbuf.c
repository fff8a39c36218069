/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of collecting ACRN's rings, and whether the collector keeps up: rings in mapped files,
 * as `record --sbuf` reads them, against a thread that copies the same bytes and writes them.
 *
 *	sbuf FOLDER	the figures; traces are made in FOLDER and removed
 *	sbuf FOLDER N	no figures: makes N records, a raw file of ACRN's, FOLDER/0
 */
#include "rival.h"

#include <unistd.h>

#include "live/record_sbuf.h"
#include <ringside/recorder.h>
#include <ringside/ring.h>

#define RING_BYTES (4u << 20) /* ACRN's TRACE_SBUF_SIZE */
#define POLL_US	   1000u

#define PACED_HZ      2000000u /* records a second */
#define PACED_SECONDS 4u
#define BURST	      200u

#define ROUND_BYTES   (64u << 20)
#define HELPING_SLOTS 65536u
#define CPU_ROUNDS    15u

static char ring_path[4096], trace_path[4096], piece_path[4096];
static struct rs_ring_memory memory = { .fd = -1 };
static struct rs_sbuf_producer producer;

/* ---- a writer, a collector ------------------------------------------------------------------ */

/* Like the hypervisor's exit loop: exit, handler, entry. */
static struct rs_slot slot_of(uint64_t n)
{
	static const uint64_t ids[] = { 0x10, 0x10004, 0x11 };
	struct rs_slot slot = { .tsc = rs_tsc(), .head = ids[n % 3] | UINT64_C(2) << 48 };
	uint64_t payload[2] = { n % 3 ? 0 : 10, n };

	memcpy(slot.payload, payload, sizeof(payload));
	return slot;
}

static void put(uint64_t n)
{
	struct rs_slot slot = slot_of(n);

	rs_sbuf_put(&producer, &slot, RS_SLOT_BYTES);
}

/* A new ring for each figure, because the next put reports what a full ring refused. */
static void ring_make(void)
{
	rs_ring_unmap(&memory);
	bench_must(rs_ring_map_create(ring_path, RING_BYTES, &memory));
	producer = (struct rs_sbuf_producer){ 0 };
	if (rs_sbuf_create(memory.mem, memory.bytes, RS_SLOT_BYTES) != RS_SBUF_OK ||
	    rs_sbuf_producer_init(&producer, memory.mem, memory.bytes) != RS_SBUF_OK)
		abort();
}

static struct collector {
	struct rs_clock clock;
	struct rs_recorder *recorder;
	struct rs_sbuf_recording *recording;
} collector;

/* urgent: as in `record --sbuf`; the rival for the cost is not. */
static void collector_start(bool urgent)
{
	const char *const paths[] = { ring_path };
	struct rs_sbuf_options sbuf = { .paths = paths, .n_paths = 1 };
	struct rs_recorder_options options = { .directory = trace_path,
					       .poll_us = POLL_US,
					       .urgent = urgent };

	bench_stay_on(1); /* its threads, away from the producer */
	bench_must(rs_clock_host(&collector.clock));
	options.clock = collector.clock;
	bench_must(rs_recorder_create(&options, &collector.recorder));
	bench_must(rs_sbuf_recording_create(&sbuf, &collector.recording));
	bench_must(rs_sbuf_recording_attach(collector.recording, collector.recorder,
					    &collector.clock));
	bench_stay_on(0);
}

static struct rs_recorder_summary collector_stop(void)
{
	struct rs_recorder_summary sum;

	bench_must(rs_recorder_close(collector.recorder, &sum));
	rs_sbuf_recording_destroy(collector.recording);
	bench_folder_remove(trace_path);
	return sum;
}

static void wait_until_drained(void)
{
	struct rs_sbuf *ring = memory.mem;

	while (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) != ring->tail)
		usleep(100);
}

/* ---- throughput ----------------------------------------------------------------------------- */

/*
 * A producer that got no CPU for a while does not catch up: it would put much faster than the rate
 * under test.
 */
static void figure_of_pace(void)
{
	const uint64_t records = (uint64_t)PACED_HZ * PACED_SECONDS;
	uint64_t start, late = 0;
	struct rs_recorder_summary sum;

	ring_make();
	collector_start(true);
	start = bench_ns();
	for (uint64_t n = 0; n < records; n++) {
		uint64_t due = start + n * 1000000000 / PACED_HZ;

		if (n % BURST == 0) {
			uint64_t now = bench_ns();

			if (now > due) {
				late = now - due > late ? now - due : late;
				start += now - due;
			}
			while (bench_ns() < due)
				continue;
		}
		put(n);
	}
	sum = collector_stop();
	bench_figure("sbuf-lost", (double)sum.lost,
		     "of %lu at %.1f M a second, in a ring of 4 MiB; the producer was %.1f ms late "
		     "at most",
		     (unsigned long)records, PACED_HZ / 1e6, (double)late / 1e6);
	if (sum.records + sum.lost != records) {
		fprintf(stderr, "bench: %lu records are neither kept nor lost\n",
			(unsigned long)(records - sum.records - sum.lost));
		exit(1);
	}
}

/* ---- the collector's cost ------------------------------------------------------------------- */

/*
 * Returns the CPU time of the collector's threads for a round's bytes, until the last is written.
 */
static double cpu_of_collector(void)
{
	uint64_t start, spent, lost;

	collector_start(false);
	start = bench_others_cpu_ns();
	for (uint64_t slots = 0; slots < ROUND_BYTES / RS_SLOT_BYTES; slots += HELPING_SLOTS) {
		for (uint64_t i = 0; i < HELPING_SLOTS; i++)
			put(i);
		wait_until_drained();
	}
	lost = collector_stop().lost;
	spent = bench_others_cpu_ns() - start;
	if (lost) {
		fprintf(stderr, "bench: the collector lost records\n");
		exit(1);
	}
	return (double)spent;
}

/* The rival wakes up as often, and shares a buffer as large as a portion. */
static void rival_fill(struct rs_slot *slots, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		slots[i] = slot_of(i);
}

static double cpu_of_rival(void)
{
	const struct bench_rival rival = {
		.path = piece_path,
		.poll_us = POLL_US,
		.helping = HELPING_SLOTS,
		.helpings = (ROUND_BYTES / RS_SLOT_BYTES + HELPING_SLOTS - 1) / HELPING_SLOTS,
		.fill = rival_fill,
	};

	return bench_rival_round(&rival);
}

static void figure_of_collector(void)
{
	static struct bench_rounds rounds;
	double (*const rivals[])(void) = { cpu_of_collector, cpu_of_rival };

	ring_make();

	bench_run(&rounds, rivals, 2, CPU_ROUNDS);
	bench_figure("sbuf", bench_ratio(&rounds, 0, 1),
		     "%.2f ms of CPU against %.2f ms, for %u MiB", bench_of(&rounds, 0) / 1e6,
		     bench_of(&rounds, 1) / 1e6, ROUND_BYTES >> 20);
}

/* ---- a file to print ------------------------------------------------------------------------ */

static int make_file(const char *folder, uint64_t n)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/0", folder);
	file = fopen(path, "we");
	for (uint64_t i = 0; file && i < n; i++) {
		struct rs_slot slot = slot_of(i);

		if (fwrite(&slot, sizeof(slot), 1, file) != 1)
			abort();
	}
	return !file || fclose(file);
}

int main(int argc, char **argv)
{
	const char *folder = argv[1];

	if (argc < 2) {
		fprintf(stderr, "usage: sbuf FOLDER [N]\n");
		return 2;
	}
	if (argc > 2)
		return make_file(folder, strtoull(argv[2], NULL, 10));
	snprintf(ring_path, sizeof(ring_path), "/dev/shm/ringside-bench-%d", (int)getpid());
	snprintf(trace_path, sizeof(trace_path), "%s/trace", folder);
	snprintf(piece_path, sizeof(piece_path), "%s/pieces", folder);
	figure_of_pace();
	figure_of_collector();
	rs_ring_unmap(&memory);
	unlink(ring_path);
	return 0;
}
