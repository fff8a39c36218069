/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where two logs diverge, for logs that are made here. tests/replay/diff.test uses real recordings.
 */
#include "../test.h"

#include "replay/rr_compare.h"

/* ---- logs --------------------------------------------------------------------------------- */

enum { INSTRUCTIONS = 0, INTERRUPT = 1, CHARACTERS = 7, HOST_CLOCK = 28, END = 39 };

struct made {
	uint8_t bytes[512];
	size_t n;
};

static void begin(struct made *log)
{
	static const uint8_t head[RS_RR_HEADER] = { 0x00, 0xe0, 0x20, 0x0c };

	*log = (struct made){ .n = RS_RR_HEADER };
	memcpy(log->bytes, head, sizeof(head));
}

static void put(struct made *log, uint8_t kind, const void *data, size_t bytes)
{
	log->bytes[log->n++] = kind;
	memcpy(log->bytes + log->n, data, bytes);
	log->n += bytes;
}

static void instructions(struct made *log, uint8_t n)
{
	put(log, INSTRUCTIONS, (uint8_t[4]){ 0, 0, 0, n }, 4);
}

static void host_clock(struct made *log, uint8_t seconds)
{
	/* 1,000,000,000 ns are 0x3b9aca00. */
	uint64_t ns = seconds * UINT64_C(1000000000);
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(ns >> (56 - 8 * i));
	put(log, HOST_CLOCK, bytes, 8);
}

static void a_log(struct made *log, uint8_t seconds, uint8_t interrupt_at)
{
	begin(log);
	host_clock(log, 1);
	instructions(log, 100);
	host_clock(log, seconds);
	instructions(log, interrupt_at);
	put(log, INTERRUPT, "", 0);
	instructions(log, (uint8_t)(100 - interrupt_at));
	put(log, CHARACTERS, "\1\0\0\0\3a\rb", 8);
	put(log, END, "", 0);
}

static void compare(const struct made *a, const struct made *b, struct rs_rr_compared *c)
{
	const uint8_t *const bytes[2] = { a->bytes, b->bytes };
	const size_t sizes[2] = { a->n, b->n };

	CHECK_OK(rs_rr_compare(bytes, sizes, c));
}

TEST(equal_logs_do_not_diverge)
{
	struct made a;
	struct rs_rr_compared c;

	a_log(&a, 2, 50);
	compare(&a, &a, &c);
	CHECK(!c.differs);
	CHECK_EQ_U64(c.n[0], 5);
	CHECK_EQ_U64(c.icount, 200);
	CHECK_EQ_U64(c.kinds[HOST_CLOCK].n[1], 2);
	CHECK(!c.kinds[HOST_CLOCK].differs && c.ends[0] == RS_RR_END && c.ends[1] == RS_RR_END);
}

TEST(a_clock_with_another_value)
{
	struct made a, b;
	struct rs_rr_compared c;
	char text[RS_RR_TEXT_BYTES];

	a_log(&a, 2, 50);
	a_log(&b, 3, 50);
	compare(&a, &b, &c);
	CHECK(c.differs && c.kinds[HOST_CLOCK].differs && !c.kinds[INTERRUPT].differs);
	CHECK_EQ_U64(c.icount, 100);
	CHECK_EQ_U64(c.kinds[HOST_CLOCK].at, 1);
	rs_rr_event_text(&c.kinds[HOST_CLOCK].first[0].event, text);
	CHECK_STR(text, "1970-01-01 00:00:02.000000000");
	rs_rr_event_text(&c.first[1].event, text);
	CHECK_STR(text, "1970-01-01 00:00:03.000000000");
}

TEST(an_interrupt_at_another_place)
{
	struct made a, b;
	struct rs_rr_compared c;
	struct rs_rr_event events[2];
	char text[RS_RR_TEXT_BYTES];

	a_log(&a, 2, 50);
	a_log(&b, 2, 47);
	compare(&a, &b, &c);
	CHECK(c.differs && !c.kinds[HOST_CLOCK].differs && c.kinds[INTERRUPT].differs);
	CHECK_EQ_U64(c.icount, 147);
	CHECK_EQ_U64(c.kinds[INTERRUPT].first[0].event.icount, 150);
	CHECK_EQ_U64(c.kinds[INTERRUPT].first[1].event.icount, 147);
	CHECK(!c.kinds[CHARACTERS].differs);
	CHECK_EQ_U64(rs_rr_between(a.bytes, a.n, 101, 200, events, 1), 3);
	CHECK_EQ_U64(events[0].kind, INTERRUPT);
	CHECK_EQ_U64(rs_rr_between(a.bytes, a.n, 151, 200, events, 2), 2);
	rs_rr_event_text(&events[0], text);
	CHECK_STR(text, "a\\x0db");
}

TEST(a_log_that_ends_earlier)
{
	struct made a, b;
	struct rs_rr_compared c;

	a_log(&a, 2, 50);
	b = a;
	b.n -= 10; /* the characters and the end */
	compare(&a, &b, &c);
	CHECK(c.differs && c.first[0].is && !c.first[1].is);
	CHECK(c.ends[0] == RS_RR_END && c.ends[1] == RS_RR_CUT);
	CHECK(c.kinds[CHARACTERS].differs && c.kinds[END].differs && !c.kinds[INTERRUPT].differs);
	CHECK(!c.kinds[CHARACTERS].first[1].is);
}

TEST(invalid_logs)
{
	struct made a, b;
	struct rs_rr_compared c;
	const uint8_t *const bytes[2] = { a.bytes, b.bytes };
	size_t sizes[2];

	a_log(&a, 2, 50);
	b = a;
	b.bytes[RS_RR_HEADER] = 200;
	sizes[0] = a.n;
	sizes[1] = b.n;
	CHECK_ERR(rs_rr_compare(bytes, sizes, &c), RS_DAMAGED, "unknown event at 0xc");
	sizes[1] = 5;
	CHECK_ERR(rs_rr_compare(bytes, sizes, &c), RS_DAMAGED, "is empty");
}
