/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring's rules, one by one: creating, attaching, putting, full rings, wrapping. */
#include "ring_kit.h"

#define ID 0x2bad5eed

/* ---- creating and attaching ---------------------------------------------------------------- */

TEST(create_refuses_invalid_arguments)
{
	static union {
		struct rs_sbuf header;
		uint8_t bytes[64 + 8 * 32];
	} memory;

	CHECK_EQ_U64(rs_sbuf_create(&memory, sizeof(memory), 0), RS_SBUF_BAD_GEOMETRY);
	CHECK_EQ_U64(rs_sbuf_create(&memory, sizeof(memory), 12), RS_SBUF_BAD_GEOMETRY);
	CHECK_EQ_U64(rs_sbuf_create(&memory, 0, 32), RS_SBUF_TOO_SMALL);
	CHECK_EQ_U64(rs_sbuf_create(&memory, 64, 32), RS_SBUF_TOO_SMALL);
	CHECK_EQ_U64(rs_sbuf_create(&memory, 64 + 5 * 32 + 31, 32), RS_SBUF_TOO_SMALL);
	CHECK_EQ_U64(memory.header.magic, 0);
	CHECK_EQ_U64(rs_sbuf_create(&memory, 64 + 6 * 32, 32), RS_SBUF_OK);
	/* A remainder is ignored. */
	CHECK_EQ_U64(rs_sbuf_create(&memory, 64 + 7 * 32 + 31, 32), RS_SBUF_OK);
	CHECK_EQ_U64(memory.header.ele_num, 7);
	CHECK_EQ_U64(memory.header.size, 7 * 32);
}

#define FIELD(name, wrong, answer)                                                                 \
	{                                                                                          \
#name " = " #wrong, offsetof(struct rs_sbuf, name),                                \
			sizeof(((struct rs_sbuf *)0)->name), wrong, answer                         \
	}

/* A ring of 8 elements of 32 bytes, with one field changed. */
static const struct bad_header {
	const char *what;
	size_t offset, bytes;
	uint64_t value;
	enum rs_sbuf_status answer;
} bad_headers[] = {
	FIELD(magic, 0, RS_SBUF_NO_MAGIC),
	FIELD(magic, RS_SBUF_MAGIC_LAST, RS_SBUF_NO_MAGIC),
	FIELD(magic, RS_SBUF_MAGIC ^ UINT64_C(1) << 63, RS_SBUF_NO_MAGIC),
	FIELD(ele_num, 0, RS_SBUF_BAD_GEOMETRY),
	FIELD(ele_num, 7, RS_SBUF_BAD_GEOMETRY),
	FIELD(ele_num, 9, RS_SBUF_BAD_GEOMETRY),
	FIELD(ele_num, UINT32_MAX, RS_SBUF_BAD_GEOMETRY),
	/* 0x08000008 * 32 is 256 modulo 2^32. */
	FIELD(ele_num, 0x08000008, RS_SBUF_BAD_GEOMETRY),
	FIELD(ele_size, 0, RS_SBUF_BAD_GEOMETRY),
	FIELD(ele_size, 31, RS_SBUF_BAD_GEOMETRY),
	FIELD(ele_size, 64, RS_SBUF_BAD_GEOMETRY),
	FIELD(ele_size, 0x20000020, RS_SBUF_BAD_GEOMETRY),
	FIELD(size, 0, RS_SBUF_BAD_GEOMETRY),
	FIELD(size, 255, RS_SBUF_BAD_GEOMETRY),
	FIELD(size, UINT32_MAX, RS_SBUF_BAD_GEOMETRY),
	FIELD(head, 256, RS_SBUF_BAD_POSITION),
	FIELD(head, 1, RS_SBUF_BAD_POSITION),
	FIELD(head, UINT32_MAX - 31, RS_SBUF_BAD_POSITION),
	FIELD(tail, 256, RS_SBUF_BAD_POSITION),
	FIELD(tail, 16, RS_SBUF_BAD_POSITION),
	FIELD(tail, UINT32_MAX - 31, RS_SBUF_BAD_POSITION),
	FIELD(flags, RS_SBUF_OVERWRITE, RS_SBUF_OTHER_MODE),
	/* Valid: unknown and unused fields are ignored. */
	FIELD(flags, RS_SBUF_COUNT_OVERRUNS, RS_SBUF_OK),
	FIELD(flags, UINT64_C(1) << 40, RS_SBUF_OK),
	FIELD(overrun_cnt, UINT32_MAX, RS_SBUF_OK),
	FIELD(position, UINT64_MAX, RS_SBUF_OK),
	FIELD(refused, UINT64_MAX, RS_SBUF_OK),
	FIELD(read, UINT64_MAX, RS_SBUF_OK),
};

TEST(attach_checks_each_field)
{
	for (size_t i = 0; i < sizeof(bad_headers) / sizeof(bad_headers[0]); i++) {
		const struct bad_header *bad = &bad_headers[i];
		struct rs_sbuf_consumer c = { 0 };
		struct rs_sbuf_producer p = { 0 };

		REQUIRE(kit_init(8, 32));
		memcpy(kit.ring.bytes + bad->offset, &bad->value, bad->bytes);
		if (rs_sbuf_attach(&c, &kit.ring, kit.bytes) != bad->answer ||
		    rs_sbuf_producer_init(&p, &kit.ring, kit.bytes) != bad->answer)
			test_fail(TEST_HERE, "%s is not refused with \"%s\"", bad->what,
				  rs_sbuf_status_text(bad->answer));
		if (bad->answer != RS_SBUF_OK)
			CHECK(!c.ring && !p.ring);
	}
}

TEST(attach_checks_the_size_of_the_memory)
{
	struct rs_sbuf_consumer c;

	REQUIRE(kit_init(8, 32));
	CHECK_EQ_U64(rs_sbuf_attach(&c, &kit.ring, kit.bytes - 1), RS_SBUF_TOO_SMALL);
	CHECK_EQ_U64(rs_sbuf_attach(&c, &kit.ring, 64), RS_SBUF_TOO_SMALL);
	CHECK_EQ_U64(rs_sbuf_attach(&c, &kit.ring, 63), RS_SBUF_TOO_SMALL);
	CHECK_EQ_U64(rs_sbuf_attach(&c, &kit.ring, 0), RS_SBUF_TOO_SMALL);
	/* Consistent sizes that exceed any ring. */
	kit.ring.header.ele_size = 1u << 20;
	kit.ring.header.ele_num = (RS_SBUF_SIZE_MAX >> 20) + 1;
	kit.ring.header.size = RS_SBUF_SIZE_MAX + (1u << 20);
	CHECK_EQ_U64(rs_sbuf_attach(&c, &kit.ring, SIZE_MAX), RS_SBUF_BAD_GEOMETRY);
}

TEST(each_status_has_a_text)
{
	for (int status = RS_SBUF_OK; status <= RS_SBUF_OTHER_MODE; status++) {
		CHECK(strlen(rs_sbuf_status_text(status)) > 5);
		CHECK(strcmp(rs_sbuf_status_text(status), "unknown ring status"));
	}
	CHECK_STR(rs_sbuf_status_text(99), "unknown ring status");
}

TEST(peek_refuses_a_tail_outside_the_ring)
{
	const uint8_t *run = NULL;
	uint32_t bytes = 0;

	REQUIRE(kit_init(8, 32));
	kit.ring.header.tail = 256;
	CHECK_EQ_U64(rs_sbuf_peek(&kit.c, &run, &bytes), RS_SBUF_BAD_POSITION);
	kit.ring.header.tail = UINT32_MAX - 31;
	CHECK_EQ_U64(rs_sbuf_peek(&kit.c, &run, &bytes), RS_SBUF_BAD_POSITION);
	kit.ring.header.tail = 48;
	CHECK_EQ_U64(rs_sbuf_peek(&kit.c, &run, &bytes), RS_SBUF_BAD_POSITION);
	/* The rest of the header was read at attach, and is not read again. */
	memset(&kit.ring.header, 0xff, offsetof(struct rs_sbuf, tail));
	kit.ring.header.size = 0;
	kit.ring.header.tail = 64;
	CHECK_EQ_U64(rs_sbuf_peek(&kit.c, &run, &bytes), RS_SBUF_OK);
	CHECK_EQ_U64(bytes, 64);
	CHECK(run == kit.ring.bytes + 64);
}

/* ---- putting ------------------------------------------------------------------------------- */

TEST(elements_of_all_sizes)
{
	static const uint32_t sizes[] = { 8, 16, 24, 32, 40, 80, 128, 1000, 4096 };

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		uint32_t size = sizes[s], put = 0, got = 0, bytes = 0;
		uint8_t element[4096];
		const uint8_t *run = NULL;

		REQUIRE(kit_init(7, size));
		for (uint32_t round = 0; round < 20; round++) {
			uint32_t accepted = 0;

			memset(element, (int)put, size);
			while (rs_sbuf_put(&kit.p, element, size)) {
				accepted++;
				memset(element, (int)++put, size);
			}
			/* Slots report losses in band: two for the record, two of filler. */
			CHECK(accepted <= 6 && accepted >= (size == RS_SLOT_BYTES ? 2 : 6));
			while (rs_sbuf_peek(&kit.c, &run, &bytes) == RS_SBUF_OK && bytes) {
				const struct rs_slot *slot = (const void *)run;
				uint32_t n = 1;

				if (size == RS_SLOT_BYTES && rs_slot_id(slot->head) == RS_ID_LOST)
					n = RS_LOST_SLOTS;
				else if (size != RS_SLOT_BYTES ||
					 rs_slot_id(slot->head) != RS_ID_FILLER)
					memset(element, (int)got++, size),
						CHECK_MEM(run, element, size);
				rs_sbuf_release(&kit.c, n * size);
			}
			CHECK_EQ_U64(got, put);
		}
		CHECK(kit_guards_hold());
	}
}

TEST(full_refuses_and_counts)
{
	REQUIRE(kit_init(8, 32));
	for (uint32_t i = 0; i < 7; i++)
		CHECK(kit_put_record(ID, 1, i));
	for (uint32_t i = 0; i < 5; i++)
		CHECK(!kit_put_record(ID, 1, i));
	CHECK_EQ_U64(kit.p.refused, 5);
	CHECK_EQ_U64(kit.p.reported, 0);
	CHECK_EQ_U64(kit.ring.header.refused, 5);
	CHECK_EQ_U64(kit.ring.header.head, 0);
	CHECK_EQ_U64(kit.ring.header.tail, 7 * 32);
}

TEST(a_loss_is_reported_in_band)
{
	const struct rs_slot *slot;
	struct rs_lost lost;
	uint64_t before, after;
	uint32_t slots;

	REQUIRE(kit_init(8, 32));
	kit.p.cpu_bits = UINT64_C(4) << RS_CPU_SHIFT;
	for (uint32_t i = 0; i < 7; i++)
		kit_put_record(ID, 1, i);
	before = rs_tsc();
	for (uint32_t i = 0; i < 3; i++)
		CHECK(!kit_put_record(ID, 1, i));
	/* Room for the record is not enough: the loss must precede it. */
	rs_sbuf_release(&kit.c, 2 * 32);
	CHECK(!kit_put_record(ID, 1, 9));
	rs_sbuf_release(&kit.c, 5 * 32);
	CHECK(kit_put_record(ID, 1, 10));
	after = rs_tsc();

	/*
	 * The slot left before the ring's end does not hold both: filler, then loss, then record.
	 */
	slot = kit_peek(&slots);
	REQUIRE_EQ_U64(slots, 1);
	CHECK_EQ_U64(rs_slot_id(slot->head), RS_ID_FILLER);
	rs_sbuf_release(&kit.c, 32);
	slot = kit_peek(&slots);
	REQUIRE_EQ_U64(slots, 3);
	memcpy(&lost, slot->payload, sizeof(lost));
	CHECK_EQ_U64(slot->head, rs_record_head(RS_ID_LOST, 2) | UINT64_C(4) << RS_CPU_SHIFT);
	CHECK_EQ_U64(lost.count, 4);
	CHECK(lost.from >= before && lost.from <= lost.to);
	CHECK(lost.to == slot->tsc && lost.to <= after);
	CHECK_EQ_U64(lost.why, RS_LOST_FULL);
	CHECK_EQ_U64(lost.reserved, 0);
	CHECK(kit_is_record(&slot[2], ID, 1, 10));
	CHECK(slot[2].tsc >= lost.to);
	CHECK_EQ_U64(kit.p.reported, 4);

	/* A reported loss is not reported again. */
	rs_sbuf_release(&kit.c, 3 * 32);
	CHECK(kit_put_record(ID, 1, 11));
	slot = kit_peek(&slots);
	REQUIRE_EQ_U64(slots, 1);
	CHECK(kit_is_record(slot, ID, 1, 11));
	CHECK_EQ_U64(kit.ring.header.refused, 4);
}

TEST(a_record_is_never_split_by_the_end)
{
	for (uint32_t left = 1; left < 5; left++) {
		const struct rs_slot *slot;
		uint32_t slots;

		REQUIRE(kit_init(16, 32) && kit_move_to((16 - left) * 32));
		CHECK(kit_put_record(ID, 5, left));
		slot = kit_peek(&slots);
		CHECK_EQ_U64(slots, left);
		for (uint32_t i = 0; i < left; i++)
			CHECK_EQ_U64(slot[i].head, rs_record_head(RS_ID_FILLER, 1));
		rs_sbuf_release(&kit.c, left * 32);
		slot = kit_peek(&slots);
		CHECK_EQ_U64(slots, 5);
		CHECK(slot == (void *)(kit.ring.bytes + 64));
		CHECK(kit_is_record(slot, ID, 5, left));
		CHECK(kit_guards_hold());
	}
	/* A record that reaches the end exactly needs no filler. */
	REQUIRE(kit_init(16, 32) && kit_move_to(11 * 32));
	CHECK(kit_put_record(ID, 5, 77));
	CHECK_EQ_U64(kit.ring.header.tail, 0);
	CHECK(kit_is_record((void *)(kit.ring.bytes + 64 + 11 * 32), ID, 5, 77));
}

/* The longest record and a loss, one slot short of the end: the filler is longer than any record.
 */
TEST(filler_longer_than_a_record)
{
	uint32_t before_end = RS_RECORD_SLOTS_MAX + RS_LOST_SLOTS - 1, slots, fillers = 0;
	const struct rs_slot *slot;

	REQUIRE(kit_init(200, 32) && kit_move_to((200 - before_end) * 32));
	rs_sbuf_refuse(&kit.p, 3);
	CHECK(kit_put_record(ID, RS_RECORD_SLOTS_MAX, 5));
	slot = kit_peek(&slots);
	REQUIRE_EQ_U64(slots, before_end);
	for (uint32_t i = 0; i < slots; i += rs_slot_count(slot[i].head), fillers++)
		REQUIRE(rs_slot_id(slot[i].head) == RS_ID_FILLER && rs_slot_count(slot[i].head));
	rs_sbuf_release(&kit.c, slots * 32);
	slot = kit_peek(&slots);
	REQUIRE_EQ_U64(slots, RS_RECORD_SLOTS_MAX + RS_LOST_SLOTS);
	CHECK_EQ_U64(rs_slot_id(slot->head), RS_ID_LOST);
	CHECK(kit_is_record(slot + 2, ID, RS_RECORD_SLOTS_MAX, 5));
}

/* However small, a drained ring accepts the next record at any position. */
TEST(the_smallest_ring_continues)
{
	for (uint32_t slots = RS_SBUF_ELE_NUM_MIN; slots < 12; slots++) {
		for (uint32_t at = 0; at < slots; at++) {
			uint32_t k = (slots - 4) / 2;

			REQUIRE(kit_init(slots, 32) && kit_move_to(at * 32));
			rs_sbuf_refuse(&kit.p, 1);
			CHECK(kit_put_record(ID, k, 1));
			CHECK_EQ_U64(kit.p.reported, 1);
			CHECK(kit_guards_hold());
		}
	}
}

TEST(a_record_that_can_never_fit_is_always_refused)
{
	REQUIRE(kit_init(8, 32));
	for (uint32_t i = 0; i < 3; i++)
		CHECK(!kit_put_record(ID, 8, i));
	CHECK(kit_put_record(ID, 1, 1));
	CHECK_EQ_U64(kit.p.reported, 3);
	CHECK_EQ_U64(kit.ring.header.refused, 3);
}

TEST(records_reserved_together_are_published_together)
{
	struct rs_sbuf_room a, b;
	uint32_t slots;

	REQUIRE(kit_init(8, 32));
	a = rs_sbuf_reserve(&kit.p, 32);
	b = rs_sbuf_reserve(&kit.p, 64);
	CHECK(a.at == kit.ring.bytes + 64 && b.at == kit.ring.bytes + 96);
	kit_peek(&slots);
	CHECK_EQ_U64(slots, 0);
	rs_sbuf_commit(&kit.p);
	kit_peek(&slots);
	CHECK_EQ_U64(slots, 3);
}

TEST(many_across_the_end)
{
	uint64_t elements[5][4], out[5][4];
	uint32_t slots, n = 0;

	for (uint32_t i = 0; i < 20; i++)
		elements[i / 4][i % 4] = 100 + i;
	for (uint32_t at = 0; at < 8; at++) {
		REQUIRE(kit_init(8, 32) && kit_move_to(at * 32));
		CHECK_EQ_U64(rs_sbuf_put_many(&kit.p, elements, 5), 5);
		for (n = 0; n < 5; n += slots) {
			const struct rs_slot *slot = kit_peek(&slots);

			REQUIRE(slots > 0 && slots <= 5 - n);
			memcpy(out[n], slot, slots * 32);
			rs_sbuf_release(&kit.c, slots * 32);
		}
		CHECK_MEM(out, elements, sizeof(elements));
		CHECK(kit_guards_hold());
	}
}

TEST(of_many_records_those_that_fit_are_put)
{
	static uint64_t elements[20][4];
	const struct rs_slot *slot;
	struct rs_lost lost;
	uint32_t slots;

	REQUIRE(kit_init(8, 32));
	CHECK_EQ_U64(rs_sbuf_put_many(&kit.p, elements, 20), 7);
	CHECK_EQ_U64(kit.ring.header.refused, 13);
	CHECK_EQ_U64(rs_sbuf_put_many(&kit.p, elements, 4), 0);
	CHECK_EQ_U64(kit.ring.header.refused, 17);
	kit_release_all();
	CHECK_EQ_U64(rs_sbuf_put_many(&kit.p, elements, 2), 2);
	rs_sbuf_release(&kit.c, 32); /* the filler */
	slot = kit_peek(&slots);
	memcpy(&lost, slot->payload, sizeof(lost));
	CHECK_EQ_U64(slots, 4);
	CHECK_EQ_U64(lost.count, 17);
	CHECK_EQ_U64(rs_sbuf_put_many(&kit.p, elements, 0), 0);
}

/* Rings without slots have no place for a loss record: the header counts, and puts continue. */
TEST(rings_with_other_elements_only_count)
{
	uint8_t element[80] = { 1 };
	uint32_t bytes = 0;
	const uint8_t *run = NULL;

	REQUIRE(kit_init(8, 80));
	for (uint32_t i = 0; i < 10; i++)
		CHECK(rs_sbuf_put(&kit.p, element, 80) == (i < 7));
	CHECK_EQ_U64(kit.ring.header.refused, 3);
	rs_sbuf_release(&kit.c, 7 * 80);
	CHECK(rs_sbuf_put(&kit.p, element, 80));
	CHECK_EQ_U64(rs_sbuf_peek(&kit.c, &run, &bytes), RS_SBUF_OK);
	CHECK_EQ_U64(bytes, 80);
	/* And the fast path works again. */
	CHECK(rs_sbuf_put(&kit.p, element, 80));
	CHECK(kit.p.limit > kit.p.reserve);
}

/* ---- the full() hook ----------------------------------------------------------------------- */

static uint32_t rings_of_bell;

static bool answer_bell(struct rs_sbuf_producer *p)
{
	CHECK(p == &kit.p);
	rings_of_bell++;
	kit_release_all();
	return true;
}

static bool ignore_bell(struct rs_sbuf_producer *p)
{
	(void)p;
	rings_of_bell++;
	return false;
}

/* Claims that it made room, without doing so. */
static bool lying_bell(struct rs_sbuf_producer *p)
{
	(void)p;
	rings_of_bell++;
	return true;
}

TEST(a_full_ring_rings_its_doorbell)
{
	REQUIRE(kit_init(8, 32));
	kit.p.full = answer_bell;
	rings_of_bell = 0;
	for (uint32_t i = 0; i < 701; i++)
		CHECK(kit_put_record(ID, 1, i));
	CHECK_EQ_U64(rings_of_bell, 100);
	CHECK_EQ_U64(kit.ring.header.refused, 0);
}

TEST(a_hook_that_makes_no_room_is_a_refusal)
{
	bool (*const hooks[])(struct rs_sbuf_producer *) = { ignore_bell, lying_bell };

	for (uint32_t i = 0; i < 2; i++) {
		REQUIRE(kit_init(8, 32));
		kit.p.full = hooks[i];
		rings_of_bell = 0;
		for (uint32_t n = 0; n < 10; n++)
			CHECK(kit_put_record(ID, 1, n) == (n < 7));
		CHECK_EQ_U64(rings_of_bell, 3);
		CHECK_EQ_U64(kit.ring.header.refused, 3);
	}
}

static bool make_ring(struct rs_sbuf_producer *p)
{
	return !p->ring && rs_sbuf_producer_init(p, &kit.ring, kit.bytes) == RS_SBUF_OK;
}

TEST(the_hook_may_create_the_ring)
{
	REQUIRE(kit_init(8, 32));
	kit.p = (struct rs_sbuf_producer){ 0 };
	CHECK(!kit_put_record(ID, 1, 0)); /* no ring, no hook: no counter in either */
	kit.p = (struct rs_sbuf_producer){ .full = make_ring };
	for (uint32_t i = 0; i < 9; i++)
		CHECK(kit_put_record(ID, 1, i) == (i < 7));
	CHECK_EQ_U64(kit.ring.header.refused, 2);
}

/*
 * ---- later producers, and invalid headers
 * --------------------------------------------------------
 */

TEST(a_second_producer_continues)
{
	const struct rs_slot *slot;
	uint32_t slots;

	REQUIRE(kit_init(8, 32) && kit_move_to(6 * 32));
	for (uint32_t i = 0; i < 8; i++)
		CHECK(kit_put_record(ID, 1, i) == (i < 7));
	rs_sbuf_release(&kit.c, 2 * 32);
	kit.p = (struct rs_sbuf_producer){ 0 };
	REQUIRE_EQ_U64(rs_sbuf_producer_init(&kit.p, &kit.ring, kit.bytes), RS_SBUF_OK);
	for (uint32_t i = 7; i < 11; i++)
		CHECK(kit_put_record(ID, 1, i) == (i < 9));
	CHECK_EQ_U64(kit.ring.header.refused, 3);
	slot = kit_peek(&slots);
	CHECK_EQ_U64(slots, 7);
	for (uint32_t i = 0; i < slots; i++)
		CHECK(kit_is_record(&slot[i], ID, 1, 2 + i));
}

/* The consumer's head is shared memory: whatever its value, puts stay inside the ring. */
TEST(a_hostile_head)
{
	uint64_t seed = 11;

	for (uint32_t head = 0; head < 9 * 32 + 64; head++) {
		for (uint32_t at = 0; at < 8; at++) {
			REQUIRE(kit_init(8, 32) && kit_move_to(at * 32));
			kit.ring.header.head = head;
			for (uint32_t i = 0; i < 20; i++)
				kit_put_record(ID, 1 + i % 3, i);
			CHECK(kit_guards_hold());
		}
	}
	REQUIRE(kit_init(8, 32));
	for (uint32_t i = 0; i < 200000; i++) {
		uint64_t r = kit_random(&seed);

		__atomic_store_n(&kit.ring.header.head,
				 r & 1 ? (uint32_t)(r >> 8) : (uint32_t)(r >> 8) % 8 * 32,
				 __ATOMIC_RELAXED);
		kit_put_record(ID, 1 + (r >> 1) % 4, i);
		if (i % 100 == 0)
			CHECK(kit_guards_hold());
		CHECK((uint32_t)kit.p.reserve < 8 * 32 && (uint32_t)kit.p.reserve % 32 == 0);
	}
}

/* So are magic, sizes, tail and count: the producer does not read them again. */
TEST(a_hostile_header)
{
	uint64_t seed = 5;

	REQUIRE(kit_init(8, 32));
	for (uint32_t i = 0; i < 200000; i++) {
		uint64_t r = kit_random(&seed);
		uint32_t *words = (uint32_t *)&kit.ring.header;

		words[r % 16] = (uint32_t)(r >> 8);
		kit_put_record(ID, 1 + (r >> 4) % 4, i);
		if (i % 100 == 0)
			CHECK(kit_guards_hold());
	}
}
