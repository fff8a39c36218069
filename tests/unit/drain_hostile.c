/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drain on untrusted rings. A second, simple and slow drain in this file computes the expected
 * output: slot by slot, without runs or chunks.
 */
#include "event_kit.h"

#include <time.h>

#define NOW UINT64_C(1000000)

/* ---- a ring that counts accesses, each of which can fail ------------------------------------ */

struct fake {
	uint8_t *ring;
	uint32_t size, tail;
	uint64_t refused;
	uint32_t head;	   /* as released last */
	uint32_t calls;	   /* of any kind */
	uint32_t fail_at;  /* the call that fails, from 1; 0: none */
	uint64_t copied;   /* bytes */
	bool out_of_range; /* a copy was outside the ring */
};

static bool fake_call(struct fake *f)
{
	return ++f->calls != f->fail_at;
}

static bool fake_poll(void *ctx, uint32_t *tail, uint64_t *refused)
{
	struct fake *f = ctx;

	*tail = f->tail;
	*refused = f->refused;
	return fake_call(f);
}

static bool fake_copy(void *ctx, uint32_t offset, void *to, uint32_t bytes)
{
	struct fake *f = ctx;

	if (offset > f->size || bytes > f->size - offset || !bytes) {
		f->out_of_range = true;
		return false;
	}
	f->copied += bytes;
	memcpy(to, f->ring + offset, bytes);
	return fake_call(f);
}

static bool fake_release(void *ctx, uint32_t head)
{
	struct fake *f = ctx;

	if (head >= f->size || head % RS_SLOT_BYTES)
		f->out_of_range = true;
	f->head = head;
	return fake_call(f);
}

/* Puts the slots into a ring of size slots, from slot at on, wrapping at its end. */
static void fake_init(struct fake *f, const struct slots *s, uint32_t size, uint32_t at)
{
	*f = (struct fake){ .ring = calloc(size, RS_SLOT_BYTES), .size = size * RS_SLOT_BYTES };
	for (uint32_t i = 0; i < s->n; i++)
		memcpy(f->ring + (at + i) % size * RS_SLOT_BYTES, &s->at[i], RS_SLOT_BYTES);
	f->head = at * RS_SLOT_BYTES;
	f->tail = (at + s->n) % size * RS_SLOT_BYTES;
}

static struct rs_port fake_port(struct fake *f)
{
	return (struct rs_port){ .ctx = f,
				 .poll = fake_poll,
				 .copy = fake_copy,
				 .release = fake_release,
				 .size = f->size,
				 .head = f->head };
}

/* ---- a drain's output ----------------------------------------------------------------------- */

struct result {
	uint8_t *bytes;
	size_t n;
	uint64_t records, lost;
	uint32_t padding;
	enum rs_drain_status status;
};

static void result_add(struct result *r, const void *bytes, const struct rs_drained *got)
{
	if (!got->bytes)
		return;
	r->bytes = realloc(r->bytes, r->n + got->bytes);
	memcpy(r->bytes + r->n, bytes, got->bytes);
	r->n += got->bytes;
	r->records += got->records;
	r->lost += got->lost;
	r->padding = got->padding;
}

/* Reads until nothing is left, with this much room each time; then reads the end, on request. */
static struct result drain_all(struct rs_drain *drain, uint32_t room, uint64_t now, bool end)
{
	struct result r = { 0 };
	uint8_t *buffer = malloc(room + 64);
	struct rs_drained got;

	memset(buffer + room, 0xa5, 64);
	do {
		r.status = rs_drain_read(drain, buffer, room, now, &got);
		CHECK(got.bytes <= room && got.bytes % RS_SLOT_BYTES == 0);
		CHECK(got.padding < RS_SLOT_BYTES);
		result_add(&r, buffer, &got);
	} while (r.status == RS_DRAIN_OK && got.bytes);
	if (end && r.status == RS_DRAIN_OK) {
		rs_drain_end(drain, buffer, room, now, &got);
		result_add(&r, buffer, &got);
	}
	for (int i = 0; i < 64; i++)
		CHECK_EQ_U64(buffer[room + (uint32_t)i], 0xa5);
	free(buffer);
	return r;
}

/* ---- the simple drain ----------------------------------------------------------------------- */

struct plain {
	const struct rs_schema *schema;
	uint64_t last, damaged, now;
	struct slots out;
	uint64_t records, lost;
};

/* Returns the number of slots in a header word. */
static uint32_t plain_slots(const struct rs_slot *slot)
{
	uint32_t n_data = slot->head >> 48 & 0xff;

	if (n_data >= 0x80)
		return n_data - 0x80 <= 64 ? n_data - 0x80 : 0;
	return n_data == 2 || n_data == 4 || n_data == 8 || n_data == 16;
}

/*
 * Returns the slots of a valid record at slot, if `left` slots are visible; 0: invalid. By the
 * format's description.
 */
static uint32_t plain_extent(const struct plain *p, const struct rs_slot *slot, uint32_t left)
{
	const struct rs_event *event = rs_schema_find(p->schema, slot->head & 0xffffffffffff);
	uint32_t n_data = slot->head >> 48 & 0xff, said, bytes;

	if (!event)
		return 0;
	said = n_data >= 0x80 ? n_data - 0x80
			      : n_data == 2 || n_data == 4 || n_data == 8 || n_data == 16;
	bytes = 16 + event->fixed_bytes;
	if (event->n_tails) {
		uint16_t len;

		if (bytes > left * 32)
			return 0;
		memcpy(&len, (const uint8_t *)slot + bytes - 2, 2);
		bytes += (uint32_t)len << event->tail_shift;
	}
	return said == (bytes + 31) / 32 && said <= left ? said : 0;
}

static void plain_loss(struct plain *p, uint64_t tsc)
{
	if (p->damaged) {
		slots_lost(&p->out, tsc, p->damaged, p->last ? p->last : tsc, RS_LOST_DAMAGED);
		p->lost += p->damaged;
		p->damaged = 0;
		p->last = tsc;
	}
}

/* Writes one record: unchanged, or after a report that its stamp was out of order. */
static void plain_put(struct plain *p, const struct rs_slot *slot, uint32_t n)
{
	uint64_t tsc = slot->tsc;
	const struct rs_event *event = rs_schema_find(p->schema, slot->head & 0xffffffffffff);

	if (tsc > p->now)
		tsc = p->now;
	if (tsc < p->last)
		tsc = p->last;
	plain_loss(p, tsc);
	if (tsc != slot->tsc)
		slots_record(&p->out, tsc, RS_ID_CLOCK_BACK, &slot->tsc, 8);
	memcpy(slots_add(&p->out, n), slot, n * sizeof(*slot));
	p->out.at[p->out.n - n].tsc = tsc;
	p->last = tsc;
	if (event->kind == RS_KIND_LOSS) {
		uint64_t count;

		memcpy(&count, slot->payload, 8);
		p->lost += count;
	} else {
		p->records++;
	}
}

/* A run of slots that ends at the ring's end, or at the last published slot. */
static void plain_run(struct plain *p, const struct rs_slot *slot, uint32_t left)
{
	while (left) {
		uint32_t n = plain_extent(p, slot, left);
		uint32_t filler = plain_slots(slot);

		if (n) {
			plain_put(p, slot, n);
		} else if ((slot->head & 0xffffffffffff) == RS_ID_FILLER && filler &&
			   filler <= left) {
			n = filler;
		} else {
			p->damaged++;
			n = 1;
		}
		slot += n;
		left -= n;
	}
}

/* Compares both drains on the same slots; their outputs must be identical. */
static void check_equal(const struct slots *s, uint32_t size, uint32_t at, uint32_t room)
{
	struct rs_schema *schema = kit_schema("app");
	struct plain plain = { .schema = schema, .now = NOW };
	struct result r;
	struct fake fake;
	struct rs_port port;
	struct rs_drain drain;
	uint32_t first = at + s->n <= size ? s->n : size - at;

	plain_run(&plain, s->at, first);
	plain_run(&plain, s->at + first, s->n - first);
	plain_loss(&plain, plain.last > NOW ? plain.last : NOW);
	fake_init(&fake, s, size, at);
	port = fake_port(&fake);
	rs_drain_init(&drain, &port, schema);
	r = drain_all(&drain, room, NOW, true);
	CHECK_EQ_U64(r.status, RS_DRAIN_OK);
	CHECK_EQ_U64(r.n, plain.out.n * RS_SLOT_BYTES);
	CHECK_EQ_U64(r.records, plain.records);
	CHECK_EQ_U64(r.lost, plain.lost);
	CHECK(!fake.out_of_range);
	CHECK_EQ_U64(fake.head, fake.tail);
	if (r.n == plain.out.n * RS_SLOT_BYTES)
		for (uint32_t i = 0; i < plain.out.n; i++) {
			char what[32];

			snprintf(what, sizeof(what), "slot %u", i);
			if (!test_mem(TEST_HERE, what, r.bytes + i * 32, &plain.out.at[i], 32))
				break;
		}
	free(r.bytes);
	free(fake.ring);
	slots_free(&plain.out);
	rs_schema_destroy(schema);
}

static void check_places(struct slots *s)
{
	check_equal(s, s->n + 7, 0, 1u << 20);
	check_equal(s, s->n + 1, s->n / 2, 1u << 20);
	check_equal(s, s->n + 1, 0, RS_DRAIN_ROOM_MIN);
	check_equal(s, s->n + 100, s->n + 99, RS_DRAIN_ROOM_MIN + 32);
	slots_free(s);
}

/* ---- single kinds of damage ------------------------------------------------------------------ */

TEST(valid_records_pass_unchanged)
{
	static const uint64_t wide[] = { 1, 2, 3 };
	struct slots s = { 0 };

	for (uint64_t i = 0; i < 500; i++) {
		slots_one(&s, 1000 + i, i);
		slots_record(&s, 1000 + i, USER(KIT_NONE), NULL, 0);
		slots_record(&s, 1000 + i, USER(KIT_WIDE), wide, sizeof(wide));
		slots_text(&s, 1000 + i, USER(KIT_TEXT), NULL, 0, "some text of some length",
			   (uint16_t)(i % 25));
	}
	check_places(&s);
}

TEST(texts_of_every_length_pass)
{
	static char text[RS_RECORD_PAYLOAD_MAX];
	struct slots s = { 0 };

	memset(text, 't', sizeof(text));
	for (uint16_t len = 0; len <= RS_RECORD_PAYLOAD_MAX - 2; len += len < 100 ? 1 : 37)
		slots_text(&s, 1000, USER(KIT_TEXT), NULL, 0, text, len);
	slots_text(&s, 1000, USER(KIT_TEXT), NULL, 0, text, RS_RECORD_PAYLOAD_MAX - 2);
	check_places(&s);
}

TEST(filler_is_dropped_at_any_position)
{
	struct slots s = { 0 };

	for (uint64_t i = 0; i < 64; i++) {
		uint32_t n = (uint32_t)i + 1;

		slots_one(&s, 1000 + i, i);
		/* its own stamp and payload are ignored */
		slots_add(&s, n)->head = RS_ID_FILLER | (uint64_t)(0x80 | n) << 48;
		if (i % 3 == 0)
			slots_add(&s, 1)->head = RS_ID_FILLER | UINT64_C(0x81) << 48;
	}
	check_places(&s);
}

TEST(invalid_filler_is_damage)
{
	static const uint8_t n_data[] = { 0, 1, 2, 4, 8, 16, 0x80, 0xc1, 0xff };
	struct slots s = { 0 };

	for (size_t i = 0; i < sizeof(n_data); i++) {
		slots_one(&s, 1000 + i, i);
		slots_add(&s, 1)->head = RS_ID_FILLER | (uint64_t)n_data[i] << 48;
	}
	slots_add(&s, 1)->head = RS_ID_FILLER | UINT64_C(0x84) << 48; /* beyond the end */
	check_places(&s);
}

TEST(unknown_ids_are_counted_before_the_next_good_record)
{
	static const uint64_t ids[] = { 0,
					1,
					RS_ID_FILLER + 20,
					USER(KIT_EVENTS + 1),
					USER(0),
					USER(0xfffff),
					UINT64_C(0xffffffffffff),
					USER(1) | UINT64_C(1) << 32,
					USER(1) | UINT64_C(1) << 47 };
	struct slots s = { 0 };

	for (uint64_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		for (uint64_t j = 0; j <= i; j++)
			slots_record(&s, 1000 + i, ids[i], &i, 8);
		slots_one(&s, 1000 + i, i);
	}
	slots_record(&s, 5000, USER(KIT_EVENTS + 1), NULL, 0); /* reported at the end */
	check_places(&s);
}

TEST(every_extent_but_the_right_one_is_damage)
{
	static const uint64_t wide[] = { 1, 2, 3 };
	struct slots s = { 0 };
	struct rs_slot *slot;

	for (uint32_t n_data = 0; n_data < 256; n_data++) {
		slots_one(&s, 1000, n_data);
		slot = &s.at[s.n - 1];
		slot->head = (slot->head & ~(UINT64_C(0xff) << 48)) | (uint64_t)n_data << 48;
		slots_one(&s, 1000, n_data);
		slots_record(&s, 1000, USER(KIT_WIDE), wide, sizeof(wide));
		slot = &s.at[s.n - 2];
		slot->head = (slot->head & ~(UINT64_C(0xff) << 48)) | (uint64_t)n_data << 48;
		slots_one(&s, 1000, n_data);
	}
	check_places(&s);
}

TEST(texts_with_a_wrong_length_are_damage)
{
	struct slots s = { 0 };
	uint64_t next = 1;

	for (uint32_t i = 0; i < 3000; i++) {
		uint16_t said = (uint16_t)(kit_random(&next) >> kit_random(&next) % 16);
		uint16_t len = (uint16_t)(kit_random(&next) % 200);
		struct rs_slot *slot;
		char text[200];

		memset(text, 'x', sizeof(text));
		slot = slots_text(&s, 1000, USER(KIT_TEXT), NULL, 0, text, len);
		memcpy(slot->payload, &said, sizeof(said));
		slots_one(&s, 1000, i);
	}
	check_places(&s);
}

TEST(a_record_beyond_the_last_slot_is_damage)
{
	struct rs_schema *schema = kit_schema("app");
	static const uint64_t wide[] = { 1, 2, 3 };

	for (uint32_t cut = 1; cut < 5; cut++) {
		struct slots s = { 0 };

		slots_one(&s, 1000, 1);
		slots_text(&s, 1001, USER(KIT_TEXT), NULL, 0,
			   "sixty-four letters "
			   "sixty-four letters sixty-four letters sixty-four",
			   67);
		slots_record(&s, 1002, USER(KIT_WIDE), wide, sizeof(wide));
		s.n -= cut;
		check_equal(&s, 100, 0, 1u << 20);
		/* and across the ring's end, where no producer puts a record */
		for (uint32_t at = 1; at < s.n; at++)
			check_equal(&s, 100, 100 - at, 1u << 20);
		slots_free(&s);
	}
	rs_schema_destroy(schema);
}

TEST(stamps_backward_and_in_the_future)
{
	static const uint64_t stamps[] = { 500,	 400, 500,     600,	   0,	    NOW,
					   1000, NOW, NOW + 1, UINT64_MAX, NOW - 1, NOW + 7,
					   NOW,	 0,   1,       UINT64_MAX };
	struct slots s = { 0 };

	for (size_t i = 0; i < sizeof(stamps) / sizeof(stamps[0]); i++) {
		slots_one(&s, stamps[i], i);
		slots_text(&s, stamps[i], USER(KIT_TEXT), NULL, 0, "a text of forty bytes ........",
			   30);
	}
	check_places(&s);
	slots_one(&s, UINT64_MAX, 1); /* the first record, with damage before it */
	check_places(&s);
	slots_record(&s, 7, USER(99), NULL, 0);
	slots_one(&s, UINT64_MAX, 1);
	check_places(&s);
	slots_record(&s, 7, USER(99), NULL, 0);
	slots_one(&s, 500, 1);
	slots_record(&s, 7, USER(99), NULL, 0);
	slots_one(&s, 400, 1);
	check_places(&s);
}

TEST(only_damage_from_the_start)
{
	struct slots s = { 0 };

	slots_add(&s, 1);
	check_places(&s);
	slots_add(&s, 3000);
	check_places(&s);
}

TEST(long_garbage)
{
	struct slots s = { 0 };
	uint64_t next = 7;
	struct rs_slot *slot;

	slots_one(&s, 1000, 1);
	slot = slots_add(&s, 20000);
	for (size_t i = 0; i < 20000 * sizeof(*slot) / 8; i++)
		((uint64_t *)(void *)slot)[i] = kit_random(&next) << 48 ^ kit_random(&next);
	slots_one(&s, 1001, 2);
	check_places(&s);
}

TEST(forged_losses_pass_and_are_counted)
{
	struct slots s = { 0 };

	slots_one(&s, 1000, 1);
	slots_lost(&s, 1001, 17, 0, 0);
	slots_lost(&s, 1002, 1, UINT64_MAX, 12345);
	slots_one(&s, 1003, 1);
	check_places(&s);
}

/* ---- random combinations ------------------------------------------------------------------- */

static void random_piece(struct slots *s, uint64_t *next, uint64_t *tsc)
{
	static char text[2100];
	uint64_t n = kit_random(next), kind = kit_random(next) % 100;
	uint32_t len = (uint32_t)(n % (n & 64 ? 2000 : 40));
	struct rs_slot *slot;

	*tsc += n % 50;
	if (kind < 40) {
		slots_one(s, *tsc, n);
	} else if (kind < 60) {
		memset(text, 'r', sizeof(text));
		slots_text(s, *tsc, USER(KIT_TEXT), NULL, 0, text, (uint16_t)len);
	} else if (kind < 70) {
		uint64_t wide[] = { n, n, n };

		slots_record(s, *tsc, USER(KIT_WIDE), wide, sizeof(wide));
	} else if (kind < 75) {
		slots_one(s, *tsc - n % 100, n);
	} else if (kind < 78) {
		slots_one(s, NOW + n % 1000, n);
	} else if (kind < 83) {
		len = len % 64 + 1;
		slots_add(s, len)->head = RS_ID_FILLER | (uint64_t)(0x80 | len) << 48;
	} else if (kind < 86) {
		slots_lost(s, *tsc, n % 1000, *tsc - 5, 0);
	} else if (kind < 92) {
		slot = slots_add(s, len % 9 + 1);
		for (uint32_t i = 0; i < len % 9 + 1; i++)
			slot[i].head = kit_random(next) << 40 ^ kit_random(next);
	} else { /* a valid record with a flipped bit in its header word or length */
		slots_text(s, *tsc, USER(KIT_TEXT), NULL, 0, text, (uint16_t)len);
		slot = &s->at[s->n - RS_RECORD_SLOTS(2 + len)];
		((uint8_t *)slot)[8 + n % 10] ^= (uint8_t)(1u << (n >> 8) % 8);
	}
}

TEST(random_rings_equal_the_simple_drain)
{
	uint64_t next = 20240607;

	for (int round = 0; round < 300; round++) {
		struct slots s = { 0 };
		uint64_t tsc = 1000;
		uint32_t size, pieces = (uint32_t)(kit_random(&next) % 400) + 1;

		for (uint32_t i = 0; i < pieces; i++)
			random_piece(&s, &next, &tsc);
		size = s.n + 1 + (uint32_t)(kit_random(&next) % 50);
		check_equal(&s, size, (uint32_t)kit_random(&next) % size,
			    RS_DRAIN_ROOM_MIN + (uint32_t)(kit_random(&next) % 4096) * 32);
		slots_free(&s);
		if (test_failures)
			break;
	}
}

/* ---- cost --------------------------------------------------------------------------------------
 */

/*
 * A damaged ring is not copied repeatedly: at most one minimal run for each anomaly, and
 * consecutive garbage is one anomaly.
 */
TEST(the_cost_of_garbage_is_bounded)
{
	static const char *const kinds[] = { "all bad", "every second bad", "all backward" };
	struct rs_schema *schema = kit_schema("app");

	for (int kind = 0; kind < 3; kind++) {
		struct slots s = { 0 };
		struct rs_drain drain;
		struct rs_port port;
		struct result r;
		struct fake fake;
		uint64_t anomalies = 0;

		for (uint64_t i = 0; i < 30000; i++) {
			if (kind == 2 || (kind == 1 && i % 2))
				slots_one(&s, kind == 2 ? NOW - i : 1000, i);
			else
				slots_add(&s, 1);
			anomalies += kind == 2 || (kind == 1 && i % 2);
		}
		fake_init(&fake, &s, s.n + 1, 0);
		port = fake_port(&fake);
		rs_drain_init(&drain, &port, schema);
		r = drain_all(&drain, 1u << 17, NOW, true);
		CHECK_EQ_U64(r.records + r.lost, 30000);
		if (fake.copied >
		    s.n * UINT64_C(32) * 4 + anomalies * RS_RECORD_SLOTS_MAX * RS_SLOT_BYTES)
			test_fail(TEST_HERE, "%s: %" PRIu64 " bytes copied of %u", kinds[kind],
				  fake.copied, s.n * 32);
		free(r.bytes);
		free(fake.ring);
		slots_free(&s);
	}
	rs_schema_destroy(schema);
}

/* ---- ports that fail ---------------------------------------------------------------------------
 */

static void some_records(struct slots *s, uint32_t n)
{
	for (uint64_t i = 0; i < n; i++)
		slots_one(s, 1000 + i, i);
}

TEST(a_port_that_fails_at_any_call_ends_the_ring)
{
	struct rs_schema *schema = kit_schema("app");
	struct slots s = { 0 };
	struct fake fake;

	some_records(&s, 2500);
	slots_add(&s, 1);
	slots_one(&s, 4000, 2501);
	for (uint32_t fail_at = 1;; fail_at++) {
		struct rs_drain drain;
		struct rs_port port;
		struct result r;

		fake_init(&fake, &s, s.n + 10, 1000);
		fake.fail_at = fail_at;
		port = fake_port(&fake);
		rs_drain_init(&drain, &port, schema);
		r = drain_all(&drain, RS_DRAIN_ROOM_MIN * 2, NOW, false);
		free(fake.ring);
		if (fake.calls < fail_at) {
			CHECK_EQ_U64(r.status, RS_DRAIN_OK);
			CHECK_EQ_U64(r.records, 2501);
			free(r.bytes);
			break;
		}
		CHECK_EQ_U64(r.status, RS_DRAIN_BAD_MEMORY);
		CHECK_EQ_U64(fake.calls, fail_at); /* no output after it */
		/* the records before it are complete, and in order */
		for (size_t i = 0; i < r.records && i < 2500; i++)
			REQUIRE(!memcmp(r.bytes + i * 32, &s.at[i], 32));
		free(r.bytes);
	}
	slots_free(&s);
	rs_schema_destroy(schema);
}

TEST(a_tail_outside_the_ring_is_reported_and_nothing_is_read)
{
	static const uint32_t tails[] = { 3200,	      3201,	  3232,		  1, 31, 33,
					  0x80000000, UINT32_MAX, UINT32_MAX - 31 };
	struct rs_schema *schema = kit_schema("app");
	struct slots s = { 0 };

	some_records(&s, 50);
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		uint8_t buffer[RS_DRAIN_ROOM_MIN];
		struct rs_drained got;
		struct rs_drain drain;
		struct rs_port port;
		struct fake fake;

		fake_init(&fake, &s, 100, 0);
		fake.tail = tails[i];
		port = fake_port(&fake);
		rs_drain_init(&drain, &port, schema);
		CHECK_EQ_U64(rs_drain_read(&drain, buffer, sizeof(buffer), NOW, &got),
			     RS_DRAIN_BAD_POSITION);
		CHECK_EQ_U64(got.bytes, 0);
		CHECK_EQ_U64(fake.calls, 1);
		free(fake.ring);
	}
	CHECK(strstr(rs_drain_status_text(RS_DRAIN_BAD_POSITION), "outside"));
	CHECK(strstr(rs_drain_status_text(RS_DRAIN_BAD_MEMORY), "cannot be reached"));
	CHECK_STR(rs_drain_status_text(RS_DRAIN_OK), "sound");
	slots_free(&s);
	rs_schema_destroy(schema);
}

/* ---- the present ----------------------------------------------------------------------------- */

static const struct rs_clock *late_clock;

/* The reader is paused while the producer puts records; then the reader drains them. */
static bool late_poll(void *ctx, uint32_t *tail, uint64_t *refused)
{
	const struct timespec pause = { .tv_nsec = 4 * (long)RS_STAMP_SLACK };
	struct fake *f = ctx;
	uint64_t stamp;

	nanosleep(&pause, NULL);
	stamp = rs_clock_now(late_clock);
	memcpy(f->ring, &stamp, sizeof(stamp));
	return fake_poll(ctx, tail, refused);
}

TEST(records_put_while_the_reader_sleeps_are_not_in_the_future)
{
	struct rs_clock clock = { .name = "m", .freq_hz = 1000000000, .monotonic = true };
	struct rs_schema *schema = kit_schema("app");
	struct slots s = { 0 };
	struct rs_drain drain;
	struct rs_port port;
	struct fake fake;
	struct result r;
	uint64_t stamp = 0;

	REQUIRE_OK(rs_clock_init(&clock));
	late_clock = &clock;
	some_records(&s, 1);
	fake_init(&fake, &s, 100, 0);
	port = fake_port(&fake);
	port.poll = late_poll;
	rs_drain_init(&drain, &port, schema);
	drain.clock = &clock;
	r = drain_all(&drain, RS_DRAIN_ROOM_MIN, rs_drain_now(&clock), false);
	CHECK_EQ_U64(r.n, RS_SLOT_BYTES); /* no clock record before it */
	CHECK_EQ_U64(r.records, 1);
	memcpy(&stamp, r.bytes, r.n ? sizeof(stamp) : 0);
	CHECK(stamp && stamp == drain.last_tsc);
	free(r.bytes);
	free(fake.ring);
	slots_free(&s);
	rs_schema_destroy(schema);
}

/*
 * ---- losses that the producer counted -----------------------------------------------------------
 */

TEST(refusals_without_a_record_are_reported_at_the_end)
{
	struct rs_schema *schema = kit_schema("app");
	struct slots s = { 0 };
	struct rs_drain drain;
	struct rs_port port;
	struct rs_lost lost;
	struct result r;
	struct fake fake;

	some_records(&s, 10);
	slots_lost(&s, 2000, 7, 1500, RS_LOST_FULL);
	slots_one(&s, 2000, 11);
	fake_init(&fake, &s, 100, 0);
	fake.refused = 20;
	port = fake_port(&fake);
	rs_drain_init(&drain, &port, schema);
	r = drain_all(&drain, RS_DRAIN_ROOM_MIN, NOW, true);
	CHECK_EQ_U64(r.records, 11);
	CHECK_EQ_U64(r.lost, 20);
	CHECK_EQ_U64(drain.reported_lost, 20);
	memcpy(&lost, r.bytes + r.n - 48, sizeof(lost) - 4);
	CHECK_EQ_U64(lost.count, 13);
	CHECK_EQ_U64(lost.from, 2000);
	CHECK_EQ_U64(lost.to, NOW);
	CHECK_EQ_U64(lost.why, RS_LOST_FULL);
	free(r.bytes);
	/* once: another end, or another drain with the same counts, reports no more */
	r = drain_all(&drain, RS_DRAIN_ROOM_MIN, NOW, true);
	CHECK_EQ_U64(r.n, 0);
	fake.refused = 21;
	port = fake_port(&fake);
	rs_drain_init(&drain, &port, schema);
	drain.reported_lost = 20;
	r = drain_all(&drain, RS_DRAIN_ROOM_MIN, NOW, true);
	CHECK_EQ_U64(r.lost, 1);
	free(r.bytes);
	free(fake.ring);
	slots_free(&s);
	rs_schema_destroy(schema);
}

/* ---- learning
 * ------------------------------------------------------------------------------------ */

struct pupil {
	struct rs_schema *schema;
	uint32_t asked;
	uint64_t id; /* the last requested one */
	bool learns, claims;
	const char *declaration;
};

static bool refresh(void *ctx, uint64_t head)
{
	struct pupil *p = ctx;

	p->asked++;
	p->id = rs_slot_id(head);
	if (p->learns)
		CHECK_OK(rs_schema_declare(p->schema, USER(50), p->declaration,
					   strlen(p->declaration)));
	return p->claims;
}

static struct result drain_with(struct pupil *p, uint64_t id)
{
	struct slots s = { 0 };
	struct rs_drain drain;
	struct rs_port port;
	struct result r;
	struct fake fake;

	p->schema = kit_schema("app");
	some_records(&s, 100);
	for (uint64_t i = 0; i < 100; i++)
		slots_record(&s, 2000 + i, id, &i, 8);
	some_records(&s, 0);
	slots_one(&s, 3000, 1);
	fake_init(&fake, &s, 300, 0);
	port = fake_port(&fake);
	rs_drain_init(&drain, &port, p->schema);
	drain.refresh = refresh;
	drain.refresh_ctx = p;
	r = drain_all(&drain, RS_DRAIN_ROOM_MIN, NOW, true);
	free(fake.ring);
	free(r.bytes);
	slots_free(&s);
	rs_schema_destroy(p->schema);
	return r;
}

TEST(an_event_defined_later_is_learnt)
{
	struct pupil p = { .learns = true, .claims = true, .declaration = "c::new(u64 n)" };
	struct result r = drain_with(&p, USER(50));

	CHECK_EQ_U64(r.records, 201);
	CHECK_EQ_U64(r.lost, 0);
	CHECK_EQ_U64(p.asked, 1);
}

TEST(an_id_that_stays_unknown_is_damage)
{
	struct pupil vain = { .claims = true };
	struct pupil none = { .claims = false };
	struct pupil other = { .learns = true,
			       .claims = true,
			       .declaration = "c::new(u64 n, u64 m, u64 o)" };
	struct pupil foreign = { .claims = false };
	struct result r;

	r = drain_with(&vain, USER(50));
	CHECK(r.records == 101 && r.lost == 100);
	r = drain_with(&none, USER(50));
	CHECK(r.records == 101 && r.lost == 100);
	r = drain_with(&other, USER(50)); /* defined, but with another extent */
	CHECK(r.records == 101 && r.lost == 100);
	CHECK_EQ_U64(other.asked, 1);
	/* the learner gets ids of all providers */
	r = drain_with(&foreign, RS_ID(RS_IDS_VMM, 999));
	CHECK(r.records == 101 && r.lost == 100);
	CHECK_EQ_U64(foreign.id, RS_ID(RS_IDS_VMM, 999));
}

/* ---- a ring in this process
 * ---------------------------------------------------------------------- */

TEST(a_local_ring_is_drained_like_a_fake_one)
{
	static uint8_t mem[64 + 128 * 32] __attribute__((aligned(64)));
	struct rs_schema *schema = kit_schema("app");
	struct rs_sbuf_producer producer = { 0 };
	struct rs_sbuf_consumer consumer;
	struct rs_drain drain;
	struct rs_port port;
	uint64_t put = 0, kept = 0, lost = 0;

	REQUIRE(rs_sbuf_create(mem, sizeof(mem), 32) == RS_SBUF_OK);
	REQUIRE(rs_sbuf_producer_init(&producer, mem, sizeof(mem)) == RS_SBUF_OK);
	REQUIRE(rs_sbuf_attach(&consumer, mem, sizeof(mem)) == RS_SBUF_OK);
	port = rs_port_local(&consumer);
	rs_drain_init(&drain, &port, schema);
	for (int round = 0; round < 100; round++) {
		struct result r;

		for (int i = 0; i < round * 3; i++) {
			struct rs_sbuf_room room = rs_sbuf_reserve_nested(&producer, 32);
			struct rs_slot *slot = (struct rs_slot *)(void *)room.at;

			put++;
			if (!slot)
				continue;
			*slot = (struct rs_slot){ .tsc = room.tsc,
						  .head = rs_record_head(USER(KIT_ONE), 1) };
			rs_sbuf_commit_nested(&producer, room);
		}
		r = drain_all(&drain, RS_DRAIN_ROOM_MIN, UINT64_MAX, round == 99);
		CHECK_EQ_U64(r.status, RS_DRAIN_OK);
		kept += r.records;
		lost += r.lost;
		free(r.bytes);
	}
	CHECK(kept > 0 && lost > 0);
	CHECK_EQ_U64(kept + lost, put);
	rs_schema_destroy(schema);
}
