/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks whether a record's slots agree with the schema. The drain of a ring and the reader of a
 * file both call this, so that every recorded record can be read.
 */
#ifndef RS_EVENT_LAYOUT_H
#define RS_EVENT_LAYOUT_H

#include <ringside/record.h>
#include <ringside/schema.h>

/* A cached id, so that most records need one comparison. */
struct rs_layout {
	uint64_t id;
	const struct rs_event *event; /* NULL: this entry is free */
	uint32_t slots;		      /* 0: depends on the lengths of the record's tails */
};

#define RS_LAYOUTS 64 /* a power of two */

/* A direct-mapped cache in front of a schema; belongs to one thread. */
struct rs_layouts {
	const struct rs_schema *schema;
	struct rs_layout cache[RS_LAYOUTS];
};

static inline void rs_layouts_init(struct rs_layouts *layouts, const struct rs_schema *schema)
{
	*layouts = (struct rs_layouts){ .schema = schema };
}

/* NULL: the schema has no such event. */
const struct rs_layout *rs_layouts_miss(struct rs_layouts *layouts, uint64_t id);

static inline const struct rs_layout *rs_layouts_find(struct rs_layouts *layouts, uint64_t id)
{
	const struct rs_layout *layout = &layouts->cache[(id ^ id >> 32 << 4) & (RS_LAYOUTS - 1)];

	if (__builtin_expect(layout->id == id && layout->event != NULL, 1))
		return layout;
	return rs_layouts_miss(layouts, id);
}

/* Returns the bytes of an event's texts or stack. Their lengths are the last words of the fixed
 * part, which ends at `end`. */
static inline uint32_t rs_tails_bytes(const struct rs_event *event, const uint8_t *end)
{
	uint32_t bytes = 0;
	uint16_t len;

	for (uint32_t i = event->n_tails; i > 0; i--) {
		__builtin_memcpy(&len, end - i * sizeof(len), sizeof(len));
		bytes += len;
	}
	return bytes << event->tail_shift;
}

/* Returns the slots of a record with texts or a stack at slot, of which `left` can be read, or 0 if
 * the record is invalid. */
uint32_t rs_layout_tail_slots(const struct rs_layout *layout, const struct rs_slot *slot,
			      uint32_t left);

/* Returns the bytes between the end of a good record's last field and the end of its last slot,
 * fewer than 32. */
uint32_t rs_layout_padding(const struct rs_event *event, const struct rs_slot *slot);

/*
 * Returns the slots of the record at slot, in private memory, of which `left` (at least 1) can be
 * read, or 0 if the schema lacks the event, or the size is not the event's. Sets *found to its
 * layout.
 */
static inline uint32_t rs_layouts_check(struct rs_layouts *layouts, const struct rs_slot *slot,
					uint32_t left, const struct rs_layout **found)
{
	uint64_t head = slot->head;
	const struct rs_layout *layout = rs_layouts_find(layouts, rs_slot_id(head));
	uint32_t slots, said = rs_slot_count(head);

	if (__builtin_expect(!layout, 0))
		return 0;
	*found = layout;
	slots = layout->slots;
	if (__builtin_expect(!slots, 0))
		slots = rs_layout_tail_slots(layout, slot, left);
	if (__builtin_expect(said != slots || said > left, 0))
		return 0;
	/*
	 * The next record's address must be computed from the slot alone. If the compiler could
	 * assume that the two sizes are equal, it would use the cache entry's, and the wait for
	 * that entry is half the time of a drain.
	 */
	__asm__("" : "+r"(said));
	return said;
}

/* Returns the count in a good loss record. */
static inline uint64_t rs_lost_count(const struct rs_slot *slot)
{
	uint64_t count;

	__builtin_memcpy(&count, slot->payload + offsetof(struct rs_lost, count), sizeof(count));
	return count;
}

#endif
