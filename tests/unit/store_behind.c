/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that wait for the disk: in order, bounded, none twice and none missing; and a store whose
 * packets wait.
 */
#include "store_kit.h"

#include <pthread.h>

#include "store/behind.h"

#define FILLERS 4u
#define EACH	499u /* packets */
#define BOUND	5u

/* ---- the queue ------------------------------------------------------------------------------- */

/* Replaces the disk: what was written, by stream. The queue calls it once at a time. */
static struct {
	uint32_t next[FILLERS];
	uint32_t wrong, ends, writing;
} disk;

static struct rs_store_stream *stream_of(uint32_t filler)
{
	return (struct rs_store_stream *)(uintptr_t)(filler + 1); /* only distinguished here */
}

static void note(struct rs_store_packet *packet)
{
	uint32_t filler = (uint32_t)((uintptr_t)packet->stream - 1);

	disk.wrong += __atomic_fetch_add(&disk.writing, 1, __ATOMIC_RELAXED) != 0;
	if (packet->last)
		disk.ends++;
	else
		disk.wrong += packet->what.records != disk.next[filler]++;
	__atomic_fetch_sub(&disk.writing, 1, __ATOMIC_RELAXED);
}

struct filler {
	struct rs_behind *behind;
	uint32_t number;
	bool writes; /* beside filling */
	pthread_t thread;
};

static void *fill(void *arg)
{
	struct filler *f = arg;
	struct rs_store_packet *packet = rs_store_packet_create(stream_of(f->number));

	for (uint32_t n = 0; n < EACH; n++) {
		CHECK(packet->stream == stream_of(f->number));
		CHECK(!packet->what.bytes && !packet->last);
		packet->what.records = n;
		packet = rs_behind_swap(f->behind, packet);
		if (f->writes && rs_behind_waits(f->behind))
			rs_behind_write(f->behind);
	}
	rs_behind_end(f->behind, packet);
	return NULL;
}

static void fill_all(uint32_t bound, bool ahead, uint32_t writers)
{
	struct filler fillers[FILLERS];
	struct rs_behind *behind = rs_behind_create(bound, ahead, note);

	REQUIRE(behind != NULL);
	memset(&disk, 0, sizeof(disk));
	for (uint32_t i = 0; i < FILLERS; i++) {
		fillers[i] = (struct filler){ behind, i, i < writers, 0 };
		REQUIRE(!pthread_create(&fillers[i].thread, NULL, fill, &fillers[i]));
	}
	for (uint32_t i = 0; i < FILLERS; i++)
		pthread_join(fillers[i].thread, NULL);
	rs_behind_destroy(behind);
	for (uint32_t i = 0; i < FILLERS; i++)
		CHECK_EQ_U64(disk.next[i], EACH);
	CHECK_EQ_U64(disk.ends, FILLERS);
	CHECK_EQ_U64(disk.wrong, 0);
}

TEST(each_stream_s_packets_are_written_once_and_in_order)
{
	for (uint32_t writers = 0; writers <= FILLERS; writers++) {
		for (uint32_t bound = 1; bound <= BOUND; bound++) {
			fill_all(bound, false, writers);
			fill_all(bound, true, writers);
		}
	}
}

TEST(no_more_packets_wait_than_the_limit)
{
	struct rs_behind *behind = rs_behind_create(BOUND, false, note);
	struct rs_store_packet *packet = rs_store_packet_create(stream_of(0));

	memset(&disk, 0, sizeof(disk));
	for (uint32_t n = 0; n < 10 * BOUND; n++) {
		packet->what.records = n;
		packet = rs_behind_swap(behind, packet);
		/* no other thread writes: the one that exceeds the limit does */
		CHECK_EQ_U64(disk.next[0], n + 1 < BOUND ? 0 : n + 2 - BOUND);
	}
	rs_behind_end(behind, packet);
	rs_behind_destroy(behind);
	CHECK_EQ_U64(disk.next[0], 10 * BOUND);
	CHECK_EQ_U64(disk.ends, 1);
	CHECK_EQ_U64(disk.wrong, 0);
}

/* ---- a store --------------------------------------------------------------------------------- */

static uint64_t size_of(const struct kit_store *k, const char *name)
{
	char path[256];
	struct stat st;

	return stat(join(path, k->path, name), &st) ? 0 : (uint64_t)st.st_size;
}

/* A store whose two streams share a queue. */
static bool two_streams(struct kit_store *k)
{
	return CHECK(kit_store_init(k, NULL)) &&
	       CHECK_OK(rs_store_set_behind(k->store, 1, 1u << 20, false)) &&
	       CHECK_OK(kit_store_stream(k, 0, NULL)) && CHECK_OK(kit_store_stream(k, 1, NULL));
}

TEST(waiting_packets_are_written_on_request_and_at_the_end)
{
	struct got_sink got = got_sink();
	struct rs_store_summary sum;
	struct rs_trace *trace;
	struct slots s = { 0 };
	struct kit_store k;

	REQUIRE(two_streams(&k));
	for (uint64_t i = 1; i < 6; i++) {
		slots_one(&s, ORIGIN + i, i);
		CHECK_OK(kit_store_put(&k, i % 2, &s));
		CHECK(!rs_store_waits(k.stream[0]));
		CHECK_OK(kit_store_flush(&k, i % 2));
		CHECK(rs_store_waits(k.stream[0])); /* one queue for both */
		CHECK_EQ_U64(size_of(&k, "stream_0") + size_of(&k, "stream_1"), (i - 1) * 128);
		rs_store_write_queue(k.store, 1); /* none waits */
		rs_store_write(k.stream[0]);
		rs_store_progress(k.store, &sum);
		CHECK_EQ_U64(sum.records, i);
	}
	for (uint64_t i = 6; i < 8; i++) {
		slots_one(&s, ORIGIN + i, i);
		CHECK_OK(kit_store_put(&k, i % 2, &s));
		CHECK_OK(rs_store_end_stream(k.stream[i % 2]));
		CHECK_OK(rs_store_end_stream(k.stream[i % 2])); /* nothing more */
	}
	CHECK_OK(kit_store_close(&k, &sum));
	CHECK_EQ_U64(sum.records, 7);
	CHECK_EQ_U64(sum.lost, 0);
	REQUIRE_OK(rs_trace_open(k.path, &trace));
	CHECK_OK(trace_read(trace, NULL, &got));
	REQUIRE_EQ_U64(got.n, 7);
	for (uint64_t i = 1; i < 8; i++)
		CHECK_EQ_U64(got_value(&got.at[i - 1]), i);
	got_free(&got);
	rs_trace_close(trace);
	kit_store_deinit(&k);
}

/* Any later time, by the caller's clock. */
static void flush_late(struct kit_store *k, uint32_t i)
{
	static uint64_t now_ns = 1;

	CHECK_OK(rs_store_flush(k->stream[i], now_ns, 1));
	CHECK_OK(rs_store_flush(k->stream[i], ++now_ns, 1));
}

TEST(a_packet_after_another_of_its_stream_has_time_to_fill)
{
	const uint64_t head = sizeof(struct rs_packet_head);
	struct rs_store_summary sum;
	struct slots s = { 0 };
	struct kit_store k;

	REQUIRE(two_streams(&k));
	for (uint64_t i = 1; i <= 101; i++) {
		slots_one(&s, ORIGIN + i, i);
		CHECK_OK(kit_store_put(&k, 0, &s));
		flush_late(&k, 0);
	}
	slots_one(&s, ORIGIN + 102, 102);
	CHECK_OK(kit_store_put(&k, 1, &s));
	flush_late(&k, 1); /* the first of its stream */
	rs_store_write(k.stream[0]);
	CHECK_EQ_U64(size_of(&k, "stream_0"), head + RS_SLOT_BYTES);
	CHECK_EQ_U64(size_of(&k, "stream_1"), head + RS_SLOT_BYTES);
	flush_late(&k, 0);
	CHECK(rs_store_waits(k.stream[0]));
	rs_store_write(k.stream[0]);
	CHECK_EQ_U64(size_of(&k, "stream_0"), 2 * head + 101 * RS_SLOT_BYTES);
	CHECK_OK(kit_store_close(&k, &sum));
	CHECK_EQ_U64(sum.records, 102);
	kit_store_deinit(&k);
}
