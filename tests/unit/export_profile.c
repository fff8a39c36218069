/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles in each format. tests/trace/profile.test checks them with readers of other projects. */
#include "../test.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/utf8.h"
#include "export/profile.h"

static const struct rs_profile_value values[] = { { "count", "count" }, { "space", "bytes" } };
static struct rs_profile_what what = { .value = 1, .title = "a <title>" };

static void path_add(struct rs_profile *profile, const char *const *names, uint32_t n,
		     uint64_t space)
{
	uint32_t frames[8];

	for (uint32_t i = 0; i < n; i++)
		CHECK_OK(rs_profile_frame(
			profile, &(struct rs_profile_frame){ .function = names[i], .line = space },
			&frames[i]));
	CHECK_OK(rs_profile_add(profile, frames, n, (uint64_t[]){ 1, space }));
}

static void profile_make(struct rs_profile *profile)
{
	rs_profile_init(profile, values, 2);
	path_add(profile, (const char *[]){ "main", "operator<", "x;y" }, 3, 70);
	path_add(profile, (const char *[]){ "main", "operator<" }, 2, 5);
	path_add(profile, (const char *[]){ "main", "b" }, 2, 25);
	path_add(profile, (const char *[]){ "main", "operator<" }, 2, 5);
}

static char *written(rs_profile_write_fn *write, const struct rs_profile *profile, size_t *bytes)
{
	char path[] = "/tmp/rs-profile-XXXXXX", *text = calloc(1, 1 << 20);
	int fd = mkstemp(path);
	struct rs_out out;
	ssize_t n;

	CHECK(fd >= 0 && text);
	CHECK_OK(rs_out_init(&out, fd));
	CHECK_OK(rs_out_end(&out, write(profile, &what, &out)));
	n = pread(fd, text, (1 << 20) - 1, 0);
	CHECK(n >= 0);
	*bytes = (size_t)n;
	close(fd);
	unlink(path);
	return text;
}

/* A stack of more frames than a path has: its inner frames are kept. */
TEST(outer_frames_of_a_deep_stack_are_left_out)
{
	struct rs_profile_path_made path = { .n = 0 };
	struct rs_profile profile;
	char name[16];

	rs_profile_init(&profile, values, 2);
	for (uint32_t i = 0; i < RS_PROFILE_DEPTH_MAX + 3; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		CHECK(path.is_cut == (i > RS_PROFILE_DEPTH_MAX));
		REQUIRE_OK(rs_profile_put(&profile, &(struct rs_profile_frame){ .function = name },
					  "[cut]", &path));
	}
	REQUIRE_EQ_U64(path.n, RS_PROFILE_DEPTH_MAX);
	CHECK_STR(profile.frames[path.frames[0]]->function, "f0");
	CHECK_STR(profile.frames[path.frames[1]]->function, "[cut]");
	for (uint32_t i = 2; i < path.n; i++) {
		snprintf(name, sizeof(name), "f%u", i + 3);
		CHECK_STR(profile.frames[path.frames[i]]->function, name);
	}
	rs_profile_deinit(&profile);
}

TEST(folded_lines_merge_equal_paths)
{
	struct rs_profile profile;
	size_t n;
	char *text;

	profile_make(&profile);
	text = written(rs_profile_write_folded, &profile, &n);
	CHECK_STR(text, "main;b 25\nmain;operator< 10\nmain;operator<;x:y 70\n");
	free(text);
	rs_profile_deinit(&profile);
}

TEST(a_flame_graph_s_frames_lie_within_their_callers)
{
	struct rs_profile profile;
	size_t n;
	char *text;

	profile_make(&profile);
	text = written(rs_profile_write_flame, &profile, &n);
	CHECK(strstr(text, "data-columns=\"105\"") != NULL);
	CHECK(strstr(text, "data-x=\"0\" data-w=\"25\" data-depth=\"2\" data-name=\"b\"") != NULL);
	CHECK(strstr(text, "data-x=\"25\" data-w=\"80\" data-depth=\"2\" "
			   "data-name=\"operator&lt;\"") != NULL);
	CHECK(strstr(text, "data-x=\"25\" data-w=\"70\" data-depth=\"3\" data-name=\"x;y\"") !=
	      NULL);
	CHECK(strstr(text, "a &lt;title&gt;") != NULL);
	CHECK(strstr(text, "http") == strstr(text, "http://www.w3.org/2000/svg"));
	free(text);
	rs_profile_deinit(&profile);
}

TEST(a_label_of_a_flame_graph_is_cut_between_characters)
{
	static const char name[] = "grösse_der_fläche_überall";
	struct rs_profile profile;
	size_t n;
	char *text, *label, *end;

	/* Names whose labels have all lengths from 3 characters on */
	for (uint64_t others = 1; others < 60; others++) {
		rs_profile_init(&profile, values, 2);
		path_add(&profile, (const char *[]){ name }, 1, 1);
		path_add(&profile, (const char *[]){ "b" }, 1, others);
		text = written(rs_profile_write_flame, &profile, &n);
		rs_utf8_mend(text, n);
		label = strstr(text, "data-name=\"grö");
		REQUIRE(label);
		label = strstr(label, "<text");
		REQUIRE(label);
		end = strstr(label, "</text>");
		REQUIRE(end);
		*end = '\0';
		CHECK(!strchr(label, '?'));
		free(text);
		rs_profile_deinit(&profile);
	}
}

/* Returns whether a text is UTF-8 without the characters that XML forbids. */
static bool is_xml_text(const char *text, size_t n)
{
	size_t len;

	for (size_t at = 0; at < n; at += len) {
		len = rs_utf8_sequence_len(text + at, n - at);
		if (!len || (len == 1 && (uint8_t)text[at] < ' ' && !strchr("\t\n", text[at])) ||
		    !memcmp(text + at, "\xef\xbf\xbe", 3) || !memcmp(text + at, "\xef\xbf\xbf", 3))
			return false;
	}
	return true;
}

/* The title is a path, which may have any bytes and any length. */
TEST(a_flame_graph_s_texts_are_those_that_xml_permits)
{
	static const char bad[] =
		"\xff \xc3 \xed\xa0\x80 \x01 \xef\xbf\xbe \xef\xbf\xbf \xef\xbf\xbd";
	const struct rs_profile_what before = what;
	struct rs_profile profile;
	char title[1024];
	size_t n;
	char *text;

	memset(title, 't', sizeof(title));
	memcpy(title + sizeof(title) - sizeof(bad), bad, sizeof(bad));
	what.title = title;
	rs_profile_init(&profile, values, 2);
	path_add(&profile, (const char *[]){ bad }, 1, 7);
	text = written(rs_profile_write_flame, &profile, &n);
	CHECK(is_xml_text(text, n));
	CHECK(strstr(text, "data-name=\"? ? ??? ? ??? ??? \xef\xbf\xbd\"") != NULL);
	CHECK(strstr(text, "ttt? ? ??? ? ??? ??? \xef\xbf\xbd</text>") != NULL);
	what = before;
	free(text);
	rs_profile_deinit(&profile);
}

TEST(a_flame_graph_of_nothing)
{
	struct rs_profile profile;
	size_t n;
	char *text;

	rs_profile_init(&profile, values, 2);
	path_add(&profile, (const char *[]){ "main" }, 1, 0);
	text = written(rs_profile_write_flame, &profile, &n);
	CHECK(!strstr(text, "nan"));
	CHECK(strstr(text, "<title>all (0 bytes, 0.00%)</title><rect x=\"10.00\"") != NULL);
	CHECK(strstr(text, "width=\"0.00\"") != NULL);
	free(text);
	rs_profile_deinit(&profile);
}

/* Decompresses the output, and searches for the encodings of some fields. */
TEST(pprof_s_message_is_compressed)
{
	struct rs_profile profile;
	uint8_t *text, plain[4096];
	z_stream z = { .next_out = plain, .avail_out = sizeof(plain) };
	size_t n;

	profile_make(&profile);
	text = (uint8_t *)written(rs_profile_write_pprof, &profile, &n);
	z.next_in = text;
	z.avail_in = (uInt)n;
	REQUIRE(inflateInit2(&z, 15 + 16) == Z_OK);
	CHECK(inflate(&z, Z_FINISH) == Z_STREAM_END);
	CHECK(memmem(plain, z.total_out, "\x32\x09operator<", 11) != NULL);	  /* string_table */
	CHECK(memmem(plain, z.total_out, "\x0a\x04\x08\x01\x10\x01", 6) != NULL); /* count, count */
	inflateEnd(&z);
	free(text);
	rs_profile_deinit(&profile);
}

TEST(speedscope_has_a_profile_of_each_value)
{
	struct rs_profile profile;
	size_t n;
	char *text;

	profile_make(&profile);
	text = written(rs_profile_write_speedscope, &profile, &n);
	CHECK(strstr(text, "\"name\":\"space\",\"unit\":\"bytes\"") != NULL);
	CHECK(strstr(text, "\"weights\":[70,10,25],\"startValue\":0,\"endValue\":105") != NULL);
	free(text);
	rs_profile_deinit(&profile);
}

TEST(callgrind_s_functions_have_their_calls)
{
	struct rs_profile profile;
	size_t n;
	char *text;

	profile_make(&profile);
	path_add(&profile, (const char *[]){ "main", "b", "main" }, 3, 3);
	text = written(rs_profile_write_callgrind, &profile, &n);
	CHECK(strstr(text, "\npositions: line\nevents: space count\n") != NULL);
	CHECK(strstr(text, "\nfn=(2) operator<\n") != NULL);
	/*
	 * Called in line 70 of main, which the test derives from the value; calls x;y in its own.
	 */
	CHECK(strstr(text, "\ncfn=(2) operator<\ncalls=1 0\n70 70 1\n") != NULL);
	CHECK(strstr(text, "\ncfn=(3) x;y\ncalls=1 0\n70 70 1\n5 10 2\n") != NULL);
	CHECK(strstr(text, "\nfn=(5) main'2\n3 3 1\n") != NULL);
	CHECK(strstr(text, "\ntotals: 108 5\n") != NULL);
	free(text);
	rs_profile_deinit(&profile);
}
