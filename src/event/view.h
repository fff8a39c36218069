/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a view of a record that rs_layouts_check() accepted. */
#ifndef RS_EVENT_VIEW_H
#define RS_EVENT_VIEW_H

#include <string.h>
#include <ringside/source.h>

/* Returns the host CPU of a record: the stream's, else the slot's own 8 bits. A guest's 8 bits are
 * its vCPU, whose CPU is unknown. */
static inline int rs_view_cpu(const struct rs_stream *stream, uint64_t head)
{
	uint32_t cpu = (uint32_t)(head >> RS_CPU_SHIFT);

	if (stream->cpu >= 0)
		return stream->cpu;
	if (cpu == RS_CPU_UNKNOWN || (stream->vcpu >= 0 && stream->cpu != RS_CPU_EACH))
		return RS_UNKNOWN;
	return (int)cpu;
}

static inline void rs_view_fill(struct rs_view *view, const struct rs_stream *stream,
				const struct rs_slot *slot, const struct rs_event *event,
				uint32_t slots)
{
	view->tsc = slot->tsc;
	view->ts_ns = rs_clock_ns(stream->clock, slot->tsc);
	view->event = event;
	view->stream = stream;
	view->payload = slot->payload + event->lead_bytes;
	view->payload_bytes = slots * RS_SLOT_BYTES - RS_RECORD_HEAD - event->lead_bytes;
	view->cpu = rs_view_cpu(stream, slot->head);
}

/* Returns the same as rs_field_value(), faster for the two most frequent types. */
static inline uint64_t rs_view_value(const struct rs_field *field, const uint8_t *payload)
{
	uint64_t value;
	uint32_t word;

	switch (field->type) {
	case RS_TYPE_U32:
		memcpy(&word, payload + field->offset, sizeof(word));
		return word;
	case RS_TYPE_U64:
		memcpy(&value, payload + field->offset, sizeof(value));
		return value;
	default:
		return rs_field_value(field, payload);
	}
}

#endif
