/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * base/: arenas, errors, UTF-8 compared with a decoder in this file, output compared with printf.
 */
#include "../test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/count.h"
#include "base/json.h"
#include "base/out.h"
#include "base/utf8.h"

/* ---- arena -------------------------------------------------------------------------------- */

TEST(arena_gives_zeroed_aligned_memory_that_does_not_move)
{
	static const size_t sizes[] = { 2, 1, 15, 16, 17, 1000, 16384, 16385, 100000, 3 };
	struct rs_arena arena = { 0 };
	char *given[64];
	size_t n = 0;

	for (int round = 0; round < 6; round++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			char *at = rs_arena_alloc(&arena, sizes[i]);

			REQUIRE(at != NULL);
			CHECK_EQ_U64((uintptr_t)at % _Alignof(max_align_t), 0);
			for (size_t j = 0; j < sizes[i]; j++)
				REQUIRE(at[j] == 0);
			memset(at, (int)n + 1, sizes[i]);
			given[n++] = at;
		}
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < sizes[i % 10]; j++)
			REQUIRE(given[i][j] == (char)(i + 1));
	}
	rs_arena_deinit(&arena);
	rs_arena_deinit(&arena); /* an empty allocation is valid */
}

TEST(arena_text_is_a_terminated_copy)
{
	struct rs_arena arena = { 0 };
	char *text = rs_arena_text(&arena, "abcdef", 3);

	CHECK_STR(text, "abc");
	CHECK_STR(rs_arena_text(&arena, "", 0), "");
	rs_arena_deinit(&arena);
}

/* ---- errors ------------------------------------------------------------------------------- */

TEST(errors_carry_code_and_causes)
{
	struct rs_error *err = rs_error_create(RS_DAMAGED, "byte %d", 7);

	CHECK_STR(rs_error_text(err), "byte 7");
	err = rs_error_wrap(err, "file %s", "a%sb");
	CHECK_STR(rs_error_text(err), "file a%sb: byte 7");
	CHECK_EQ_U64(rs_error_code(err), RS_DAMAGED);
	rs_error_free(err);
	CHECK(rs_error_wrap(NULL, "nothing") == NULL);
	CHECK(rs_error_first(NULL, NULL) == NULL);
	err = rs_error_first(NULL, rs_error_first(rs_error_create(RS_FAILED, "first"),
						  rs_error_create(RS_DAMAGED, "second")));
	CHECK_STR(rs_error_text(err), "first");
	err = rs_error_first(err, rs_error_no_memory());
	CHECK_STR(rs_error_text(err), "first");
	rs_error_free(rs_error_first(err, NULL));
	rs_error_free(NULL);
	err = rs_error_errno(ENOSPC, "writing %s", "x");
	CHECK_STR(rs_error_text(err), "writing x: No space left on device");
	CHECK_EQ_U64(rs_error_code(err), RS_FAILED);
	rs_error_free(err);
	err = rs_error_no_memory();
	CHECK_STR(rs_error_text(err), "out of memory");
	CHECK_EQ_U64(rs_error_code(err), RS_NO_MEMORY);
	rs_error_free(err); /* the static error: freeing it twice is harmless */
	rs_error_free(err);
	err = rs_error_wrap(rs_error_no_memory(), "a list");
	CHECK_STR(rs_error_text(err), "a list: out of memory");
	CHECK_EQ_U64(rs_error_code(err), RS_NO_MEMORY);
	rs_error_free(err);
}

TEST(errors_of_any_length_are_complete)
{
	char text[1024];

	for (size_t len = 250; len < 260; len++) {
		struct rs_error *err;

		memset(text, 'x', len);
		text[len] = '\0';
		err = rs_error_errno(ENOSPC, "%s", text);
		CHECK_EQ_U64(strlen(rs_error_text(err)), len + strlen(": No space left on device"));
		CHECK(!strncmp(rs_error_text(err), text, len));
		CHECK_STR(rs_error_text(err) + len, ": No space left on device");
		rs_error_free(err);
	}
}

/* ---- UTF-8 -------------------------------------------------------------------------------- */

/* RFC 3629, decoded to a code point that is then checked: an independent implementation. */
static size_t reference_len(const unsigned char *c, size_t left)
{
	static const struct {
		unsigned char mask, lead;
		uint32_t least;
	} kinds[] = { { 0x80, 0x00, 0 },
		      { 0xe0, 0xc0, 0x80 },
		      { 0xf0, 0xe0, 0x800 },
		      { 0xf8, 0xf0, 0x10000 } };

	for (size_t len = 1; len <= 4; len++) {
		uint32_t point = c[0] & (unsigned char)~kinds[len - 1].mask;

		if ((c[0] & kinds[len - 1].mask) != kinds[len - 1].lead)
			continue;
		if (len > left)
			return 0;
		for (size_t i = 1; i < len; i++) {
			if (c[i] >> 6 != 2)
				return 0;
			point = point << 6 | (c[i] & 0x3f);
		}
		if (point < kinds[len - 1].least || point > 0x10ffff ||
		    (point >= 0xd800 && point < 0xe000))
			return 0;
		return point < 0x20 || (point >= 0x7f && point < 0xa0) ? 0 : len;
	}
	return 0;
}

TEST(utf8_follows_rfc_3629_and_excludes_controls)
{
	static const unsigned char fourth[] = { 0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff };

	for (uint32_t n = 0; n < 1u << 24; n++) {
		unsigned char c[4] = { (unsigned char)(n >> 16), (unsigned char)(n >> 8),
				       (unsigned char)n };

		for (size_t left = c[0] < 0xf0 ? 3 : 1; left <= 3; left++) {
			if (rs_utf8_len((const char *)c, left) != reference_len(c, left)) {
				test_fail(TEST_HERE, "%02x %02x %02x, %zu left", c[0], c[1], c[2],
					  left);
				return;
			}
		}
		for (size_t i = 0; c[0] >= 0xf0 && i < sizeof(fourth); i++) {
			c[3] = fourth[i];
			if (rs_utf8_len((const char *)c, 4) != reference_len(c, 4)) {
				test_fail(TEST_HERE, "%02x %02x %02x %02x", c[0], c[1], c[2], c[3]);
				return;
			}
		}
	}
}

TEST(utf8_mend_replaces_only_invalid_bytes)
{
	static const struct {
		const char *bad, *good;
	} cases[] = {
		{ "plain \"text\"", "plain \"text\"" },
		{ "a\nb\tc\x7f", "a?b?c?" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "\xe2\x82\xac \xf0\x9f\x90\xa7", "\xe2\x82\xac \xf0\x9f\x90\xa7" },
		{ "cut \xe2\x82", "cut ??" },
		{ "\xc0\xaf \xed\xa0\x80 \xf5\x80\x80\x80 \xc2\x85", "?? ??? ???? ??" },
		{ "\xff\xfe", "??" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];

		snprintf(text, sizeof(text), "%s", cases[i].bad);
		rs_utf8_mend(text, strlen(text));
		CHECK_STR(text, cases[i].good);
	}
}

TEST(counts_have_singular_and_plural_nouns)
{
	CHECK_STR(RS_COUNT_OF(0, "record"), "0 records");
	CHECK_STR(RS_COUNT_OF(1, "vCPU thread"), "1 vCPU thread");
	CHECK_STR(RS_COUNT_OF(2, "entry"), "2 entries");
	CHECK_STR(RS_COUNT_OF(2, "key"), "2 keys");
	CHECK_STR(RS_COUNT_OF(3, "switch"), "3 switches");
	CHECK_STR(RS_COUNT_OF(UINT64_MAX, "loss"), "18446744073709551615 losses");
	CHECK_STR(RS_COUNT_RANGE(1, 1, "argument"), "1 argument");
	CHECK_STR(RS_COUNT_RANGE(0, 1, "argument"), "0 to 1 argument");
	CHECK_STR(RS_COUNT_RANGE(2, 3, "argument"), "2 to 3 arguments");
}

/* ---- output ------------------------------------------------------------------------------- */

/* An output to a file in memory, and the written bytes. */
static bool out_open(struct rs_out *out, int *fd)
{
	*fd = memfd_create("out", MFD_CLOEXEC);
	return CHECK(*fd >= 0) && CHECK_OK(rs_out_init(out, *fd));
}

static char *out_close(struct rs_out *out, int fd, size_t *len)
{
	off_t end;
	char *text;

	CHECK_OK(rs_out_flush(out));
	rs_out_deinit(out);
	end = lseek(fd, 0, SEEK_END);
	text = calloc(1, (size_t)end + 1);
	CHECK(pread(fd, text, (size_t)end, 0) == end);
	close(fd);
	if (len)
		*len = (size_t)end;
	return text;
}

/*
 * Commas separate values; control characters in a string are escaped, and bytes that are not UTF-8
 * become '?'.
 */
TEST(json_is_nested_correctly)
{
	static const char bytes[] = "a\nb\0\x7f \"\\ \xc2\x85 \xff\xc3";
	struct rs_out out;
	struct rs_json json = { .out = &out };
	char *text;
	int fd;

	if (!out_open(&out, &fd))
		return;
	rs_json_open(&json, '{');
	rs_json_bytes(rs_json_key(&json, "text"), bytes, sizeof(bytes) - 1);
	rs_json_open(rs_json_key(&json, "list"), '[');
	rs_json_unsigned(&json, UINT64_MAX);
	rs_json_signed(&json, INT64_MIN);
	rs_json_known(&json, -1);
	rs_json_open(&json, '[');
	rs_json_close(&json, ']');
	rs_json_close(&json, ']');
	rs_json_hex(rs_json_key(&json, "hex"), 255);
	rs_json_real(rs_json_key(&json, "real"), 1.5, 6);
	rs_json_bool(rs_json_key(&json, "bool"), true);
	rs_json_text(rs_json_key(&json, "none"), NULL);
	rs_json_close(&json, '}');
	rs_json_line_end(&json);
	rs_json_unsigned(&json, 1);
	text = out_close(&out, fd, NULL);
	CHECK_STR(text, "{\"text\":\"a\\nb\\u0000\x7f \\\"\\\\ \xc2\x85 ??\","
			"\"list\":[18446744073709551615,-9223372036854775808,null,[]],"
			"\"hex\":\"0xff\",\"real\":1.500000,\"bool\":true,\"none\":null}\n1");
	free(text);
}

static const int64_t numbers[] = { 0,
				   1,
				   9,
				   10,
				   99,
				   100,
				   101,
				   999,
				   1000,
				   12345,
				   99999999,
				   100000000,
				   999999999,
				   1000000000,
				   1000000001,
				   4294967295,
				   4294967296,
				   1000000000000,
				   9007199254740993,
				   1234567890123456789,
				   INT64_MAX,
				   -1,
				   -9,
				   -10,
				   -999999999,
				   -1000000000,
				   -1000000001,
				   INT64_MIN + 1,
				   INT64_MIN };

TEST(out_numbers_equal_those_of_printf)
{
	uint64_t random = 88172645463325252u;
	static const char piece[RS_OUT_PIECE + 1] = " \n";
	char expected[192], *got, *line, *rest, *at;
	struct rs_out out;
	int fd;

	REQUIRE(out_open(&out, &fd));
	for (size_t i = 0; i < 5000; i++) {
		int64_t n = (int64_t)(random >> random % 61);

		if (i < sizeof(numbers) / sizeof(numbers[0]))
			n = numbers[i];
		rs_out_line(&out);
		rs_out_dec(&out, (uint64_t)n);
		rs_out_char(&out, ' ');
		rs_out_signed(&out, n);
		rs_out_char(&out, ' ');
		rs_out_hex(&out, (uint64_t)n);
		rs_out_char(&out, ' ');
		rs_out_seconds(&out, n);
		rs_out_char(&out, ' ');
		rs_out_hex_digits(&out, (uint64_t)n, 1 + i % 16);
		rs_out_char(&out, ' ');
		at = rs_out_at(&out, 64);
		at = rs_at_eight(at, (uint32_t)((uint64_t)n % RS_OUT_E8));
		at = rs_at_piece(at, piece, 1);
		at = rs_at_dec(at, (uint64_t)n);
		at = rs_at_piece(at, piece, 1);
		at = rs_at_hex_eight(at, (uint64_t)n);
		rs_out_upto(&out, rs_at_piece(at, piece + 1, 1));
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
	}
	got = rest = out_close(&out, fd, NULL);
	random = 88172645463325252u;
	for (size_t i = 0; i < 5000; i++) {
		int64_t n = (int64_t)(random >> random % 61);
		__int128 wide;

		if (i < sizeof(numbers) / sizeof(numbers[0]))
			n = numbers[i];
		wide = n < 0 ? -(__int128)n : n;
		snprintf(expected, sizeof(expected),
			 "%llu %lld 0x%llx %s%llu.%09llu %0*llx %08llu %llu "
			 "%08llx",
			 (unsigned long long)n, (long long)n, (unsigned long long)n,
			 n < 0 ? "-" : "", (unsigned long long)(wide / 1000000000),
			 (unsigned long long)(wide % 1000000000), (int)(1 + i % 16),
			 (unsigned long long)n, (unsigned long long)n % RS_OUT_E8,
			 (unsigned long long)n, (unsigned long long)n);
		line = strsep(&rest, "\n");
		if (!CHECK_STR(line, expected))
			break;
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
	}
	free(got);
}

TEST(out_quotes_unprintable_characters)
{
	static const char text[] = "a\"b\\c\n\0\x7f\xff gr\xc3\xbc\xc3";
	struct rs_out out;
	char *got;
	int fd;

	REQUIRE(out_open(&out, &fd));
	rs_out_quoted(&out, text, sizeof(text) - 1, 4096);
	rs_out_quoted(&out, "abcdef", 6, 4);
	rs_out_quoted(&out, "", 0, 4);
	got = out_close(&out, fd, NULL);
	CHECK_STR(got, "\"a\\\"b\\\\c\\x0a\\x00\\x7f\\xff gr\xc3\xbc\\xc3\"\"abcd\"...\"\"");
	free(got);
}

/* Much more than the buffer, in pieces of all sizes: every byte is written, in order. */
TEST(out_long_texts_and_many_lines_are_complete)
{
	static char long_text[300000];
	struct rs_out out;
	size_t len, at = 0;
	char *got;
	int fd;

	memset(long_text, 'x', sizeof(long_text) - 1);
	REQUIRE(out_open(&out, &fd));
	for (int i = 0; i < 40000; i++) {
		rs_out_line(&out);
		rs_out_text(&out, "line ");
		rs_out_dec(&out, (uint64_t)i);
		rs_out_char(&out, '\n');
	}
	rs_out_quoted(&out, long_text, sizeof(long_text) - 1, SIZE_MAX);
	rs_out_text(&out, long_text);
	rs_out_text(&out, "end");
	got = out_close(&out, fd, &len);
	for (int i = 0; i < 40000; i++) {
		char line[32];
		int n = snprintf(line, sizeof(line), "line %d\n", i);

		REQUIRE(!memcmp(got + at, line, (size_t)n));
		at += (size_t)n;
	}
	REQUIRE_EQ_U64(len - at, sizeof(long_text) + 1 + sizeof(long_text) - 1 + 3);
	CHECK(got[at] == '"' && got[at + sizeof(long_text)] == '"');
	CHECK(!memcmp(got + at + 1, long_text, sizeof(long_text) - 1));
	at += sizeof(long_text) + 1;
	CHECK(!memcmp(got + at, long_text, sizeof(long_text) - 1));
	CHECK_STR(got + len - 3, "end");
	free(got);
}

TEST(controls_and_invalid_utf8_are_escaped_for_a_terminal)
{
	static const char text[] = "a\033[2J\n\t\x7f\xc2\x9b"
				   "5n\xc3\xa4\x9b\xff";
	static const char expect[] = "a\\x1b[2J\n\t\\x7f\\xc2\\x9b"
				     "5n\xc3\xa4\\x9b\\xff";
	const size_t len = sizeof(text) - 1;

	for (size_t room = 4; room <= sizeof(expect); room++) {
		char got[128], piece[128];
		size_t n = 0, used;

		for (size_t at = 0; at < len; at += used) {
			size_t some = rs_utf8_escape(text + at, len - at, piece, room, &used);

			REQUIRE(some && some <= room && used);
			memcpy(got + n, piece, some);
			n += some;
		}
		got[n] = '\0';
		CHECK_STR(got, expect);
	}
}

TEST(out_reports_the_first_error_and_continues_silently)
{
	struct rs_out out;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		TEST_SKIP("no /dev/full");
	REQUIRE_OK(rs_out_init(&out, fd));
	for (int i = 0; i < 100000; i++) {
		rs_out_line(&out);
		rs_out_text(&out, "a line\n");
	}
	CHECK_ERR(rs_out_flush(&out), RS_FAILED, "No space left");
	CHECK_ERR(rs_out_flush(&out), RS_FAILED, "No space left");
	rs_out_deinit(&out);
	close(fd);
}
