/* SPDX-License-Identifier: BSD-2-Clause */
/* perf's ring: its records by time, in any order in the ring, and invalid ones. */
#include "../test.h"

#include "perf_kit.h"

static struct perf_kit kit;

static bool kit_init(void)
{
	memset(&kit, 0, sizeof(kit));
	return rs_perf_ring_init(&kit.ring, kit.page, kit.data, KIT_BYTES);
}

static void check_next(uint64_t until, uint64_t time, uint32_t tid)
{
	struct rs_perf_record record = { 0 };

	CHECK(rs_perf_ring_next(&kit.ring, until, &record));
	CHECK_EQ_U64(record.time, time);
	CHECK_EQ_U64(record.tid, tid);
	CHECK_EQ_U64(record.lost, 0);
}

static void check_none(uint64_t until)
{
	struct rs_perf_record record;

	CHECK(!rs_perf_ring_next(&kit.ring, until, &record));
}

TEST(an_interrupt_s_sample_follows_the_interrupted_one)
{
	REQUIRE(kit_init());
	kit_sample(&kit, 107, 2, "interrupt", 9);
	kit_sample(&kit, 103, 1, "interrupted", 11);
	kit_sample(&kit, 107, 3, "at the same time", 16);
	kit_publish(&kit);
	CHECK(rs_perf_ring_poll(&kit.ring));
	check_next(UINT64_MAX, 103, 1);
	check_next(UINT64_MAX, 107, 2);
	check_next(UINT64_MAX, 107, 3);
	check_none(UINT64_MAX);
	rs_perf_ring_deinit(&kit.ring);
}

TEST(recent_records_wait_and_keep_their_room)
{
	uint64_t second;

	REQUIRE(kit_init());
	kit_sample(&kit, 101, 1, "a", 1);
	second = kit.head;
	kit_sample(&kit, 109, 2, "b", 1);
	kit_sample(&kit, 103, 3, "c", 1);
	kit_publish(&kit);
	CHECK(rs_perf_ring_poll(&kit.ring));
	check_next(105, 101, 1);
	check_next(105, 103, 3);
	check_none(105);
	CHECK(rs_perf_ring_poll(&kit.ring));
	CHECK_EQ_U64(kit_page(&kit)->data_tail, second); /* c is after b, which waits */
	check_next(109, 109, 2);
	CHECK(rs_perf_ring_poll(&kit.ring));
	CHECK_EQ_U64(kit_page(&kit)->data_tail, kit.head);
	rs_perf_ring_deinit(&kit.ring);
}

TEST(records_are_whole_across_the_ring_s_end)
{
	char text[] = "0 of forty bytes, so that some wrap";

	REQUIRE(kit_init());
	for (uint32_t i = 0; i < 1009; i++) { /* many laps */
		struct rs_perf_record record = { 0 };

		text[0] = (char)('0' + i % 10);
		kit_sample(&kit, i + 1, i, text, sizeof(text));
		kit_publish(&kit);
		CHECK(rs_perf_ring_poll(&kit.ring));
		REQUIRE(rs_perf_ring_next(&kit.ring, UINT64_MAX, &record));
		CHECK_EQ_U64(record.tid, i);
		CHECK(record.bytes >= sizeof(text) && !memcmp(record.raw, text, sizeof(text)));
	}
	CHECK_EQ_U64(kit.ring.damaged, 0);
	rs_perf_ring_deinit(&kit.ring);
}

TEST(losses_have_a_number_and_a_time)
{
	struct rs_perf_record record = { 0 };

	REQUIRE(kit_init());
	kit_sample(&kit, 101, 1, "a", 1);
	kit_lost(&kit, 107, 13);
	kit_publish(&kit);
	CHECK(rs_perf_ring_poll(&kit.ring));
	check_next(UINT64_MAX, 101, 1);
	REQUIRE(rs_perf_ring_next(&kit.ring, UINT64_MAX, &record));
	CHECK_EQ_U64(record.lost, 13);
	CHECK_EQ_U64(record.time, 107);
	rs_perf_ring_deinit(&kit.ring);
}

TEST(changes_of_threads_are_ordered_by_time)
{
	struct rs_perf_record record;

	REQUIRE(kit_init());
	kit_task(&kit, PERF_RECORD_EXIT, 109, 7, 1);
	kit_renamed(&kit, 107, 7, "name");
	kit_task(&kit, PERF_RECORD_FORK, 101, 7, 1);
	kit_publish(&kit);
	CHECK(rs_perf_ring_poll(&kit.ring));
	REQUIRE(rs_perf_ring_next(&kit.ring, UINT64_MAX, &record));
	CHECK(record.kind == RS_PERF_FORKED && record.time == 101 && record.tid == 7 &&
	      record.pid == 107 && record.parent_tid == 1);
	REQUIRE(rs_perf_ring_next(&kit.ring, UINT64_MAX, &record));
	CHECK(record.kind == RS_PERF_RENAMED && record.time == 107 && record.tid == 7 &&
	      record.pid == 107 && record.bytes == 16 && !strcmp((const char *)record.raw, "name"));
	REQUIRE(rs_perf_ring_next(&kit.ring, UINT64_MAX, &record));
	CHECK(record.kind == RS_PERF_EXITED && record.time == 109 && record.tid == 7);
	rs_perf_ring_deinit(&kit.ring);
}

TEST(a_rename_that_is_too_short_is_damage)
{
	struct perf_event_header header = { .type = PERF_RECORD_COMM, .size = 24 };
	uint64_t words[2] = { 0 };

	REQUIRE(kit_init());
	kit_bytes(&kit, &header, sizeof(header));
	kit_bytes(&kit, words, sizeof(words));
	kit_publish(&kit);
	rs_perf_ring_poll(&kit.ring);
	check_none(UINT64_MAX);
	CHECK_EQ_U64(kit.ring.damaged, 1);
	rs_perf_ring_deinit(&kit.ring);
}

TEST(other_records_are_skipped)
{
	struct perf_event_header throttle = { .type = PERF_RECORD_THROTTLE, .size = 48 };
	uint64_t words[5] = { 0 };

	REQUIRE(kit_init());
	kit_bytes(&kit, &throttle, sizeof(throttle));
	kit_bytes(&kit, words, sizeof(words));
	kit_sample(&kit, 101, 1, "a", 1);
	kit_publish(&kit);
	CHECK(rs_perf_ring_poll(&kit.ring));
	check_next(UINT64_MAX, 101, 1);
	check_none(UINT64_MAX);
	CHECK_EQ_U64(kit.ring.damaged, 0);
	rs_perf_ring_deinit(&kit.ring);
}

TEST(damage_costs_the_records_in_the_ring)
{
	static const struct perf_event_header bad[] = {
		{ .type = PERF_RECORD_SAMPLE, .size = 0 },
		{ .type = PERF_RECORD_SAMPLE, .size = 12 },
		{ .type = PERF_RECORD_SAMPLE, .size = 24 }, /* shorter than a sample */
		{ .type = PERF_RECORD_LOST, .size = 32 },
		{ .type = PERF_RECORD_SAMPLE, .size = 4096 }, /* longer than the data */
	};
	uint64_t words[5] = { 0 };

	REQUIRE(kit_init());
	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		kit_sample(&kit, 2 * i + 1, 7, "good", 4);
		kit_bytes(&kit, &bad[i], sizeof(bad[i]));
		kit_bytes(&kit, words, sizeof(words));
		kit_publish(&kit);
		CHECK(rs_perf_ring_poll(&kit.ring));
		CHECK_EQ_U64(kit.ring.damaged, i + 1);
		check_next(UINT64_MAX, 2 * i + 1, 7);
		check_none(UINT64_MAX);
	}
	kit_page(&kit)->data_head = kit.head + KIT_BYTES + 8; /* more than the ring can hold */
	CHECK(rs_perf_ring_poll(&kit.ring));
	CHECK_EQ_U64(kit.ring.damaged, sizeof(bad) / sizeof(bad[0]) + 1);
	rs_perf_ring_deinit(&kit.ring);
}

TEST(a_sample_that_claims_more_data_has_its_real_length)
{
	struct rs_perf_record record = { 0 };
	uint32_t much = 1u << 20;

	REQUIRE(kit_init());
	kit_sample(&kit, 101, 1, "four", 4);
	memcpy(kit.data + 8 + 16, &much, sizeof(much));
	kit_publish(&kit);
	CHECK(rs_perf_ring_poll(&kit.ring));
	REQUIRE(rs_perf_ring_next(&kit.ring, UINT64_MAX, &record));
	CHECK_EQ_U64(record.bytes, 4);
	rs_perf_ring_deinit(&kit.ring);
}
