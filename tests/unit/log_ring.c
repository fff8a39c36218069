/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lane of the log: its layout is ACRN's; lines of one to four elements are read as they were put,
 * also across the ring's end; overwritten lines are counted; a put that was interrupted for more
 * than a lap corrupts no other line; damaged lines are never returned. The same for a lane at rest.
 */
#include "../test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ringside/log_ring.h>

#define ELEMENTS 16u

static void *memory;
static struct rs_log_lane lane;

static void lane_new(void)
{
	free(memory);
	memory = calloc(1, rs_log_lane_bytes(ELEMENTS));
	rs_log_lane_create(&lane, memory, ELEMENTS);
}

/* Line n, of this many bytes: its number, then letters that follow from it. */
static void line_make(struct rs_log_line_buffer *line, uint32_t n, uint32_t bytes)
{
	char text[RS_LOG_LINE_MAX + 1];

	snprintf(text, sizeof(text), "%07u:", n);
	for (uint32_t i = 8; i < bytes; i++)
		text[i] = (char)('a' + (n + i) % 26);
	memcpy(line->words, text, bytes);
	line->bytes = bytes;
	line->cut = n % 5 == 0;
}

static bool put(uint32_t n, uint32_t bytes)
{
	struct rs_log_line_buffer line;

	line_make(&line, n, bytes);
	return rs_log_lane_put(&lane, &line);
}

static bool is_line(const struct rs_log_raw *raw, uint32_t n, uint32_t bytes)
{
	struct rs_log_line_buffer line;

	line_make(&line, n, bytes);
	return raw->bytes == bytes && !memcmp(raw->text, line.words, bytes) && raw->cut == line.cut;
}

TEST(layout_is_acrns)
{
	const uint8_t *at;
	uint64_t magic;
	uint32_t word;

	lane_new();
	at = memory;
	memcpy(&magic, at, 8);
	CHECK_EQ_U64(magic, UINT64_C(0x5aa57aa71aa13aa3));
	memcpy(&word, at + 8, 4);
	CHECK_EQ_U64(word, ELEMENTS);
	memcpy(&word, at + 12, 4);
	CHECK_EQ_U64(word, 80);
	CHECK(put(1, 79) && put(2, 80) && put(3, 81));
	CHECK_MEM(at + 64, "0000001:", 8);
	CHECK(!at[64 + 79]);	 /* the last element is padded */
	CHECK(at[64 + 80 + 79]); /* a full one is not */
	memcpy(&word, at + 20, 4);
	CHECK_EQ_U64(word, 4 * 80); /* tail */
}

TEST(sizes_and_wrap)
{
	struct rs_log_reader r;
	struct rs_log_raw raw;

	lane_new();
	rs_log_reader_init(&r, &lane, 0);
	for (uint32_t n = 0; n < 1009; n++) {
		uint32_t bytes = 8 + n * 7 % (RS_LOG_LINE_MAX - 7);

		CHECK(put(n, bytes));
		REQUIRE(rs_log_reader_next(&r, &raw) == RS_LOG_READ_LINE);
		CHECK(is_line(&raw, n, bytes));
		CHECK(rs_log_reader_next(&r, &raw) == RS_LOG_READ_EMPTY);
	}
	CHECK_EQ_U64(r.lost + r.damaged + r.dropped, 0);
}

/* 37 lines of two elements into 16: the last eight are there. */
TEST(overrun)
{
	struct rs_log_reader r;
	struct rs_log_raw raw;

	lane_new();
	rs_log_reader_init(&r, &lane, 0);
	for (uint32_t n = 0; n < 37; n++)
		CHECK(put(n, 100));
	for (uint32_t n = 29; n < 37; n++) {
		REQUIRE(rs_log_reader_next(&r, &raw) == RS_LOG_READ_LINE);
		CHECK(is_line(&raw, n, 100));
	}
	CHECK(rs_log_reader_next(&r, &raw) == RS_LOG_READ_EMPTY);
	CHECK_EQ_U64(r.lost, 2 * 29);
	/* A line of which the first part is lost is lost. */
	lane_new();
	rs_log_reader_init(&r, &lane, 0);
	for (uint32_t n = 0; n < 4; n++)
		CHECK(put(n, 320));
	CHECK(put(4, 10));
	for (uint32_t n = 1; n < 4; n++) {
		REQUIRE(rs_log_reader_next(&r, &raw) == RS_LOG_READ_LINE);
		CHECK(is_line(&raw, n, 320));
	}
	REQUIRE(rs_log_reader_next(&r, &raw) == RS_LOG_READ_LINE);
	CHECK(is_line(&raw, 4, 10));
	CHECK_EQ_U64(r.lost, 4);
	CHECK_EQ_U64(r.damaged, 0);
}

static uint64_t state_writing(uint64_t number)
{
	return (number + 1) << 16 | RS_LOG_WRITING << 12;
}

/* A put that stopped a lap ago, after it had claimed its element: others skip it. */
TEST(interrupted_put)
{
	struct rs_log_reader r;
	struct rs_log_raw raw;
	uint32_t got = 0;

	lane_new();
	rs_log_reader_init(&r, &lane, 0);
	lane.control->taken = 1;
	lane.tags[0].state = state_writing(0);
	for (uint32_t n = 1; n < 8; n++)
		CHECK(put(n, 100));
	/* A reader waits for it. */
	CHECK(rs_log_reader_next(&r, &raw) == RS_LOG_READ_BUSY);
	rs_log_reader_skip(&r);
	CHECK_EQ_U64(r.lost, 1);
	for (uint32_t n = 1; n < 8; n++) {
		REQUIRE(rs_log_reader_next(&r, &raw) == RS_LOG_READ_LINE);
		CHECK(is_line(&raw, n, 100));
	}
	/* Elements 15 and 16; 16 uses the slot: abandoned, marked, and claimed again further on. */
	CHECK(put(8, 100));
	CHECK_EQ_U64(lane.tags[0].state, state_writing(0));
	for (int i = 0; i < 3; i++) {
		enum rs_log_read said = rs_log_reader_next(&r, &raw);

		if (said == RS_LOG_READ_BUSY)
			rs_log_reader_skip(&r);
		got += said == RS_LOG_READ_LINE && is_line(&raw, 8, 100);
	}
	CHECK_EQ_U64(got, 1);
	CHECK_EQ_U64(lane.control->dropped, 0);
	/* If all are in use the line is dropped, and no put waits. */
	for (uint32_t i = 0; i < ELEMENTS; i++)
		lane.tags[i].state = state_writing(i);
	CHECK(!put(9, 10));
	CHECK_EQ_U64(lane.control->dropped, 1);
}

static uint32_t found_lines, found_bad;

static void found(void *ctx, const struct rs_log_raw *raw)
{
	uint32_t *next = ctx;

	if (!is_line(raw, *next, raw->bytes))
		found_bad++;
	found_lines++;
	(*next)++;
}

static struct rs_log_salvage salvage(uint32_t first)
{
	struct rs_log_salvage sum;
	uint64_t order[ELEMENTS];

	found_lines = found_bad = 0;
	rs_log_lane_salvage(&lane, order, found, &first, &sum);
	CHECK_EQ_U64(sum.lines, found_lines);
	return sum;
}

TEST(lane_at_rest)
{
	struct rs_log_salvage sum;

	lane_new();
	for (uint32_t n = 0; n < 37; n++)
		CHECK(put(n, 100));
	memset(lane.ring, 0xff, sizeof(*lane.ring)); /* its header is ignored */
	sum = salvage(29);
	CHECK_EQ_U64(sum.lines, 8);
	CHECK_EQ_U64(found_bad + sum.torn + sum.parts, 0);
	/* The next put was killed after it had claimed the oldest line's first element. */
	lane.tags[74 % ELEMENTS].state = state_writing(74);
	sum = salvage(30);
	CHECK_EQ_U64(sum.lines, 7);
	CHECK_EQ_U64(sum.torn, 1);
	CHECK_EQ_U64(sum.parts, 1);
	CHECK_EQ_U64(found_bad, 0);
}

/* A change of any one bit removes one line or none, and adds none. */
TEST(damage)
{
	uint8_t *bytes;

	lane_new();
	for (uint32_t n = 0; n < 37; n++)
		CHECK(put(n, 100));
	bytes = memory;
	for (uint64_t i = sizeof(struct rs_sbuf); i < rs_log_lane_bytes(ELEMENTS); i++) {
		struct rs_log_reader r;
		struct rs_log_salvage sum;
		struct rs_log_raw raw;
		uint32_t lines = 0, bad = 0;
		uint64_t order[ELEMENTS];
		uint32_t any = 0;

		bytes[i] ^= (uint8_t)(1u << i % 8);
		rs_log_lane_salvage(&lane, order, found, &any, &sum);
		CHECK(sum.lines >= 7 && sum.lines <= 8);
		rs_log_reader_init(&r, &lane, 0);
		for (uint32_t k = 0; k < 200; k++) {
			enum rs_log_read said = rs_log_reader_next(&r, &raw);

			if (said == RS_LOG_READ_EMPTY)
				break;
			if (said == RS_LOG_READ_BUSY) {
				rs_log_reader_skip(&r);
				continue;
			}
			lines++;
			bad += raw.bytes != 100 ||
			       !is_line(&raw, (uint32_t)strtoul(raw.text, NULL, 10), 100);
		}
		CHECK(lines <= 8);
		CHECK_EQ_U64(bad, 0);
		bytes[i] ^= (uint8_t)(1u << i % 8);
	}
}

TEST(layouts)
{
	struct rs_log_layout layout;

	CHECK(rs_log_layout_init(&layout, RS_LOG_BYTES, 4, 1 << 20) == RS_SBUF_OK);
	CHECK_EQ_U64(layout.half_bytes, ((4 << 20) - 4096) / 2);
	CHECK_EQ_U64(layout.elements, 2048);
	CHECK_EQ_U64(rs_log_lane_at(&layout, 1, 3),
		     4096 + layout.half_bytes + 3 * (128 + 96 * UINT64_C(2048)));
	CHECK(rs_log_traces_at(&layout, 0) + layout.trace_bytes == rs_log_half_at(&layout, 1));
	CHECK(rs_log_layout_init(&layout, RS_LOG_BYTES, 0, 0) == RS_SBUF_BAD_GEOMETRY);
	CHECK(rs_log_layout_init(&layout, RS_LOG_BYTES, 257, 0) == RS_SBUF_BAD_GEOMETRY);
	CHECK(rs_log_layout_init(&layout, UINT64_MAX, 1, 0) == RS_SBUF_BAD_GEOMETRY);
	CHECK(rs_log_layout_init(&layout, 4095, 1, 0) == RS_SBUF_TOO_SMALL);
	CHECK(rs_log_layout_init(&layout, 8192, 2, 0) == RS_SBUF_TOO_SMALL);
	CHECK(rs_log_layout_init(&layout, 1 << 20, 2, 1 << 20) == RS_SBUF_TOO_SMALL);
	CHECK(rs_log_layout_init(&layout, 1 << 20, 2, 100) == RS_SBUF_BAD_GEOMETRY);
	free(memory);
}
