/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A log line's text: our printf compared with the C library's, the prefix, truncation; and the
 * parser, on both of ACRN's forms and on invalid lines.
 */
#include "../test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/log_line.h"
#include <ringside/log_ring.h>

static void make(struct rs_log_line_buffer *line, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void make(struct rs_log_line_buffer *line, const char *format, ...)
{
	static const struct rs_log_prefix prefix = { .us = 1234,
						     .seq = 17,
						     .thread = "main",
						     .thread_bytes = 4,
						     .cpu = 3,
						     .level = RS_LOG_INFO };
	va_list args;

	va_start(args, format);
	rs_log_line_make(line, &prefix, format, args);
	va_end(args);
}

#define PREFIX "[1234us][cpu=3][main][sev=5][seq=17]:"

static void same(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void same(const char *format, ...)
{
	static const struct rs_log_prefix prefix = { .thread = "t", .thread_bytes = 1 };
	struct rs_log_line_buffer line;
	char libc[512], ours[512];
	const char *message;
	uint32_t bytes;
	va_list args;

	va_start(args, format);
	vsnprintf(libc, sizeof(libc), format, args);
	va_end(args);
	va_start(args, format);
	rs_log_line_make(&line, &prefix, format, args);
	va_end(args);
	message = rs_log_line_message(&line, &bytes);
	snprintf(ours, sizeof(ours), "%.*s", (int)bytes, message);
	CHECK_STR(ours, libc);
}

static void prefixed(struct rs_log_line_buffer *line, const struct rs_log_prefix *prefix,
		     const char *format, ...) __attribute__((format(printf, 3, 4)));
static void prefixed(struct rs_log_line_buffer *line, const struct rs_log_prefix *prefix,
		     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	rs_log_line_make(line, prefix, format, args);
	va_end(args);
}

/* Numbers where their length changes. */
TEST(prefix)
{
	uint64_t power = 1;

	for (int digits = 0; digits < 20; digits++, power *= 10) {
		for (int more = -1; more <= 1; more++) {
			uint64_t n = power + (uint64_t)(int64_t)more;
			struct rs_log_prefix p = {
				.us = n, .seq = ~n, .thread = "t", .thread_bytes = 1, .cpu = 10
			};
			struct rs_log_line_buffer line;
			char ours[512], libc[512];

			prefixed(&line, &p, "%s", "x");
			snprintf(ours, sizeof(ours), "%.*s", (int)line.bytes,
				 (const char *)line.words);
			snprintf(libc, sizeof(libc), "[%luus][cpu=10][t][sev=0][seq=%lu]:x", n, ~n);
			CHECK_STR(ours, libc);
		}
	}
}

TEST(conversions)
{
	static const char *const flags[] = { "", "-", "0", "+", " ", "#", "-0", "+0", "#0" };
	static const char *const widths[] = { "", "1", "7", "25" };
	static const char *const precisions[] = { "", ".", ".0", ".3", ".12" };
	static const char *const sizes[] = { "hh", "h", "", "l", "ll", "z", "j", "t" };
	static const long long values[] = { 0,	     1,		 -1,	    7,	       99,
					    100,     255,	 256,	    65536,     -32768,
					    1 << 30, -(1 << 30), 1LL << 40, INT64_MAX, INT64_MIN };

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
	for (size_t i = 0; i < 9u * 4 * 5 * 8 * 6 * 15; i++) {
		char format[64];
		size_t size = i / 15 / 6 % 8;

		snprintf(format, sizeof(format), "%%%s%s%s%s%c", flags[i / 15 / 6 / 8 / 5 / 4],
			 widths[i / 15 / 6 / 8 / 5 % 4], precisions[i / 15 / 6 / 8 % 5],
			 sizes[size], "diuxXo"[i / 15 % 6]);
		if (size < 3)
			same(format, (int)values[i % 15]);
		else
			same(format, values[i % 15]);
	}
#pragma GCC diagnostic pop
	same("%s|%10s|%-10s|%.3s|%.*s|%*s", "abc", "abc", "abc", "abcdef", 2, "xyz", -5, "m");
	same("%c|%5c|%-5c|100%%|%p", 'a', 'b', 'c', (void *)0x1234);
	same("no conversion");
}

TEST(prefix_and_end)
{
	struct rs_log_line_buffer line;

	make(&line, "up\n");
	CHECK_EQ_U64(line.bytes, strlen(PREFIX "up"));
	CHECK_MEM(line.words, PREFIX "up", line.bytes);
	CHECK(!line.cut);
	make(&line, "%s", "");
	CHECK_EQ_U64(line.bytes, strlen(PREFIX));
	/* An unknown conversion ends the message, unchanged. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
	make(&line, "a %d b %f c %d", 5, 1.5, 6);
#pragma GCC diagnostic pop
	CHECK_EQ_U64(line.bytes, strlen(PREFIX "a 5 b %f c %d"));
	CHECK_MEM(line.words, PREFIX "a 5 b %f c %d", line.bytes);
}

/* 320 bytes are kept exactly, one more is cut and marked; not within a character. */
TEST(truncation)
{
	int room = (int)(RS_LOG_LINE_MAX - strlen(PREFIX));
	struct rs_log_line_buffer line;
	const char *text = (const char *)line.words;

	make(&line, "%0*d", room, 7);
	CHECK(!line.cut);
	CHECK_EQ_U64(line.bytes, RS_LOG_LINE_MAX);
	CHECK(text[RS_LOG_LINE_MAX - 1] == '7');
	make(&line, "%0*d", room + 1, 7);
	CHECK(line.cut);
	CHECK_EQ_U64(line.bytes, RS_LOG_LINE_MAX);
	CHECK_MEM(text + RS_LOG_LINE_MAX - 5, "[cut]", 5);
	make(&line, "%0*d\xe2\x82\xac%050d", room - 7, 7, 7); /* the mark begins in its middle */
	CHECK(line.cut);
	CHECK_EQ_U64(line.bytes, RS_LOG_LINE_MAX - 2);
	CHECK_MEM(text + line.bytes - 6, "7[cut]", 6);
}

/* A conversion at each possible position before the line's end. */
static void at_the_end(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void at_the_end(const char *format, ...)
{
	static const struct rs_log_prefix prefix = { .thread = "t", .thread_bytes = 1 };
	struct {
		struct rs_log_line_buffer line;
		char behind[32];
	} made;

	for (size_t lead = 0; lead < RS_LOG_LINE_MAX; lead++) {
		char leading[RS_LOG_LINE_MAX + 64], libc[2 * RS_LOG_LINE_MAX];
		const char *message;
		uint32_t bytes;
		va_list args;
		size_t n, room;

		memset(leading, '.', lead);
		snprintf(leading + lead, 64, "%s", format);
		memset(&made, '#', sizeof(made));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		va_start(args, format);
		n = (size_t)vsnprintf(libc, sizeof(libc), leading, args);
		va_end(args);
		va_start(args, format);
		rs_log_line_make(&made.line, &prefix, leading, args);
		va_end(args);
#pragma GCC diagnostic pop
		message = rs_log_line_message(&made.line, &bytes);
		room = RS_LOG_LINE_MAX - made.line.message;
		CHECK(made.line.cut == (n > room));
		CHECK_EQ_U64(bytes, n > room ? room : n);
		if (n > room)
			memcpy(libc + room - 5, "[cut]", 5);
		CHECK_MEM(message, libc, bytes);
		for (size_t i = 0; i < sizeof(made.behind); i++)
			CHECK(made.behind[i] == '#');
	}
}

TEST(truncation_within_a_conversion)
{
	at_the_end("%d,%d", -7, INT32_MIN);
	at_the_end("%ld%%", INT64_MIN);
	at_the_end("%llu|%u", UINT64_MAX / 1ull, 0u);
	at_the_end("%lx %x", UINT64_MAX, 0u);
	at_the_end("%s", "a text of several words");
	at_the_end("%s%s%c", "", "x", 'y');
	at_the_end("%5d%-5x|%08lx", 1, 2u, 3ul);
	at_the_end("a literal, and nothing more");
}

static void parses(const char *text, uint64_t us, uint32_t cpu, const char *thread, uint32_t level,
		   uint64_t seq, const char *message)
{
	struct rs_log_line line;
	char copy[64];

	REQUIRE(rs_log_line_parse(text, strlen(text), &line));
	CHECK_EQ_U64(line.us, us);
	CHECK_EQ_U64(line.cpu, cpu);
	CHECK_EQ_U64(line.level, level);
	CHECK_EQ_U64(line.seq, seq);
	CHECK((thread != NULL) == (line.thread != NULL));
	if (thread) {
		snprintf(copy, sizeof(copy), "%.*s", (int)line.thread_bytes, line.thread);
		CHECK_STR(copy, thread);
	}
	snprintf(copy, sizeof(copy), "%.*s", (int)line.message_bytes, line.message);
	CHECK_STR(copy, message);
}

TEST(parse)
{
	static const char *const none[] = {
		"",
		"x",
		"[us][cpu=0][sev=1][seq=1]:",
		"[1us][cpu=0][sev=1][seq=1]",
		"[1us][cpu=0][sev=1][seq=]:",
		"[1us][cpu=70000][sev=1][seq=1]:",
		"[1us][cpu=0][sev=300][seq=1]:",
		"[99999999999999999999us][cpu=0][sev=1][seq=1]:",
		"[1us][cpu=0][vm0[sev=1][seq=1]:",
		"[1us][cpu=0][vm0][vm1][sev=1][seq=1]:",
		"[1us][cpu=0][sev=300][sev=300][seq=1]:",
		" [1us][cpu=0][sev=1][seq=1]:",
		"[-1us][cpu=0][sev=1][seq=1]:",
	};
	static const char whole[] = "[1us][cpu=0][vm0:vcpu0][sev=5][seq=9]:";
	struct rs_log_line line;

	parses("[15us][cpu=1][vm0:vcpu0][sev=5][seq=42]:hello", 15, 1, "vm0:vcpu0", 5, 42, "hello");
	parses("[15us][cpu=1][sev=5][seq=42]:a]:b", 15, 1, NULL, 5, 42, "a]:b");
	parses("[0us][cpu=0][][sev=0][seq=0]:", 0, 0, "", 0, 0, "");
	parses("[1us][cpu=0][a thread b][sev=1][seq=18446744073709551615]:x", 1, 0, "a thread b", 1,
	       UINT64_MAX, "x");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CHECK(!rs_log_line_parse(none[i], strlen(none[i]), &line));
	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		char *copy = malloc(n + 1); /* exactly as long, for a sanitizer */

		memcpy(copy, whole, n);
		CHECK(!rs_log_line_parse(copy, n, &line));
		free(copy);
	}
}

/*
 * ACRN's two forms, from its own format strings: hypervisor/debug/logmsg.c since commit 47139bd78
 * (2019), and before. The names are those of arch/x86/guest/vcpu.c ("vm%hu:vcpu%hu") and
 * common/hv_main.c ("idle%hu"); ACRN does not have the last two, but could.
 */
TEST(acrn_forms)
{
	static const char *const names[] = { "vm0:vcpu0", "vm15:vcpu7", "idle1", "", "sev=5" };
	char text[RS_LOG_LINE_MAX];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(text, sizeof(text), "[%luus][cpu=%hu][%s][sev=%u][seq=%u]:%s", 1500ul,
			 (unsigned short)3, names[i], 4u, 77u, "[one]:two");
		parses(text, 1500, 3, names[i], 4, 77, "[one]:two");
	}
	snprintf(text, sizeof(text), "[%luus][cpu=%hu][sev=%u][seq=%u]:%s", 1500ul,
		 (unsigned short)3, 4u, 77u, "[one]:two");
	parses(text, 1500, 3, NULL, 4, 77, "[one]:two");
}

TEST(levels)
{
	uint32_t level = 99;

	CHECK(rs_log_level_parse("debug", &level) && level == 6);
	CHECK(rs_log_level_parse("FATAL", &level) && level == 1);
	CHECK(rs_log_level_parse("off", &level) && level == 0);
	CHECK(rs_log_level_parse("3", &level) && level == 3);
	CHECK(!rs_log_level_parse("7", &level) && !rs_log_level_parse("", &level) &&
	      !rs_log_level_parse("3x", &level));
	CHECK_STR(rs_log_level_name(2), "acrn");
	CHECK_STR(rs_log_level_name(7), "?");
}

/* ---- gaps --------------------------------------------------------------------------------- */

static bool gap(const char *text, struct rs_log_gap *gap)
{
	return rs_log_gap_parse(text, strlen(text), gap);
}

TEST(gaps_are_parsed)
{
	struct rs_log_gap g;

	CHECK(gap("[gap: 17 lines are missing, seq 101 to 117, cpu 0 67, between 1200us and "
		  "1500us]",
		  &g));
	CHECK_EQ_U64(g.first, 101);
	CHECK_EQ_U64(g.last, 117);
	CHECK_EQ_U64(g.cpus[0], 1);
	CHECK_EQ_U64(g.cpus[1], 8);
	CHECK_EQ_U64(g.from_us, 1200);
	CHECK_EQ_U64(g.to_us, 1500);
	CHECK(gap("[gap: 1 line is missing, seq 4 to 4, cpu unknown, before 9us]", &g));
	CHECK_EQ_U64(g.from_us, UINT64_MAX);
	CHECK_EQ_U64(g.to_us, 9);
	CHECK(gap("[gap: 1 line is missing, seq 4 to 4, cpu 255, after 9us]", &g));
	CHECK_EQ_U64(g.cpus[3], UINT64_C(1) << 63);
	CHECK_EQ_U64(g.from_us, 9);
	CHECK(gap("[gap: 1 line is missing, seq 4 to 4, cpu 1]", &g));
	CHECK_EQ_U64(g.to_us, UINT64_MAX);
}

TEST(invalid_gaps)
{
	static const char *const texts[] = {
		"",
		"[gap: ",
		"[gap: 17 lines are missing, seq 101 to 118, cpu 0]",
		"[gap: 0 lines are missing, seq 5 to 4, cpu 0]",
		"[gap: 1 line is missing, seq 0 to 0, cpu 0]",
		"[gap: 1 line is missing, seq 4 to 4, cpu 256]",
		"[gap: 1 line is missing, seq 4 to 4, cpu 0] ",
		"[gap: 1 line is missing, seq 4 to 4, cpu 0, between 9us and 8us]",
		("[gap: 18446744073709551615 lines are missing, seq 1 to 18446744073709551615, "
		 "cpu 0]"),
		"[gap: 18446744073709551616 lines are missing, seq 1 to 1, cpu 0]",
	};
	struct rs_log_gap g;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CHECK(!gap(texts[i], &g));
}
