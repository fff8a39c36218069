/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiles a program, and runs it over some of every event in the schema, for the targets of the
 * language.
 */
#ifndef RS_FUZZ_LANG_H
#define RS_FUZZ_LANG_H

#include <fcntl.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "fuzz.h"
#include "lang/lang.h"
#include "lang/bpf/push.h"

#define ROUNDS	3
#define STEP_NS 5000 /* between two events: a few of the shortest ticks */
#define PAYLOAD 512

static inline void drop(void *ctx, const char *text)
{
	(void)ctx;
	MUST(text[0]);
}

/* Bytes that are a value for every field, and for a text "text". */
static inline uint32_t payload_make(const struct rs_event *event, uint32_t round, uint8_t *payload)
{
	uint32_t bytes = event->fixed_bytes;
	uint16_t len = 4;

	MUST(bytes + len * 8u <= PAYLOAD);
	memset(payload, round == 2 ? 0xff : 0, PAYLOAD);
	for (uint32_t i = 0; i < bytes && round == 1; i++)
		payload[i] = (uint8_t)(i * 7 + 1);
	if (!event->n_tails)
		return bytes;
	memcpy(payload + event->fields[event->n_fields - 1].offset, &len, sizeof(len));
	memcpy(payload + bytes, "text", len);
	return bytes + ((uint32_t)len << event->tail_shift);
}

/* Sums are requested and delivered in time; unused numbers are skipped. */
static inline struct rs_error *lang_sums(void *ctx, struct rs_script *script, int64_t before_ns)
{
	const uint64_t keys[RS_FILTER_KEYS] = { 1, 2, UINT64_MAX, 4, 5, 6, 7, 8 };
	struct rs_filter_row row = { .keys = keys,
				     .bin = before_ns % 97,
				     .sum = { 3, -5, { 1, UINT64_MAX } } };

	(void)ctx;
	for (; row.number < 8; row.number++)
		rs_script_receive(script, &row);
	return NULL;
}

static inline const char *lang_vm(void *ctx, uint64_t thread)
{
	(void)ctx;
	return thread & 1 ? "vm1" : "";
}

/*
 * Checks the part that a source would run: it jumps only forward and within the code; it writes
 * only to its frame and its rows.
 */
static inline void lang_push(struct rs_script *script, const struct rs_schema *schema)
{
	const struct rs_push_options options = {
		.schema = schema, .provider = RS_IDS_VMM, .sums = lang_sums, .vm = lang_vm
	};
	const int rows = RS_FILTER_AT * 8, end = rows + (int)(RS_FILTER_ROWS * RS_FILTER_ROW) * 8;
	struct rs_filter filter;

	fuzz_drop(rs_script_push(script, &options, &filter));
	MUST(filter.n <= RS_FILTER_INSNS - RS_FILTER_TAIL);
	for (uint32_t i = 0; i < filter.n; i++) {
		const struct bpf_insn *insn = &filter.insns[i];

		if (BPF_CLASS(insn->code) == BPF_JMP)
			MUST(insn->off >= 0 && i + 1 + (uint32_t)insn->off <= filter.n);
		if (BPF_CLASS(insn->code) == BPF_ST ||
		    (BPF_CLASS(insn->code) == BPF_STX && insn->dst_reg != BPF_REG_10))
			MUST(filter.adds && insn->dst_reg == BPF_REG_1 && insn->off >= rows &&
			     insn->off + 8 <= end);
	}
}

static inline void lang_run(struct rs_script *script, const struct rs_schema *schema,
			    struct rs_out *out)
{
	static struct rs_clock clock = { .name = "host", .freq_hz = 1000000000 };
	const struct rs_stream streams[] = {
		{ .vm = "vm1",
		  .thread = "a",
		  .vcpu = 0,
		  .cpu = 0,
		  .tid = 5,
		  .schema = schema,
		  .clock = &clock },
		{ .vcpu = -1, .cpu = -1, .tid = -1, .schema = schema, .clock = &clock },
	};
	volatile bool stop = false;
	const struct rs_script_io io = {
		.out = out, .report = drop, .clock = &clock, .stop = &stop
	};
	struct rs_sink *sink;
	struct rs_query query;
	struct rs_error *err;
	int64_t ts_ns = 0;

	lang_push(script, schema);
	err = rs_script_start(script, &io, &sink);
	fuzz_drop(err);
	if (err)
		return;
	rs_query_init(&query);
	rs_script_narrow(script, &query);
	for (uint32_t i = 0; i < rs_schema_count(schema) * ROUNDS; i++) {
		const struct rs_event *event = rs_schema_event(schema, i / ROUNDS);
		uint8_t payload[PAYLOAD];
		struct rs_view view = { .ts_ns = ts_ns += STEP_NS,
					.event = event,
					.stream = &streams[i & 1],
					.payload = payload,
					.payload_bytes = payload_make(event, i % ROUNDS, payload),
					.cpu = streams[i & 1].cpu };

		if (rs_query_match(&query, &view, 0))
			fuzz_drop(sink->ops->events(sink, &view, 1));
	}
	fuzz_drop(sink->ops->end(sink));
}

/* NULL: the compiler refuses it. */
static inline struct rs_script *lang_compile(const char *text, size_t len,
					     const struct rs_schema *schema)
{
	static const char *const options[] = { "dynvarsize=4k", "aggsize=64k", "specsize=4k",
					       "defaultargs" };
	const struct rs_script_config config = { .name = "fuzz",
						 .text = text,
						 .len = len,
						 .schemas = &schema,
						 .n_schemas = 1,
						 .options = options,
						 .n_options = 4,
						 .may_match_nothing = true };
	struct rs_script *script = NULL;

	fuzz_drop(rs_script_compile(&config, &script));
	return script;
}

#endif
