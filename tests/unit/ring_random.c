/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random records, random drains, and changes of both ends' owners, from fixed seeds: accepted
 * records are read once, in order and unchanged, and refused ones are reported where they are
 * missing: kept + lost = emitted at every position, not only in total.
 */
#include "ring_kit.h"

#define ID	     0x5eed
#define RUNS	     2000u
#define STEPS	     3000u
#define ACCEPTED_MAX STEPS

static struct {
	uint64_t seed;
	uint32_t slots_max; /* of a record */
	/* Accepted and not read yet: number and length, in order. */
	struct {
		uint64_t number, lost_before;
		uint32_t slots;
	} queue[ACCEPTED_MAX];
	uint32_t first, last;
	uint64_t emitted, kept, told;
	uint64_t refused;   /* since the last accepted one */
	uint64_t lost_here; /* reported since the last record was read */
	uint64_t last_tsc;
} run;

static void emit_one(void)
{
	uint32_t slots = 1 + (uint32_t)(kit_random(&run.seed) % run.slots_max);

	if (kit_random(&run.seed) % 4)
		slots = 1;
	if (kit_put_record(ID, slots, run.emitted)) {
		run.queue[run.last].number = run.emitted;
		run.queue[run.last].lost_before = run.refused;
		run.queue[run.last++].slots = slots;
		run.refused = 0;
	} else {
		run.refused++;
	}
	run.emitted++;
}

/* Reads one record, filler or loss; false when there is none. */
static bool read_one(void)
{
	uint32_t left, slots;
	const struct rs_slot *slot = kit_peek(&left);
	struct rs_lost lost;

	if (!left)
		return false;
	slots = rs_slot_count(slot->head);
	if (!CHECK(slots > 0 && slots <= left))
		return false;
	CHECK(slot->tsc >= run.last_tsc);
	run.last_tsc = slot->tsc;
	if (rs_slot_id(slot->head) == RS_ID_LOST) {
		memcpy(&lost, slot->payload, sizeof(lost));
		run.told += lost.count;
		run.lost_here += lost.count;
		CHECK(lost.count > 0 && lost.from <= lost.to && lost.to == slot->tsc);
	} else if (rs_slot_id(slot->head) != RS_ID_FILLER) {
		CHECK(run.first < run.last);
		CHECK(kit_is_record(slot, ID, run.queue[run.first].slots,
				    run.queue[run.first].number));
		CHECK_EQ_U64(run.lost_here, run.queue[run.first].lost_before);
		run.lost_here = 0;
		run.first++;
		run.kept++;
	}
	rs_sbuf_release(&kit.c, slots * RS_SLOT_BYTES);
	return true;
}

static void step(void)
{
	uint64_t r = kit_random(&run.seed);
	uint32_t n = (uint32_t)(r >> 8) % 12;

	switch (r % 16) {
	case 0: /* a new consumer */
		CHECK_EQ_U64(rs_sbuf_attach(&kit.c, &kit.ring, kit.bytes), RS_SBUF_OK);
		break;
	case 1: /* all records are read */
		while (read_one())
			;
		break;
	case 2 ... 7:
		while (n-- && read_one())
			;
		break;
	default:
		emit_one();
		break;
	}
}

static void random_run(uint64_t seed)
{
	uint32_t slots;

	memset(&run, 0, sizeof(run));
	run.seed = seed;
	slots = RS_SBUF_ELE_NUM_MIN + (uint32_t)(kit_random(&run.seed) % (seed % 3 ? 20 : 300));
	run.slots_max = (slots - 4) / 2 < 64 ? (slots - 4) / 2 : 64;
	if (!kit_init(slots, RS_SLOT_BYTES))
		return;
	for (uint32_t i = 0; i < STEPS; i++)
		step();
	while (read_one())
		;
	CHECK_EQ_U64(run.first, run.last);
	CHECK_EQ_U64(run.kept + run.told + kit.p.refused - kit.p.reported, run.emitted);
	CHECK_EQ_U64(kit.p.refused - kit.p.reported, run.refused);
	CHECK_EQ_U64(kit.ring.header.refused, kit.p.refused);
	CHECK(kit_guards_hold());
}

TEST(kept_and_lost_equal_emitted)
{
	for (uint64_t seed = 1; seed <= RUNS && !test_failures; seed++)
		random_run(seed);
}
