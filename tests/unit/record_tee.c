/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tee: its trace gives the same events that a sink saw live, in the same order and at the same
 * times, however late events arrived and however many had equal times.
 */
#include "store_kit.h"

#include "live/tee.h"
#include "store/sink.h"

#define STREAMS 4
#define EVENTS	5003

struct feeder {
	struct rs_stream streams[STREAMS];
	uint8_t payload[64];
	struct rs_tee *tee;
};

/* An event of stream i at a stamp. */
static void feed(struct feeder *f, const struct rs_event *event, uint32_t i, uint64_t tsc)
{
	const struct rs_stream *stream = &f->streams[i];
	struct rs_view view = { .ts_ns = rs_clock_ns(stream->clock, tsc),
				.tsc = tsc,
				.event = event,
				.stream = stream,
				.payload = f->payload,
				.payload_bytes = sizeof(f->payload),
				.cpu = stream->cpu };
	struct rs_sink *sink = rs_tee_sink(f->tee);

	CHECK_OK(sink->ops->events(sink, &view, 1));
}

static void check_again(const char *path, const struct got_sink *live)
{
	struct got_sink again = got_sink();
	struct rs_trace *trace;

	REQUIRE_OK(rs_trace_open(path, &trace));
	CHECK_OK(trace_read(trace, NULL, &again));
	if (CHECK_EQ_U64(again.n, live->n)) {
		for (size_t i = 0; i < live->n; i++) {
			CHECK_EQ_S64(again.at[i].ts_ns, live->at[i].ts_ns);
			CHECK_EQ_U64(again.at[i].tsc, live->at[i].tsc);
			CHECK_EQ_S64(again.at[i].cpu, live->at[i].cpu);
		}
	}
	got_free(&again);
	rs_trace_close(trace);
}

static const struct rs_event *begin(struct feeder *f, const struct kit_store *k,
				    const struct rs_clock *clock, const char *path,
				    struct rs_sink **store, struct got_sink *live)
{
	CHECK_OK(rs_store_sink_create(path, clock, NULL, "a test", store));
	for (int i = 0; i < STREAMS; i++) {
		f->streams[i] = (struct rs_stream){ .index = (uint32_t)i,
						    .vcpu = RS_UNKNOWN,
						    .cpu = i,
						    .tid = RS_UNKNOWN,
						    .mixed = true,
						    .schema = k->schema,
						    .clock = clock };
		CHECK_OK(rs_store_sink_add(*store, &f->streams[i]));
	}
	CHECK_OK(rs_tee_create(*store, &live->sink, &f->tee));
	return rs_schema_find(k->schema, USER(1));
}

/* Stamps that advance, repeat, and go back, of streams in any order. */
static void run(uint64_t freq_hz)
{
	struct got_sink live = got_sink();
	struct feeder f = { .payload = { 0 } };
	const struct rs_event *event;
	struct rs_sink *store = NULL;
	struct rs_clock clock;
	uint32_t random = 12345;
	struct kit_store k;
	char path[256];
	uint64_t tsc = ORIGIN;

	REQUIRE(kit_store_init(&k, NULL));
	clock = k.clock;
	clock.freq_hz = freq_hz;
	REQUIRE_OK(rs_clock_init(&clock));
	event = begin(&f, &k, &clock, join(path, k.temp, "tee"), &store, &live);
	REQUIRE(event != NULL);
	for (uint32_t i = 0; i < EVENTS; i++) {
		uint64_t late;

		random = random * 1103515245 + 12345;
		late = random >> 28 ? 0 : random >> 16 & 63;
		tsc += random >> 20 & 3 ? 0 : random >> 24 & 15;
		feed(&f, event, random >> 8 & (STREAMS - 1), tsc - late);
		if (!(i % 97))
			rs_tee_advance(f.tee, rs_clock_ns(&clock, tsc));
	}
	CHECK(rs_tee_moved(f.tee) > 0);
	for (size_t i = 1; i < live.n; i++)
		CHECK(live.at[i].ts_ns >= live.at[i - 1].ts_ns);
	rs_tee_destroy(f.tee);
	rs_store_sink_set_closed(store, 4711);
	CHECK_OK(rs_store_sink_close(store, NULL, NULL));
	check_again(path, &live);
	got_free(&live);
	kit_store_deinit(&k);
}

TEST(a_tee_s_trace_equals_the_sink_s_input)
{
	run(1000000000); /* one stamp per ns */
	run(2596125000); /* several stamps per ns */
	run(24000000);	 /* a stamp is several ns */
}

TEST(ordered_events_keep_their_stamps)
{
	struct got_sink live = got_sink();
	struct feeder f = { .payload = { 0 } };
	const struct rs_event *event;
	struct rs_sink *store = NULL;
	struct kit_store k;
	char path[256];

	REQUIRE(kit_store_init(&k, NULL));
	event = begin(&f, &k, &k.clock, join(path, k.temp, "tee"), &store, &live);
	feed(&f, event, 2, ORIGIN + 7);
	feed(&f, event, 2, ORIGIN + 7);
	feed(&f, event, 3, ORIGIN + 7);
	rs_tee_advance(f.tee, rs_clock_ns(&k.clock, ORIGIN + 9));
	feed(&f, event, 0, ORIGIN + 11);
	CHECK_EQ_U64(rs_tee_moved(f.tee), 0);
	rs_tee_destroy(f.tee);
	CHECK_OK(rs_store_sink_close(store, NULL, NULL));
	check_again(path, &live);
	got_free(&live);
	kit_store_deinit(&k);
}

TEST(a_trace_records_when_it_was_closed)
{
	struct rs_trace *trace;
	struct rs_sink *store;
	struct kit_store k;
	int64_t at_ns = 0;
	char path[256];

	REQUIRE(kit_store_init(&k, NULL));
	REQUIRE_OK(
		rs_store_sink_create(join(path, k.temp, "tee"), &k.clock, NULL, "a test", &store));
	rs_store_sink_set_closed(store, 4711);
	CHECK_OK(rs_store_sink_close(store, NULL, NULL));
	REQUIRE_OK(rs_trace_open(path, &trace));
	CHECK(rs_trace_closed(trace, &at_ns));
	CHECK_EQ_S64(at_ns, 4711);
	rs_trace_close(trace);
	CHECK_OK(kit_store_close(&k, NULL));
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK(!rs_trace_closed(trace, &at_ns));
	rs_trace_close(trace);
	kit_store_deinit(&k);
}
