/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host side of guest tracing, on guests simulated in this process: their memory is an array,
 * and the guest's own code fills their rings. Events of a valid guest must pass through a source
 * and through a recorder. An invalid guest must be reported, and must not affect others. Only a
 * ring's head may be written in guest memory.
 */
#include "guest_fake.h"

#include <ringside/reader.h>
#include <ringside/recorder.h>

static struct rs_source *source_of(struct fake *f)
{
	struct rs_source *source = NULL;

	CHECK_OK(rs_host_source(f->host, &source));
	return source;
}

/* ---- output --------------------------------------------------------------------------------- */

/* Runs until the end of a guest that has ended. */
static void drain_all(struct fake *f, struct rs_source *source, struct got_sink *got)
{
	rs_host_guest_end(f->host);
	CHECK_OK(rs_run(source, NULL, &got->sink, NULL));
}

/* The expected form of three events of one vCPU: a read, a text, a span. */
static void check_three(const struct got_sink *got, const char *vm, int vcpu)
{
	const struct got *at[3] = { NULL };
	struct rs_view view;
	size_t n = 0, len;

	for (size_t i = 0; i < got->n; i++) {
		if (got->at[i].stream->vcpu == vcpu && n < 3)
			at[n++] = &got->at[i];
	}
	REQUIRE_EQ_U64(n, 3);
	CHECK_STR(at[0]->event->probe, "guest:io::read");
	CHECK_STR(at[0]->stream->vm, vm);
	CHECK_EQ_S64(at[0]->cpu, RS_UNKNOWN);
	CHECK_EQ_U64(got_value(at[0]), 40 + vcpu);
	CHECK_EQ_U64(rs_field_value(&at[0]->event->fields[1], at[0]->payload), 512);
	CHECK_STR(at[1]->event->probe, "guest:io::say");
	view = (struct rs_view){ .event = at[1]->event,
				 .payload = at[1]->payload,
				 .payload_bytes = at[1]->payload_bytes };
	CHECK_MEM(rs_view_text(&view, &at[1]->event->fields[1], &len), "words of some length", 20);
	CHECK_EQ_U64(len, 20);
	CHECK_EQ_U64(got_value(at[1]), 7);
	CHECK_EQ_U64(at[2]->event->kind, RS_KIND_SPAN_BEGIN);
	CHECK_STR(rs_schema_name(at[2]->stream->schema, (uint32_t)got_value(at[2])), "a span");
}

static void emit_three(struct fake *f, uint32_t vcpu)
{
	CHECK(emit(f, vcpu, 40 + vcpu));
	CHECK(put_message(f, vcpu, 7, "words of some length"));
	span(f, vcpu);
}

/*
 * ---- a valid guest, as a source ---------------------------------------------------------------
 */

TEST(by_doorbell)
{
	struct fake *f = fake_create("vm", RING_BYTES);
	struct rs_source *source = source_of(f);
	struct got_sink got = got_sink();
	struct rs_batch batch;

	emit_three(f, 0);
	emit_three(f, 1);
	REQUIRE_OK(source->ops->next(source, &batch)); /* no doorbell yet */
	CHECK_EQ_U64(batch.kind, RS_NEXT_IDLE);
	CHECK_OK(ring_doorbell(f, 0));
	CHECK_OK(ring_doorbell(f, 1));
	CHECK_OK(ring_doorbell(f, 1)); /* a second drain changes nothing */
	CHECK_OK(rs_host_doorbell(f->host, 0, RS_DOORBELL_FULL, AREA));
	drain_all(f, source, &got);
	CHECK_EQ_U64(got.n, 6);
	check_three(&got, "vm", 0);
	check_three(&got, "vm", 1);
	CHECK_EQ_U64(ring_of(f, 0)->head, ring_of(f, 0)->tail);
	got_free(&got);
	rs_source_destroy(source);
	fake_destroy(f);
}

/* The host polls before the guest has made its area, and then before it has made its rings. */
TEST(by_shared_area)
{
	struct fake *f = fake_create("vm", RING_BYTES);
	struct rs_source *source = source_of(f);
	struct got_sink got = got_sink();
	struct rs_batch batch;

	area_of(f)->magic = 0;
	ring_of(f, 0)->magic = 0;
	area_of(f)->ring[1].bytes = 0;
	emit_three(f, 0);
	emit_three(f, 1);
	rs_host_set_area(f->host, AREA);
	for (int i = 0; i < 3; i++) {
		REQUIRE_OK(source->ops->next(source, &batch));
		CHECK_EQ_U64(batch.kind, RS_NEXT_IDLE);
		if (i == 0)
			area_of(f)->magic = RS_GUEST_AREA_MAGIC;
	}
	ring_of(f, 0)->magic = RS_SBUF_MAGIC;
	area_of(f)->ring[1].bytes = RING_BYTES;
	drain_all(f, source, &got);
	CHECK_EQ_U64(got.n, 6);
	check_three(&got, "vm", 0);
	check_three(&got, "vm", 1);
	got_free(&got);
	rs_source_destroy(source);
	fake_destroy(f);
}

/* A stamp of a guest whose TSC is offset cycles ahead equals the host's plus the offset. */
TEST(tsc_offsets_bring_vcpus_onto_the_host_s_clock)
{
	static const int64_t offsets[][VCPUS] = {
		{ -1000000000000, 7 },
		{ 0, 0 },
		{ INT64_C(1) << 50, -(INT64_C(1) << 40) },
	};
	enum { N = 60 };

	for (size_t round = 0; round < 3; round++) {
		struct fake *f = fake_create("vm", RING_BYTES);
		struct rs_source *source = source_of(f);
		struct got_sink got = got_sink();
		uint64_t stamps[N];

		for (uint32_t i = 0; i < VCPUS; i++) {
			f->offset[i] = offsets[round][i];
			rs_host_set_tsc_offset(f->host, i, offsets[round][i], i * 100);
		}
		for (uint32_t i = 0; i < N; i++)
			stamps[i] = emit(f, i * 7 % 3 % 2, i);
		rs_host_set_area(f->host, AREA);
		drain_all(f, source, &got);
		CHECK_EQ_U64(got.n, N);
		for (size_t i = 0; i < got.n; i++) { /* the order in which they were emitted */
			const struct rs_stream *stream = got.at[i].stream;

			CHECK_EQ_U64(got_value(&got.at[i]), i);
			CHECK_EQ_U64(got.at[i].tsc,
				     stamps[i] + (uint64_t)offsets[round][stream->vcpu]);
			CHECK_EQ_S64(got.at[i].ts_ns, rs_clock_ns(&f->clock, stamps[i]));
			CHECK_EQ_U64(stream->clock->error_cycles, stream->vcpu * 100);
		}
		got_free(&got);
		rs_source_destroy(source);
		fake_destroy(f);
	}
}

TEST(kept_and_lost_equal_emitted)
{
	struct fake *f = fake_create("vm", 64 + 32 * 16);
	struct rs_source *source = source_of(f);
	struct got_sink got = got_sink();
	struct rs_batch batch;
	uint64_t n = 0, refused = 0, random = 5;

	rs_host_set_area(f->host, AREA);
	for (int round = 0; round < 300; round++) {
		for (uint64_t burst = kit_random(&random) % 40; burst; burst--, n++) {
			if (n % 5 == 0)
				refused +=
					!put_message(f, 0, 1, "a text of several slots, unchanged");
			else
				refused += !emit(f, 0, n);
		}
		REQUIRE_OK(source->ops->next(source, &batch));
		if (batch.kind == RS_NEXT_EVENTS)
			got_events(&got.sink, batch.views, batch.n);
	}
	for (int i = 0; i < 40; i++, n++) /* it ends with unreported losses */
		refused += !emit(f, 0, n);
	drain_all(f, source, &got);
	CHECK(refused > 0);
	CHECK_EQ_U64(got.lost, refused);
	for (size_t i = 0, kept = 0; i < got.n; i++) {
		kept += got.at[i].event->kind != RS_KIND_LOSS;
		if (i == got.n - 1)
			CHECK_EQ_U64(kept + got.lost, n);
	}
	got_free(&got);
	rs_source_destroy(source);
	fake_destroy(f);
}

/* ---- through a recorder -----------------------------------------------------------------------
 */

struct recording {
	char dir[64], path[256];
	struct rs_recorder *recorder;
	struct rs_recorder_summary sum;
	struct rs_trace *trace;
};

static void recording_start(struct recording *r, const struct rs_clock *clock)
{
	struct rs_recorder_options options = { .clock = *clock, .poll_us = 100 };

	make_temp(r->dir);
	options.directory = join(r->path, r->dir, "trace");
	CHECK_OK(rs_recorder_create(&options, &r->recorder));
}

/* note: the trace's note about the recording; NULL: no problem. */
static void recording_read(struct recording *r, const char *note, struct got_sink *got)
{
	struct rs_source *source;

	REQUIRE_OK(rs_trace_open(r->path, &r->trace));
	REQUIRE_OK(rs_trace_source(r->trace, &source));
	if (note)
		CHECK_ERR(rs_run(source, NULL, &got->sink, NULL), RS_DAMAGED, note);
	else
		CHECK_OK(rs_run(source, NULL, &got->sink, NULL));
	rs_source_destroy(source);
}

static void recording_end(struct recording *r, struct got_sink *got)
{
	got_free(got);
	rs_trace_close(r->trace);
	remove_tree(r->dir);
}

/* The guest whose vCPUs ring when their rings are full, and its recorder. */
static struct fake *ringing;
static struct rs_recorder *rung;

static bool ring_when_full(struct rs_sbuf_producer *p)
{
	uint32_t vcpu = (uint32_t)(p - ringing->p);

	return CHECK_OK(rs_host_doorbell(ringing->host, vcpu, RS_DOORBELL_FULL, AREA)) &&
	       CHECK_OK(rs_recorder_drain_guest(rung, ringing->host, vcpu));
}

/* Rings far smaller than the emitted data; a full one's doorbell drains it. */
TEST(recorded_by_doorbell)
{
	enum { N = 5003 };
	struct fake *f = ringing = fake_create("vm", 64 + 32 * 100);
	struct recording r = { 0 };
	struct got_sink got = got_sink();

	recording_start(&r, &f->clock);
	rung = r.recorder;
	CHECK_OK(rs_recorder_add_guest(r.recorder, f->host, false));
	for (uint32_t i = 0; i < VCPUS; i++) {
		CHECK_OK(ring_doorbell(f, i));
		f->p[i].full = ring_when_full;
		emit_three(f, i);
	}
	for (uint32_t i = 0; i < N; i++) {
		CHECK(emit(f, i % VCPUS, i / VCPUS + 100));
		if (i % 1000 == 0)
			CHECK_OK(rs_recorder_drain_guest(r.recorder, f->host, 0));
	}
	rs_host_guest_end(f->host);
	CHECK_OK(rs_recorder_close(r.recorder, &r.sum));
	CHECK_EQ_U64(r.sum.records, N + 6);
	CHECK_EQ_U64(r.sum.lost, 0);
	CHECK_EQ_U64(r.sum.streams, 2);
	recording_read(&r, NULL, &got);
	CHECK_EQ_U64(got.n, N + 6);
	check_three(&got, "vm", 0);
	check_three(&got, "vm", 1);
	for (size_t i = 0, n[VCPUS] = { 0 }; i < got.n; i++) {
		int vcpu = got.at[i].stream->vcpu;

		if (n[vcpu]++ >= 3)
			CHECK_EQ_U64(got_value(&got.at[i]), n[vcpu] - 4 + 100);
	}
	recording_end(&r, &got);
	fake_destroy(f);
}

static bool wait_when_full(struct rs_sbuf_producer *p)
{
	uint32_t head = __atomic_load_n(&p->ring->head, __ATOMIC_ACQUIRE);

	/* The recorder polls and drains the available records. */
	for (int i = 0; i < 100000 && head == __atomic_load_n(&p->ring->head, __ATOMIC_ACQUIRE);
	     i++)
		usleep(100);
	return head != __atomic_load_n(&p->ring->head, __ATOMIC_ACQUIRE);
}

TEST(recorded_by_polling_the_area)
{
	enum { N = 5003 };
	static const int64_t offsets[VCPUS] = { 1000000007, -999999937 };
	struct fake *f = fake_create("vm", 64 + 32 * 100);
	struct recording r = { 0 };
	struct got_sink got = got_sink();
	static uint64_t stamps[N];

	for (uint32_t i = 0; i < VCPUS; i++) {
		f->offset[i] = offsets[i];
		f->p[i].full = wait_when_full;
		rs_host_set_tsc_offset(f->host, i, offsets[i], 0);
	}
	rs_host_set_area(f->host, AREA);
	recording_start(&r, &f->clock);
	CHECK_OK(rs_recorder_add_guest(r.recorder, f->host, true));
	for (uint32_t i = 0; i < N; i++)
		CHECK((stamps[i] = emit(f, i % VCPUS, i)) != 0);
	rs_host_guest_end(f->host);
	CHECK_OK(rs_recorder_close(r.recorder, &r.sum));
	CHECK_EQ_U64(r.sum.records, N);
	CHECK_EQ_U64(r.sum.lost, 0);
	recording_read(&r, NULL, &got);
	CHECK_EQ_U64(got.n, N);
	for (size_t i = 0; i < got.n; i++) {
		CHECK_EQ_U64(got_value(&got.at[i]), i);
		CHECK_EQ_S64(got.at[i].ts_ns, rs_clock_ns(&f->clock, stamps[i]));
		CHECK_EQ_S64(got.at[i].stream->clock->offset, 0); /* of the host */
	}
	recording_end(&r, &got);
	fake_destroy(f);
}

/* The VMM's calls without polling: an area that exists, a doorbell rung earlier. */
TEST(recorded_without_polling_the_area)
{
	for (int doorbell = 0; doorbell < 2; doorbell++) {
		struct fake *f = fake_create("vm", RING_BYTES);
		struct recording r = { 0 };
		struct got_sink got = got_sink();

		emit_three(f, 0);
		emit_three(f, 1);
		if (!doorbell)
			rs_host_set_area(f->host, AREA);
		for (uint32_t i = 0; i < VCPUS && doorbell; i++)
			CHECK_OK(ring_doorbell(f, i)); /* before there is a recorder */
		recording_start(&r, &f->clock);
		CHECK_OK(rs_recorder_add_guest(r.recorder, f->host, false));
		CHECK_OK(rs_recorder_drain_guest(r.recorder, f->host, 0));
		CHECK_EQ_U64(ring_of(f, 0)->head, ring_of(f, 0)->tail);
		CHECK_EQ_U64(ring_of(f, 1)->head, 0);
		CHECK_OK(rs_recorder_drain_guest(r.recorder, f->host, 1));
		CHECK_OK(rs_recorder_close(r.recorder, &r.sum));
		CHECK_EQ_U64(r.sum.records, 6);
		recording_read(&r, NULL, &got);
		check_three(&got, "vm", 0);
		check_three(&got, "vm", 1);
		recording_end(&r, &got);
		fake_destroy(f);
	}
}

/*
 * Guests without a ring: one whose area is announced at a wrong address, at the end and when it is
 * removed; and one that may ring a doorbell, but never does.
 */
TEST(guests_without_a_ring_are_reported)
{
	struct fake *wrong = fake_create("wrong", 64 + 32 * 100);
	struct fake *removed = fake_create("removed", 64 + 32 * 100);
	struct fake *mute = fake_create("mute", 64 + 32 * 100);
	struct recording r = { 0 };
	struct got_sink got = got_sink();

	recording_start(&r, &wrong->clock);
	rs_host_set_area(wrong->host, AREA + 8);
	rs_host_set_area(removed->host, AREA + 8);
	CHECK_OK(rs_recorder_add_guest(r.recorder, wrong->host, true));
	CHECK_OK(rs_recorder_add_guest(r.recorder, removed->host, true));
	CHECK_OK(rs_recorder_add_guest(r.recorder, mute->host, false));
	CHECK_ERR(rs_recorder_remove_guest(r.recorder, removed->host), RS_ABSENT,
		  "guest 'removed': no trace area was found");
	CHECK_ERR(rs_recorder_close(r.recorder, &r.sum), RS_ABSENT,
		  "guest 'wrong': no trace area was found");
	CHECK_EQ_U64(r.sum.silent_guests, 3);
	CHECK_EQ_U64(r.sum.records, 0);
	recording_read(&r, "guest 'removed': no trace area was found", &got);
	recording_end(&r, &got);
	fake_destroy(wrong);
	fake_destroy(removed);
	fake_destroy(mute);
}

TEST(a_guest_has_one_collector)
{
	struct fake *f = fake_create("vm", RING_BYTES);
	struct rs_source *source = source_of(f), *second;
	struct recording r = { 0 };
	struct got_sink got = got_sink();

	CHECK_ERR(rs_host_source(f->host, &second), RS_USAGE,
		  "guest 'vm' is already recorded or read");
	recording_start(&r, &f->clock);
	CHECK_ERR(rs_recorder_add_guest(r.recorder, f->host, true), RS_USAGE, "already");
	CHECK_ERR(rs_recorder_drain_guest(r.recorder, f->host, 0), RS_USAGE,
		  "this recorder does not collect its guest");
	CHECK_OK(rs_recorder_close(r.recorder, &r.sum));
	recording_end(&r, &got);
	rs_source_destroy(source);
	fake_destroy(f);
}

TEST(the_maximum_number_of_vcpus)
{
	struct rs_clock clock = kit_clock(0);
	struct rs_host_options options = { .vm = "vm", .clock = &clock };
	struct rs_host_guest *guest;

	CHECK_ERR(rs_host_guest_create(&options, &guest), RS_USAGE, "0 vCPUs: expected 1 to 256");
	options.vcpus = RS_GUEST_VCPUS_MAX + 1;
	CHECK_ERR(rs_host_guest_create(&options, &guest), RS_USAGE, "257 vCPUs");
	options.vcpus = RS_GUEST_VCPUS_MAX;
	REQUIRE_OK(rs_host_guest_create(&options, &guest));
	rs_host_guest_destroy(guest);
	rs_host_guest_destroy(NULL);
}

/* ---- invalid guests ------------------------------------------------------------------------ */

/* One fault of a guest f. */
#define SPOIL(name, wrong)                                                                         \
	static void name(struct fake *f)                                                           \
	{                                                                                          \
		wrong;                                                                             \
	}                                                                                          \
	_Static_assert(1, "for a semicolon")

SPOIL(area_version, area_of(f)->version = 2);
SPOIL(area_size, area_of(f)->bytes -= 16);
SPOIL(area_sites, area_of(f)->n_sites = RS_GUEST_SITES_MAX + 1);
SPOIL(area_sites_all, area_of(f)->n_sites = UINT32_MAX);
SPOIL(area_sites_outside, area_of(f)->sites = MEMORY_BYTES - 23);
SPOIL(area_sites_wrap, area_of(f)->sites = UINT64_MAX - 30);
SPOIL(site_number, site_of(f, 2)->id = 4);
SPOIL(site_event_number, site_of(f, 1)->id = 2);
SPOIL(site_kind, site_of(f, 1)->kind = 77);
SPOIL(site_long, site_of(f, 0)->len = RS_GUEST_TEXT_MAX + 1);
SPOIL(site_longest, site_of(f, 0)->len = UINT32_MAX);
SPOIL(text_outside, site_of(f, 0)->text = MEMORY_BYTES - 3);
SPOIL(text_wraps, site_of(f, 0)->text = UINT64_MAX - 3);
SPOIL(text_moved, area_of(f)->to_gpa = MEMORY_BYTES);
SPOIL(text_bad, memcpy(f->memory + TEXTS, "io::read[", 9));
SPOIL(text_binary, memset(f->memory + TEXTS, 0xff, 20));
SPOIL(ring_outside, area_of(f)->ring[0].gpa = MEMORY_BYTES - 63);
SPOIL(ring_far, area_of(f)->ring[0].gpa = UINT64_C(1) << 63);
SPOIL(ring_wraps, area_of(f)->ring[0].gpa = UINT64_MAX - 62);
SPOIL(ring_little, area_of(f)->ring[0].bytes = 63);
SPOIL(ring_short, area_of(f)->ring[0].bytes = RING_BYTES - 1);
SPOIL(ring_overwrites, ring_of(f, 0)->flags = RS_SBUF_OVERWRITE);
SPOIL(ring_head_out, ring_of(f, 0)->head = ring_of(f, 0)->size);
SPOIL(ring_head_odd, ring_of(f, 0)->head = 8);
SPOIL(ring_tail_out, ring_of(f, 0)->tail = UINT32_MAX - 31);
SPOIL(ring_tail_odd, ring_of(f, 0)->tail += 1);
SPOIL(ring_no_size, ring_of(f, 0)->size = 0);
SPOIL(ring_size_else, ring_of(f, 0)->size -= 32);
SPOIL(ring_no_elements, ring_of(f, 0)->ele_size = 0);
SPOIL(ring_of_none, ring_of(f, 0)->ele_num = 0);
SPOIL(ring_odd_elements, ring_of(f, 0)->ele_size = 33);

/* Each number is valid in 32 bits: 0x08000000 times 32 is 2^32. */
static void ring_product(struct fake *f)
{
	ring_of(f, 0)->ele_num = 0x8000000;
	ring_of(f, 0)->size = 0;
}

static void ring_huge(struct fake *f)
{
	ring_of(f, 0)->ele_num = 0x7ffffff;
	ring_of(f, 0)->size = 0x7ffffffu * 32;
	area_of(f)->ring[0].bytes = UINT64_MAX;
}

static void ring_of_logs(struct fake *f)
{
	struct rs_sbuf *ring = ring_of(f, 0);

	rs_sbuf_create(ring, RING_BYTES, 80);
}

/* The header's claim exceeds memory, which is detected when it is read, not earlier. */
static void ring_beyond(struct fake *f)
{
	struct rs_sbuf *ring = ring_of(f, 1);

	ring->size = ring->ele_num = 1 << 20;
	ring->ele_num /= 32;
	area_of(f)->ring[1].bytes = 64 + (1 << 20);
	ring->head = ring->tail = (1 << 20) - 64;
	ring->tail += 32;
}

static const struct {
	const char *name;
	void (*spoil)(struct fake *);
	const char *error;
	int lives; /* the vCPU whose events are still drained; -1: none */
	bool late; /* detected when it is drained */
} hostile[] = {
#define HOSTILE(spoil, ...)                                                                        \
	{                                                                                          \
#spoil, spoil, __VA_ARGS__                                                         \
	}
	HOSTILE(area_version, "version 2 and 4160 bytes; this host reads version 1", -1),
	HOSTILE(area_size, "version 1 and 4144 bytes", -1),
	HOSTILE(area_sites, "too many sites at guest-physical 0x1000", -1),
	HOSTILE(area_sites_all, "too many sites", -1),
	HOSTILE(area_sites_outside, "no memory for a site", -1),
	HOSTILE(area_sites_wrap, "no memory for a site at guest-physical 0xffffffffffffffe1", -1),
	HOSTILE(site_number, "a site without its number at guest-physical 0x3030", -1),
	HOSTILE(site_event_number, "a site without its number at guest-physical 0x3018", -1),
	HOSTILE(site_kind, "a site without its number", -1),
	HOSTILE(site_long, "a text that is too long at guest-physical 0x3000", -1),
	HOSTILE(site_longest, "a text that is too long", -1),
	HOSTILE(text_outside, "no memory for a text", -1),
	HOSTILE(text_wraps, "no memory for a text at guest-physical 0xfffffffffffffffc", -1),
	HOSTILE(text_moved, "no memory for a text", -1),
	HOSTILE(text_bad, "site 0 at guest-physical 0x3000: ", -1),
	HOSTILE(text_binary, "site 0 at guest-physical 0x3000: ", -1),
	HOSTILE(ring_outside, "vCPU 0: guest 'bad': no memory for a ring", 1),
	HOSTILE(ring_far, "no memory for a ring at guest-physical 0x8000000000000000", 1),
	HOSTILE(ring_wraps, "no memory for a ring", 1),
	HOSTILE(ring_little, "the memory is too small for the ring", 1),
	HOSTILE(ring_short, "the memory is too small for the ring", 1),
	HOSTILE(ring_overwrites, "the ring is in overwrite mode", 1),
	HOSTILE(ring_head_out, "head or tail points outside the ring", 1),
	HOSTILE(ring_head_odd, "or between elements", 1),
	HOSTILE(ring_tail_out, "head or tail points outside the ring", 1),
	HOSTILE(ring_tail_odd, "or between elements", 1),
	HOSTILE(ring_no_size, "sizes are impossible or disagree", 1),
	HOSTILE(ring_size_else, "sizes are impossible or disagree", 1),
	HOSTILE(ring_no_elements, "sizes are impossible", 1),
	HOSTILE(ring_of_none, "sizes are impossible", 1),
	HOSTILE(ring_odd_elements, "sizes are impossible", 1),
	HOSTILE(ring_product, "sizes are impossible", 1),
	HOSTILE(ring_huge, "sizes are impossible", 1),
	HOSTILE(ring_of_logs, "a ring whose elements are not slots at guest-physical 0x4000", 1),
	HOSTILE(ring_beyond, "guest 'bad', vCPU 1: the ring's memory cannot be reached", 0, true),
};
#define HOSTILE_N (sizeof(hostile) / sizeof(hostile[0]))

static struct fake *hostile_create(size_t i)
{
	struct fake *f = fake_create("bad", RING_BYTES);

	emit_three(f, 0);
	emit_three(f, 1);
	hostile[i].spoil(f);
	return f;
}

/*
 * Rings every vCPU's doorbells as a VMM serves them, with a recorder unless it is NULL. Returns the
 * error, which must exist.
 */
static struct rs_error *ring_all(struct fake *f, struct rs_recorder *recorder)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < VCPUS; i++) {
		struct rs_error *one = ring_doorbell(f, i);

		if (!one)
			one = rs_host_doorbell(f->host, i, RS_DOORBELL_FULL, AREA);
		if (!one && recorder)
			one = rs_recorder_drain_guest(recorder, f->host, i);
		if (!CHECK(!one || !err))
			rs_error_free(one);
		else if (one)
			err = one;
		if (recorder) /* each error is returned once */
			CHECK_OK(rs_recorder_drain_guest(recorder, f->host, i));
	}
	return err;
}

TEST(hostile_guests_as_sources)
{
	for (size_t i = 0; i < HOSTILE_N; i++) {
		for (int doorbell = 0; doorbell < 2; doorbell++) {
			struct fake *f = hostile_create(i);
			struct rs_source *source = source_of(f);
			struct got_sink got = got_sink();
			struct rs_error *err = NULL, *run_err;
			int lives = hostile[i].lives;

			if (doorbell)
				err = ring_all(f, NULL);
			else
				rs_host_set_area(f->host, AREA);
			rs_host_guest_end(f->host);
			run_err = rs_run(source, NULL, &got.sink, NULL);
			CHECK(!err || !run_err);
			err = err ? err : run_err;
			if (!CHECK_ERR(err, RS_DAMAGED, hostile[i].error) ||
			    !CHECK_EQ_U64(got.n, lives < 0 ? 0 : 3))
				printf("# %s, doorbell %d\n", hostile[i].name, doorbell);
			if (lives >= 0)
				check_three(&got, "bad", lives);
			got_free(&got);
			rs_source_destroy(source);
			fake_destroy(f);
		}
	}
}

/* A valid guest in the same recorder keeps its trace. */
TEST(hostile_guests_together_with_a_valid_one)
{
	for (size_t i = 0; i < HOSTILE_N; i++) {
		for (int doorbell = 0; doorbell < 2; doorbell++) {
			struct fake *f = hostile_create(i), *good = fake_create("good", RING_BYTES);
			struct got_sink got = got_sink();
			struct recording r = { 0 };
			struct rs_error *err = NULL, *close_err;
			bool noted;

			rs_host_set_area(good->host, AREA);
			emit_three(good, 0);
			emit_three(good, 1);
			recording_start(&r, &f->clock);
			if (!doorbell)
				rs_host_set_area(f->host, AREA);
			CHECK_OK(rs_recorder_add_guest(r.recorder, f->host, !doorbell));
			CHECK_OK(rs_recorder_add_guest(r.recorder, good->host, true));
			if (doorbell)
				err = ring_all(f, r.recorder);
			close_err = rs_recorder_close(r.recorder, &r.sum);
			/* Losses from before the VMM was informed, or of the recording itself. */
			noted = !doorbell || hostile[i].late;
			if (noted)
				CHECK_ERR(close_err, RS_DAMAGED, hostile[i].error);
			else
				CHECK_OK(close_err);
			if ((doorbell && !CHECK_ERR(err, RS_DAMAGED, hostile[i].error)) ||
			    !CHECK_EQ_U64(r.sum.records, hostile[i].lives < 0 ? 6 : 9))
				printf("# %s, doorbell %d\n", hostile[i].name, doorbell);
			recording_read(&r, noted ? hostile[i].error : NULL, &got);
			CHECK_EQ_U64(got.n, r.sum.records);
			recording_end(&r, &got);
			fake_destroy(f);
			fake_destroy(good);
		}
	}
}

TEST(invalid_doorbells)
{
	struct fake *f = fake_create("vm", RING_BYTES);
	struct rs_source *source = source_of(f);
	struct got_sink got = got_sink();

	CHECK_ERR(rs_host_doorbell(f->host, 1, 0, AREA), RS_USAGE, "vCPU 1: doorbell with EAX 0x0");
	CHECK_ERR(rs_host_doorbell(f->host, 0, 4, AREA), RS_USAGE,
		  "EAX 0x4, which is not a request");
	CHECK_ERR(rs_host_doorbell(f->host, 0, UINT32_MAX, AREA), RS_USAGE, "EAX 0xffffffff");
	CHECK_OK(rs_host_doorbell(f->host, 0, RS_DOORBELL_FULL, AREA)); /* not registered */
	/* Nothing there yet: it may ring again later. */
	CHECK_ERR(rs_host_doorbell(f->host, 0, RS_DOORBELL_REGISTER, AREA + 8), RS_DAMAGED,
		  "no trace area (its magic is missing) at guest-physical 0x1008");
	area_of(f)->ring[0].bytes = 0;
	CHECK_ERR(ring_doorbell(f, 0), RS_DAMAGED, "no ring of this vCPU in the trace area");
	area_of(f)->ring[0].bytes = RING_BYTES;
	ring_of(f, 0)->magic = RS_SBUF_MAGIC_LAST;
	CHECK_ERR(ring_doorbell(f, 0), RS_DAMAGED, "no ring of this vCPU");
	ring_of(f, 0)->magic = RS_SBUF_MAGIC;
	CHECK_OK(ring_doorbell(f, 0));
	CHECK_ERR(rs_host_doorbell(f->host, 1, RS_DOORBELL_REGISTER, AREA + 64), RS_DAMAGED,
		  "another trace area than before at guest-physical 0x1040");
	CHECK_OK(ring_doorbell(f, 1));
	emit_three(f, 0);
	emit_three(f, 1);
	drain_all(f, source, &got);
	CHECK_EQ_U64(got.n, 6);
	got_free(&got);
	rs_source_destroy(source);
	fake_destroy(f);
}

TEST(an_area_outside_memory)
{
	static const uint64_t areas[] = { MEMORY_BYTES - 63, UINT64_MAX - 62, UINT64_MAX,
					  UINT64_C(1) << 52 };

	for (size_t i = 0; i < 4; i++) {
		for (int doorbell = 0; doorbell < 2; doorbell++) {
			struct fake *f = fake_create("vm", RING_BYTES);
			struct rs_source *source = source_of(f);
			struct got_sink got = got_sink();
			struct rs_error *err = NULL, *run_err;

			if (doorbell)
				err = rs_host_doorbell(f->host, 0, RS_DOORBELL_REGISTER, areas[i]);
			else
				rs_host_set_area(f->host, areas[i]);
			if (doorbell) /* reported once; a good one after it is too late */
				CHECK_OK(ring_doorbell(f, 0));
			rs_host_guest_end(f->host);
			run_err = rs_run(source, NULL, &got.sink, NULL);
			CHECK(!err || !run_err);
			CHECK_ERR(err ? err : run_err, RS_DAMAGED,
				  "guest 'vm': no memory for the trace area at guest-physical 0x");
			CHECK_EQ_U64(got.n, 0);
			rs_source_destroy(source);
			fake_destroy(f);
		}
	}
}

SPOIL(later_tail_out, ring_of(f, 0)->tail = ring_of(f, 0)->size);
SPOIL(later_tail_odd, ring_of(f, 0)->tail ^= 4);
SPOIL(later_gone, f->visible = 0);

/* Records from before the ring broke stay; the other vCPU's drain continues, if it has memory. */
TEST(rings_that_break_later)
{
	static const struct {
		void (*spoil)(struct fake *);
		const char *error;
		uint64_t records;
	} later[] = {
		{ later_tail_out, "vCPU 0: the ring's tail points outside it", 9 },
		{ later_tail_odd, "vCPU 0: the ring's tail points outside it", 9 },
		{ later_gone, "vCPU 0: the ring's memory cannot be reached", 6 },
	};

	for (size_t i = 0; i < 3; i++) {
		struct fake *f = fake_create("vm", RING_BYTES);
		struct recording r = { 0 };
		struct got_sink got = got_sink();

		recording_start(&r, &f->clock);
		CHECK_OK(rs_recorder_add_guest(r.recorder, f->host, false));
		for (uint32_t v = 0; v < VCPUS; v++) {
			emit_three(f, v);
			CHECK_OK(ring_doorbell(f, v));
			CHECK_OK(rs_recorder_drain_guest(r.recorder, f->host, v));
		}
		emit_three(f, 0);
		emit_three(f, 1);
		later[i].spoil(f);
		CHECK_ERR(rs_recorder_drain_guest(r.recorder, f->host, 0), RS_DAMAGED,
			  later[i].error);
		CHECK_OK(rs_recorder_drain_guest(r.recorder, f->host, 0));
		CHECK_OK(rs_host_doorbell(f->host, 0, RS_DOORBELL_FULL, AREA));
		if (later[i].records == 9)
			CHECK_OK(rs_recorder_drain_guest(r.recorder, f->host, 1));
		else
			CHECK_ERR(rs_recorder_drain_guest(r.recorder, f->host, 1), RS_DAMAGED,
				  "cannot be reached");
		CHECK_ERR(rs_recorder_close(r.recorder, &r.sum), RS_DAMAGED, later[i].error);
		CHECK_EQ_U64(r.sum.records, later[i].records);
		recording_read(&r, later[i].error, &got);
		check_three(&got, "vm", 0);
		check_three(&got, "vm", 1);
		recording_end(&r, &got);
		fake_destroy(f);
	}
}

/* ---- memory that changes between two reads ----------------------------------------------------
 */

/* The run may return any error, or none; memory that is not the guest's is not touched. */
static void run_changing(uint64_t word, uint64_t by, uint32_t at)
{
	struct fake *f = fake_create("vm", 64 + 32 * 40);
	struct rs_source *source = source_of(f);
	struct got_sink got = got_sink();
	struct rs_batch batch = { 0 };

	f->change = word;
	f->change_by = by;
	f->change_at = at;
	rs_host_set_area(f->host, AREA);
	for (uint32_t round = 0; round < 3 && batch.kind != RS_NEXT_END; round++) {
		struct rs_error *err;

		emit_three(f, 0);
		emit_three(f, 1);
		if (round == 2)
			rs_host_guest_end(f->host);
		err = source->ops->next(source, &batch);
		if (err) {
			CHECK_EQ_U64(rs_error_code(err), RS_DAMAGED);
			rs_error_free(err);
		} else if (batch.kind == RS_NEXT_EVENTS) {
			got_events(&got.sink, batch.views, batch.n);
		}
	}
	CHECK(got.n <= 3 * 40 * VCPUS); /* no more than the rings can hold each time */
	CHECK(f->reads < 2000);
	got_free(&got);
	rs_source_destroy(source);
	fake_destroy(f);
}

TEST(memory_that_changes_between_reads)
{
	static const uint64_t by[] = { UINT64_MAX, 1, UINT64_C(1) << 63, UINT64_C(0x2000000020),
				       UINT64_C(0xfffff000) };
	static const struct {
		uint64_t from, to;
	} words[] = {
		{ AREA, AREA + 40 },	     /* the area's head */
		{ AREA + 64, AREA + 80 },    /* a vCPU's entry in it */
		{ SITES, SITES + 48 },	     /* two sites */
		{ TEXTS, TEXTS + 8 },	     /* a text */
		{ RINGS, RINGS + 64 + 128 }, /* a ring's header, and slots */
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		for (uint64_t word = words[i].from; word < words[i].to; word += 8) {
			for (size_t k = 0; k < sizeof(by) / sizeof(by[0]); k++) {
				for (uint32_t at = 1; at <= 3; at++)
					run_changing(word, by[k], at);
			}
		}
	}
}
