/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xentrace's format, written from a trace without windows, such as a live recording: windows are
 * made, and the records that are read back equal those put in, by physical CPU and in order.
 */
#include "../test.h"

#include <unistd.h>

#include "export/export.h"
#include "import/xen/xentrace.h"
#include "xen/layout.h"

#define CPUS	3
#define RECORDS 20011 /* some rounds */

struct trace {
	struct rs_xen_decoder decoder;
	struct rs_clock clock;
	struct rs_stream stream;
	char path[64];
	struct rs_export *export;
};

struct made {
	struct rs_xen_record record;
	_Alignas(8) uint8_t payload[RS_XEN_PAYLOAD_MAX];
};

static bool trace_init(struct trace *t)
{
	int fd;

	*t = (struct trace){ .clock = { .name = "tsc", .freq_hz = 1000000000 },
			     .path = "/tmp/export-XXXXXX" };
	fd = mkstemp(t->path);
	if (!CHECK(fd >= 0) || !CHECK_OK(rs_clock_init(&t->clock)) ||
	    !CHECK_OK(rs_xen_decoder_init(&t->decoder)))
		return false;
	close(fd);
	t->stream = (struct rs_stream){ .vcpu = -1,
					.cpu = RS_CPU_EACH,
					.tid = -1,
					.xen = true,
					.dom = -1,
					.schema = t->decoder.schema,
					.clock = &t->clock };
	return CHECK_OK(rs_export_xentrace(t->path, NULL, NULL, &t->export));
}

static void trace_deinit(struct trace *t)
{
	rs_export_destroy(t->export);
	rs_xen_decoder_deinit(&t->decoder);
	unlink(t->path);
}

static void put(struct trace *t, int cpu, uint64_t tsc, const struct rs_xen_record *record)
{
	struct made made = { .record = *record };
	struct rs_view view = { .tsc = tsc,
				.ts_ns = rs_clock_ns(&t->clock, tsc),
				.stream = &t->stream,
				.payload = made.payload,
				.cpu = cpu };

	view.event = rs_xen_decode(&t->decoder, &made.record, tsc, made.payload);
	view.payload_bytes = view.event->fixed_bytes;
	CHECK_OK(t->export->sink.ops->events(&t->export->sink, &view, 1));
}

/* The n-th record that is put: its number is in its words. */
static struct rs_xen_record nth(uint32_t n)
{
	return (struct rs_xen_record){ .event = n % 5 ? 0x28004 : 0x82010,
				       .n = n % 5 ? 2 : 0,
				       .stamped = n % 5 != 0,
				       .words = { n, n % 7 } };
}

static void read_back(const struct trace *t)
{
	static const struct rs_foreign_options ghz = { .freq_hz = 1000000000 };
	struct rs_batch batch = { .kind = RS_NEXT_IDLE };
	uint32_t next[CPUS] = { 0, 1, 2 }, records = 0, windows = 0;
	struct rs_foreign *foreign;

	REQUIRE_OK(rs_xentrace_open(t->path, &ghz, &foreign));
	while (batch.kind != RS_NEXT_END &&
	       CHECK_OK(foreign->source.ops->next(&foreign->source, &batch))) {
		for (size_t i = 0; batch.kind == RS_NEXT_EVENTS && i < batch.n; i++) {
			const struct rs_view *view = &batch.views[i];
			const struct rs_xen_record *record = rs_view_xen(view);
			struct rs_xen_record expected;

			if (record->event == RS_XEN_CPU_CHANGE) {
				windows++;
				continue;
			}
			REQUIRE(view->cpu >= 0 && view->cpu < CPUS);
			expected = nth(next[view->cpu]);
			CHECK_EQ_U64(record->event, expected.event);
			CHECK_EQ_U64(record->n, expected.n);
			CHECK_EQ_U64(record->stamped, expected.stamped);
			CHECK_MEM(record->words, expected.words, record->n * 4);
			if (record->stamped)
				CHECK_EQ_U64(view->tsc, 1000 + next[view->cpu]);
			next[view->cpu] += CPUS;
			records++;
		}
	}
	CHECK_EQ_U64(records, RECORDS);
	CHECK(windows >= 2 * CPUS);
	CHECK_EQ_U64(foreign->tally.n_remarks, 0);
	rs_source_destroy(&foreign->source);
}

TEST(windows_are_made_if_there_are_none)
{
	struct trace t;

	REQUIRE(trace_init(&t));
	for (uint32_t n = 0; n < RECORDS; n++) {
		struct rs_xen_record record = nth(n);

		put(&t, (int)(n % CPUS), 1000 + n, &record);
	}
	CHECK_OK(t.export->sink.ops->end(&t.export->sink));
	CHECK_EQ_U64(t.export->tally.records, RECORDS);
	CHECK_EQ_U64(t.export->tally.left_out, 0);
	read_back(&t);
	trace_deinit(&t);
}

/* Events of other kinds cannot be exported, nor can a record whose physical CPU is unknown. */
TEST(unexportable_events_are_counted)
{
	struct rs_xen_record record = nth(1);
	struct rs_view view = { .tsc = 1000 };
	struct trace t;

	REQUIRE(trace_init(&t));
	put(&t, -1, 1000, &record);
	put(&t, 4096, 1000, &record);
	view.stream = &t.stream;
	view.event = rs_schema_find(t.decoder.schema, RS_ID_SPAN_BEGIN);
	CHECK_OK(t.export->sink.ops->events(&t.export->sink, &view, 1));
	CHECK_EQ_U64(t.export->tally.records, 0);
	CHECK_EQ_U64(t.export->tally.left_out, 3);
	trace_deinit(&t);
}
