/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Xen's records in a trace directory: each is read with its words and its context, in its place
 * among others with the same stamp; and an invalid record is damage.
 */
#include "store_kit.h"

#include "store/sink.h"
#include "xen/layout.h"

#define LINES_MAX 16

/* A record and its conversion. */
struct made {
	struct rs_xen_record record;
	_Alignas(8) uint8_t payload[RS_XEN_PAYLOAD_MAX];
};

struct xen {
	char temp[64], path[256];
	struct rs_xen_decoder decoder;
	struct rs_clock clock;
	struct rs_sink *sink;
	struct rs_stream unknown, first, second;
};

static bool xen_init(struct xen *x)
{
	struct rs_stream stream = { .vcpu = -1, .cpu = RS_CPU_EACH, .tid = -1, .xen = true };

	*x = (struct xen){ .clock = kit_clock(ORIGIN) };
	join(x->path, make_temp(x->temp), "trace");
	if (!CHECK_OK(rs_xen_decoder_init(&x->decoder)) ||
	    !CHECK_OK(rs_store_sink_create(x->path, &x->clock, NULL, "a test", &x->sink)))
		return false;
	stream.clock = &x->clock;
	stream.schema = x->decoder.schema;
	x->unknown = x->first = x->second = stream;
	x->unknown.dom = -1;
	x->first.vm = "web";
	x->first.dom = 3;
	x->first.vcpu = 1;
	x->second.vm = "idle";
	x->second.dom = RS_XEN_DOM_IDLE;
	x->second.vcpu = 300;
	return true;
}

static void xen_deinit(struct xen *x)
{
	rs_xen_decoder_deinit(&x->decoder);
	remove_tree(x->temp);
}

static void put(struct xen *x, const struct rs_stream *stream, uint64_t tsc, int cpu,
		const struct rs_xen_record *record)
{
	struct made made = { .record = *record };
	struct rs_view view = { .tsc = tsc,
				.ts_ns = rs_clock_ns(&x->clock, tsc),
				.stream = stream,
				.payload = made.payload,
				.cpu = cpu };

	view.event = rs_xen_decode(&x->decoder, &made.record, tsc, made.payload);
	view.payload_bytes = view.event->fixed_bytes;
	CHECK_OK(x->sink->ops->events(x->sink, &view, 1));
}

/* ---- the records read, as lines ------------------------------------------------------------- */

struct lines {
	struct rs_sink sink;
	char line[LINES_MAX][160];
	uint32_t n;
};

static struct rs_error *lines_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct lines *lines = (struct lines *)sink;

	for (size_t i = 0; i < n && lines->n < LINES_MAX; i++) {
		const struct rs_view *view = &views[i];
		const struct rs_xen_record *record = rs_view_xen(view);
		char *line = lines->line[lines->n++];
		size_t at;

		at = (size_t)snprintf(line, sizeof(lines->line[0]), "%llu [%d] %s d%dv%d %s",
				      (unsigned long long)view->tsc, view->cpu,
				      view->stream->vm ? view->stream->vm : "-", view->stream->dom,
				      view->stream->vcpu, view->event->probe);
		for (uint32_t j = 0; record && j < record->n; j++)
			at += (size_t)snprintf(line + at, sizeof(lines->line[0]) - at, " %x",
					       record->words[j]);
	}
	return NULL;
}

static const struct rs_sink_ops lines_ops = { .name = "lines", .events = lines_events };

/* Closes the trace, and reads it into lines. */
static struct rs_error *read_back(struct xen *x, struct lines *lines)
{
	struct rs_source *source = NULL;
	struct rs_trace *trace;
	struct rs_error *err = rs_store_sink_close(x->sink, NULL, NULL);

	*lines = (struct lines){ .sink = { &lines_ops } };
	if (!err)
		err = rs_trace_open(x->path, &trace);
	if (err)
		return err;
	err = rs_trace_source(trace, &source);
	if (!err)
		err = rs_run(source, NULL, &lines->sink, NULL);
	rs_source_destroy(source);
	rs_trace_close(trace);
	return err;
}

static const struct rs_xen_record wake = {
	.event = 0x28004, .n = 2, .stamped = 1, .words = { 3, 1 }
};
static const struct rs_xen_record unknown = { .event = 0x2f123,
					      .n = 7,
					      .words = { 1, 2, 3, 4, 5, 6, 7 } };
static const struct rs_xen_record tasklet = { .event = 0x22208, .stamped = 1 };

TEST(records_are_read_in_order_with_their_context)
{
	static const char *const expected[] = {
		"1000000 [4000] - d-1v-1 xdt:sched::wake 3 1",
		"1000000 [0] web d3v1 xen:csched2::tasklet",
		"1000000 [4000] idle d32767v300 xdt:sched::wake 3 1",
		"1000000 [1] web d3v1 xen:raw::0x2f123 1 2 3 4 5 6 7",
		"1000000 [-1] - d-1v-1 xdt:sched::wake 3 1",
		"1000009 [1] web d3v1 xen:csched2::tasklet",
	};
	struct lines lines;
	struct xen x;

	REQUIRE(xen_init(&x));
	put(&x, &x.unknown, ORIGIN, 4000, &wake);
	put(&x, &x.first, ORIGIN, 0, &tasklet);
	put(&x, &x.second, ORIGIN, 4000, &wake);
	put(&x, &x.first, ORIGIN, 1, &unknown);
	put(&x, &x.unknown, ORIGIN, -1, &wake);
	put(&x, &x.first, ORIGIN + 9, 1, &tasklet);
	CHECK_OK(read_back(&x, &lines));
	if (CHECK_EQ_U64(lines.n, 6)) {
		for (uint32_t i = 0; i < 6; i++)
			CHECK_STR(lines.line[i], expected[i]);
	}
	xen_deinit(&x);
}

/* A stamp that goes back becomes the previous one, and a report before it has the original. */
TEST(a_late_record_keeps_its_place)
{
	struct lines lines;
	struct xen x;

	REQUIRE(xen_init(&x));
	put(&x, &x.first, ORIGIN + 9, 0, &tasklet);
	put(&x, &x.first, ORIGIN + 5, 1, &wake);
	CHECK_OK(read_back(&x, &lines));
	if (CHECK_EQ_U64(lines.n, 3)) {
		CHECK_STR(lines.line[1], "1000009 [-1] - d-1v-1 xen:trace::clock-back");
		CHECK_STR(lines.line[2], "1000009 [1] web d3v1 xdt:sched::wake 3 1");
	}
	xen_deinit(&x);
}

TEST(an_invalid_xen_record_is_damage)
{
	static const struct rs_xen_record hostile[] = {
		{ .event = 0x28004, .n = 8, .words = { 3, 1 } },
		{ .event = 0x28004, .n = 255, .words = { 3, 1 } },
		{ .event = 0x28004, .n = 2, .stamped = 2, .words = { 3, 1 } },
		{ .event = 0x10028004, .n = 2, .words = { 3, 1 } },
	};
	struct lines lines;

	for (uint32_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		struct made made = { .record = hostile[i] };
		struct rs_view view = { .tsc = ORIGIN, .payload = made.payload };
		struct xen x;

		REQUIRE(xen_init(&x));
		put(&x, &x.first, ORIGIN, 0, &tasklet);
		view.stream = &x.first;
		view.event = rs_xen_event(&x.decoder, RS_XEN_xdt_wake);
		view.payload_bytes = view.event->fixed_bytes;
		CHECK_OK(x.sink->ops->events(x.sink, &view, 1));
		CHECK_ERR(read_back(&x, &lines), RS_DAMAGED, "no described record");
		CHECK_EQ_U64(lines.n, 1);
		xen_deinit(&x);
	}
}
