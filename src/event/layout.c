/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes the size of a record from the schema. */
#include "event/layout.h"

#include <string.h>

const struct rs_layout *rs_layouts_miss(struct rs_layouts *layouts, uint64_t id)
{
	struct rs_layout *layout = &layouts->cache[(id ^ id >> 32 << 4) & (RS_LAYOUTS - 1)];
	const struct rs_event *event = rs_schema_find(layouts->schema, id);

	if (!event)
		return NULL;
	*layout = (struct rs_layout){
		.id = id,
		.event = event,
		.slots = event->n_tails ? 0
					: RS_RECORD_SLOTS((uint32_t)event->lead_bytes +
							  event->fixed_bytes),
	};
	return layout;
}

uint32_t rs_layout_tail_slots(const struct rs_layout *layout, const struct rs_slot *slot,
			      uint32_t left)
{
	uint32_t fixed = layout->event->lead_bytes + layout->event->fixed_bytes;
	uint32_t at = RS_RECORD_HEAD + fixed;

	if (at > left * RS_SLOT_BYTES)
		return 0;
	return RS_RECORD_SLOTS(fixed + rs_tails_bytes(layout->event, (const uint8_t *)slot + at));
}

uint32_t rs_layout_padding(const struct rs_event *event, const struct rs_slot *slot)
{
	uint32_t used = RS_RECORD_HEAD + event->lead_bytes + event->fixed_bytes;

	used += rs_tails_bytes(event, (const uint8_t *)slot + used);
	return rs_slot_count(slot->head) * RS_SLOT_BYTES - used;
}
