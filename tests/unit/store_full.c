/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store when a file cannot grow: a file size limit takes the place of a full disk, so that the
 * disk can be full at any byte, and have room again. Kept and lost records add up to those put.
 */
#include "store_kit.h"

#include <signal.h>
#include <sys/resource.h>

/* Limits files to this many bytes; a test lifts the limit again. */
static void limit_files(uint64_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
}

static void lift_limit(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = limit.rlim_max;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
}

static uint64_t size_of(const struct kit_store *k, const char *name)
{
	char path[256];
	struct stat st;

	return stat(join(path, k->path, name), &st) ? 0 : (uint64_t)st.st_size;
}

static size_t kept(const struct got_sink *got)
{
	size_t n = 0;

	for (size_t i = 0; i < got->n; i++)
		n += !got->at[i].is_loss;
	return n;
}

/* ---- a stream's file ------------------------------------------------------------------------- */

#define BEFORE 1009 /* records; more bytes than the other files need */

/* Records, then some that reach the limit, then, with room again, one more. */
static void stream_full_at(uint64_t more, bool room_again)
{
	struct got_sink got = got_sink();
	struct rs_store_summary sum;
	struct rs_trace *trace;
	struct slots s = { 0 };
	struct kit_store k;
	struct rs_error *err;

	REQUIRE(kit_store_init(&k, NULL));
	REQUIRE_OK(kit_store_stream(&k, 0, NULL));
	for (uint64_t i = 0; i < BEFORE; i++)
		slots_one(&s, ORIGIN + 1, 1);
	CHECK_OK(kit_store_put(&k, 0, &s));
	CHECK_OK(kit_store_flush(&k, 0));
	limit_files(size_of(&k, "stream_0") + more);
	for (uint64_t i = 2; i < 9; i++)
		slots_one(&s, ORIGIN + i, i);
	slots_lost(&s, ORIGIN + 9, 100, ORIGIN + 8, RS_LOST_FULL);
	CHECK_OK(kit_store_put(&k, 0, &s));
	CHECK_ERR(kit_store_flush(&k, 0), RS_FAILED, "File too large");
	/* again: a loss record for them, and one more record, are still too much */
	slots_one(&s, ORIGIN + 10, 10);
	CHECK_OK(kit_store_put(&k, 0, &s));
	CHECK_ERR(kit_store_flush(&k, 0), RS_FAILED, "File too large");
	if (room_again)
		lift_limit();
	slots_one(&s, ORIGIN + 11, 11);
	CHECK_OK(kit_store_put(&k, 0, &s));
	err = kit_store_close(&k, &sum);
	lift_limit();
	CHECK_ERR(err, RS_FAILED, "File too large");
	CHECK_EQ_U64(sum.records + sum.lost, BEFORE + 109);
	CHECK_EQ_U64(sum.records, room_again ? BEFORE + 1 : BEFORE);
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_EQ_U64(rs_trace_end_state(trace), RS_TRACE_CUT);
	err = trace_read(trace, NULL, &got);
	CHECK_ERR(err, RS_DAMAGED,
		  room_again ? "the recording is incomplete: " : "109 records lost at its end: ");
	CHECK_EQ_U64(kept(&got), sum.records);
	CHECK_EQ_U64(got.lost, room_again ? 108 : 0);
	if (room_again && CHECK_EQ_U64(got.n, BEFORE + 2)) {
		struct rs_lost lost;

		memcpy(&lost, got.at[BEFORE].payload, 28);
		CHECK_EQ_U64(lost.why, RS_LOST_STORAGE);
		CHECK_EQ_U64(lost.from, ORIGIN + 2);
		CHECK_EQ_U64(lost.to, ORIGIN + 10);
		CHECK_EQ_U64(got_value(&got.at[BEFORE + 1]), 11);
	}
	rs_trace_close(trace);
	got_free(&got);
	/* a repair adds to the stream what only the state had */
	CHECK_OK(rs_trace_repair(k.path, &(struct rs_repair_result){ 0 }));
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_OK(trace_read(trace, NULL, &got));
	CHECK_EQ_U64(kept(&got) + got.lost, BEFORE + 109);
	rs_trace_close(trace);
	got_free(&got);
	kit_store_deinit(&k);
}

TEST(a_stream_s_file_is_full_at_any_byte)
{
	for (uint64_t more = 0; more < 96 + 64 + 32; more += 7) {
		stream_full_at(more, true);
		stream_full_at(more, false);
	}
}

/* ---- the description ------------------------------------------------------------------------- */

static void description_full_at(uint64_t more)
{
	struct got_sink got = got_sink();
	struct rs_store_summary sum;
	struct rs_trace *trace;
	struct slots s = { 0 };
	struct kit_store k;
	struct rs_error *err;
	struct rs_span span = { 5, 0, 0 };

	REQUIRE(kit_store_init(&k, NULL));
	REQUIRE_OK(kit_store_stream(&k, 0, NULL));
	limit_files(size_of(&k, "ringside/describe") + more);
	CHECK_OK(rs_schema_declare(k.schema, USER(20), "late::event(u64 n)", 18));
	CHECK_OK(rs_schema_set_name(k.schema, 5, "late name", 9));
	slots_record(&s, ORIGIN + 1, USER(20), "12345678", 8);
	slots_record(&s, ORIGIN + 1, RS_ID_SPAN_BEGIN, &span, sizeof(span));
	CHECK_OK(kit_store_put(&k, 0, &s));
	CHECK_ERR(kit_store_flush(&k, 0), RS_FAILED, "File too large");
	/* a new thread adds one stream, no matter how often the disk is full */
	CHECK_OK(kit_store_stream(&k, 1, NULL));
	slots_record(&s, ORIGIN + 2, USER(20), "12345678", 8);
	CHECK_OK(kit_store_put(&k, 1, &s));
	CHECK_ERR(kit_store_flush(&k, 1), RS_FAILED, "File too large");
	lift_limit();
	slots_record(&s, ORIGIN + 3, USER(20), "abcdefgh", 8);
	slots_record(&s, ORIGIN + 3, RS_ID_SPAN_END, &span, sizeof(span));
	CHECK_OK(kit_store_put(&k, 0, &s));
	err = kit_store_close(&k, &sum);
	CHECK_ERR(err, RS_FAILED, "File too large");
	CHECK_EQ_U64(sum.records, 2);
	CHECK_EQ_U64(sum.lost, 3);
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_EQ_U64(rs_trace_stream_count(trace), 2);
	CHECK_ERR(trace_read(trace, NULL, &got), RS_DAMAGED, "the recording is incomplete");
	CHECK_EQ_U64(kept(&got), 2);
	CHECK_EQ_U64(got.lost, 3);
	CHECK_STR(rs_schema_name(rs_trace_stream(trace, 0)->schema, 5), "late name");
	got_free(&got);
	rs_trace_close(trace);
	kit_store_deinit(&k);
}

TEST(the_description_s_file_is_full_at_any_byte)
{
	for (uint64_t more = 0; more < 230; more += 7)
		description_full_at(more);
}

/* ---- a repair ----------------------------------------------------------------------------------
 */

TEST(an_undamaged_trace_is_repaired_on_a_full_disk)
{
	struct rs_repair_result result = { 0 };
	struct rs_error *err;
	struct kit_store k;
	char path[256];

	REQUIRE(kit_store_init(&k, NULL));
	kit_store_everything(&k);
	CHECK_OK(kit_store_close(&k, NULL));
	limit_files(0);
	err = rs_trace_repair(k.path, &result);
	lift_limit();
	CHECK_OK(err);
	CHECK_EQ_U64(result.streams_changed, 0);
	CHECK_OK(trace_complaint(k.path));
	/* a damaged one is not: an error, and the trace stays unchanged */
	unlink(join(path, k.path, "metadata"));
	limit_files(0);
	err = rs_trace_repair(k.path, &result);
	lift_limit();
	CHECK_ERR(err, RS_FAILED, "metadata: File too large");
	CHECK_OK(trace_complaint(k.path));
	kit_store_deinit(&k);
}

/* ---- the index --------------------------------------------------------------------------------
 */

TEST(an_index_with_holes_is_ignored)
{
	struct got_sink got = got_sink();
	struct rs_trace *trace;
	struct rs_query query;
	struct slots s = { 0 };
	struct kit_store k;
	char path[256];
	uint8_t *index;
	size_t bytes = 0;

	REQUIRE(kit_store_init(&k, NULL));
	REQUIRE_OK(kit_store_stream(&k, 0, NULL));
	for (uint64_t i = 0; i < 20; i++) {
		slots_one(&s, ORIGIN + i, i);
		CHECK_OK(kit_store_put(&k, 0, &s));
		CHECK_OK(kit_store_flush(&k, 0));
	}
	CHECK_OK(kit_store_close(&k, NULL));
	index = file_read(join(path, k.path, "ringside/index"), &bytes);
	REQUIRE_EQ_U64(bytes, 20 * 48);
	rs_query_init(&query);
	query.from_ns = 15;
	for (size_t hole = 0; hole < bytes; hole += 8) {
		uint8_t torn[20 * 48];

		memcpy(torn, index, hole);
		memcpy(torn + hole, index + hole + 8, bytes - hole - 8);
		file_write(path, torn, bytes - 8);
		REQUIRE_OK(rs_trace_open(k.path, &trace));
		CHECK_OK(trace_read(trace, &query, &got));
		CHECK_EQ_U64(got.n, 5);
		got_free(&got);
		rs_trace_close(trace);
	}
	free(index);
	kit_store_deinit(&k);
}
