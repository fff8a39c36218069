/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces of more streams than there are descriptors: written, read, repaired. */
#include "store_kit.h"

#include <fcntl.h>
#include <sys/resource.h>

#define STREAMS 1009
#define ROUNDS	3

/* Allows no descriptor from n on; returns the previous limit. */
static rlim_t limit_descriptors(rlim_t n)
{
	struct rlimit limit;
	rlim_t before;

	getrlimit(RLIMIT_NOFILE, &limit);
	before = limit.rlim_cur;
	limit.rlim_cur = n;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	return before;
}

static rlim_t first_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	close(fd);
	return (rlim_t)fd;
}

/* Some records into each of them, alternately. */
static void write_all(struct kit_store *k, struct rs_store_stream **streams, uint64_t from)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (uint64_t i = 0; i < STREAMS; i++) {
			struct slots s = { 0 };

			k->stream[0] = streams[i];
			rs_drain_init(&k->drain[0], &(struct rs_port){ 0 }, k->schema);
			slots_one(&s, ORIGIN + (from + round) * STREAMS + i, i);
			CHECK_OK(kit_store_put(k, 0, &s));
			CHECK_OK(kit_store_flush(k, 0));
		}
	}
}

TEST(more_streams_than_descriptors)
{
	static struct rs_store_stream *streams[STREAMS];
	struct rs_repair_result result = { 0 };
	struct got_sink got = got_sink();
	struct rs_stream plain = { .vcpu = -1, .cpu = -1, .tid = 7 };
	struct rs_store_summary sum;
	struct rs_trace *trace;
	struct kit_store k;
	rlim_t before = limit_descriptors(first_free() + 5);

	/* the directory, its folder, the state, the description; and one for all others */
	REQUIRE(kit_store_init(&k, NULL));
	for (uint32_t i = 0; i < STREAMS; i++)
		REQUIRE_OK(rs_store_add_stream(k.store, k.class_index, &plain, &streams[i]));
	write_all(&k, streams, 0);
	CHECK_OK(rs_schema_declare(k.schema, USER(20), "late::event(u64 n)", 18));
	write_all(&k, streams, ROUNDS);
	CHECK_OK(kit_store_close(&k, &sum));
	CHECK_EQ_U64(sum.records, 2 * ROUNDS * STREAMS);
	CHECK_EQ_U64(sum.lost, 0);
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_OK(trace_read(trace, NULL, &got));
	CHECK_EQ_U64(got.n, 2 * ROUNDS * STREAMS);
	rs_trace_close(trace);
	got_free(&got);
	CHECK_OK(rs_trace_repair(k.path, &result));
	CHECK_EQ_U64(result.records, 2 * ROUNDS * STREAMS);
	limit_descriptors(before);
	kit_store_deinit(&k);
}
