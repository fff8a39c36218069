/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The collector: rings of ACRN's layout in files that other processes write, in any way; and rings
 * that are lent to running producers.
 */
#include "event_kit.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "live/record_sbuf.h"
#include "store/reader.h"
#include <ringside/overwrite.h>
#include <ringside/recorder.h>
#include <ringside/ring.h>

#define CPUID	 UINT64_C(0x10004) /* acrn_cpuid: leaf, subleaf */
#define ELEMENTS 64u
#define MANY	 20011u /* many times more than a port's buffer */

/* ---- a writer ------------------------------------------------------------------------------- */

struct writer {
	struct rs_ring_memory memory;
	struct rs_sbuf_producer producer;
	struct rs_overwriter over;
	struct rs_sbuf *ring;
};

static void writer_new_of(struct writer *w, const char *path, bool overwrites, uint32_t elements)
{
	*w = (struct writer){ 0 };
	REQUIRE_OK(rs_ring_map_create(path, rs_sbuf_bytes(elements, RS_SLOT_BYTES), &w->memory));
	w->ring = w->memory.mem;
	if (overwrites) {
		CHECK_EQ_U64(rs_overwrite_create(w->ring, w->memory.bytes, RS_SLOT_BYTES,
						 RS_SBUF_POSITIONED),
			     RS_SBUF_OK);
		CHECK_EQ_U64(rs_overwriter_init(&w->over, w->ring, w->memory.bytes), RS_SBUF_OK);
		return;
	}
	CHECK_EQ_U64(rs_sbuf_create(w->ring, w->memory.bytes, RS_SLOT_BYTES), RS_SBUF_OK);
	CHECK_EQ_U64(rs_sbuf_producer_init(&w->producer, w->ring, w->memory.bytes), RS_SBUF_OK);
}

static void writer_new(struct writer *w, const char *path, bool overwrites)
{
	writer_new_of(w, path, overwrites, ELEMENTS);
}

#define APART 1000 /* ticks: above any counter's step, and two CPUs' difference */

/*
 * Returns a stamp later than all before in this thread: two puts may fall into a counter's step,
 * and rings with equal stamps are merged in the order of their numbers.
 */
static uint64_t later(void)
{
	static _Thread_local uint64_t last;
	uint64_t now;

	do
		now = rs_tsc();
	while ((int64_t)(now - last) < APART);
	return last = now;
}

/* ACRN's TRACE_2L by default. */
static struct rs_slot slot_of(uint64_t id, uint64_t n_data, uint64_t cpu, uint64_t n)
{
	struct rs_slot slot = { .tsc = later(), .head = id | n_data << 48 | cpu << 56 };

	memcpy(slot.payload, &n, sizeof(n));
	return slot;
}

static void put(struct writer *w, uint64_t cpu, uint64_t n)
{
	struct rs_slot slot = slot_of(CPUID, 2, cpu, n);

	if (w->over.ring)
		rs_overwriter_put(&w->over, &slot);
	else
		rs_sbuf_put(&w->producer, &slot, RS_SLOT_BYTES);
}

#define PAUSE() nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL)

/* Waits until all records are drained. */
static void drained(const struct rs_sbuf *ring)
{
	if (ring->flags & RS_SBUF_OVERWRITE) {
		while (__atomic_load_n(&ring->read, __ATOMIC_ACQUIRE) != ring->position)
			PAUSE();
		return;
	}
	while (__atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) != ring->tail)
		PAUSE();
}

/* ---- a recording ---------------------------------------------------------------------------- */

#define PATHS 4

struct recording {
	char temp[64], directory[256], paths[PATHS][256];
	const char *list[PATHS];
	struct rs_clock host;
	struct rs_recorder *recorder;
	struct rs_sbuf_recording *sbuf;
	struct rs_recorder_summary sum;
	struct rs_trace *trace;
	struct got_sink got;
};

static void prepare(struct recording *r)
{
	*r = (struct recording){ .got = got_sink() };
	join(r->directory, make_temp(r->temp), "trace");
	for (int i = 0; i < PATHS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "ring%d", i);
		r->list[i] = join(r->paths[i], r->temp, name);
	}
}

static bool begin_with(struct recording *r, const struct rs_sbuf_options *options)
{
	struct rs_recorder_options recorder = {
		.directory = r->directory, .poll_us = 200, .flush_ms = 1, .threads = 2
	};

	if (!CHECK_OK(rs_clock_host(&r->host)))
		return false;
	recorder.clock = r->host;
	return CHECK_OK(rs_recorder_create(&recorder, &r->recorder)) &&
	       CHECK_OK(rs_sbuf_recording_create(options, &r->sbuf)) &&
	       CHECK_OK(rs_sbuf_recording_attach(r->sbuf, r->recorder, &r->host)) &&
	       CHECK_OK(rs_sbuf_recording_gate(r->sbuf, true));
}

static bool begin(struct recording *r, uint32_t n, bool keep)
{
	return begin_with(
		r, &(struct rs_sbuf_options){ .paths = r->list, .n_paths = n, .keep = keep });
}

static struct rs_error *end(struct recording *r)
{
	struct rs_error *err;

	CHECK_OK(rs_sbuf_recording_gate(r->sbuf, false));
	err = rs_recorder_close(r->recorder, &r->sum);
	r->recorder = NULL;
	return err;
}

static struct rs_error *read_trace(struct recording *r)
{
	struct rs_source *source = NULL;
	struct rs_error *err = rs_trace_open(r->directory, &r->trace);

	if (!err)
		err = rs_trace_source(r->trace, &source);
	if (!err)
		err = rs_run(source, NULL, &r->got.sink, NULL);
	rs_source_destroy(source);
	return err;
}

static void deinit(struct recording *r)
{
	rs_sbuf_recording_destroy(r->sbuf);
	got_free(&r->got);
	if (r->trace)
		rs_trace_close(r->trace);
	remove_tree(r->temp);
}

static struct rs_sbuf_result result_of(const struct recording *r, uint32_t i)
{
	struct rs_sbuf_result t = { 0 };

	CHECK(rs_sbuf_recording_result(r->sbuf, i, &t));
	return t;
}

/* The first arguments of the trace's records are from, from + 1, ... */
static void expect_run(const struct recording *r, uint64_t from, size_t n)
{
	CHECK_EQ_U64(r->got.n, n);
	for (size_t i = 0; i < r->got.n && i < n; i++)
		CHECK_EQ_U64(got_value(&r->got.at[i]), from + i);
}

/* ---- existing rings ------------------------------------------------------------------------- */

static void before_and_after(bool overwrites, bool keep)
{
	struct recording r;
	struct writer w;

	prepare(&r);
	writer_new(&w, r.paths[0], overwrites);
	for (uint64_t n = 0; n < 13; n++)
		put(&w, 7, n);
	REQUIRE(begin(&r, 1, keep));
	drained(w.ring);
	for (uint64_t n = 13; n < 30; n++)
		put(&w, 7, n);
	CHECK_OK(end(&r));
	CHECK_OK(read_trace(&r));
	expect_run(&r, keep ? 0 : 13, keep ? 30 : 17);
	CHECK_EQ_U64(result_of(&r, 0).skipped, keep ? 0 : 13);
	CHECK(result_of(&r, 0).runs && !result_of(&r, 0).error && result_of(&r, 0).rings == 1);
	CHECK_EQ_U64(r.got.n && r.got.at[0].cpu == 7, 1); /* its records' own */
	CHECK(r.got.n && !strcmp(r.got.at[0].stream->thread, "ring0"));
	rs_ring_unmap(&w.memory);
	deinit(&r);
}

TEST(earlier_records_of_a_ring_are_skipped_or_kept)
{
	for (int i = 0; i < 4; i++)
		before_and_after(i & 1, i & 2);
}

/*
 * Of 200 in a ring that keeps 63, before the collector started: not a loss. Overwritten later: a
 * loss.
 */
TEST(overwritten_records_are_counted_from_the_start_on)
{
	struct recording r;
	struct writer w;

	prepare(&r);
	writer_new(&w, r.paths[0], true);
	for (uint64_t n = 0; n < 200; n++)
		put(&w, 0, n);
	REQUIRE(begin(&r, 1, true));
	drained(w.ring);
	CHECK_OK(end(&r));
	CHECK_EQ_U64(r.sum.records, ELEMENTS - 1);
	CHECK_EQ_U64(r.sum.lost, 0);
	CHECK_OK(read_trace(&r));
	expect_run(&r, 200 - (ELEMENTS - 1), ELEMENTS - 1);
	rs_ring_unmap(&w.memory);
	deinit(&r);
}

#define LAPS 20011

TEST(in_overwrite_mode_kept_and_lost_equal_emitted)
{
	uint64_t next = 0, lost = 0;
	struct recording r;
	struct writer w;

	prepare(&r);
	writer_new(&w, r.paths[0], true);
	REQUIRE(begin(&r, 1, false));
	for (uint64_t n = 0; n < LAPS; n++) {
		put(&w, 0, n);
		if (n % 1009 == 0)
			PAUSE();
	}
	CHECK_OK(end(&r));
	CHECK_EQ_U64(r.sum.records + r.sum.lost, LAPS);
	CHECK_OK(read_trace(&r));
	for (size_t i = 0; i < r.got.n; i++) {
		const struct got *got = &r.got.at[i];

		/* a loss says how many are missing before what comes next */
		if (got->is_loss)
			lost += got_value(got), next += got_value(got);
		else
			CHECK_EQ_U64(got_value(got), next), next++;
	}
	CHECK_EQ_U64(next, LAPS);
	CHECK_EQ_U64(lost, r.sum.lost);
	rs_ring_unmap(&w.memory);
	deinit(&r);
}

/* The last poll drains everything. */
TEST(a_large_ring_is_read_to_its_end)
{
	for (int overwrites = 0; overwrites < 2; overwrites++) {
		struct recording r;
		struct writer w;

		prepare(&r);
		writer_new_of(&w, r.paths[0], overwrites, MANY);
		for (uint64_t n = 0; n < MANY - 1; n++)
			put(&w, 0, n);
		REQUIRE(begin(&r, 1, true));
		CHECK_OK(end(&r));
		CHECK_EQ_U64(r.sum.records, MANY - 1);
		CHECK_EQ_U64(r.sum.lost, 0);
		rs_ring_unmap(&w.memory);
		deinit(&r);
	}
}

TEST(an_id_of_no_catalogue_is_raw)
{
	struct rs_slot slots[] = { slot_of(0x777, 4, 1, 11), slot_of(0x778, 16, 1, 12),
				   slot_of(0x779, 3, 1, 13), /* not an n_data value of ACRN */
				   slot_of(0x777, 4, 1, 14) };
	struct recording r;
	struct writer w;

	prepare(&r);
	writer_new(&w, r.paths[0], false);
	REQUIRE(begin(&r, 1, false));
	for (int i = 0; i < 4; i++)
		rs_sbuf_put(&w.producer, &slots[i], RS_SLOT_BYTES);
	CHECK_OK(end(&r));
	CHECK_EQ_U64(r.sum.records, 3);
	CHECK_EQ_U64(r.sum.lost, 1);
	CHECK_OK(read_trace(&r));
	REQUIRE(r.got.n == 4);
	CHECK(!strcmp(r.got.at[0].event->probe, "acrn:raw::id-777"));
	CHECK(!strcmp(r.got.at[1].event->probe, "acrn:raw::id-778"));
	CHECK(r.got.at[2].is_loss);
	CHECK_EQ_U64(got_value(&r.got.at[3]), 14);
	rs_ring_unmap(&w.memory);
	deinit(&r);
}

/*
 * ---- rings that appear, disappear and break
 * ---------------------------------------------------------
 */

TEST(a_writer_may_start_late_or_never)
{
	struct recording r;
	struct writer w;

	prepare(&r);
	file_write(r.paths[1], "", 0); /* nothing in it */
	REQUIRE(begin(&r, 2, false));
	CHECK_EQ_U64(result_of(&r, 0).rings, 0);
	writer_new(&w, r.paths[0], false);
	for (uint64_t n = 0; n < 5; n++)
		put(&w, 0, n);
	CHECK_OK(rs_sbuf_recording_poll(r.sbuf));
	CHECK_EQ_U64(result_of(&r, 0).rings, 1);
	for (uint64_t n = 5; n < 9; n++)
		put(&w, 0, n);
	CHECK_OK(end(&r));
	CHECK_OK(read_trace(&r));
	expect_run(&r, 0, 9); /* no record of a later ring is from before */
	CHECK(result_of(&r, 1).rings == 0 && !result_of(&r, 1).error && !result_of(&r, 1).runs);
	rs_ring_unmap(&w.memory);
	deinit(&r);
}

/* A writer that restarts in its file, and one that makes another file with the name. */
TEST(a_writer_may_restart)
{
	struct recording r;
	struct writer w, other;

	prepare(&r);
	writer_new(&w, r.paths[0], false);
	REQUIRE(begin(&r, 1, false));
	for (uint64_t n = 0; n < 5; n++)
		put(&w, 0, n);
	drained(w.ring);
	CHECK_EQ_U64(rs_sbuf_create(w.ring, w.memory.bytes, RS_SLOT_BYTES), RS_SBUF_OK);
	w.producer = (struct rs_sbuf_producer){ 0 };
	CHECK_EQ_U64(rs_sbuf_producer_init(&w.producer, w.ring, w.memory.bytes), RS_SBUF_OK);
	for (uint64_t n = 5; n < 8; n++)
		put(&w, 0, n);
	while (result_of(&r, 0).runs)
		PAUSE();
	CHECK_OK(rs_sbuf_recording_poll(r.sbuf));
	drained(w.ring);
	CHECK_EQ_U64(result_of(&r, 0).rings, 2);
	unlink(r.paths[0]);
	writer_new(&other, r.paths[0], false);
	for (uint64_t n = 8; n < 11; n++)
		put(&other, 0, n);
	CHECK_OK(rs_sbuf_recording_poll(r.sbuf));
	CHECK_EQ_U64(result_of(&r, 0).rings, 3);
	CHECK_OK(end(&r));
	CHECK_OK(read_trace(&r));
	expect_run(&r, 0, 11);
	REQUIRE(r.got.n == 11);
	CHECK(r.got.at[4].stream != r.got.at[5].stream && r.got.at[7].stream != r.got.at[8].stream);
	rs_ring_unmap(&w.memory);
	rs_ring_unmap(&other.memory);
	deinit(&r);
}

TEST(an_invalid_ring_is_reported)
{
	static const struct {
		uint64_t magic, flags;
		uint32_t ele_num, ele_size, head, tail;
		const char *error; /* NULL: none yet */
	} headers[] = {
		{ 0, 0, ELEMENTS, 32, 0, 0, NULL },
		{ RS_SBUF_MAGIC_LAST, 0, ELEMENTS, 32, 0, 0, NULL },
		{ RS_SBUF_MAGIC, 0, ELEMENTS * 2, 80, 0, 0,
		  "too small for the ring: its header has 128 elements of 80 bytes, 10240" },
		{ RS_SBUF_MAGIC_LAST, 0, ELEMENTS * 2, 80, 0, 0,
		  "too small for the ring: its header has 128 elements of 80 bytes, 10240" },
		{ RS_SBUF_MAGIC, 0, ELEMENTS / 4, 64, 0, 0, "not 32 or 80" },
		{ RS_SBUF_MAGIC, 0, ELEMENTS * 2, 32, 0, 0,
		  "too small for the ring: its header has 128 elements of 32 bytes, 4096" },
		{ RS_SBUF_MAGIC, 0, UINT32_MAX, 32, 0, 0,
		  "impossible or disagree: its header has 4294967295 elements of 32 bytes" },
		{ RS_SBUF_MAGIC, 0, 0, 0, 0, 0, "not 32 or 80" },
		{ RS_SBUF_MAGIC, 0, ELEMENTS, 32, 16, 0,
		  "2048 bytes in all, head 16, tail 0, and " },
		{ RS_SBUF_MAGIC, RS_SBUF_OVERWRITE, ELEMENTS, 32, 0, 0, "writer's lock" },
	};

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		struct recording r;
		struct writer w;

		prepare(&r);
		writer_new(&w, r.paths[0], false);
		w.ring->flags = headers[i].flags;
		w.ring->ele_num = headers[i].ele_num;
		w.ring->ele_size = headers[i].ele_size;
		w.ring->size = headers[i].ele_num * headers[i].ele_size;
		w.ring->head = headers[i].head;
		w.ring->tail = headers[i].tail;
		w.ring->magic = headers[i].magic;
		REQUIRE(begin(&r, 1, false));
		CHECK_EQ_U64(result_of(&r, 0).rings, 0);
		CHECK(!result_of(&r, 0).error == !headers[i].error);
		if (result_of(&r, 0).error && headers[i].error)
			if (!CHECK(strstr(result_of(&r, 0).error, headers[i].error) != NULL))
				printf("# %s\n", result_of(&r, 0).error);
		/* repaired: it is read from then on */
		CHECK_EQ_U64(rs_sbuf_create(w.ring, w.memory.bytes, RS_SLOT_BYTES), RS_SBUF_OK);
		put(&w, 0, 3);
		CHECK_OK(rs_sbuf_recording_poll(r.sbuf));
		CHECK(result_of(&r, 0).rings == 1 && !result_of(&r, 0).error);
		CHECK_OK(end(&r));
		CHECK_EQ_U64(r.sum.records, 1);
		rs_ring_unmap(&w.memory);
		deinit(&r);
	}
}

/* Whatever a writer does to its file, the other ring is still read, and no process dies. */
TEST(a_truncated_file_affects_only_its_ring)
{
	struct recording r;
	struct writer w[2];

	prepare(&r);
	for (int i = 0; i < 2; i++)
		writer_new(&w[i], r.paths[i], i == 1);
	REQUIRE(begin(&r, 2, false));
	for (int i = 0; i < 2; i++) {
		CHECK(!truncate(r.paths[i], 0));
		while (result_of(&r, (uint32_t)i).runs)
			PAUSE();
		CHECK(result_of(&r, (uint32_t)i).error &&
		      strstr(result_of(&r, (uint32_t)i).error, "truncated"));
	}
	CHECK_OK(rs_sbuf_recording_poll(r.sbuf));
	CHECK_OK(end(&r));
	for (int i = 0; i < 2; i++)
		rs_ring_unmap(&w[i].memory);
	deinit(&r);
}

TEST(a_tail_outside_the_ring_affects_only_its_ring)
{
	struct recording r;
	struct writer w[2];

	prepare(&r);
	for (int i = 0; i < 2; i++)
		writer_new(&w[i], r.paths[i], false);
	REQUIRE(begin(&r, 2, false));
	__atomic_store_n(&w[1].ring->tail, 33, __ATOMIC_RELEASE);
	for (uint64_t n = 0; n < 17; n++)
		put(&w[0], 0, n);
	CHECK_ERR(end(&r), RS_DAMAGED, "the ring of ring1: the ring's tail points outside");
	CHECK_EQ_U64(r.sum.records, 17);
	for (int i = 0; i < 2; i++)
		rs_ring_unmap(&w[i].memory);
	deinit(&r);
}

/* A writer that moves the reader's position repeatedly: limited, and reported. */
TEST(a_writer_that_restarts_forever_is_abandoned)
{
	struct recording r;
	struct writer w;

	prepare(&r);
	writer_new(&w, r.paths[0], false);
	REQUIRE(begin(&r, 1, false));
	for (uint32_t i = 1; result_of(&r, 0).rings < RS_SBUF_RESTARTS_MAX || result_of(&r, 0).runs;
	     i++) {
		__atomic_store_n(&w.ring->head, i % 2 * RS_SLOT_BYTES, __ATOMIC_RELEASE);
		__atomic_store_n(&w.ring->tail, i % 2 * RS_SLOT_BYTES, __ATOMIC_RELEASE);
		PAUSE();
		CHECK_OK(rs_sbuf_recording_poll(r.sbuf));
	}
	CHECK_OK(rs_sbuf_recording_poll(r.sbuf));
	CHECK(result_of(&r, 0).error && strstr(result_of(&r, 0).error, "restarted 64 times"));
	CHECK_OK(end(&r));
	rs_ring_unmap(&w.memory);
	deinit(&r);
}

/* ---- lent rings ----------------------------------------------------------------------------- */

static struct rs_sbuf_options lending(const struct recording *r, uint32_t n, bool keep)
{
	return (struct rs_sbuf_options){ .paths = r->list,
					 .n_paths = 1,
					 .create = n,
					 .ring_bytes = rs_sbuf_bytes(4096, RS_SLOT_BYTES),
					 .keep = keep };
}

static bool lent_put(struct rs_lent *lent, uint64_t n)
{
	struct rs_slot slot = slot_of(CPUID, 2, lent->id, n);

	return rs_lent_put(lent, &slot);
}

static bool is_there(const struct recording *r, const char *what)
{
	char path[300];

	snprintf(path, sizeof(path), "%s%s", r->paths[0], what);
	return !access(path, F_OK);
}

TEST(rings_are_lent_to_running_producers_and_reclaimed)
{
	struct recording r, again;
	struct rs_sbuf_options options;
	struct rs_lent *lent[2] = { NULL };

	prepare(&r);
	CHECK_OK(rs_lent_open(r.paths[0], 0, &lent[0]));
	CHECK(!lent_put(lent[0], 0)); /* nothing is lent yet */
	options = lending(&r, 2, false);
	REQUIRE(begin_with(&r, &options));
	CHECK(is_there(&r, ".0") && is_there(&r, ".1") && !is_there(&r, ".2"));
	CHECK_OK(rs_lent_open(r.paths[0], 1, &lent[1])); /* one that starts later */
	for (uint64_t n = 1; n < 8; n++)
		CHECK(lent_put(lent[n % 2], n));
	CHECK_OK(end(&r));
	CHECK(!lent_put(lent[0], 8) && !lent_put(lent[1], 9)); /* they continue without rings */
	CHECK_EQ_U64(lent[0]->dropped, 2);
	CHECK_EQ_U64(r.sum.records, 7);
	CHECK_OK(read_trace(&r));
	expect_run(&r, 1, 7);
	rs_sbuf_recording_destroy(r.sbuf);
	r.sbuf = NULL;
	CHECK(!is_there(&r, ".0") && !is_there(&r, ".1"));
	/* the next recorder, with fewer rings */
	prepare(&again);
	options = lending(&r, 1, false);
	REQUIRE(begin_with(&again, &options));
	CHECK(lent_put(lent[0], 10) && !lent_put(lent[1], 11));
	CHECK_OK(end(&again));
	CHECK_EQ_U64(again.sum.records, 1);
	deinit(&again);
	rs_lent_close(lent[0]);
	rs_lent_close(lent[1]);
	deinit(&r);
}

TEST(a_dead_lender_leaves_its_rings)
{
	for (int keep = 0; keep < 2; keep++) {
		struct rs_lend_options lend = { .n = 1, .ring_bytes = 65536 };
		struct rs_sbuf_options options;
		struct rs_lent *lent = NULL;
		struct recording r;
		int status;
		pid_t pid;

		prepare(&r);
		lend.path = r.paths[0];
		CHECK_OK(rs_lent_open(r.paths[0], 0, &lent));
		pid = fork();
		if (!pid) {
			struct rs_lender *lender;
			struct rs_error *err = rs_lender_create(&lend, &lender);

			_exit(err || rs_lender_lend(lender) ? 1 : 0); /* and no ring is reclaimed */
		}
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
		for (uint64_t n = 0; n < 3; n++)
			CHECK(lent_put(lent, n));
		options = lending(&r, 1, keep);
		REQUIRE(begin_with(&r, &options));
		for (uint64_t n = 3; n < 5; n++)
			CHECK(lent_put(lent, n));
		CHECK_OK(end(&r));
		CHECK_OK(read_trace(&r));
		expect_run(&r, keep ? 0 : 3, keep ? 5 : 2);
		rs_lent_close(lent);
		deinit(&r);
	}
}

TEST(invalid_lending_is_refused)
{
	struct rs_lend_options lend = { .n = 1, .ring_bytes = 65536 };
	struct rs_lender *lender = NULL, *other = NULL;
	struct rs_lent *lent = NULL, *twice = NULL;
	struct recording r;

	prepare(&r);
	lend.path = r.paths[0];
	CHECK_OK(rs_lender_create(&lend, &lender));
	CHECK_ERR(rs_lender_create(&lend, &other), RS_USAGE, "another recorder lends");
	CHECK_OK(rs_lent_open(r.paths[0], 255, &lent));
	CHECK_ERR(rs_lent_open(r.paths[0], 255, &twice), RS_USAGE, "id 255 is taken by process");
	CHECK_ERR(rs_lent_open(r.paths[0], 256, &twice), RS_USAGE, "expected 0 to 255");
	file_write(r.paths[1], "abc", 3);
	CHECK_ERR(rs_lent_open(r.paths[1], 0, &twice), RS_USAGE, "not a board of lent rings");
	lend.path = r.paths[2];
	lend.n = 257;
	CHECK_ERR(rs_lender_create(&lend, &other), RS_USAGE, "expected 1 to 256");
	lend.n = 1;
	lend.ring_bytes = 100;
	CHECK_ERR(rs_lender_create(&lend, &other), RS_USAGE, "a ring of 100 bytes");
	/* a truncated board kills no process */
	CHECK(!truncate(r.paths[0], 0));
	CHECK_ERR(rs_lender_lend(lender), RS_FAILED, "another process has truncated it");
	rs_lender_destroy(lender);
	lent->place = &(struct rs_lend_place){ 0 };
	rs_lent_close(lent);
	deinit(&r);
}

/* A borrower that died, or sleeps, within its put. */
TEST(a_borrower_within_its_put_is_waited_for)
{
	struct rs_lend_options lend = { .n = 2, .ring_bytes = 65536 };
	struct rs_lender *lender = NULL;
	struct rs_lent *lent = NULL;
	struct recording r;

	prepare(&r);
	lend.path = r.paths[0];
	CHECK_OK(rs_lender_create(&lend, &lender));
	CHECK_OK(rs_lent_open(r.paths[0], 0, &lent));
	CHECK_OK(rs_lender_lend(lender));
	lent->place->busy = 1;
	CHECK_ERR(rs_lender_reclaim(lender, 2), RS_FAILED, "does not end its put");
	CHECK_OK(rs_lender_lend(lender));
	lent->place->pid = INT32_MAX; /* nobody */
	CHECK_OK(rs_lender_reclaim(lender, 2));
	rs_lent_close(lent);
	rs_lender_destroy(lender);
	deinit(&r);
}

#define ROUNDS	  20
#define BORROWERS 2

struct borrower {
	struct rs_lent *lent;
	uint64_t put, kept;
	bool stop;
};

static void *borrow(void *arg)
{
	struct borrower *b = arg;

	while (!__atomic_load_n(&b->stop, __ATOMIC_ACQUIRE))
		b->kept += lent_put(b->lent, b->put++);
	return NULL;
}

/*
 * Rings are lent and reclaimed while their producers run: each record that a put reports as kept is
 * in a trace, the others in its count of refusals.
 */
TEST(nothing_is_lost_when_rings_are_reclaimed)
{
	struct borrower borrowers[BORROWERS] = { 0 };
	uint64_t records = 0, lost = 0, kept = 0, refused = 0;
	pthread_t threads[BORROWERS];
	struct recording board;

	prepare(&board);
	for (uint32_t i = 0; i < BORROWERS; i++)
		REQUIRE_OK(rs_lent_open(board.paths[0], i, &borrowers[i].lent));
	for (int i = 0; i < BORROWERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, borrow, &borrowers[i]));
	for (int round = 0; round < ROUNDS; round++) {
		struct rs_sbuf_options options = lending(&board, BORROWERS, false);
		struct recording r;

		prepare(&r);
		REQUIRE(begin_with(&r, &options));
		PAUSE();
		CHECK_OK(end(&r));
		records += r.sum.records;
		lost += r.sum.lost;
		deinit(&r);
	}
	for (int i = 0; i < BORROWERS; i++) {
		__atomic_store_n(&borrowers[i].stop, true, __ATOMIC_RELEASE);
		pthread_join(threads[i], NULL);
		kept += borrowers[i].kept;
		refused += borrowers[i].put - borrowers[i].kept - borrowers[i].lent->dropped;
		rs_lent_close(borrowers[i].lent);
	}
	CHECK_EQ_U64(records, kept);
	CHECK_EQ_U64(lost, refused);
	deinit(&board);
}
