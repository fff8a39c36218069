/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace cut at every byte of every file, and with every byte changed: nothing crashes, no event
 * is read that was not written, and missing ones are reported. The same after a repair.
 */
#include "store_kit.h"

/* The events of an undamaged trace, as they were written. */
struct whole {
	struct kit_store k;
	struct got_sink events;
	char path[256]; /* of the copy that is damaged */
};

static void whole_init(struct whole *w)
{
	struct rs_trace *trace;

	*w = (struct whole){ .events = got_sink() };
	REQUIRE(kit_store_init(&w->k, NULL));
	kit_store_everything(&w->k);
	REQUIRE_OK(kit_store_close(&w->k, NULL));
	REQUIRE_OK(rs_trace_open(w->k.path, &trace));
	CHECK_OK(trace_read(trace, NULL, &w->events));
	/* events and streams belong to the trace: data for a later comparison is copied */
	for (size_t i = 0; i < w->events.n; i++) {
		struct got *e = &w->events.at[i];

		e->payload = realloc(e->payload, 4096);
		snprintf((char *)e->payload + 2048, 2048, "%s", e->event->probe);
	}
	rs_trace_close(trace);
	join(w->path, w->k.temp, "harmed");
	copy_directory(w->k.path, w->path);
}

static void whole_deinit(struct whole *w)
{
	got_free(&w->events);
	kit_store_deinit(&w->k);
}

static bool same(const struct got *a, const struct got *b, bool probes)
{
	return a->tsc == b->tsc && a->ts_ns == b->ts_ns && a->payload_bytes == b->payload_bytes &&
	       !memcmp(a->payload, b->payload, a->payload_bytes) &&
	       (!probes || !strcmp((const char *)b->payload + 2048, a->event->probe));
}

/*
 * Returns whether the events read are part of those written, in order, apart from the reader's
 * losses.
 */
static bool is_part(const struct whole *w, const struct got_sink *got, bool probes)
{
	size_t at = 0;

	for (size_t i = 0; i < got->n; i++) {
		while (at < w->events.n && !same(&got->at[i], &w->events.at[at], probes))
			at++;
		if (at < w->events.n) {
			at++;
			continue;
		}
		if (got->at[i].event->kind != RS_KIND_LOSS)
			return false;
		at = 0;
		for (size_t j = 0; j < i; j++)
			while (at < w->events.n && same(&got->at[j], &w->events.at[at], probes))
				at++;
	}
	return true;
}

/* Reads the damaged copy. what: the file; its description may have other names. */
static void check_harmed(const struct whole *w, const char *file, const char *how, size_t at)
{
	bool described = strcmp(file, "ringside/describe") != 0;
	bool must_be_whole = !strcmp(file, "metadata") || !strcmp(file, "ringside/index");
	struct got_sink got = got_sink();
	struct rs_trace *trace = NULL;
	struct rs_error *err = rs_trace_open(w->path, &trace);

	if (!err)
		err = trace_read(trace, NULL, &got);
	if (!trace && described)
		test_fail(TEST_HERE, "%s %s at %zu: not opened", file, how, at);
	if (err && rs_error_code(err) != RS_DAMAGED)
		test_fail(TEST_HERE, "%s %s at %zu: code %d: %s", file, how, at,
			  (int)rs_error_code(err), rs_error_text(err));
	if (err && must_be_whole)
		test_fail(TEST_HERE, "%s %s at %zu: %s", file, how, at, rs_error_text(err));
	if (!err && got.n != w->events.n)
		test_fail(TEST_HERE, "%s %s at %zu: %zu of %zu events, no report", file, how, at,
			  got.n, w->events.n);
	if ((described || !err) && !is_part(w, &got, true))
		test_fail(TEST_HERE, "%s %s at %zu: an event that was not written", file, how, at);
	rs_error_free(err);
	got_free(&got);
	rs_trace_close(trace);
}

static const char *const files[] = { "metadata",      "stream_0",	   "stream_1",
				     "stream_2",      "ringside/describe", "ringside/index",
				     "ringside/state" };
#define FILES (sizeof(files) / sizeof(files[0]))

/*
 * Not every byte of the state's block, which is blank except for its beginning, and of the
 * metadata, which is not read.
 */
static size_t step(const char *file, size_t at)
{
	if (!strcmp(file, "metadata"))
		return 997;
	return !strcmp(file, "ringside/state") && at > 256 ? 509 : 1;
}

TEST(every_file_cut_at_every_byte)
{
	struct whole w;

	whole_init(&w);
	for (size_t f = 0; f < FILES; f++) {
		char path[256], from[256];
		size_t bytes;
		uint8_t *data = file_read(join(from, w.k.path, files[f]), &bytes);

		join(path, w.path, files[f]);
		for (size_t at = 0; at < bytes; at += step(files[f], at)) {
			file_write(path, data, at);
			check_harmed(&w, files[f], "cut", at);
		}
		file_write(path, data, bytes);
		free(data);
	}
	check_harmed(&w, "nothing", "cut", 0);
	whole_deinit(&w);
}

TEST(every_byte_of_every_file_changed)
{
	static const uint8_t masks[] = { 0x01, 0x80, 0xff };
	struct whole w;

	whole_init(&w);
	for (size_t f = 0; f < FILES; f++) {
		char path[256], from[256];
		size_t bytes;
		uint8_t *data = file_read(join(from, w.k.path, files[f]), &bytes);
		size_t n = strncmp(files[f], "stream", 6) != 0 ? 1 : 3;

		join(path, w.path, files[f]);
		for (size_t at = 0; at < bytes; at += step(files[f], at)) {
			for (size_t m = 0; m < n; m++) {
				uint8_t mask = n == 1 ? (uint8_t)(1u << at % 8) : masks[m];

				data[at] ^= mask;
				file_write(path, data, bytes);
				check_harmed(&w, files[f], "changed", at);
				data[at] ^= mask;
			}
		}
		file_write(path, data, bytes);
		free(data);
	}
	check_harmed(&w, "nothing", "changed", 0);
	whole_deinit(&w);
}

TEST(every_file_missing_or_empty_or_a_directory)
{
	struct whole w;

	whole_init(&w);
	for (size_t f = 0; f < FILES; f++) {
		struct rs_trace *trace = NULL;
		struct got_sink got = got_sink();
		char path[256], from[256];
		size_t bytes;
		uint8_t *data = file_read(join(from, w.k.path, files[f]), &bytes);
		struct rs_error *err;

		unlink(join(path, w.path, files[f]));
		if (strcmp(files[f], "ringside/describe") != 0) {
			check_harmed(&w, files[f], "gone", 0);
		} else {
			err = rs_trace_open(w.path, &trace);
			CHECK_ERR(err, RS_USAGE, "not a Ringside trace");
		}
		mkdir(path, 0755);
		err = rs_trace_open(w.path, &trace);
		if (!err)
			err = trace_read(trace, NULL, &got);
		CHECK(err || !strcmp(files[f], "metadata") || !strcmp(files[f], "ringside/index"));
		rs_error_free(err);
		got_free(&got);
		rs_trace_close(trace);
		rmdir(path);
		file_write(path, data, bytes);
		free(data);
	}
	whole_deinit(&w);
}

/* If packets are lost, the loss extends from the record before them to the one after. */
TEST(a_loss_lies_between_its_neighbours)
{
	static const struct {
		uint32_t packet; /* of 160 bytes: two records, at 10 n + 10 and 10 n + 11 */
		uint32_t packets;
		uint64_t from, to;
	} cases[] = {
		{ 0, 1, 20, 20 },				      /* nothing before it */
		{ 1, 1, 11, 30 }, { 1, 2, 11, 40 }, { 4, 1, 41, 41 }, /* nothing after it */
		{ 0, 5, 0, 0 }, /* no event at all: the trace's start */
	};
	struct kit_store k;
	struct slots s = { 0 };
	char path[256];
	uint8_t *data;
	size_t bytes = 0;

	REQUIRE(kit_store_init(&k, NULL));
	REQUIRE_OK(kit_store_stream(&k, 0, NULL));
	for (uint64_t i = 0; i < 5; i++) {
		slots_one(&s, ORIGIN + 10 * i + 10, i);
		slots_one(&s, ORIGIN + 10 * i + 11, i);
		CHECK_OK(kit_store_put(&k, 0, &s));
		CHECK_OK(kit_store_flush(&k, 0));
	}
	CHECK_OK(kit_store_close(&k, NULL));
	data = file_read(join(path, k.path, "stream_0"), &bytes);
	REQUIRE_EQ_U64(bytes, 5 * 160);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct got_sink got = got_sink();
		struct rs_trace *trace;
		struct rs_lost lost;
		size_t at = cases[i].packet * 2;

		for (uint32_t j = 0; j < cases[i].packets; j++)
			data[(cases[i].packet + j) * 160 + 130] ^= 1;
		file_write(path, data, bytes);
		for (uint32_t j = 0; j < cases[i].packets; j++)
			data[(cases[i].packet + j) * 160 + 130] ^= 1;
		for (int repaired = 0; repaired < 2; repaired++) {
			REQUIRE_OK(rs_trace_open(k.path, &trace));
			if (repaired)
				CHECK_OK(trace_read(trace, NULL, &got));
			else
				CHECK_ERR(trace_read(trace, NULL, &got), RS_DAMAGED,
					  "its checksum is wrong");
			if (CHECK_EQ_U64(got.n, 11 - 2 * cases[i].packets) &&
			    CHECK(got.at[at].is_loss)) {
				memcpy(&lost, got.at[at].payload, 28);
				CHECK_EQ_U64(lost.count, 2 * cases[i].packets);
				CHECK_EQ_U64(lost.from, ORIGIN + cases[i].from);
				CHECK_EQ_U64(lost.to, ORIGIN + cases[i].to);
				CHECK_EQ_S64(got.at[at].ts_ns, cases[i].to);
				CHECK_EQ_U64(lost.why, RS_LOST_DAMAGED);
			}
			rs_trace_close(trace);
			got_free(&got);
			CHECK_OK(rs_trace_repair(k.path, &(struct rs_repair_result){ 0 }));
		}
	}
	free(data);
	kit_store_deinit(&k);
}

/* A foreign file does no harm, and is not a stream of the trace. */
TEST(foreign_files_are_ignored)
{
	struct whole w;
	char path[256];

	whole_init(&w);
	file_write(join(path, w.path, "stream_7"), "", 0);
	file_write(join(path, w.path, "notes.txt"), "hello", 5);
	mkdir(join(path, w.path, "directory"), 0755);
	file_write(join(path, w.path, "ringside/more"), "hello", 5);
	check_harmed(&w, "nothing", "with foreign files", 0);
	whole_deinit(&w);
}

TEST(an_invalid_trace_is_reported_clearly)
{
	struct rs_trace *trace = NULL;
	char temp[64], path[256];

	make_temp(temp);
	CHECK_ERR(rs_trace_open(temp, &trace), RS_USAGE, "is not a Ringside trace");
	CHECK_ERR(rs_trace_open(join(path, temp, "none"), &trace), RS_USAGE, "no such directory");
	file_write(join(path, temp, "file"), "x", 1);
	CHECK_ERR(rs_trace_open(path, &trace), RS_USAGE, "is a file: name a directory");
	mkdir(join(path, temp, "ringside"), 0755);
	file_write(join(path, temp, "ringside/describe"), "", 0);
	CHECK_ERR(rs_trace_open(temp, &trace), RS_DAMAGED, "describes no trace");
	file_write(path, "{}\n", 3);
	CHECK_ERR(rs_trace_open(temp, &trace), RS_DAMAGED, "line 1: the first line");
	file_write(path, "[]\n", 3);
	CHECK_ERR(rs_trace_open(temp, &trace), RS_DAMAGED, "line 1: the first line");
	file_write(path, "{\"ringside\":\n", 13);
	CHECK_ERR(rs_trace_open(temp, &trace), RS_DAMAGED, "line 1: column");
	CHECK(trace == NULL);
	remove_tree(temp);
}

/* ---- repair --------------------------------------------------------------------------------- */

static size_t kept(const struct got_sink *got)
{
	size_t n = 0;

	for (size_t i = 0; i < got->n; i++)
		n += !got->at[i].is_loss;
	return n;
}

/* Repairs the damaged copy, which must be valid then: closed by repair, and without a warning. */
static void check_repaired(const struct whole *w, const char *file, const char *how, size_t at)
{
	struct rs_repair_result result = { 0 };
	struct got_sink before = got_sink(), after = got_sink();
	struct rs_trace *trace = NULL;
	struct rs_error *err = rs_trace_open(w->path, &trace);

	REQUIRE_OK(err);
	rs_error_free(trace_read(trace, NULL, &before));
	rs_trace_close(trace);
	err = rs_trace_repair(w->path, &result);
	if (!err)
		err = rs_trace_open(w->path, &trace);
	if (!err) {
		/* an undamaged trace stays closed as it was */
		CHECK_EQ_U64(rs_trace_end_state(trace),
			     strcmp(file, "nothing") != 0 ? RS_TRACE_REPAIRED : RS_TRACE_CLOSED);
		err = trace_read(trace, NULL, &after);
	}
	if (err)
		test_fail(TEST_HERE, "%s %s at %zu: after the repair: %s", file, how, at,
			  rs_error_text(err));
	rs_error_free(err);
	if (!is_part(w, &after, true))
		test_fail(TEST_HERE, "%s %s at %zu: repair made up an event", file, how, at);
	if (kept(&after) != kept(&before))
		test_fail(TEST_HERE, "%s %s at %zu: %zu records, %zu before the repair", file, how,
			  at, kept(&after), kept(&before));
	if (kept(&after) + after.lost != kept(&w->events) + w->events.lost)
		test_fail(TEST_HERE, "%s %s at %zu: %zu kept, %" PRIu64 " lost", file, how, at,
			  kept(&after), after.lost);
	/* again: there is nothing left to do */
	rs_trace_close(trace);
	got_free(&before);
	memset(&result, 0, sizeof(result));
	CHECK_OK(rs_trace_repair(w->path, &result));
	if (result.streams_changed || result.bytes_dropped || result.lost)
		test_fail(TEST_HERE, "%s %s at %zu: a second repair changes more", file, how, at);
	REQUIRE_OK(rs_trace_open(w->path, &trace));
	CHECK_OK(trace_read(trace, NULL, &before));
	CHECK_EQ_U64(before.n, after.n);
	got_free(&before);
	got_free(&after);
	rs_trace_close(trace);
}

TEST(a_stream_cut_or_changed_anywhere_is_repaired)
{
	struct whole w;

	whole_init(&w);
	for (size_t f = 1; f <= 2; f++) {
		char path[256], from[256];
		size_t bytes;
		uint8_t *data = file_read(join(from, w.k.path, files[f]), &bytes);

		join(path, w.path, files[f]);
		for (size_t at = 0; at < bytes; at++) {
			copy_directory(w.k.path, w.path);
			file_write(path, data, at);
			check_repaired(&w, files[f], "cut", at);
			copy_directory(w.k.path, w.path);
			data[at] ^= 0x41;
			file_write(path, data, bytes);
			check_repaired(&w, files[f], "changed", at);
			data[at] ^= 0x41;
		}
		copy_directory(w.k.path, w.path);
		free(data);
	}
	whole_deinit(&w);
}

TEST(repair_does_not_change_an_undamaged_trace)
{
	struct whole w;

	whole_init(&w);
	check_repaired(&w, "nothing", "harmed", 0);
	for (size_t f = 1; f < 6; f++) {
		char a[256], b[256];
		size_t n, m;
		uint8_t *x = file_read(join(a, w.k.path, files[f]), &n);
		uint8_t *y = file_read(join(b, w.path, files[f]), &m);

		/* the index lists packets by stream now, not by time */
		if (f != 5) {
			CHECK_EQ_U64(m, n);
			CHECK_MEM(y, x, n);
		}
		free(x);
		free(y);
	}
	whole_deinit(&w);
}

TEST(a_missing_stream_is_replaced_by_an_empty_one)
{
	struct whole w;
	char path[256];

	whole_init(&w);
	unlink(join(path, w.path, "stream_1"));
	check_repaired(&w, "stream_1", "gone", 0);
	CHECK(access(path, F_OK) == 0);
	whole_deinit(&w);
}

TEST(a_trace_that_is_being_recorded_is_not_repaired)
{
	struct rs_repair_result result;
	struct kit_store k;

	REQUIRE(kit_store_init(&k, NULL));
	kit_store_everything(&k);
	CHECK_ERR(rs_trace_repair(k.path, &result), RS_USAGE, "still being recorded");
	CHECK_ERR(rs_trace_repair("/no/such/trace", &result), RS_USAGE, "no such directory");
	kit_store_deinit(&k);
}

/* ---- lines that are invalid ------------------------------------------------------------------ */

/* Puts `with` in place of the line that begins with `what`. */
static void line_replace(const char *path, const char *what, const char *with)
{
	size_t bytes;
	uint8_t *data = file_read(path, &bytes);
	char *text = calloc(1, bytes + 1), *at, *end;
	FILE *file = fopen(path, "we");

	memcpy(text, data, bytes);
	at = strstr(text, what);
	if (CHECK(at != NULL)) {
		end = strchr(at, '\n');
		fprintf(file, "%.*s%s%s", (int)(at - text), text, with, end);
	}
	fclose(file);
	free(text);
	free(data);
}

static size_t events_of(const struct got_sink *got, uint32_t stream)
{
	size_t n = 0;

	for (size_t i = 0; i < got->n; i++)
		n += got->at[i].stream->index == stream;
	return n;
}

TEST(an_invalid_line_costs_only_its_stream)
{
	static const struct {
		const char *line, *with, *says;
		size_t of_1; /* events of stream 1 that are read */
		bool repaired;
	} cases[] = {
		{ "{\"stream\":{\"index\":1,", "", "are unknown of stream 1", 4, true },
		{ "{\"stream\":{\"index\":1,", "{\"stream\":{\"index\":1,", "of stream 1", 4,
		  true },
		{ "{\"stream\":{\"index\":2,", "\xff", "nothing can be read of stream 2", 4,
		  false },
		{ "{\"name\":", "", "it is skipped", 4, true },
	};
	struct whole w;
	char path[256];

	whole_init(&w);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_repair_result result = { 0 };
		struct got_sink got = got_sink();
		struct rs_trace *trace;

		copy_directory(w.k.path, w.path);
		line_replace(join(path, w.path, "ringside/describe"), cases[i].line, cases[i].with);
		file_write(join(path, w.path, "ringside/state"), "{\"state\":\"closed\"}", 18);
		REQUIRE_OK(rs_trace_open(w.path, &trace));
		CHECK_ERR(trace_read(trace, NULL, &got), RS_DAMAGED, cases[i].says);
		CHECK_EQ_U64(got.n, w.events.n);
		CHECK_EQ_U64(events_of(&got, 1), cases[i].of_1);
		rs_trace_close(trace);
		got_free(&got);
		CHECK_OK(rs_trace_repair(w.path, &result));
		CHECK_EQ_U64(result.lines_dropped, 1);
		CHECK_EQ_U64(result.lost, 0);
		CHECK_EQ_U64(result.streams_unread, !cases[i].repaired);
		if (cases[i].repaired)
			CHECK_OK(trace_complaint(w.path));
		else
			CHECK_ERR(trace_complaint(w.path), RS_DAMAGED, cases[i].says);
	}
	whole_deinit(&w);
}

TEST(more_invalid_lines_than_are_skipped)
{
	struct kit_store k;
	char path[256];
	FILE *file;

	REQUIRE(kit_store_init(&k, NULL));
	CHECK_OK(kit_store_close(&k, NULL));
	file = fopen(join(path, k.path, "ringside/describe"), "ae");
	for (uint32_t i = 0; i < RS_BAD_LINES_MAX; i++)
		fputs("7\n", file);
	fclose(file);
	CHECK_ERR(trace_complaint(k.path), RS_DAMAGED, "and 4095 more lines");
	file = fopen(path, "ae");
	fputs("7\n", file);
	fclose(file);
	CHECK_ERR(trace_complaint(k.path), RS_DAMAGED, "ringside/describe, line");
	kit_store_deinit(&k);
}

/* ---- hostile descriptions -------------------------------------------------------------------- */

/* Longer than 80 lines because it is a table of invalid lines and their error messages. */
TEST(hostile_descriptions)
{
#define HEAD "{\"ringside\":{\"version\":1,\"uuid\":\"00000000-0000-4000-8000-000000000000\"}}\n"
#define CLOCK                                                                                      \
	"{\"clock\":{\"index\":0,\"name\":\"host\",\"freq_hz\":1000000000,\"origin\":0,"           \
	"\"wall_ns\":0,\"offset\":0,\"error_cycles\":0,\"invariant\":true,\"freq_from\":\"x\"}}\n"
#define CLASS "{\"class\":{\"index\":0,\"provider\":\"p\",\"clock\":0}}\n"
#define EVENT(id, fields)                                                                          \
	"{\"event\":{\"class\":0,\"id\":" id ",\"class_name\":\"c\",\"function\":\"\","            \
	"\"name\":\"n\",\"help\":\"\",\"kind\":0,\"fields\":" fields "}}\n"
#define FIELD(name, type, show)                                                                    \
	"{\"name\":\"" name "\",\"type\":" type ",\"show\":" show ",\"unit\":\"\"}"
	static const struct {
		const char *text, *part;
	} bad[] = {
		{ CLOCK, "line 1: the first line" },
		{ HEAD, "describes no trace" },
		{ "{\"ringside\":{\"version\":2,\"uuid\":\"00000000-0000-4000-8000-000000000000\"}}"
		  "\n" CLOCK,
		  "line 1: a trace of format version 2" },
		{ "{\"ringside\":{\"version\":1,\"uuid\":\"short\"}}\n", "line 1" },
		{ "{\"ringside\":7}\n", "line 1" },
		{ HEAD "{\"clock\":{}}\n", "line 2: no valid description of a clock" },
		{ HEAD "{\"clock\":{\"index\":0,\"name\":\"host\",\"freq_hz\":1,\"origin\":0,"
		       "\"wall_ns\":0,\"offset\":0,\"error_cycles\":0,\"invariant\":true,"
		       "\"freq_from\":\"x\"}}\n",
		  "line 2: a clock of 1 Hz" },
		{ HEAD CLOCK "{\"class\":{\"index\":0,\"provider\":\"p\",\"clock\":1}}\n",
		  "line 3: no valid description of a class" },
		{ HEAD CLOCK "{\"class\":{\"index\":-1,\"provider\":\"p\",\"clock\":0}}\n",
		  "line 3" },
		{ HEAD CLOCK EVENT("1", "[]"), "line 3: there is no class 0" },
		{ HEAD CLOCK CLASS EVENT("-1", "[]"), "line 4: no valid description of an event" },
		{ HEAD CLOCK CLASS EVENT("281474976710656", "[]"), "line 4" },
		{ HEAD CLOCK CLASS EVENT("1", "7"),
		  "line 4: no valid description of an event: its" },
		{ HEAD CLOCK CLASS EVENT("1", "[7]"), "line 4: no valid description of a field" },
		{ HEAD CLOCK CLASS EVENT("1", "[" FIELD("a", "10", "0") "]"), "line 4" },
		{ HEAD CLOCK CLASS EVENT("1", "[" FIELD("a", "-1", "0") "]"), "line 4" },
		{ HEAD CLOCK CLASS EVENT("1", "[" FIELD("a", "0", "5") "]"), "line 4" },
		{ HEAD CLOCK CLASS EVENT("1", "[" FIELD("a", "4294967296", "0") "]"),
		  "line 4: no valid description of a field" },
		{ HEAD CLOCK CLASS EVENT("1", "[" FIELD("a", "true", "0") "]"),
		  "line 4: no valid description of a field" },
		{ HEAD CLOCK CLASS EVENT("1", "[{\"name\":\"a\",\"type\":0,\"show\":0,"
					      "\"unit\":\"\",\"values\":[[\"x\",\"1\"]]}]"),
		  "line 4: no valid description of an enumeration" },
		{ HEAD CLOCK CLASS EVENT("1", "[" FIELD("a b", "0", "0") "]"), "line 4" },
		{ HEAD CLOCK CLASS EVENT("1", "[" FIELD("", "0", "0") "]"), "line 4" },
		{ HEAD CLOCK CLASS EVENT("1",
					 "[" FIELD("a", "8", "0") "," FIELD("b", "0", "0") "]"),
		  "field 'b' after a text" },
		{ HEAD CLOCK CLASS EVENT("1",
					 "[" FIELD("a", "9", "1") "," FIELD("b", "8", "0") "]"),
		  "field 'b' after a stack" },
		{ HEAD CLOCK CLASS EVENT("1048577", "[]"), "already" },
		{ HEAD CLOCK CLASS EVENT("1", "[]") EVENT("1", "[" FIELD("a", "0", "0") "]"),
		  "line 5: event 0x1 is already p:c::n" },
		{ HEAD CLOCK CLASS "{\"name\":{\"class\":0,\"id\":4294967296,\"text\":\"x\"}}\n",
		  "line 4: no valid description of a name" },
		{ HEAD CLOCK CLASS "{\"name\":{\"class\":1,\"id\":1,\"text\":\"x\"}}\n",
		  "line 4: there is no class 1" },
		{ HEAD CLOCK CLASS
		  "{\"stream\":{\"index\":1,\"class\":0,\"vcpu\":0,\"cpu\":0,\"tid\":0}}\n",
		  "lines are missing, and nothing can be read of stream 0" },
		{ HEAD CLOCK CLASS
		  "{\"stream\":{\"index\":65536,\"class\":0,\"vcpu\":0,\"cpu\":0,\"tid\":0}}\n",
		  "line 4: no valid description of a stream" },
		/* a number beyond int is not a thread's number */
		{ HEAD CLOCK CLASS "{\"stream\":{\"index\":0,\"class\":0,\"vcpu\":0,\"cpu\":0,"
				   "\"tid\":4294967303}}\n",
		  "line 4: no valid description of a stream" },
		{ HEAD CLOCK CLASS "{\"stream\":{\"index\":0,\"class\":0,\"vcpu\":0,"
				   "\"cpu\":-4294967295,\"tid\":7}}\n",
		  "line 4: no valid description of a stream" },
		{ HEAD CLOCK CLASS
		  "{\"stream\":{\"index\":0,\"class\":7,\"vcpu\":0,\"cpu\":0,\"tid\":0}}\n",
		  "line 4: there is no class 7" },
		{ HEAD "{\"end\":{\"stream\":0,\"bytes\":0,\"records\":0,\"lost\":0}}\n" CLOCK,
		  "line 2: there is no clock before this line" },
		{ HEAD CLOCK "{\"binary\":{}}\n", "line 3: no valid description of a binary" },
		{ HEAD CLOCK "{\"a\":1,\"a\":2}\n", "line 3: column" },
		{ HEAD CLOCK "\xff\n", "line 3: column" },
	};
	char temp[64], path[256];
	struct rs_trace *trace = NULL;

	make_temp(temp);
	mkdir(join(path, temp, "ringside"), 0755);
	join(path, temp, "ringside/describe");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		file_write(path, bad[i].text, strlen(bad[i].text));
		CHECK_ERR(trace_complaint(temp), RS_DAMAGED, bad[i].part);
	}
	/* additions of a later version are skipped, and so is a last line without a newline */
	file_write(path, HEAD CLOCK "{\"later\":[1]}\n" CLASS "{\"cl",
		   strlen(HEAD CLOCK CLASS) + 18);
	CHECK_OK(rs_trace_open(temp, &trace));
	rs_trace_close(trace);
	remove_tree(temp);
}
