/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hostile log lane and lines: a read, live and at rest, while memory changes, stays in bounds,
 * ends, and keeps its promises; and so does a put. Then the merge of the lines that were read:
 * their numbers must ascend, and a gap must report each hole.
 *
 *	input: flags, then the memory of a lane, or texts of lines
 */
#include "log/merge.h"

#include "fuzz.h"

#define ELEMENTS 16u

static struct {
	uint64_t next;
} merged;

static struct rs_error *on_line(void *ctx, const struct rs_log_line *line)
{
	struct rs_out *out = ctx;

	MUST(!merged.next || line->seq == merged.next);
	merged.next = line->seq + 1;
	out->used = 0;
	rs_log_write_line(out, line, line->seq & 1 ? "fuzz" : NULL);
	MUST(out->used && out->buffer[out->used - 1] == '\n');
	MUST(!memchr(out->buffer, '\n', out->used - 1));
	return NULL;
}

static struct rs_error *on_gap(void *ctx, const struct rs_log_gap *gap)
{
	struct rs_out *out = ctx;

	MUST(gap->first == merged.next && gap->last >= gap->first);
	merged.next = gap->last + 1;
	out->used = 0;
	rs_log_write_gap(out, gap, gap->last & 1 ? "fuzz" : NULL);
	return NULL;
}

struct all {
	struct rs_log_merge merge;
	struct rs_out out;
	uint32_t lines;
};

static void found(void *ctx, const struct rs_log_raw *raw)
{
	struct all *all = ctx;
	struct rs_error *err;

	MUST(raw->bytes <= RS_LOG_LINE_MAX);
	all->lines++;
	err = rs_log_merge_put(&all->merge, all->lines % 3, raw->text, raw->bytes, raw->cut,
			       all->lines);
	MUST(!err);
}

static void change_memory(struct fuzz_input *in, uint8_t *memory, size_t bytes)
{
	uint32_t at = fuzz_u16(in), value = fuzz_u32(in);

	if (in->left)
		memcpy(memory + at % (bytes / 4) * 4, &value, sizeof(value));
}

static void read_lane(struct fuzz_input *in, struct all *all, const struct rs_log_lane *lane,
		      uint8_t *memory, size_t bytes)
{
	struct rs_log_salvage sum;
	struct rs_log_reader r;
	uint64_t order[ELEMENTS];
	uint32_t before;

	rs_log_reader_init(&r, lane, fuzz_u8(in));
	for (uint32_t i = 0; i < 64; i++) {
		struct rs_log_raw raw;
		enum rs_log_read said = rs_log_reader_next(&r, &raw);

		if (said == RS_LOG_READ_LINE)
			found(all, &raw);
		else if (said == RS_LOG_READ_BUSY)
			rs_log_reader_skip(&r);
		else
			rs_log_merge_lost(&all->merge, i % 3);
		change_memory(in, memory, bytes);
	}
	before = all->lines;
	rs_log_lane_salvage(lane, order, found, all, &sum);
	MUST(sum.lines <= ELEMENTS && sum.lines == all->lines - before);
	MUST(sum.torn + sum.parts <= 2 * ELEMENTS);
}

static void use_lane(struct fuzz_input *in, struct all *all)
{
	size_t bytes = rs_log_lane_bytes(ELEMENTS);
	uint8_t *memory = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
	struct rs_log_line_buffer line = { 0 };
	struct rs_log_lane lane;

	if (!memory)
		return;
	rs_log_lane_create(&lane, memory, ELEMENTS);
	for (uint32_t n = fuzz_u8(in) % 32, i = 1; i <= n; i++) {
		line.bytes = (uint32_t)snprintf((char *)line.words, sizeof(line.words),
						"[%uus][cpu=%u][t][sev=5][seq=%u]:%0*u", i, i % 3,
						i, (int)(i * 37 % 200), i);
		line.cut = false;
		rs_log_lane_put(&lane, &line);
	}
	read_lane(in, all, &lane, memory, bytes);
	fuzz_take(in, memory, in->left < bytes ? in->left : bytes);
	rs_log_lane_init(&lane, memory, ELEMENTS);
	read_lane(in, all, &lane, memory, bytes);
	for (uint32_t i = 0; i < 8; i++)
		rs_log_lane_put(&lane, &line);
	free(memory);
}

/* Texts of lines, one after another. */
static void use_texts(struct fuzz_input *in, struct all *all)
{
	char text[RS_LOG_TEXT_MAX];

	while (in->left) {
		size_t n = fuzz_u16(in) % sizeof(text);
		struct rs_error *err;

		n = n < in->left ? n : in->left;
		fuzz_take(in, text, n);
		err = rs_log_merge_put(&all->merge, n % 3, text, n, false, 0);
		MUST(!err);
		if (n % 7 == 0)
			rs_log_merge_lost(&all->merge, n % 3);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct all all = { 0 };
	struct rs_log_taker taker = { &all.out, on_line, on_gap };
	uint8_t flags = fuzz_u8(&in);

	merged.next = 0;
	if (rs_out_init(&all.out, -1) || rs_log_merge_init(&all.merge, 3, &taker))
		return 0;
	rs_log_merge_begin(&all.merge, 0);
	if (flags & 1)
		use_lane(&in, &all);
	else
		use_texts(&in, &all);
	MUST(!rs_log_merge_run(&all.merge, 0, 1, false));
	MUST(!rs_log_merge_run(&all.merge, 0, 0, true));
	MUST(!all.merge.n);
	rs_log_merge_deinit(&all.merge);
	all.out.used = 0;
	rs_out_deinit(&all.out);
	return 0;
}
