/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a ring of records that its writer overwrites. */
#include "event/overwrite_port.h"

#include <string.h>

#define BUFFER_BYTES (RS_OVERWRITE_PORT_SLOTS * RS_SLOT_BYTES)
/* Fewer slots than these before the buffer's end are not filled with records, but with filler. */
#define FILL_MIN 64u

enum rs_sbuf_status rs_overwrite_port_init(struct rs_overwrite_port *port, void *mem, size_t bytes,
					   uint64_t magic)
{
	struct rs_overwrite_reader reader;
	enum rs_sbuf_status status = rs_overwrite_attach(&reader, mem, bytes, magic);

	if (status == RS_SBUF_OK && reader.ele_size != RS_SLOT_BYTES)
		status = RS_SBUF_BAD_GEOMETRY;
	if (status != RS_SBUF_OK)
		return status;
	memset(port, 0, sizeof(*port));
	port->reader = reader;
	return RS_SBUF_OK;
}

/* Writes filler from a slot to the buffer's end, one slot each. */
static void filler_to_end(struct rs_overwrite_port *port, uint32_t from)
{
	for (; from < RS_OVERWRITE_PORT_SLOTS; from++)
		port->buffer[from] = (struct rs_slot){ .head = rs_record_head(RS_ID_FILLER, 1) };
}

/* Writes the loss record into the place before the records. */
static void report_loss(struct rs_overwrite_port *port, struct rs_slot *at, uint64_t tsc)
{
	struct rs_lost lost = { .count = port->unreported,
				.from = port->last_tsc && port->last_tsc < tsc ? port->last_tsc
									       : tsc,
				.to = tsc,
				.why = RS_LOST_FULL };

	rs_record_write_lost(at, (uint64_t)RS_CPU_UNKNOWN << RS_CPU_SHIFT, &lost, tsc);
	port->unreported = 0;
}

/* Fills the empty buffer from its tail on. Returns false if the ring is broken. */
static bool fill(struct rs_overwrite_port *port)
{
	uint32_t at = port->tail / RS_SLOT_BYTES, got;
	uint32_t room = RS_OVERWRITE_PORT_SLOTS - at;
	struct rs_slot *to;
	uint64_t lost;

	if (room < FILL_MIN) {
		filler_to_end(port, at);
		room = at;
		at = 0;
	}
	to = &port->buffer[at];
	/* Room for a loss; one slot stays free, so that a full buffer differs from an empty one. */
	if (rs_overwrite_read(&port->reader, to + RS_LOST_SLOTS, room - RS_LOST_SLOTS - 1, &got,
			      &lost) != RS_SBUF_OK)
		return false;
	port->unreported += lost;
	if (!got)
		return true;
	if (port->unreported) {
		report_loss(port, to, to[RS_LOST_SLOTS].tsc);
		got += RS_LOST_SLOTS;
	} else {
		memmove(to, to + RS_LOST_SLOTS, got * sizeof(*to));
	}
	port->last_tsc = to[got - 1].tsc;
	port->tail = (at + got) * RS_SLOT_BYTES;
	return true;
}

static bool overwrite_poll(void *ctx, uint32_t *tail, uint64_t *refused)
{
	struct rs_overwrite_port *port = ctx;

	if (port->head == port->tail && !fill(port))
		return false;
	*tail = port->tail;
	*refused = port->reader.lost;
	return true;
}

static bool overwrite_copy(void *ctx, uint32_t offset, void *to, uint32_t bytes)
{
	struct rs_overwrite_port *port = ctx;

	memcpy(to, (const uint8_t *)port->buffer + offset, bytes);
	return true;
}

static bool overwrite_release(void *ctx, uint32_t head)
{
	struct rs_overwrite_port *port = ctx;

	port->head = head;
	return true;
}

struct rs_port rs_port_overwrite(struct rs_overwrite_port *port)
{
	return (struct rs_port){
		.ctx = port,
		.poll = overwrite_poll,
		.copy = overwrite_copy,
		.release = overwrite_release,
		.size = BUFFER_BYTES,
		.holds = port->reader.size,
		.head = port->head,
	};
}
