/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of draining a guest's shared ring from its RAM (`record --guest-memory`), and whether
 * the drain keeps up: RAM in a file, which this program maps and fills as a guest does, and which
 * system calls read, against a thread that copies the same bytes and writes them.
 *
 *	guest_memory FOLDER	the figures; traces are made in FOLDER and removed
 */
#include "recording.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live/record_guests.h"
#include <ringside/guest_abi.h>
#include <ringside/sbuf.h>

#define RAM_BYTES  (16u << 20)
#define AREA	   0x1000u
#define RING	   (4u << 20)
#define RING_BYTES (4u << 20) /* RS_GUEST_RING_BYTES */
#define HEAD_STEP  65536u
#define FIRST	   (HEAD_STEP / RS_SLOT_BYTES) /* records */

static char ram_path[4096], trace_path[4096], piece_path[4096];
static uint8_t *ram;
static struct rs_sbuf_producer producer;

/* ---- a guest ------------------------------------------------------------------------------ */

static struct rs_slot slot_of(uint64_t n)
{
	struct rs_slot slot = { .tsc = rs_tsc(), .head = rs_record_head(RS_ID_SPAN_BEGIN, 1) };
	const struct rs_span span = { .arg = n };

	memcpy(slot.payload, &span, sizeof(span));
	return slot;
}

static void put(uint64_t n)
{
	struct rs_slot slot = slot_of(n);

	rs_sbuf_put(&producer, &slot, RS_SLOT_BYTES);
}

/* Boots a guest: its area and an empty ring, in a new file. */
static void guest_boot(void)
{
	struct rs_guest_area *area;
	int fd;

	if (ram)
		munmap(ram, RAM_BYTES);
	unlink(ram_path);
	fd = open(ram_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, RAM_BYTES))
		abort();
	ram = mmap(NULL, RAM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ram == MAP_FAILED)
		abort();
	close(fd);
	producer = (struct rs_sbuf_producer){ 0 };
	if (rs_sbuf_create(ram + RING, RING_BYTES, RS_SLOT_BYTES) != RS_SBUF_OK ||
	    rs_sbuf_producer_init(&producer, ram + RING, RING_BYTES) != RS_SBUF_OK)
		abort();
	area = (struct rs_guest_area *)(void *)(ram + AREA);
	area->version = RS_GUEST_AREA_VERSION;
	area->bytes = sizeof(*area);
	area->flags = RS_GUEST_INVARIANT_TSC;
	area->self = AREA;
	area->ring[0].gpa = RING;
	area->ring[0].bytes = RING_BYTES;
	/* Pairs with the recording's read of the magic. */
	__atomic_store_n(&area->magic, RS_GUEST_AREA_MAGIC, __ATOMIC_RELEASE);
}

/* ---- its recording ------------------------------------------------------------------------ */

static struct collector {
	struct rs_clock clock;
	struct rs_recorder *recorder;
	struct rs_guests_recording *recording;
} collector;

/* The recording moves the head in steps of 64 KiB, and stays behind its read position. */
static void wait_until_drained(void)
{
	struct rs_sbuf *ring = producer.ring;

	while ((__atomic_load_n(&ring->tail, __ATOMIC_RELAXED) + ring->size -
		__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE)) %
		       ring->size >=
	       HEAD_STEP)
		usleep(100);
}

/* Of a guest that boots. */
static void collector_start(void)
{
	const char *const memories[] = { ram_path };
	struct rs_recorder_options options = { .directory = trace_path, .poll_us = BENCH_POLL_US };

	guest_boot();
	bench_stay_on(1); /* its threads, away from the producer */
	bench_must(rs_clock_host(&collector.clock));
	options.clock = collector.clock;
	bench_must(rs_recorder_create(&options, &collector.recorder));
	bench_must(rs_guests_recording_create(memories, 1, &collector.recording));
	bench_must(rs_guests_recording_open(collector.recording, collector.recorder,
					    &collector.clock));
	bench_stay_on(0);
	/* A record, which shows that the guest is found. */
	for (uint64_t i = 0; i < FIRST; i++)
		put(i);
	wait_until_drained();
}

static struct rs_recorder_summary collector_stop(void)
{
	struct rs_recorder_summary sum;

	bench_must(rs_guests_recording_shut(collector.recording));
	bench_must(rs_recorder_close(collector.recorder, &sum));
	rs_guests_recording_destroy(collector.recording);
	bench_folder_remove(trace_path);
	return sum;
}

static void rival_fill(struct rs_slot *slots, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		slots[i] = slot_of(i);
}

int main(int argc, char **argv)
{
	static const struct bench_recording recording = {
		.name = "guest-memory",
		.piece_path = piece_path,
		.helping = 65536,
		.first = FIRST,
		.start = collector_start,
		.stop = collector_stop,
		.put = put,
		.wait_until_drained = wait_until_drained,
		.fill = rival_fill,
	};

	if (argc != 2) {
		fprintf(stderr, "usage: guest_memory FOLDER\n");
		return 2;
	}
	snprintf(ram_path, sizeof(ram_path), "/dev/shm/ringside-bench-%d", (int)getpid());
	snprintf(trace_path, sizeof(trace_path), "%s/trace", argv[1]);
	snprintf(piece_path, sizeof(piece_path), "%s/pieces", argv[1]);
	bench_recording_pace(&recording);
	bench_recording_cpu(&recording);
	unlink(ram_path);
	return 0;
}
