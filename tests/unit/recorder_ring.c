/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder on rings into which another producer puts, as the kernel's programs do: stamps of
 * CLOCK_MONOTONIC, a count of refused records without loss records, many threads in a ring. And a
 * stream that its owner fills.
 */
#include "event_kit.h"

#include <pthread.h>
#include <time.h>

#include "store/reader.h"
#include <ringside/recorder.h>
#include <ringside/ring.h>

#define ON   1 /* c::on(u32 tid, u64 n) */
#define SAID 2 /* c::said(u32 tid, text what) */

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static struct rs_schema *schema_new(void)
{
	static const char on[] = "c::on(u32 tid, u64 n)", said[] = "c::said(u32 tid, text what)";
	struct rs_schema *schema = NULL;

	CHECK_OK(rs_schema_create("kernel", &schema));
	CHECK_OK(rs_schema_declare(schema, USER(ON), on, strlen(on)));
	CHECK_OK(rs_schema_declare(schema, USER(SAID), said, strlen(said)));
	return schema;
}

/* ---- a foreign producer --------------------------------------------------------------------- */

struct foreign {
	struct rs_ring_memory memory;
	struct rs_sbuf *ring;
	uint64_t put, refused;
	uint32_t tid; /* of its records, and the next one's in turn */
};

static void foreign_new(struct foreign *f, uint32_t elements)
{
	*f = (struct foreign){ 0 };
	REQUIRE_OK(rs_ring_map_anonymous(rs_sbuf_bytes(elements, RS_SLOT_BYTES), &f->memory));
	CHECK_EQ_U64(rs_sbuf_create(f->memory.mem, f->memory.bytes, RS_SLOT_BYTES), RS_SBUF_OK);
	f->ring = f->memory.mem;
}

static void foreign_free(struct foreign *f)
{
	rs_ring_unmap(&f->memory);
}

static void foreign_put(struct foreign *f, uint64_t n)
{
	struct rs_sbuf *ring = f->ring;
	uint32_t tail = ring->tail, next = (tail + RS_SLOT_BYTES) % ring->size;
	struct {
		uint32_t tid;
		uint64_t n;
	} __attribute__((packed)) payload = { f->tid + n % 2, n };
	struct rs_slot *slot = (struct rs_slot *)((uint8_t *)(ring + 1) + tail);

	/* Pairs with the release in rs_sbuf_release(). */
	if (next == __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&ring->refused, ++f->refused, __ATOMIC_RELEASE);
		return;
	}
	memset(slot, 0, sizeof(*slot));
	slot->tsc = monotonic_ns();
	slot->head = rs_record_head(USER(ON), 1) | UINT64_C(0xff) << RS_CPU_SHIFT;
	memcpy(slot->payload, &payload, sizeof(payload));
	__atomic_store_n(&ring->tail, next, __ATOMIC_RELEASE);
	f->put++;
}

/* Waits until all records are drained. */
static void foreign_wait(const struct foreign *f)
{
	/* Pairs with the release in rs_sbuf_release(). */
	while (__atomic_load_n(&f->ring->head, __ATOMIC_ACQUIRE) != f->ring->tail)
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

#define PUTS 30011

static void *produce(void *arg)
{
	for (uint64_t n = 0; n < PUTS; n++)
		foreign_put(arg, n);
	return NULL;
}

/* ---- a recording ---------------------------------------------------------------------------- */

struct recording {
	char temp[64], path[256];
	struct rs_clock host, monotonic;
	struct rs_schema *schema;
	struct rs_recorder *recorder;
	struct rs_recorder_summary sum;
	struct rs_trace *trace;
	struct got_sink got;
};

static bool recording_begin_keeping(struct recording *r, uint64_t keep_bytes)
{
	struct rs_recorder_options options = { .directory = keep_bytes ? NULL : r->path,
					       .poll_us = 200,
					       .flush_ms = 1,
					       .threads = 2,
					       .keep_ns = UINT64_C(3600000000000),
					       .keep_bytes = keep_bytes };

	*r = (struct recording){ .got = got_sink(), .schema = schema_new() };
	join(r->path, make_temp(r->temp), "trace");
	if (!CHECK_OK(rs_clock_host(&r->host)) ||
	    !CHECK_OK(rs_clock_monotonic(&r->host, &r->monotonic)))
		return false;
	options.clock = r->host;
	return CHECK_OK(rs_recorder_create(&options, &r->recorder));
}

static bool recording_begin(struct recording *r)
{
	return recording_begin_keeping(r, 0);
}

static struct rs_error *add(struct recording *r, struct foreign *f, int cpu)
{
	struct rs_stream stream = { .vcpu = -1, .cpu = cpu, .tid = -1 };
	struct rs_recorder_ring ring = { .mem = f->memory.mem,
					 .bytes = f->memory.bytes,
					 .schema = r->schema,
					 .clock = &r->monotonic,
					 .stream = &stream };

	return rs_recorder_add_ring(r->recorder, &ring);
}

/* Reads the complete trace. */
static struct rs_error *recording_read(struct recording *r)
{
	struct rs_source *source = NULL;
	struct rs_error *err = rs_trace_open(r->path, &r->trace);

	if (!err)
		err = rs_trace_source(r->trace, &source);
	if (!err)
		err = rs_run(source, NULL, &r->got.sink, NULL);
	rs_source_destroy(source);
	return err;
}

static void recording_deinit(struct recording *r)
{
	got_free(&r->got);
	rs_trace_close(r->trace);
	rs_schema_destroy(r->schema);
	remove_tree(r->temp);
}

TEST(foreign_records_are_kept_or_counted)
{
	struct foreign rings[2];
	uint64_t began = monotonic_ns(), kept = 0;
	pthread_t threads[2];
	struct recording r;

	REQUIRE(recording_begin(&r));
	for (int i = 0; i < 2; i++) {
		foreign_new(&rings[i], i ? 1024 : 64); /* one that overflows */
		rings[i].tid = 100;
		CHECK_OK(add(&r, &rings[i], 5 + i));
	}
	CHECK_OK(rs_recorder_add_thread(r.recorder, r.schema,
					&(struct rs_thread){ 100, 99, "one", 0, 0 }));
	CHECK_OK(rs_recorder_add_thread(r.recorder, r.schema,
					&(struct rs_thread){ 101, 99, "one", 1, 0 }));
	for (int i = 0; i < 2; i++)
		CHECK(!pthread_create(&threads[i], NULL, produce, &rings[i]));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK_OK(rs_recorder_close(r.recorder, &r.sum));
	CHECK_EQ_U64(r.sum.records, rings[0].put + rings[1].put);
	CHECK_EQ_U64(r.sum.lost, rings[0].refused + rings[1].refused);
	CHECK_EQ_U64(r.sum.records + r.sum.lost, 2 * PUTS);
	CHECK_OK(recording_read(&r));
	CHECK_EQ_U64(r.got.lost, r.sum.lost);
	for (size_t i = 0; i < r.got.n; i++) {
		const struct got *got = &r.got.at[i];
		uint32_t tid;

		if (got->is_loss) {
			CHECK(got->stream->mixed && got->stream->vcpu == -1);
			continue;
		}
		kept++;
		memcpy(&tid, got->payload, sizeof(tid));
		if (got->stream->tid != (int)tid || got->stream->vcpu != (int)tid - 100 ||
		    (got->cpu != 5 && got->cpu != 6) || got->tsc < began)
			CHECK(!"another's event");
		/* on the host's timeline: after the trace's start, before now */
		if (got->ts_ns < 0 || (uint64_t)got->ts_ns > monotonic_ns() - began + 1000000)
			CHECK(!"out of time");
	}
	CHECK_EQ_U64(kept, r.sum.records);
	/* one class, on a clock whose error holds the drift, too */
	CHECK_EQ_U64(r.trace->describe.n_classes, 1);
	CHECK(r.trace->describe.classes[0]->clock->monotonic);
	CHECK(r.trace->describe.classes[0]->clock->error_cycles >= r.monotonic.error_cycles);
	recording_deinit(&r);
	foreign_free(&rings[0]);
	foreign_free(&rings[1]);
}

TEST(a_ring_that_breaks_does_not_affect_others)
{
	struct foreign rings[2];
	struct rs_error *err;
	struct recording r;

	REQUIRE(recording_begin(&r));
	for (int i = 0; i < 2; i++) {
		foreign_new(&rings[i], 1024);
		CHECK_OK(add(&r, &rings[i], i));
	}
	for (uint64_t n = 0; n < 13; n++)
		foreign_put(&rings[0], n);
	/* Pairs with the acquire in rs_sbuf_peek(). */
	__atomic_store_n(&rings[1].ring->tail, 1024 * RS_SLOT_BYTES, __ATOMIC_RELEASE);
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	for (uint64_t n = 0; n < 17; n++)
		foreign_put(&rings[0], n);
	err = rs_recorder_close(r.recorder, &r.sum);
	CHECK_ERR(err, RS_DAMAGED, "the ring of CPU 1: the ring's tail points outside");
	CHECK_EQ_U64(r.sum.records, 30);
	err = recording_read(&r);
	CHECK_ERR(err, RS_DAMAGED, "the recording is incomplete: the ring of CPU 1");
	CHECK_EQ_U64(r.got.n, 30);
	recording_deinit(&r);
	foreign_free(&rings[0]);
	foreign_free(&rings[1]);
}

TEST(an_invalid_ring_is_refused)
{
	struct foreign f;
	struct recording r;
	struct rs_thread thread = { .tid = 7 };

	REQUIRE(recording_begin(&r));
	CHECK_ERR(rs_recorder_add_thread(r.recorder, r.schema, &thread), RS_USAGE,
		  "thread 7: no ring of its events is recorded");
	foreign_new(&f, 64);
	f.ring->magic++;
	CHECK_ERR(add(&r, &f, 3), RS_DAMAGED, "the ring of CPU 3: no ring in the memory");
	f.ring->magic--;
	f.ring->size += 32;
	CHECK_ERR(add(&r, &f, 3), RS_DAMAGED, "sizes are impossible");
	f.ring->size -= 32;
	CHECK_EQ_U64(rs_sbuf_create(f.memory.mem, f.memory.bytes, 80), RS_SBUF_OK);
	CHECK_ERR(add(&r, &f, 3), RS_DAMAGED, "its elements have 80 bytes, not 32");
	CHECK_OK(rs_recorder_close(r.recorder, &r.sum));
	CHECK_EQ_U64(r.sum.streams, 0);
	recording_deinit(&r);
	foreign_free(&f);
}

TEST(a_stream_that_its_owner_fills)
{
	static const struct rs_stream identity = {
		.thread = "session", .vcpu = -1, .cpu = -1, .tid = -1
	};
	struct {
		uint32_t tid;
		uint16_t len;
		char text[60];
	} __attribute__((packed)) said = { 100, 60, "" };
	struct rs_recorder_stream *stream = NULL;
	static const uint8_t too_long[RS_RECORD_PAYLOAD_MAX + 1];
	struct recording r;

	REQUIRE(recording_begin(&r));
	REQUIRE_OK(rs_recorder_add_stream(r.recorder, r.schema, &r.monotonic, &identity, &stream));
	CHECK_OK(rs_recorder_add_thread(r.recorder, r.schema,
					&(struct rs_thread){ 100, 99, "one", 3, 0 }));
	memset(said.text, 'x', sizeof(said.text));
	for (uint64_t n = 0; n < 5003; n++) {
		/* every second stamp is before its predecessor's */
		CHECK_OK(rs_recorder_put(stream, r.monotonic.origin + 1000 + (n ^ 1), USER(SAID),
					 &said, sizeof(said)));
	}
	CHECK_ERR(rs_recorder_put(stream, 0, USER(3), NULL, 0), RS_USAGE, "0x20000");
	CHECK_ERR(rs_recorder_put(stream, 0, USER(SAID), &said, 6), RS_USAGE, "0x20000");
	CHECK_ERR(rs_recorder_put(stream, 0, USER(SAID), too_long, sizeof(too_long)), RS_USAGE,
		  "too long");
	CHECK_OK(rs_recorder_close(r.recorder, &r.sum));
	CHECK_EQ_U64(r.sum.records, 5003);
	CHECK_OK(recording_read(&r));
	REQUIRE_EQ_U64(r.got.n, 5003);
	CHECK_EQ_U64(r.got.at[0].tsc, r.monotonic.origin + 1001);
	CHECK_EQ_U64(r.got.at[1].tsc, r.monotonic.origin + 1001);
	CHECK_EQ_U64(r.got.at[2].tsc, r.monotonic.origin + 1003);
	CHECK_EQ_S64(r.got.at[5002].stream->vcpu, 3);
	recording_deinit(&r);
}

/*
 * Records in the ring at the time of the trigger are written; those from long before are not, and
 * are not a loss.
 */
TEST(a_flight_recorder_writes_the_newest)
{
	struct rs_recorder_kept kept;
	struct foreign f;
	struct recording r;
	uint64_t first, last = 0;

	REQUIRE(recording_begin_keeping(&r, 64 << 10));
	foreign_new(&f, 4096);
	f.tid = 100;
	CHECK_OK(add(&r, &f, 3));
	CHECK_OK(rs_recorder_add_thread(r.recorder, r.schema,
					&(struct rs_thread){ 100, 99, "one", 1, 0 }));
	for (uint64_t n = 0; n < 40009; n++) {
		if (n % 1000 == 0) /* the last one has room, too */
			foreign_wait(&f);
		foreign_put(&f, 2 * n); /* one tid */
	}
	CHECK_OK(rs_recorder_write_kept(r.recorder, r.path, "a test", &kept));
	CHECK(kept.short_of_bytes && kept.from_ns > 0 && kept.at_ns > kept.from_ns);
	CHECK(kept.sum.records > 0 && kept.sum.records < 64 * 1024 / 32);
	CHECK_OK(recording_read(&r));
	CHECK_EQ_S64(rs_trace_flight(r.trace)->whole_from_ns, kept.from_ns);
	CHECK_EQ_S64(rs_trace_flight(r.trace)->at_ns, kept.at_ns);
	for (size_t i = 0; i < r.got.n; i++) {
		const struct got *got = &r.got.at[i];

		if (got->is_loss)
			continue;
		CHECK(got->ts_ns >= kept.from_ns &&
		      got->ts_ns <= kept.at_ns + (int64_t)got->stream->clock->error_cycles);
		CHECK_STR(got->stream->vm, "one");
		memcpy(&last, got->payload + 4, sizeof(last));
	}
	memcpy(&first, r.got.at[0].payload + 4, sizeof(first));
	CHECK(first > 0);
	CHECK_EQ_U64(last, 2 * 40008);
	CHECK_OK(rs_recorder_close(r.recorder, &r.sum));
	CHECK_EQ_U64(r.sum.records, 40009);
	CHECK_EQ_U64(r.sum.lost, 0);
	recording_deinit(&r);
	foreign_free(&f);
}
