/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many guests, one after another, in one recorder: each record belongs to the right guest, and
 * neither the recorder's memory nor its number of files grows with guests that have ended.
 * SANDBOXES sets the number; a million have been run.
 */
#include "guest_fake.h"

#include <malloc.h>
#include <stdlib.h>

#include "base/sanitized.h"
#include <ringside/reader.h>
#include <ringside/recorder.h>

#define SANDBOXES (RS_SANITIZED ? 2003u : 50021u) /* memory use is not measured there */
/*
 * Room for one more packet of each stream. The smallest possible leak per guest would add up to 800
 * KB for half of them.
 */
#define GROWTH_BYTES (640u << 10)

struct recording {
	char dir[64], path[256];
	struct rs_recorder *recorder;
	struct rs_recorder_summary sum;
	struct rs_clock clock;
};

static void recording_start(struct recording *r)
{
	struct rs_recorder_options options = { .poll_us = 100 };

	r->clock = options.clock = kit_clock(rs_tsc());
	make_temp(r->dir);
	options.directory = join(r->path, r->dir, "trace");
	CHECK_OK(rs_recorder_create(&options, &r->recorder));
}

static uint32_t sandboxes(void)
{
	const char *text = getenv("SANDBOXES");

	return text ? (uint32_t)strtoul(text, NULL, 10) : SANDBOXES;
}

/* A sandbox whose TSC has its own offset from the host's. */
static struct fake *sandbox_create(const struct recording *r, uint32_t number, bool poll)
{
	char vm[64];
	struct fake *f;

	snprintf(vm, sizeof(vm), "sandbox-%u", number);
	f = fake_create(vm, RING_BYTES);
	for (uint32_t i = 0; i < VCPUS; i++) {
		f->offset[i] = (int64_t)number * 1000003 * (number % 2 ? 1 : -1);
		rs_host_set_tsc_offset(f->host, i, f->offset[i], 0);
	}
	CHECK_OK(rs_recorder_add_guest(r->recorder, f->host, poll));
	for (uint32_t i = 0; i < VCPUS; i++)
		CHECK_OK(ring_doorbell(f, i));
	return f;
}

/* ---- output --------------------------------------------------------------------------------- */

/* Counts records, and checks that each belongs to the VM and vCPU in its number. */
struct checker {
	struct rs_sink sink;
	uint64_t records, wrong;
	int64_t last_ns;
};

static struct rs_error *check_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct checker *c = (struct checker *)sink;
	char vm[64];

	for (size_t i = 0; i < n; i++) {
		const struct rs_view *view = &views[i];
		uint64_t number = rs_field_value(&view->event->fields[0], view->payload);

		snprintf(vm, sizeof(vm), "sandbox-%llu", (unsigned long long)number / VCPUS);
		c->wrong += strcmp(view->event->probe, "guest:io::read") != 0 ||
			    !view->stream->vm || strcmp(view->stream->vm, vm) != 0 ||
			    view->stream->vcpu != (int)(number % VCPUS) || view->ts_ns < c->last_ns;
		c->last_ns = view->ts_ns;
		c->records++;
	}
	return NULL;
}

static const struct rs_sink_ops checker_ops = { .name = "checker", .events = check_events };

static void recording_check(struct recording *r, uint64_t records)
{
	struct checker c = { .sink = { &checker_ops } };
	struct rs_source *source;
	struct rs_trace *trace;

	REQUIRE_OK(rs_trace_open(r->path, &trace));
	REQUIRE_OK(rs_trace_source(trace, &source));
	CHECK_OK(rs_run(source, NULL, &c.sink, NULL));
	rs_source_destroy(source);
	rs_trace_close(trace);
	CHECK_EQ_U64(c.records, records);
	CHECK_EQ_U64(c.wrong, 0);
	remove_tree(r->dir);
}

/* ---- cases ---------------------------------------------------------------------------------- */

TEST(consecutive_guests_need_the_memory_of_one)
{
	struct recording r = { 0 };
	uint32_t n = sandboxes();
	size_t early = SIZE_MAX, late = SIZE_MAX, used;

	recording_start(&r);
	for (uint32_t i = 0; i < n; i++) {
		struct fake *f = sandbox_create(&r, i, false);

		for (uint32_t v = 0; v < VCPUS; v++) {
			CHECK(emit(f, v, (uint64_t)i * VCPUS + v));
			if (i % 3 == 0) /* otherwise, removing it drains it */
				CHECK_OK(rs_recorder_drain_guest(r.recorder, f->host, v));
		}
		CHECK_OK(rs_recorder_remove_guest(r.recorder, f->host));
		fake_destroy(f);
		/* The minimum of each half, because packets that wait for the disk vary. */
		used = mallinfo2().uordblks;
		if (i > n / 4 && i < n / 2 && used < early)
			early = used;
		if (i > n / 2 && used < late)
			late = used;
	}
	CHECK(RS_SANITIZED || late < early + GROWTH_BYTES);
	CHECK_OK(rs_recorder_close(r.recorder, &r.sum));
	CHECK_EQ_U64(r.sum.records, (uint64_t)n * VCPUS);
	CHECK_EQ_U64(r.sum.lost, 0);
	CHECK_EQ_U64(r.sum.streams, VCPUS);
	recording_check(&r, (uint64_t)n * VCPUS);
}

/* LIVE concurrent guests, polled by the recorder; the oldest is removed when another is added. */
TEST(concurrent_guests_have_separate_streams)
{
	enum { N = 503, LIVE = 7 };
	struct fake *live[LIVE] = { NULL };
	struct recording r = { 0 };

	recording_start(&r);
	for (uint32_t i = 0; i < N + LIVE; i++) {
		struct fake **at = &live[i % LIVE];

		if (*at) {
			CHECK_OK(rs_recorder_remove_guest(r.recorder, (*at)->host));
			fake_destroy(*at);
			*at = NULL;
		}
		if (i >= N)
			continue;
		*at = sandbox_create(&r, i, true);
		for (uint32_t v = 0; v < VCPUS; v++)
			CHECK(emit(*at, v, (uint64_t)i * VCPUS + v));
	}
	CHECK_OK(rs_recorder_close(r.recorder, &r.sum));
	CHECK_EQ_U64(r.sum.records, (uint64_t)N * VCPUS);
	CHECK(r.sum.streams <= (LIVE + 1) * VCPUS);
	recording_check(&r, (uint64_t)N * VCPUS);
}

/*
 * Records a guest that has an additional event if `odd`, and its own clock if its offset is not
 * exact.
 */
static void record_one(struct recording *r, uint32_t number, bool odd, uint64_t error_cycles)
{
	struct fake *f = fake_create("sandbox-0", RING_BYTES);

	if (odd) {
		site_make(f, 3, RS_GUEST_SITE_EVENT, "io::other(u64 sector)");
		area_of(f)->n_sites = 4;
	}
	for (uint32_t i = 0; i < VCPUS; i++)
		rs_host_set_tsc_offset(f->host, i, 0, error_cycles);
	CHECK_OK(rs_recorder_add_guest(r->recorder, f->host, false));
	CHECK_OK(ring_doorbell(f, 0));
	CHECK(emit(f, 0, number));
	CHECK_OK(rs_recorder_remove_guest(r->recorder, f->host));
	fake_destroy(f);
}

TEST(other_programs_and_clocks_have_separate_streams)
{
	struct recording r = { 0 };

	recording_start(&r);
	for (int i = 0; i < 3; i++) {
		record_one(&r, 0, false, 0);
		record_one(&r, 0, true, 0);
	}
	for (int i = 0; i < 3; i++)
		record_one(&r, 0, false, 1);
	CHECK_OK(rs_recorder_close(r.recorder, &r.sum));
	CHECK_EQ_U64(r.sum.records, 9);
	CHECK_EQ_U64(r.sum.streams, 2 + 3);
	recording_check(&r, 9);
}

TEST(a_guest_is_removed_once_by_its_own_recorder)
{
	struct recording r = { 0 }, other = { 0 };
	struct fake *f;

	recording_start(&r);
	recording_start(&other);
	f = sandbox_create(&r, 0, false);
	CHECK(emit(f, 0, 0));
	CHECK_ERR(rs_recorder_remove_guest(other.recorder, f->host), RS_USAGE, "does not collect");
	CHECK_OK(rs_recorder_remove_guest(r.recorder, f->host));
	CHECK_ERR(rs_recorder_remove_guest(r.recorder, f->host), RS_USAGE, "does not collect");
	CHECK_ERR(rs_recorder_drain_guest(r.recorder, f->host, 0), RS_USAGE, "does not collect");
	CHECK_ERR(rs_recorder_add_guest(r.recorder, f->host, false), RS_USAGE, "already");
	fake_destroy(f);
	CHECK_OK(rs_recorder_close(other.recorder, NULL));
	CHECK_OK(rs_recorder_close(r.recorder, &r.sum));
	CHECK_EQ_U64(r.sum.records, 1);
	remove_tree(other.dir);
	recording_check(&r, 1);
}
