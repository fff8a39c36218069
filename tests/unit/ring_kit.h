/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by tests of the ring: a ring with guards around it, and both its ends. */
#ifndef RS_TESTS_UNIT_RING_KIT_H
#define RS_TESTS_UNIT_RING_KIT_H

#include "../test.h"

#include <ringside/record.h>

#define RING_BYTES_MAX (1u << 20)
#define GUARD_BYTES    4096u
#define GUARD	       0xa5

/* A ring and both its ends; nothing may write the guards. */
struct ring_kit {
	uint8_t before[GUARD_BYTES];
	union {
		struct rs_sbuf header;
		uint8_t bytes[sizeof(struct rs_sbuf) + RING_BYTES_MAX];
	} ring;
	uint8_t after[GUARD_BYTES];
	size_t bytes; /* of the ring, header included */
	struct rs_sbuf_producer p;
	struct rs_sbuf_consumer c;
};

static struct ring_kit kit;

/* A new ring of this many elements, both ends attached. */
static inline bool kit_init(uint32_t elements, uint32_t ele_size)
{
	memset(kit.before, GUARD, sizeof(kit.before));
	kit.bytes = rs_sbuf_bytes(elements, ele_size);
	memset(kit.ring.bytes + kit.bytes, GUARD,
	       sizeof(kit.ring) - kit.bytes < GUARD_BYTES ? sizeof(kit.ring) - kit.bytes
							  : GUARD_BYTES);
	memset(kit.after, GUARD, sizeof(kit.after));
	kit.p = (struct rs_sbuf_producer){ 0 };
	return CHECK_EQ_U64(rs_sbuf_create(&kit.ring, kit.bytes, ele_size), RS_SBUF_OK) &&
	       CHECK_EQ_U64(kit.ring.header.ele_num, elements) &&
	       CHECK_EQ_U64(rs_sbuf_producer_init(&kit.p, &kit.ring, kit.bytes), RS_SBUF_OK) &&
	       CHECK_EQ_U64(rs_sbuf_attach(&kit.c, &kit.ring, kit.bytes), RS_SBUF_OK);
}

static inline bool kit_guards_hold(void)
{
	for (size_t i = 0; i < GUARD_BYTES; i++) {
		size_t behind = kit.bytes + i;

		if (kit.before[i] != GUARD || kit.after[i] != GUARD ||
		    (behind < sizeof(kit.ring) && kit.ring.bytes[behind] != GUARD))
			return false;
	}
	return true;
}

/* Sets both ends of an empty ring to this byte offset. */
static inline bool kit_move_to(uint32_t offset)
{
	kit.ring.header.head = kit.ring.header.tail = offset;
	return CHECK_EQ_U64(rs_sbuf_producer_init(&kit.p, &kit.ring, kit.bytes), RS_SBUF_OK) &&
	       CHECK_EQ_U64(rs_sbuf_attach(&kit.c, &kit.ring, kit.bytes), RS_SBUF_OK);
}

/* A record of whole slots, its payload filled from a seed. */
static inline bool kit_put_record(uint64_t id, uint32_t slots, uint64_t seed)
{
	struct rs_sbuf_room room = rs_sbuf_reserve_nested(&kit.p, slots * RS_SLOT_BYTES);
	uint64_t *word = (uint64_t *)(void *)room.at;

	if (!room.at)
		return false;
	word[0] = room.tsc;
	word[1] = rs_record_head(id, slots) | kit.p.cpu_bits;
	for (uint32_t i = 2; i < slots * 4; i++)
		word[i] = seed * 1000003 + i;
	rs_sbuf_commit_nested(&kit.p, room);
	return true;
}

static inline bool kit_is_record(const struct rs_slot *slot, uint64_t id, uint32_t slots,
				 uint64_t seed)
{
	const uint64_t *word = (const uint64_t *)(const void *)slot;

	if (rs_slot_id(slot->head) != id || rs_slot_count(slot->head) != slots)
		return false;
	for (uint32_t i = 2; i < slots * 4; i++)
		if (word[i] != seed * 1000003 + i)
			return false;
	return true;
}

/* Returns the readable slots; releases nothing. */
static inline const struct rs_slot *kit_peek(uint32_t *slots)
{
	const uint8_t *run = kit.ring.bytes;
	uint32_t bytes = 0;

	CHECK_EQ_U64(rs_sbuf_peek(&kit.c, &run, &bytes), RS_SBUF_OK);
	*slots = bytes / RS_SLOT_BYTES;
	return (const struct rs_slot *)(const void *)run;
}

static inline void kit_release_all(void)
{
	uint32_t slots;

	while (kit_peek(&slots), slots)
		rs_sbuf_release(&kit.c, slots * RS_SLOT_BYTES);
}

/* xorshift64*: the same numbers on every machine. */
static inline uint64_t kit_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

#endif
