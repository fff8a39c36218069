/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of draining a guest's shared ring from its RAM (`record --guest-memory`), and whether
 * the drain keeps up: RAM in a file, which this program maps and fills as a guest does, and which
 * system calls read, against a thread that copies the same bytes and writes them.
 *
 *	guest_memory FOLDER	the figures; traces are made in FOLDER and removed
 */
#include "rival.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live/record_guests.h"
#include <ringside/guest_abi.h>
#include <ringside/recorder.h>
#include <ringside/sbuf.h>

#define RAM_BYTES  (16u << 20)
#define AREA	   0x1000u
#define RING	   (4u << 20)
#define RING_BYTES (4u << 20) /* RS_GUEST_RING_BYTES */
#define POLL_US	   1000u
#define HEAD_STEP  65536u
#define FIRST	   (HEAD_STEP / RS_SLOT_BYTES) /* records */

#define PACED_HZ      2000000u /* records a second */
#define PACED_SECONDS 4u
#define BURST	      200u

#define ROUND_BYTES   (64u << 20)
#define HELPING_SLOTS 65536u
#define CPU_ROUNDS    15u

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

static void collector_start(void)
{
	const char *const memories[] = { ram_path };
	struct rs_recorder_options options = { .directory = trace_path, .poll_us = POLL_US };

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

/* ---- throughput --------------------------------------------------------------------------- */

/* A producer that got no CPU for a while does not catch up. */
static void figure_of_pace(void)
{
	const uint64_t records = (uint64_t)PACED_HZ * PACED_SECONDS;
	struct rs_recorder_summary sum;
	uint64_t start, late = 0;

	guest_boot();
	collector_start();
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
	bench_figure("guest-memory-lost", (double)sum.lost,
		     "of %lu at %.1f M a second, in a ring of 4 MiB; the producer was %.1f ms late "
		     "at most",
		     (unsigned long)records, PACED_HZ / 1e6, (double)late / 1e6);
	if (sum.records + sum.lost != records + FIRST) {
		fprintf(stderr, "bench: %lu records are neither kept nor lost\n",
			(unsigned long)(records + FIRST - sum.records - sum.lost));
		exit(1);
	}
}

/* ---- costs -------------------------------------------------------------------------------- */

/*
 * Returns the CPU time of the recording's threads for a round's bytes, until the last is written.
 */
static double cpu_of_collector(void)
{
	uint64_t start, lost;

	guest_boot();
	collector_start();
	start = bench_others_cpu_ns();
	for (uint64_t slots = 0; slots < ROUND_BYTES / RS_SLOT_BYTES; slots += HELPING_SLOTS) {
		for (uint64_t i = 0; i < HELPING_SLOTS; i++)
			put(i);
		wait_until_drained();
	}
	lost = collector_stop().lost;
	if (lost) {
		fprintf(stderr, "bench: %lu records were lost\n", (unsigned long)lost);
		exit(1);
	}
	return (double)(bench_others_cpu_ns() - start);
}

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

	bench_run(&rounds, rivals, 2, CPU_ROUNDS);
	bench_figure("guest-memory", bench_ratio(&rounds, 0, 1),
		     "%.2f ms of CPU against %.2f ms, for %u MiB", bench_of(&rounds, 0) / 1e6,
		     bench_of(&rounds, 1) / 1e6, ROUND_BYTES >> 20);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: guest_memory FOLDER\n");
		return 2;
	}
	snprintf(ram_path, sizeof(ram_path), "/dev/shm/ringside-bench-%d", (int)getpid());
	snprintf(trace_path, sizeof(trace_path), "%s/trace", argv[1]);
	snprintf(piece_path, sizeof(piece_path), "%s/pieces", argv[1]);
	figure_of_pace();
	figure_of_collector();
	unlink(ram_path);
	return 0;
}
