/* SPDX-License-Identifier: BSD-2-Clause */
/* The analysis of memory: allocations, frees and their stacks. */
#include "../test.h"

#include "analyze/heap.h"
#include <ringside/record.h>

#define STACK_MAX 8

/* A producer, whose events go into a heap sink. */
struct kit {
	struct rs_schema *schema;
	struct rs_stream stream;
	struct rs_sink *sink;
	int64_t ts_ns;
};

static void kit_init(struct kit *k)
{
	*k = (struct kit){ 0 };
	REQUIRE_OK(rs_schema_create("guest", &k->schema));
	REQUIRE_OK(rs_schema_add_catalogue(k->schema, "app"));
	k->stream = (struct rs_stream){ .vcpu = 0, .cpu = -1, .tid = -1, .schema = k->schema };
	REQUIRE_OK(rs_heap_sink_create(&k->sink));
}

static void kit_deinit(struct kit *k)
{
	rs_heap_sink_destroy(k->sink);
	rs_schema_destroy(k->schema);
}

/* Puts an event whose payload is followed by a stack of n addresses. */
static void put(struct kit *k, uint64_t id, const void *payload, size_t bytes,
		const uint64_t *stack, uint16_t n)
{
	uint8_t at[256] = { 0 };
	struct rs_view view = { .ts_ns = k->ts_ns++,
				.event = rs_schema_find(k->schema, id),
				.stream = &k->stream,
				.payload = at,
				.payload_bytes = sizeof(at) };

	memcpy(at, payload, bytes);
	memcpy(at + bytes, &n, sizeof(n));
	if (n)
		memcpy(at + bytes + sizeof(n), stack, n * sizeof(*stack));
	REQUIRE(view.event != NULL);
	CHECK_OK(k->sink->ops->events(k->sink, &view, 1));
}

static void allocate(struct kit *k, uint64_t address, uint64_t size, uint64_t from)
{
	const struct rs_memory_alloc payload = { .address = address, .size = size };
	const uint64_t stack[] = { from, 0x1000 };

	put(k, RS_ID_MEMORY_ALLOC, &payload, sizeof(payload), stack, from ? 2 : 0);
}

static void release(struct kit *k, uint64_t address)
{
	const struct rs_memory_free payload = { .address = address };

	put(k, RS_ID_MEMORY_FREE, &payload, sizeof(payload), NULL, 0);
}

static void reallocate(struct kit *k, uint64_t from, uint64_t address, uint64_t size, uint64_t site)
{
	const struct rs_memory_realloc payload = { .from = from, .address = address, .size = size };

	put(k, RS_ID_MEMORY_REALLOC, &payload, sizeof(payload), &site, 1);
}

/* Returns the site whose innermost address is `from`. */
static const struct rs_heap_site *site_of(const struct rs_heap *heap, uint64_t from)
{
	for (size_t i = 0; i < heap->n_sites; i++) {
		const struct rs_stack *stack = heap->stacks->at[heap->sites[i].stack];

		if (stack->n ? stack->addresses[0] == from : !from)
			return &heap->sites[i];
	}
	return NULL;
}

TEST(live_peak_and_leaks_are_exact)
{
	struct rs_heap heap;
	struct kit k;

	kit_init(&k);
	allocate(&k, 0xa0, 7, 0x100);
	allocate(&k, 0xb0, 11, 0x200);
	release(&k, 0xa0);
	allocate(&k, 0xa0, 13, 0x200); /* 24 live: the peak, at 3 ns */
	release(&k, 0xb0);
	allocate(&k, 0xc0, 5, 0x100);
	release(&k, 0xa0);
	rs_heap_collect(k.sink, &heap);
	CHECK_EQ_U64(heap.records, 7);
	CHECK_EQ_U64(rs_heap_count(&heap.allocated), 4);
	CHECK_EQ_U64(heap.allocated.bytes, 36);
	CHECK_EQ_U64(heap.freed.bytes, 31);
	CHECK_EQ_U64(heap.live.bytes, 5);
	CHECK_EQ_U64(heap.peak.bytes, 24);
	CHECK_EQ_U64(rs_heap_count(&heap.peak), 2);
	CHECK_EQ_S64(heap.peak_ns, 3);
	REQUIRE(heap.n_sites == 2);
	CHECK_EQ_U64(site_of(&heap, 0x100)->peak.bytes, 0);
	CHECK_EQ_U64(site_of(&heap, 0x100)->live.bytes, 5);
	CHECK_EQ_U64(site_of(&heap, 0x200)->peak.bytes, 24);
	CHECK_EQ_U64(site_of(&heap, 0x200)->allocated.bytes, 24);
	CHECK_EQ_U64(site_of(&heap, 0x200)->live.bytes, 0);
	CHECK_EQ_U64(heap.n_lifetimes, 3);
	CHECK_EQ_U64(heap.lifetime_min_ns, 2);
	CHECK_EQ_U64(heap.lifetime_max_ns, 3);
	kit_deinit(&k);
}

TEST(double_and_unknown_frees_are_counted_separately)
{
	struct rs_heap heap;
	struct kit k;

	kit_init(&k);
	release(&k, 0xa0); /* allocated before the trace */
	allocate(&k, 0xa0, 7, 0);
	release(&k, 0xa0);
	release(&k, 0xa0);
	release(&k, 0xa0);
	allocate(&k, 0xa0, 9, 0);
	allocate(&k, 0xa0, 10, 0); /* its free is missing */
	rs_heap_collect(k.sink, &heap);
	CHECK_EQ_U64(heap.unknown_frees, 1);
	CHECK_EQ_U64(heap.double_frees, 2);
	CHECK_EQ_U64(heap.again, 1);
	CHECK_EQ_U64(heap.live.bytes, 10);
	kit_deinit(&k);
}

TEST(a_realloc_moves_its_bytes_to_its_own_site)
{
	struct rs_heap heap;
	struct kit k;

	kit_init(&k);
	allocate(&k, 0xa0, 100, 0x100);
	reallocate(&k, 0xa0, 0xa0, 200, 0x300);
	reallocate(&k, 0xa0, 0xd0, 50, 0x300);
	reallocate(&k, 0, 0xe0, 3, 0x300); /* as malloc() */
	rs_heap_collect(k.sink, &heap);
	CHECK_EQ_U64(heap.reallocs, 3);
	CHECK_EQ_U64(heap.unknown_frees, 0);
	CHECK_EQ_U64(heap.live.bytes, 53);
	CHECK_EQ_U64(heap.peak.bytes, 200);
	CHECK_EQ_U64(site_of(&heap, 0x100)->live.bytes, 0);
	CHECK_EQ_U64(site_of(&heap, 0x300)->peak.bytes, 200);
	kit_deinit(&k);
}

TEST(samples_are_scaled_by_their_weight)
{
	const struct rs_memory_sampling sampling = { .interval = 1000 };
	struct rs_heap heap;
	struct kit k;

	kit_init(&k);
	put(&k, RS_ID_MEMORY_SAMPLING, &sampling, sizeof(sampling), NULL, 0);
	allocate(&k, 0xa0, 1000, 0x100);   /* 1 / (1 - 1/e) = 1.582 */
	allocate(&k, 0xb0, 100000, 0x200); /* certain to be sampled */
	rs_heap_collect(k.sink, &heap);
	CHECK_EQ_U64(heap.interval_bytes, 1000);
	CHECK_EQ_U64(site_of(&heap, 0x100)->live.bytes, 1582);
	CHECK_EQ_U64(rs_heap_count(&site_of(&heap, 0x100)->live), 2);
	CHECK_EQ_U64(site_of(&heap, 0x200)->live.bytes, 100000);
	release(&k, 0xa0);
	rs_heap_collect(k.sink, &heap);
	CHECK_EQ_U64(heap.live.bytes, 100000);
	kit_deinit(&k);
}

TEST(producers_have_separate_addresses)
{
	struct rs_heap heap;
	struct kit a, b;
	struct rs_sink *own;

	kit_init(&a);
	kit_init(&b);
	own = b.sink;
	b.sink = a.sink;
	allocate(&a, 0xa0, 7, 0x100);
	allocate(&b, 0xa0, 9, 0x100);
	release(&b, 0xa0);
	rs_heap_collect(a.sink, &heap);
	CHECK_EQ_U64(heap.live.bytes, 7);
	CHECK_EQ_U64(heap.n_sites, 2);
	b.sink = own;
	kit_deinit(&b);
	kit_deinit(&a);
}

/* Guests of one program share its schema, but not their memory; a guest's vCPUs share it. */
TEST(guests_of_one_program_have_separate_addresses)
{
	struct rs_stream *stream;
	struct rs_heap heap;
	struct kit k;

	kit_init(&k);
	stream = &k.stream;
	stream->vm = "sandbox-1";
	allocate(&k, 0xa0, 100, 0x100);
	stream->vm = "sandbox-2";
	allocate(&k, 0xa0, 100, 0x100);
	stream->vm = "sandbox-1";
	stream->vcpu = 1;
	release(&k, 0xa0);
	stream->vm = "sandbox-2";
	release(&k, 0xa0);
	rs_heap_collect(k.sink, &heap);
	CHECK_EQ_U64(heap.peak.bytes, 200);
	CHECK_EQ_U64(heap.live.bytes, 0);
	CHECK_EQ_U64(heap.again, 0);
	CHECK_EQ_U64(heap.double_frees, 0);
	CHECK_EQ_U64(heap.n_sites, 1);
	kit_deinit(&k);
}

/* The bytes over time are right, however often intervals were merged. */
TEST(intervals_cover_the_whole_time)
{
	uint64_t allocations = 0, most = 0;
	struct rs_heap heap;
	struct kit k;

	kit_init(&k);
	for (uint32_t i = 0; i < 5000; i++) {
		k.ts_ns = (int64_t)i * i * 1000;
		allocate(&k, 0x1000 + i * 16, 1, 0x100);
	}
	rs_heap_collect(k.sink, &heap);
	CHECK(heap.n_moments >= RS_HEAP_MOMENTS / 2 && heap.n_moments <= RS_HEAP_MOMENTS);
	for (size_t i = 0; i < heap.n_moments; i++) {
		const struct rs_heap_moment *m = &heap.moments[i];

		allocations += m->allocations;
		CHECK(m->most_bytes >= most && m->live_bytes == allocations);
		most = m->most_bytes;
		CHECK(!i || m->end_ns > heap.moments[i - 1].end_ns);
	}
	CHECK_EQ_U64(allocations, 5000);
	kit_deinit(&k);
}

/* A hostile trace has any times: their differences do not overflow. */
TEST(times_at_both_ends)
{
	static const int64_t times[] = { INT64_MIN, 0, INT64_MAX - 1 };
	struct rs_heap heap;
	struct kit k;

	kit_init(&k);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		k.ts_ns = times[i];
		allocate(&k, 0xa0, 7, 0x100);
		k.ts_ns = times[i];
		release(&k, i ? 0xa0 : 0xb0);
	}
	rs_heap_collect(k.sink, &heap);
	CHECK(heap.n_moments <= RS_HEAP_MOMENTS);
	for (size_t i = 1; i < heap.n_moments; i++)
		CHECK(heap.moments[i].end_ns > heap.moments[i - 1].end_ns);
	CHECK_EQ_U64(heap.n_lifetimes, 2);
	kit_deinit(&k);
}

/* A trace describes its own events: one with our id and other fields is a different event. */
TEST(events_with_another_layout_are_ignored)
{
	struct rs_schema *schema;
	struct rs_stream stream;
	uint8_t payload[16] = { 0 };
	struct rs_heap heap;
	struct rs_view view;
	struct rs_sink *sink;

	REQUIRE_OK(rs_schema_create("guest", &schema));
	REQUIRE_OK(rs_schema_declare(schema, RS_ID_MEMORY_ALLOC, "memory::alloc(u8 a)", 19));
	stream = (struct rs_stream){ .schema = schema };
	view = (struct rs_view){ .event = rs_schema_find(schema, RS_ID_MEMORY_ALLOC),
				 .stream = &stream,
				 .payload = payload,
				 .payload_bytes = sizeof(payload) };
	REQUIRE_OK(rs_heap_sink_create(&sink));
	CHECK_OK(sink->ops->events(sink, &view, 1));
	rs_heap_collect(sink, &heap);
	CHECK_EQ_U64(heap.records, 0);
	rs_heap_sink_destroy(sink);
	rs_schema_destroy(schema);
}
