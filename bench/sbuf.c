/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of collecting ACRN's rings, and whether the collector keeps up: rings in mapped files,
 * as `record --sbuf` reads them, against a thread that copies the same bytes and writes them.
 *
 *	sbuf FOLDER	the figures; traces are made in FOLDER and removed
 *	sbuf FOLDER N	no figures: makes N records, a raw file of ACRN's, FOLDER/0
 */
#include "recording.h"

#include <unistd.h>

#include "live/record_sbuf.h"
#include <ringside/ring.h>

#define RING_BYTES (4u << 20) /* ACRN's TRACE_SBUF_SIZE */

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

static void collector_start(bool urgent)
{
	const char *const paths[] = { ring_path };
	struct rs_sbuf_options sbuf = { .paths = paths, .n_paths = 1 };
	struct rs_recorder_options options = { .directory = trace_path,
					       .poll_us = BENCH_POLL_US,
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

/* For the pace: urgent, as in `record --sbuf`, and on a new ring, because the next put reports what
 * a full ring refused. */
static void urgent_start(void)
{
	ring_make();
	collector_start(true);
}

/* For the cost: not urgent, as the rival is not. */
static void plain_start(void)
{
	collector_start(false);
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

static void rival_fill(struct rs_slot *slots, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		slots[i] = slot_of(i);
}

static void figures(void)
{
	struct bench_recording recording = {
		.name = "sbuf",
		.piece_path = piece_path,
		.helping = 65536,
		.start = urgent_start,
		.stop = collector_stop,
		.put = put,
		.wait_until_drained = wait_until_drained,
		.fill = rival_fill,
	};

	bench_recording_pace(&recording);
	ring_make();
	recording.start = plain_start;
	bench_recording_cpu(&recording);
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
	figures();
	rs_ring_unmap(&memory);
	unlink(ring_path);
	return 0;
}
