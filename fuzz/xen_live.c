/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hypervisor with invalid shared memory: the table of its trace buffers, positions, and the
 * contents of the buffers, which change between rounds.
 *
 *	input: u16 bytes of a table; the table; then rounds, each for both of two buffers:
 *	       u8 what of cons, prod and data is new (1, 2, 4); u16 cons, u16 prod, in words;
 *	       u16 where, u16 bytes, data
 */
#include "live/xen.h"
#include "xen/layout.h"

#include "fuzz.h"

#define CPUS	   2u
#define BYTES	   RS_XEN_PAGE_BYTES
#define ROUNDS_MAX 16

static _Alignas(4096) uint8_t mem[CPUS][BYTES];

static void table(struct fuzz_input *in)
{
	static _Alignas(8) uint8_t shared[UINT16_MAX];
	uint16_t bytes = fuzz_u16(in);
	struct rs_xen_tinfo info;
	struct rs_error *err;
	uint32_t sum = 0;

	fuzz_take(in, shared, bytes);
	err = rs_xen_tinfo_init(&info, shared, bytes);
	for (uint32_t cpu = 0; !err && cpu < info.cpus; cpu++) {
		const uint32_t *frames = rs_xen_tinfo_frames(&info, cpu);

		for (uint32_t i = 0; frames && i < info.pages; i++)
			sum += frames[i];
	}
	MUST(sum + 1 != 0 || sum);
	if (!err)
		rs_xen_tinfo_deinit(&info);
	fuzz_drop(err);
}

static void change(struct fuzz_input *in, uint8_t *buffer)
{
	uint8_t what = fuzz_u8(in);
	uint32_t word;
	uint16_t at;

	for (uint32_t i = 0; i < 2; i++) {
		if (!(what >> i & 1))
			continue;
		word = fuzz_u16(in) * 4u;
		memcpy(buffer + 4 * i, &word, sizeof(word));
	}
	if (what & 4) {
		at = fuzz_u16(in) % (BYTES - 8);
		fuzz_take(in, buffer + 8 + at, fuzz_u16(in) % (BYTES - 8u - at + 1));
	}
}

static void read_events(struct rs_foreign *live, struct rs_sink *sink, bool to_end)
{
	struct rs_batch batch = { .kind = RS_NEXT_EVENTS };
	int64_t last = INT64_MIN;

	while (batch.kind == RS_NEXT_EVENTS || (to_end && batch.kind == RS_NEXT_IDLE)) {
		fuzz_drop(live->source.ops->next(&live->source, &batch));
		if (batch.kind != RS_NEXT_EVENTS)
			continue;
		for (size_t i = 0; i < batch.n; i++) {
			MUST(batch.views[i].ts_ns >= last);
			last = batch.views[i].ts_ns;
		}
		fuzz_drop(sink->ops->events(sink, batch.views, batch.n));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct fuzz_sink sink = FUZZ_SINK(false);
	/* A clock so slow that a round is always due. */
	struct rs_clock clock = { .name = "tsc", .freq_hz = 1000000, .origin = 1 };
	struct rs_xen_tbuf buffers[CPUS];
	struct rs_xen_live_options options = { buffers, CPUS, &clock, NULL, 1, false };
	struct rs_foreign *live;

	fuzz_drop(rs_clock_init(&clock));
	table(&in);
	memset(mem, 0, sizeof(mem));
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		change(&in, mem[cpu]);
		if (rs_xen_tbuf_init(&buffers[cpu], cpu, mem[cpu], BYTES) != RS_XEN_TBUF_OK)
			return 0;
	}
	if (rs_xen_live_create(&options, &live))
		return 0;
	for (uint32_t round = 0; in.left && round < ROUNDS_MAX; round++) {
		read_events(live, &sink.sink, false);
		for (uint32_t cpu = 0; cpu < CPUS; cpu++)
			change(&in, mem[cpu]);
	}
	rs_xen_live_stop(live);
	read_events(live, &sink.sink, true);
	rs_source_destroy(&live->source);
	return 0;
}
