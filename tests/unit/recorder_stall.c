/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder on a slow disk: rings are drained meanwhile, up to a limit, and all records are in
 * the trace in the end, or counted as lost.
 *
 * The disk is this file's own pwrite(): it blocks a writer until released, and may be full.
 */
#include "store_kit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "store/behind.h"

#include <ringside/recorder.h>
#include <ringside/ring.h>

#define ELEMENTS 4097u /* a packet's worth of slots and a few more */
#define WAITING	 (UINT64_C(64) << 20)
/*
 * The minimum that waits while the disk is blocked. A packet is written when less than
 * RS_DRAIN_ROOM_MIN is left in it. Two packets may hold less: the one on the disk, and the one that
 * had records before the disk was blocked.
 */
#define PACKETS	    (WAITING / sizeof(struct rs_store_packet))
#define PACKET_FULL (RS_PACKET_BYTES - sizeof(struct rs_packet_head) - RS_DRAIN_ROOM_MIN)
#define WAITING_MIN ((PACKETS - 2) * PACKET_FULL)
/* What a ring that refused puts before its next record: the loss, preceded by filler slots. */
#define LOSS_BYTES_MAX (2 * RS_LOST_SLOTS * RS_SLOT_BYTES)
#define REFUSED_LONG   1009u /* times 1 ms: the recorder drains no more, or is very slow */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t let_go;
	bool held, full;
	uint32_t waiting;
} disk = { .lock = PTHREAD_MUTEX_INITIALIZER, .let_go = PTHREAD_COND_INITIALIZER };

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	bool full;

	pthread_mutex_lock(&disk.lock);
	disk.waiting++;
	while (disk.held)
		pthread_cond_wait(&disk.let_go, &disk.lock);
	disk.waiting--;
	full = disk.full;
	pthread_mutex_unlock(&disk.lock);
	if (full) {
		errno = ENOSPC;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, data, bytes, offset);
}

static void disk_set(bool held, bool full)
{
	pthread_mutex_lock(&disk.lock);
	disk.held = held;
	disk.full = full;
	pthread_cond_broadcast(&disk.let_go);
	pthread_mutex_unlock(&disk.lock);
}

static bool disk_keeps_one(void)
{
	bool keeps;

	pthread_mutex_lock(&disk.lock);
	keeps = disk.held && disk.waiting;
	pthread_mutex_unlock(&disk.lock);
	return keeps;
}

/* ---- a recording ----------------------------------------------------------------------------- */

struct recording {
	char temp[64], path[256];
	struct rs_schema *schema;
	struct rs_clock clock;
	struct rs_ring_memory memory;
	struct rs_sbuf_producer producer;
	struct rs_recorder *recorder;
	uint64_t put, accepted;
};

static bool recording_start(struct recording *r, uint32_t threads)
{
	static const struct rs_stream identity = {
		.thread = "a producer", .vcpu = -1, .cpu = -1, .tid = 100
	};
	struct rs_recorder_options options = { .poll_us = 100, .threads = threads };
	struct rs_recorder_ring ring = { .stream = &identity };

	*r = (struct recording){ .schema = kit_schema("app") };
	join(r->path, make_temp(r->temp), "trace");
	if (!CHECK_OK(rs_clock_host(&r->clock)) ||
	    !CHECK_OK(rs_ring_map_anonymous(rs_sbuf_bytes(ELEMENTS, RS_SLOT_BYTES), &r->memory)))
		return false;
	rs_sbuf_create(r->memory.mem, r->memory.bytes, RS_SLOT_BYTES);
	rs_sbuf_producer_init(&r->producer, r->memory.mem, r->memory.bytes);
	options.directory = r->path;
	options.clock = r->clock;
	ring.mem = r->memory.mem;
	ring.bytes = r->memory.bytes;
	ring.schema = r->schema;
	ring.clock = &r->clock;
	return CHECK_OK(rs_recorder_create(&options, &r->recorder)) &&
	       CHECK_OK(rs_recorder_add_ring(r->recorder, &ring));
}

static bool put(struct recording *r)
{
	struct rs_slot slot = { .tsc = rs_tsc(),
				.head = rs_record_head(USER(1), 1) | UINT64_C(0xff) << 56 };
	bool taken;

	memcpy(slot.payload, &r->put, sizeof(r->put));
	taken = rs_sbuf_put(&r->producer, &slot, RS_SLOT_BYTES);
	r->put++;
	r->accepted += taken;
	return taken;
}

static bool is_drained(const struct recording *r)
{
	struct rs_sbuf *ring = r->memory.mem;

	/* Pairs with the consumer's release. */
	return __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) == ring->tail;
}

/* Puts half a ring at a time, and waits until it is drained. */
static void put_halves(struct recording *r, uint32_t halves)
{
	for (uint32_t i = 0; i < halves; i++) {
		for (uint32_t n = 0; n < ELEMENTS / 2; n++)
			CHECK(put(r));
		while (!is_drained(r))
			usleep(100);
	}
}

/* The disk blocks a worker, which has something to write from now on. */
static void stall(struct recording *r)
{
	disk_set(true, false);
	while (!disk_keeps_one()) {
		put(r);
		usleep(1000);
	}
}

/* Waits until this many were written, or could not be. */
static void wait_for(const struct recording *r, uint64_t records, uint64_t lost)
{
	struct rs_recorder_summary sum = { 0 };

	while (sum.records < records || sum.lost < lost) {
		usleep(1000);
		rs_recorder_progress(r->recorder, &sum);
	}
}

static void recording_free(struct recording *r)
{
	rs_ring_unmap(&r->memory);
	rs_schema_destroy(r->schema);
	remove_tree(r->temp);
}

/*
 * The content of a trace: records by their number from 0 on; without a gap unless losses are
 * reported.
 */
static void check_trace(const struct recording *r, uint64_t kept, uint64_t lost, bool gapless)
{
	struct got_sink got = got_sink();
	struct rs_trace *trace;
	uint64_t next = 0, n = 0;

	REQUIRE_OK(rs_trace_open(r->path, &trace));
	CHECK_OK(trace_read(trace, NULL, &got));
	CHECK_EQ_U64(got.lost, lost);
	for (size_t i = 0; i < got.n; i++) {
		if (got.at[i].event->id != USER(1)) /* a loss, and the later time of its stamp */
			continue;
		if (gapless ? got_value(&got.at[i]) != next : got_value(&got.at[i]) < next) {
			CHECK_EQ_U64(got_value(&got.at[i]), next);
			break;
		}
		next = got_value(&got.at[i]) + 1;
		n++;
	}
	CHECK_EQ_U64(n, kept);
	got_free(&got);
	rs_trace_close(trace);
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void stalls_and_continues(uint32_t threads)
{
	struct rs_recorder_summary sum;
	struct recording r;

	REQUIRE(recording_start(&r, threads));
	put_halves(&r, 3);
	for (uint32_t i = 0; i < 3; i++) {
		stall(&r);
		put_halves(&r, 23); /* much more than fits into the ring */
		CHECK(disk_keeps_one());
		disk_set(false, false);
		put_halves(&r, 1);
	}
	CHECK_OK(rs_recorder_close(r.recorder, &sum));
	CHECK_EQ_U64(sum.records, r.put);
	CHECK_EQ_U64(sum.lost, 0);
	check_trace(&r, r.put, 0, true);
	recording_free(&r);
}

TEST(a_ring_is_drained_while_the_disk_is_slow)
{
	stalls_and_continues(1);
	stalls_and_continues(3);
}

TEST(packets_wait_up_to_the_limit_and_further_records_are_counted)
{
	struct rs_recorder_summary sum;
	struct recording r;
	uint64_t before, waited = 0, losses = 0;

	REQUIRE(recording_start(&r, 1));
	stall(&r);
	before = r.accepted;
	/* Up to the minimum that must wait, however slow the recorder is; then until it stops. */
	for (uint32_t refused = 0;
	     refused < REFUSED_LONG || waited + losses * LOSS_BYTES_MAX < WAITING_MIN;) {
		if (put(&r)) {
			waited = (r.accepted - before) * RS_SLOT_BYTES;
			losses += refused > 0;
			refused = 0;
		} else {
			refused++;
			usleep(1000);
		}
	}
	CHECK(disk_keeps_one());
	CHECK(waited <= WAITING + (1u << 20));
	disk_set(false, false);
	while (!is_drained(&r))
		usleep(100);
	CHECK(put(&r));
	CHECK_OK(rs_recorder_close(r.recorder, &sum));
	CHECK_EQ_U64(sum.records, r.accepted);
	CHECK_EQ_U64(sum.records + sum.lost, r.put);
	check_trace(&r, r.accepted, r.put - r.accepted, false);
	recording_free(&r);
}

TEST(a_full_disk_is_reported)
{
	struct rs_recorder_summary sum;
	struct recording r;

	REQUIRE(recording_start(&r, 1));
	put_halves(&r, 3);
	stall(&r);
	put_halves(&r, 11);
	disk_set(false, true);
	put_halves(&r, 3);
	wait_for(&r, 0, 11 * (ELEMENTS / 2));
	stall(&r); /* makes room again */
	put_halves(&r, 1);
	disk_set(false, false);
	CHECK_ERR(rs_recorder_close(r.recorder, &sum), RS_FAILED, "No space left on device");
	CHECK_EQ_U64(sum.records + sum.lost, r.put);
	CHECK(sum.lost >= 11 * (ELEMENTS / 2));
	recording_free(&r);
}

/* In a separate process: prints how much it put, and is killed while the disk is blocked. */
static void be_killed(int tell)
{
	struct recording r;

	if (!recording_start(&r, 1))
		_exit(1);
	put_halves(&r, 23);
	wait_for(&r, 23 * (ELEMENTS / 2), 0);
	stall(&r);
	put_halves(&r, 5);
	if (write(tell, &r, sizeof(r)) != sizeof(r))
		_exit(1);
	pause();
}

TEST(a_killed_recorder_leaves_the_written_records)
{
	struct got_sink got = got_sink();
	struct rs_trace *trace;
	struct recording r;
	int pipes[2];
	pid_t pid;

	REQUIRE(!pipe(pipes));
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid)
		be_killed(pipes[1]);
	close(pipes[1]);
	REQUIRE_EQ_U64((uint64_t)read(pipes[0], &r, sizeof(r)), sizeof(r));
	close(pipes[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	REQUIRE_OK(rs_trace_open(r.path, &trace));
	CHECK_ERR(trace_read(trace, NULL, &got), RS_DAMAGED, "did not close it");
	CHECK(got.n >= 23 * (ELEMENTS / 2) && got.n < r.put);
	for (size_t i = 0; i < got.n; i++) {
		if (!CHECK_EQ_U64(got_value(&got.at[i]), i))
			break;
	}
	got_free(&got);
	rs_trace_close(trace);
	remove_tree(r.temp);
}
