/* SPDX-License-Identifier: BSD-2-Clause */
/* A store that keeps the newest packets in memory, and writes them on demand. */
#include "store_kit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#define HOUR_NS UINT64_C(3600000000000)
#define MIB	(UINT64_C(1) << 20)

static bool keeping_init(struct kit_store *k, uint64_t age_ns, uint64_t bytes)
{
	struct rs_store_keep keep = { .age_ns = age_ns, .bytes = bytes };

	*k = (struct kit_store){ .schema = kit_schema("app"), .clock = kit_clock(ORIGIN) };
	join(k->path, make_temp(k->temp), "trace");
	return CHECK_OK(rs_store_create_keeping(&keep, &k->clock, "a test", &k->store)) &&
	       CHECK_OK(rs_store_add_class(k->store, k->schema, &k->clock, &k->class_index));
}

static struct rs_error *write_kept(struct kit_store *k, struct rs_store_kept *kept)
{
	return rs_store_write_kept(k->store, k->path, "a test \"why\" \xff", 4711, NULL, kept);
}

/* One packet of n records with these values and stamps, from `value` on. */
static void packet(struct kit_store *k, uint32_t stream, uint64_t value, uint64_t n)
{
	struct slots s = { 0 };

	for (uint64_t i = 0; i < n; i++)
		slots_one(&s, ORIGIN + value + i, value + i);
	CHECK_OK(kit_store_put(k, stream, &s));
	CHECK_OK(kit_store_flush(k, stream));
}

TEST(kept_packets_are_written_completely)
{
	struct got_sink got = got_sink();
	const struct rs_trace_flight *flight;
	struct rs_store_summary sum;
	struct rs_store_kept kept;
	struct rs_trace *trace;
	struct slots s = { 0 };
	struct kit_store k;

	REQUIRE(keeping_init(&k, HOUR_NS, MIB));
	REQUIRE_OK(kit_store_stream(&k, 0, NULL));
	REQUIRE_OK(kit_store_stream(&k, 1, NULL));
	CHECK_OK(rs_schema_set_name(k.schema, 7, "late", 4));
	packet(&k, 0, 0, 13);
	slots_lost(&s, ORIGIN + 20, 5, ORIGIN + 19, RS_LOST_FULL);
	CHECK_OK(kit_store_put(&k, 1, &s));
	packet(&k, 1, 20, 17);
	CHECK_OK(write_kept(&k, &kept));
	CHECK_EQ_U64(kept.sum.records, 30);
	CHECK_EQ_U64(kept.sum.lost, 5);
	CHECK(kept.whole_from_ns == INT64_MIN && !kept.short_of_bytes);
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_EQ_U64(rs_trace_end_state(trace), RS_TRACE_CLOSED);
	flight = rs_trace_flight(trace);
	REQUIRE(flight != NULL);
	CHECK(flight->whole_from_ns == INT64_MIN);
	CHECK_EQ_S64(flight->at_ns, 4711);
	CHECK_STR(flight->why, "a test \"why\" ?");
	CHECK_STR(rs_schema_name(rs_trace_stream(trace, 0)->schema, 7), "late");
	CHECK_OK(trace_read(trace, NULL, &got));
	CHECK_EQ_U64(got.n, 31);
	CHECK_EQ_U64(got.lost, 5);
	got_free(&got);
	rs_trace_close(trace);
	CHECK_OK(kit_store_close(&k, &sum));
	CHECK_EQ_U64(sum.records, 30);
	CHECK_EQ_U64(sum.lost, 5);
	kit_store_deinit(&k);
}

TEST(the_oldest_packets_are_dropped_without_a_loss)
{
	struct got_sink got = got_sink();
	struct rs_store_kept kept;
	struct rs_trace *trace;
	struct kit_store k;
	char again[256];

	REQUIRE(keeping_init(&k, HOUR_NS, 64 << 10));
	REQUIRE_OK(kit_store_stream(&k, 0, NULL));
	REQUIRE_OK(kit_store_stream(&k, 1, NULL));
	/* 101 packets of 101 records each: 3.2 KB, of which 64 KiB hold 19 */
	for (uint64_t i = 0; i < 101; i++)
		packet(&k, i % 3 == 0, i * 101, 101);
	CHECK_OK(write_kept(&k, &kept));
	CHECK_EQ_U64(kept.sum.records, 19 * 101);
	CHECK_EQ_U64(kept.sum.lost, 0);
	CHECK(kept.short_of_bytes);
	CHECK_EQ_S64(kept.whole_from_ns, 82 * 101 - 1);
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_EQ_S64(rs_trace_flight(trace)->whole_from_ns, 82 * 101 - 1);
	CHECK_OK(trace_read(trace, NULL, &got));
	REQUIRE_EQ_U64(got.n, 19 * 101);
	for (size_t i = 0; i < got.n; i++)
		CHECK_EQ_U64(got_value(&got.at[i]), 82 * 101 + i);
	got_free(&got);
	rs_trace_close(trace);
	CHECK_OK(rs_trace_repair(k.path, &(struct rs_repair_result){ 0 }));
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_OK(trace_read(trace, NULL, &got));
	CHECK_EQ_U64(got.n, 19 * 101);
	CHECK(rs_trace_flight(trace) != NULL);
	got_free(&got);
	rs_trace_close(trace);
	/* it continues, and keeps its packets; only a directory is written once */
	packet(&k, 0, 101 * 101, 101);
	CHECK_ERR(write_kept(&k, &kept), RS_USAGE, "exists already");
	remove_tree(join(again, k.temp, "trace"));
	CHECK_OK(write_kept(&k, &kept));
	CHECK_EQ_U64(kept.sum.records, 19 * 101);
	CHECK_EQ_S64(kept.whole_from_ns, 83 * 101 - 1);
	CHECK_OK(kit_store_close(&k, NULL));
	kit_store_deinit(&k);
}

/*
 * No packet is finished before it is full, and there is memory for less than a packet of a store on
 * disk: the newest are still kept.
 */
TEST(a_burst_is_kept_as_far_as_it_fits)
{
	struct got_sink got = got_sink();
	struct rs_store_kept kept;
	struct rs_trace *trace;
	struct kit_store k;
	uint64_t n = 0;

	REQUIRE(keeping_init(&k, HOUR_NS, 64 << 10));
	REQUIRE_OK(kit_store_stream(&k, 0, NULL));
	while (n < 4093) {
		struct slots s = { 0 };

		for (uint64_t end = n + 31 < 4093 ? n + 31 : 4093; n < end; n++)
			slots_one(&s, ORIGIN + n, n);
		CHECK_OK(kit_store_put(&k, 0, &s));
	}
	CHECK_OK(kit_store_flush(&k, 0));
	CHECK_OK(write_kept(&k, &kept));
	CHECK(kept.short_of_bytes && kept.sum.lost == 0);
	CHECK(kept.sum.records > 1000 && kept.sum.records < (64 << 10) / 32);
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_OK(trace_read(trace, NULL, &got));
	REQUIRE_EQ_U64(got.n, kept.sum.records);
	for (size_t i = 0; i < got.n; i++)
		CHECK_EQ_U64(got_value(&got.at[i]), 4093 - got.n + i);
	got_free(&got);
	rs_trace_close(trace);
	CHECK_OK(kit_store_close(&k, NULL));
	kit_store_deinit(&k);
}

TEST(old_packets_are_dropped)
{
	struct rs_store_kept kept;
	struct kit_store k;

	REQUIRE(keeping_init(&k, 0, MIB));
	REQUIRE_OK(kit_store_stream(&k, 0, NULL));
	packet(&k, 0, 0, 13);
	packet(&k, 0, 100, 17);
	nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
	CHECK_OK(write_kept(&k, &kept));
	CHECK_EQ_U64(kept.sum.records, 0);
	CHECK_EQ_U64(kept.sum.streams, 1);
	CHECK(!kept.short_of_bytes);
	CHECK_EQ_S64(kept.whole_from_ns, 116);
	CHECK_OK(kit_store_close(&k, NULL));
	kit_store_deinit(&k);
}

/* ---- write errors --------------------------------------------------------------------------- */

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
}

TEST(a_write_error_is_reported_and_the_packets_are_kept)
{
	struct got_sink got = got_sink();
	struct rs_store_kept kept;
	struct rs_error *err;
	struct rs_trace *trace;
	struct kit_store k;

	REQUIRE(keeping_init(&k, HOUR_NS, 16 * MIB));
	REQUIRE_OK(kit_store_stream(&k, 0, NULL));
	packet(&k, 0, 0, 1009);
	/* a packet that reaches the maximum length with a loss before it */
	for (int i = 0; i < 3; i++)
		packet(&k, 0, 2000 + (uint64_t)i * 30000, 20011 - 2000 * (uint64_t)i);
	limit_files(1009 * 32 + 96 + 40);
	err = write_kept(&k, &kept);
	limit_files(RLIM_INFINITY);
	CHECK_ERR(err, RS_FAILED, "File too large");
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_EQ_U64(rs_trace_end_state(trace), RS_TRACE_CUT);
	err = trace_read(trace, NULL, &got);
	CHECK_ERR(err, RS_DAMAGED, "54033 records lost at its end");
	CHECK_EQ_U64(got.n, 1009);
	got_free(&got);
	rs_trace_close(trace);
	remove_tree(k.path);
	CHECK_OK(write_kept(&k, &kept));
	CHECK_EQ_U64(kept.sum.records, 1009 + 54033);
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_OK(trace_read(trace, NULL, &got));
	CHECK_EQ_U64(got.n, 1009 + 54033);
	got_free(&got);
	rs_trace_close(trace);
	CHECK_OK(kit_store_close(&k, NULL));
	kit_store_deinit(&k);
}

/*
 * ---- concurrent packets
 * --------------------------------------------------------------------------
 */

#define WRITERS	    3
#define PACKETS	    1009
#define EACH	    101 /* records a packet */
#define WRITTEN_MIN 3

static struct kit_store going;

static void *keep_on(void *arg)
{
	uint32_t stream = (uint32_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < PACKETS; i++)
		packet(&going, stream, i * EACH, EACH);
	return NULL;
}

/* In each stream of the written trace: records without a gap, up to some end. */
static void check_written(const char *path)
{
	struct got_sink got = got_sink();
	uint64_t next[WRITERS] = { 0 };
	bool any[WRITERS] = { false };
	struct rs_trace *trace;

	REQUIRE_OK(rs_trace_open(path, &trace));
	CHECK_OK(trace_read(trace, NULL, &got));
	for (size_t i = 0; i < got.n; i++) {
		uint32_t stream = got.at[i].stream->index;
		uint64_t value = got_value(&got.at[i]);

		REQUIRE(stream < WRITERS);
		if (any[stream])
			CHECK_EQ_U64(value, next[stream]);
		any[stream] = true;
		next[stream] = value + 1;
	}
	got_free(&got);
	rs_trace_close(trace);
}

TEST(it_is_written_while_packets_are_added_and_dropped)
{
	pthread_t threads[WRITERS];
	struct rs_store_summary sum;
	struct rs_store_kept kept;

	REQUIRE(keeping_init(&going, HOUR_NS, 256 << 10));
	for (uint32_t i = 0; i < WRITERS; i++)
		REQUIRE_OK(kit_store_stream(&going, i, NULL));
	for (uintptr_t i = 0; i < WRITERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, keep_on, (void *)i));
	for (int i = 0; i < WRITTEN_MIN; i++) {
		CHECK_OK(write_kept(&going, &kept));
		CHECK_EQ_U64(kept.sum.records % EACH, 0);
		check_written(going.path);
		remove_tree(going.path);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	CHECK_OK(kit_store_close(&going, &sum));
	CHECK_EQ_U64(sum.records, WRITERS * PACKETS * EACH);
	CHECK_EQ_U64(sum.lost, 0);
	kit_store_deinit(&going);
}

TEST(an_invalid_line_of_a_flight_recorder)
{
	static const char *const bad[] = { "7",
					   "{}",
					   "{\"at_ns\":1,\"why\":\"x\"}",
					   "{\"at_ns\":1,\"why\":null,\"whole_from_ns\":null}",
					   "{\"at_ns\":1,\"why\":\"x\",\"whole_from_ns\":\"x\"}",
					   "{\"at_ns\":1.5,\"why\":\"x\",\"whole_from_ns\":1}" };
	struct rs_store_kept kept;
	struct kit_store k;
	char path[256];
	uint8_t *whole;
	size_t bytes = 0;

	REQUIRE(keeping_init(&k, HOUR_NS, MIB));
	CHECK_OK(write_kept(&k, &kept));
	whole = file_read(join(path, k.path, "ringside/describe"), &bytes);
	REQUIRE(whole != NULL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		FILE *file;

		file_write(path, whole, bytes);
		file = fopen(path, "ae");
		fprintf(file, "{\"flight\":%s}\n", bad[i]);
		fclose(file);
		CHECK_ERR(trace_complaint(k.path), RS_DAMAGED, "a flight recorder's trace");
	}
	free(whole);
	CHECK_OK(kit_store_close(&k, NULL));
	kit_store_deinit(&k);
}
