/* SPDX-License-Identifier: BSD-2-Clause */
/* The store as a sink: the trace written from a source gives the same events as the source. */
#include "store_kit.h"

#include "event/view.h"
#include "store/sink.h"

#define ON 7 /* c::on(u32 tid, u64 n) */

/* The content of an event that was read, as bytes: its fields and its text. */
static size_t own_bytes(const struct got *got)
{
	const struct rs_event *event = got->event;
	uint16_t len = 0;

	if (event->n_tails)
		memcpy(&len, got->payload + event->fixed_bytes - 2, 2);
	return event->fixed_bytes + ((size_t)len << event->tail_shift);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static void check_same(const struct got *a, const struct got *b)
{
	CHECK_EQ_S64(b->ts_ns, a->ts_ns);
	CHECK_EQ_U64(b->tsc, a->tsc);
	CHECK_STR(b->event->probe, a->event->probe);
	CHECK_EQ_U64(b->event->id, a->event->id);
	CHECK_EQ_S64(b->cpu, a->cpu);
	CHECK(same_text(b->stream->vm, a->stream->vm));
	CHECK(same_text(b->stream->thread, a->stream->thread));
	CHECK_EQ_S64(b->stream->vcpu, a->stream->vcpu);
	CHECK_EQ_S64(b->stream->pid, a->stream->pid);
	CHECK_EQ_S64(b->stream->cpu, a->stream->cpu);
	CHECK_EQ_S64(b->stream->tid, a->stream->tid);
	CHECK_EQ_U64(b->stream->mixed, a->stream->mixed);
	CHECK_STR(b->stream->clock->name, a->stream->clock->name);
	if (CHECK_EQ_U64(own_bytes(b), own_bytes(a)))
		CHECK(!memcmp(b->payload, a->payload, own_bytes(a)));
}

/*
 * Writes a trace from another one, named `second` in the same folder; the stream order is the
 * first's.
 */
static struct rs_error *copy(struct rs_trace *trace, const char *to, const struct rs_error *damage,
			     struct rs_store_summary *summary)
{
	struct rs_source *source = NULL;
	struct rs_sink *sink;
	struct rs_error *err =
		rs_store_sink_create(to, rs_trace_clock(trace), NULL, "a copy", &sink);
	struct rs_error *close_err;

	if (err)
		return err;
	for (uint32_t i = 0; i < trace->describe.n_streams; i++)
		CHECK_OK(rs_store_sink_add(sink, rs_trace_stream(trace, i)));
	err = rs_trace_source(trace, &source);
	if (!err)
		err = rs_run(source, NULL, sink, NULL);
	close_err = rs_store_sink_close(sink, damage, summary);
	rs_source_destroy(source);
	if (!err)
		return close_err;
	rs_error_free(close_err);
	return err;
}

/* Closes k, copies its trace, compares the two event by event. */
static void check_copy(struct kit_store *k)
{
	struct got_sink a = got_sink(), b = got_sink();
	struct rs_store_summary first, second;
	struct rs_trace *from, *to;
	char path[256];

	REQUIRE_OK(kit_store_close(k, &first));
	REQUIRE_OK(rs_trace_open(k->path, &from));
	REQUIRE_OK(copy(from, join(path, k->temp, "second"), NULL, &second));
	REQUIRE_OK(rs_trace_open(path, &to));
	CHECK_OK(trace_read(from, NULL, &a));
	CHECK_OK(trace_read(to, NULL, &b));
	CHECK_EQ_U64(second.records, first.records);
	CHECK_EQ_U64(second.lost, first.lost);
	CHECK_EQ_U64(second.streams, first.streams);
	CHECK_EQ_U64(rs_trace_stream_count(to), rs_trace_stream_count(from));
	CHECK(a.n > 0);
	if (CHECK_EQ_U64(b.n, a.n)) {
		for (size_t i = 0; i < a.n; i++)
			check_same(&a.at[i], &b.at[i]);
	}
	got_free(&a);
	got_free(&b);
	rs_trace_close(from);
	rs_trace_close(to);
}

TEST(every_kind_of_record_is_read_unchanged)
{
	struct kit_store k;

	REQUIRE(kit_store_init(&k, NULL));
	kit_store_everything(&k);
	check_copy(&k);
	kit_store_deinit(&k);
}

/* More than a packet per stream, so that the sink writes before the end. */
TEST(many_packets)
{
	struct slots s = { 0 };
	struct kit_store k;

	REQUIRE(kit_store_init(&k, NULL));
	CHECK_OK(kit_store_stream(&k, 0, NULL));
	CHECK_OK(kit_store_stream(&k, 1, NULL));
	for (uint32_t i = 0; i < 10007; i++)
		slots_one(&s, ORIGIN + i, i);
	CHECK_OK(kit_store_put(&k, 0, &s));
	for (uint32_t i = 0; i < 9973; i++)
		slots_one(&s, ORIGIN + i / 2, i);
	CHECK_OK(kit_store_put(&k, 1, &s));
	check_copy(&k);
	kit_store_deinit(&k);
}

static void put_on(struct slots *s, uint64_t tsc, uint32_t tid, uint64_t n)
{
	struct {
		uint32_t tid;
		uint64_t n;
	} __attribute__((packed)) payload = { tid, n };

	slots_record(s, tsc, USER(ON), &payload, sizeof(payload));
}

/* Two host CPUs' streams with three threads, one of which has a reused tid. */
TEST(threads_are_preserved)
{
	static const struct rs_stream cpus[] = { { .vcpu = -1, .cpu = 0, .tid = -1 },
						 { .vcpu = -1, .cpu = 1, .tid = -1 } };
	static const struct rs_thread threads[] = {
		{ .tid = 97, .pid = 89, .vm = "first", .vcpu = 0, .from = ORIGIN },
		{ .tid = 101, .vm = "first", .vcpu = 1, .from = ORIGIN },
		{ .tid = 97, .vm = "second", .vcpu = 0, .from = ORIGIN + 50 },
	};
	static const char on[] = "c::on(u32 tid, u64 n)";
	struct slots a = { 0 }, b = { 0 };
	struct kit_store k;

	REQUIRE(kit_store_init(&k, NULL));
	CHECK_OK(rs_schema_declare(k.schema, USER(ON), on, strlen(on)));
	CHECK_OK(kit_store_stream(&k, 0, &cpus[0]));
	CHECK_OK(kit_store_stream(&k, 1, &cpus[1]));
	for (uint32_t i = 0; i < 3; i++)
		CHECK_OK(rs_store_add_thread(k.store, k.class_index, &threads[i]));
	put_on(&a, ORIGIN + 10, 97, 1);
	put_on(&b, ORIGIN + 11, 101, 2);
	put_on(&b, ORIGIN + 12, 97, 3); /* it moved */
	slots_lost(&a, ORIGIN + 20, 17, ORIGIN + 11, RS_LOST_FULL);
	put_on(&a, ORIGIN + 60, 97, 4);
	put_on(&b, ORIGIN + 61, 101, 5);
	CHECK_OK(kit_store_put(&k, 0, &a));
	CHECK_OK(kit_store_put(&k, 1, &b));
	check_copy(&k);
	kit_store_deinit(&k);
}

/* ---- views of the test's own ---------------------------------------------------------------- */

static struct rs_view view_of(const struct rs_stream *stream, uint32_t n, uint64_t tsc,
			      const void *payload, uint32_t bytes)
{
	return (struct rs_view){ .ts_ns = rs_clock_ns(stream->clock, tsc),
				 .tsc = tsc,
				 .event = rs_schema_find(stream->schema, USER(n)),
				 .stream = stream,
				 .payload = payload,
				 .payload_bytes = bytes,
				 .cpu = RS_UNKNOWN };
}

TEST(a_stamp_that_goes_back_is_reported)
{
	struct rs_schema *schema = kit_schema("app");
	struct rs_clock clock = kit_clock(ORIGIN);
	struct rs_stream stream = { .vcpu = -1, .cpu = -1, .schema = schema, .clock = &clock };
	const uint64_t n[3] = { 2, 3, 5 };
	struct rs_view views[3] = { view_of(&stream, KIT_ONE, ORIGIN + 9, &n[0], 8),
				    view_of(&stream, KIT_ONE, ORIGIN + 4, &n[1], 8),
				    view_of(&stream, KIT_ONE, ORIGIN + 9, &n[2], 8) };
	struct got_sink got = got_sink();
	struct rs_store_summary summary;
	char temp[64], path[256];
	struct rs_trace *trace;
	struct rs_sink *sink;

	join(path, make_temp(temp), "trace");
	REQUIRE_OK(rs_store_sink_create(path, &clock, NULL, "a test", &sink));
	CHECK_OK(sink->ops->events(sink, views, 3));
	CHECK_OK(rs_store_sink_close(sink, NULL, &summary));
	CHECK_EQ_U64(summary.records, 3);
	REQUIRE_OK(rs_trace_open(path, &trace));
	CHECK_OK(trace_read(trace, NULL, &got));
	REQUIRE_EQ_U64(got.n, 4);
	CHECK_EQ_U64(got.at[1].event->id, RS_ID_CLOCK_BACK);
	CHECK_EQ_U64(got_value(&got.at[1]), ORIGIN + 4);
	CHECK_EQ_U64(got.at[2].tsc, ORIGIN + 9);
	CHECK_EQ_U64(got_value(&got.at[2]), 3);
	CHECK_EQ_U64(got_value(&got.at[3]), 5);
	got_free(&got);
	rs_trace_close(trace);
	rs_schema_destroy(schema);
	remove_tree(temp);
}

/* Two sources may each have a clock `host`, which may differ. */
TEST(clocks_with_one_name_stay_separate)
{
	struct rs_schema *schema = kit_schema("app"), *other = kit_schema("other");
	struct rs_clock clock = kit_clock(ORIGIN), late = kit_clock(ORIGIN + 1000), same = clock;
	struct rs_stream streams[3] = { { .schema = schema, .clock = &clock },
					{ .schema = other, .clock = &late },
					{ .schema = other, .clock = &same } };
	static const uint64_t n = 1;
	struct got_sink got = got_sink();
	char temp[64], path[256];
	struct rs_trace *trace;
	struct rs_sink *sink;

	join(path, make_temp(temp), "trace");
	REQUIRE_OK(rs_store_sink_create(path, &clock, NULL, "a test", &sink));
	for (uint32_t i = 0; i < 3; i++) {
		struct rs_view view = view_of(&streams[i], KIT_ONE, ORIGIN + 1500 + i, &n, 8);

		CHECK_OK(sink->ops->events(sink, &view, 1));
	}
	CHECK_OK(rs_store_sink_close(sink, NULL, NULL));
	REQUIRE_OK(rs_trace_open(path, &trace));
	CHECK_EQ_U64(trace->describe.n_clocks, 2);
	CHECK_OK(trace_read(trace, NULL, &got));
	REQUIRE_EQ_U64(got.n, 3);
	CHECK_EQ_S64(got.at[0].ts_ns, 501);
	CHECK_STR(got.at[0].stream->clock->name, "host_2");
	CHECK_EQ_S64(got.at[1].ts_ns, 1500);
	CHECK_EQ_S64(got.at[2].ts_ns, 1502);
	CHECK_STR(got.at[2].stream->clock->name, "host");
	got_free(&got);
	rs_trace_close(trace);
	rs_schema_destroy(schema);
	rs_schema_destroy(other);
	remove_tree(temp);
}

TEST(damage_of_the_source_is_reported_to_readers)
{
	struct rs_clock clock = kit_clock(ORIGIN);
	struct rs_error *damage = rs_error_create(RS_DAMAGED, "the file is cut"), *err;
	struct got_sink got = got_sink();
	char temp[64], path[256];
	struct rs_trace *trace;
	struct rs_sink *sink;

	join(path, make_temp(temp), "trace");
	REQUIRE_OK(rs_store_sink_create(path, &clock, NULL, "a test", &sink));
	CHECK_OK(rs_store_sink_close(sink, damage, NULL));
	REQUIRE_OK(rs_trace_open(path, &trace));
	err = trace_read(trace, NULL, &got);
	CHECK(err && strstr(rs_error_text(err), "the file is cut"));
	rs_error_free(err);
	rs_error_free(damage);
	rs_trace_close(trace);
	err = rs_store_sink_create(temp, &clock, NULL, "a test", &sink); /* not empty */
	CHECK(err && rs_error_code(err) == RS_USAGE);
	rs_error_free(err);
	remove_tree(temp);
}
