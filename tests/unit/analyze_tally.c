/* SPDX-License-Identifier: BSD-2-Clause */
/* The tally of exits and CPUs: its ticks, and the bases of its shares. */
#include "exits_kit.h"

#include "analyze/tally.h"

#define IO    30u
#define START 1000000000u

/* A trace of KVM with one vCPU's thread, on the timeline of several. */
struct trace {
	struct rs_clock clock;
	struct rs_stream stream;
	int64_t shift_ns;
};

static void trace_init(struct trace *t, const struct kit *k, uint64_t origin, int vcpu)
{
	*t = (struct trace){ 0 };
	t->clock = (struct rs_clock){
		.name = "monotonic", .freq_hz = 1000000000, .origin = origin, .monotonic = true
	};
	REQUIRE_OK(rs_clock_init(&t->clock));
	t->stream = (struct rs_stream){
		.vcpu = vcpu, .cpu = RS_UNKNOWN, .tid = 101, .schema = k->schema, .clock = &t->clock
	};
}

/* Puts an exit or entry of the trace's vCPU, at a time from its start. */
static void put(struct kit *k, struct rs_sink *sink, const struct trace *t, int64_t ns,
		const char *class_name, const char *name)
{
	uint8_t payload[256] = { 0 };
	struct rs_view view = { .ts_ns = ns + t->shift_ns,
				.tsc = t->clock.origin + (uint64_t)ns,
				.event = kit_event(k, class_name, name),
				.stream = &t->stream,
				.payload = payload,
				.payload_bytes = sizeof(payload),
				.cpu = t->stream.vcpu };

	REQUIRE(view.event != NULL);
	kit_set(view.event, payload, "tid", 101);
	if (!strcmp(name, "exit"))
		kit_set(view.event, payload, "reason", IO);
	else
		kit_set(view.event, payload, "vcpu_id", (uint64_t)t->stream.vcpu);
	CHECK_OK(sink->ops->events(sink, &view, 1));
}

/* Two machines whose CLOCK_MONOTONIC differs by ten days, with a common timeline. Whichever trace
 * has the first event, the durations are right. */
TEST(ticks_of_two_machines)
{
	for (int first = 0; first < 2; first++) {
		struct trace traces[2], *a = &traces[first], *b = &traces[!first];
		struct rs_sink *sink;
		struct rs_tally tally;
		struct kit k;

		kit_init(&k, &(const struct rs_exits_options){ 0 });
		REQUIRE_OK(rs_tally_sink_create(&sink));
		trace_init(&traces[0], &k, UINT64_C(864000) * START, 0);
		trace_init(&traces[1], &k, UINT64_C(3600) * START, 1);
		b->shift_ns = 50;
		a->shift_ns = -7;
		for (int64_t at = 0; at < 10000; at += 1000) {
			put(&k, sink, a, at, "vmx", "exit");
			put(&k, sink, b, at, "vmx", "exit");
			put(&k, sink, a, at + 300, "vcpu", "entry");
			put(&k, sink, b, at + 500, "vcpu", "entry");
		}
		CHECK_OK(rs_tally_collect(sink, RS_TALLY_BY_VCPU, &tally));
		CHECK_EQ_U64(tally.ticks, 9557);
		for (size_t i = 0; i < tally.n_rows; i++) {
			const struct rs_tally_row *row = &tally.rows[i];

			if (row->kind != RS_TALLY_EXITS || row->sub != RS_ISA_VMX)
				continue;
			CHECK_EQ_U64(row->timed, 10);
			CHECK_EQ_U64(row->total, row->vcpu == a->stream.vcpu ? 3000 : 5000);
		}
		rs_tally_sink_destroy(sink);
		kit_free(&k);
	}
}

#define MANY 2048u

/* Each vCPU of a VMM has its own CPU. The time to find the bases does not explode. */
TEST(bases_of_many_vcpus)
{
	static const uint32_t keys[] = { RS_TALLY_BY_VCPU, RS_TALLY_BY_VM };
	const struct rs_clock clock = { .name = "tsc", .id = 1, .freq_hz = 1000000000 };
	struct rs_stream stream = { .vm = "vm", .vcpu = RS_UNKNOWN, .cpu = -1, .clock = &clock };
	struct kit k = { 0 };

	REQUIRE_OK(rs_schema_create("vmm", &k.schema));
	REQUIRE_OK(rs_schema_add_catalogue(k.schema, "vmm"));
	stream.schema = k.schema;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct rs_sink *sink;
		struct rs_tally tally;

		REQUIRE_OK(rs_tally_sink_create(&sink));
		for (uint64_t n = 0; n < 2 * MANY; n++) {
			uint8_t payload[256] = { 0 };
			struct rs_view view = { .tsc = n,
						.ts_ns = (int64_t)n,
						.event = kit_event(&k, "vcpu",
								   n & 1 ? "exit" : "run"),
						.stream = &stream,
						.payload = payload,
						.payload_bytes = sizeof(payload),
						.cpu = RS_UNKNOWN };

			REQUIRE(view.event != NULL);
			kit_set(view.event, payload, "vcpu", n / 2);
			CHECK_OK(sink->ops->events(sink, &view, 1));
		}
		CHECK_OK(rs_tally_collect(sink, keys[i], &tally));
		for (size_t at = 0; at < tally.n_rows; at++) {
			const struct rs_tally_row *row = &tally.rows[at];

			if (row->kind == RS_TALLY_EXITS)
				CHECK_EQ_U64(row->base, tally.ticks * (i ? MANY : 1));
		}
		rs_tally_sink_destroy(sink);
	}
	rs_schema_destroy(k.schema);
}
