/* SPDX-License-Identifier: BSD-2-Clause */
/* A port on a log ring: a buffer that is filled again and again, a line that is overwritten before
 * its end was read. */
#include "../test.h"

#include <stdio.h>
#include <string.h>

#include "event/log_port.h"
#include "log_element_kit.h"

#define ELEMENTS 512u

static struct {
	_Alignas(64) uint8_t bytes[sizeof(struct rs_sbuf) + ELEMENTS * RS_LOG_ELEMENT_BYTES];
} mem;

/* A ring in overwrite mode, its writer, and the port that reads it. */
struct rig {
	struct rs_overwriter writer;
	struct rs_overwrite_reader reader;
	struct rs_clock clock;
	struct rs_log_epoch epoch;
	struct rs_log_port port;
	struct rs_port as_port;
};

static void rig_init(struct rig *rig)
{
	memset(rig, 0, sizeof(*rig));
	rig->clock = (struct rs_clock){ .name = "tsc", .freq_hz = 2000000000 };
	rs_clock_init(&rig->clock);
	rig->epoch.clock = &rig->clock;
	REQUIRE_EQ_U64(rs_overwrite_create(mem.bytes, sizeof(mem.bytes), RS_LOG_ELEMENT_BYTES,
					   RS_SBUF_POSITIONED),
		       RS_SBUF_OK);
	REQUIRE_EQ_U64(rs_overwriter_init(&rig->writer, mem.bytes, sizeof(mem.bytes)), RS_SBUF_OK);
	REQUIRE_EQ_U64(
		rs_overwrite_attach(&rig->reader, mem.bytes, sizeof(mem.bytes), RS_SBUF_MAGIC),
		RS_SBUF_OK);
	rs_log_port_init(&rig->port, &rig->epoch);
	rig->port.reader = &rig->reader;
	rig->as_port = rs_port_log(&rig->port);
}

/* Consumes what the port has: each message has one repeated letter, that of its number. Returns the
 * number of messages. */
static uint32_t consume(struct rig *rig)
{
	uint32_t tail = 0, lines = 0;
	uint64_t refused = 0;

	if (!CHECK(rig->as_port.poll(rig->as_port.ctx, &tail, &refused)))
		return 0;
	for (uint32_t at = rig->port.head; at != tail; at %= sizeof(rig->port.buffer)) {
		const struct rs_slot *slot = &rig->port.buffer[at / RS_SLOT_BYTES];
		struct rs_log_message head;
		uint16_t n;

		at += rs_slot_count(slot->head) * RS_SLOT_BYTES;
		if (rs_slot_id(slot->head) != RS_ID_LOG)
			continue;
		memcpy(&head, slot->payload, sizeof(head));
		memcpy(&n, slot->payload + sizeof(head), sizeof(n));
		for (uint32_t i = 0; i < n; i++)
			CHECK_EQ_U64(slot->payload[sizeof(head) + sizeof(n) + i],
				     kit_letter(head.seq));
		lines++;
	}
	CHECK(rig->as_port.release(rig->as_port.ctx, tail));
	return lines;
}

/* Reading continues wherever in the buffer a fill ends: at each even slot, and at others. */
TEST(the_buffer_wraps)
{
	static struct rig rig;

	for (uint32_t each = 1; each < 4; each++) {
		rig_init(&rig);
		for (uint64_t seq = 1; seq <= 1999; seq++) {
			kit_element(&rig.writer, seq, true, seq % each ? 79 : 40);
			CHECK_EQ_U64(consume(&rig), 1);
		}
		CHECK_EQ_U64(rig.port.last_seq, 1999);
		CHECK_EQ_U64(rig.port.lost + rig.port.damaged, 0);
	}
}

/*
 * A full buffer leaves a line open, whose first element fills its 80 bytes. Then the writer laps
 * the reader, and the oldest element that is kept is the rest of another line: it does not continue
 * the open one.
 */
TEST(no_line_has_the_rest_of_another)
{
	static struct rig rig;
	uint64_t seq = 0, first, lines = 0;

	rig_init(&rig);
	while (seq < ELEMENTS - 2)
		kit_element(&rig.writer, ++seq, true, RS_LOG_ELEMENT_BYTES);
	first = consume(&rig);
	REQUIRE(first < seq - 1 && rig.port.parts.bytes == RS_LOG_ELEMENT_BYTES);
	for (uint32_t i = 0; i < ELEMENTS; i++) {
		kit_element(&rig.writer, ++seq, true, RS_LOG_ELEMENT_BYTES);
		kit_element(&rig.writer, seq, false, 7);
	}
	for (uint32_t more = 1; more; lines += more)
		more = consume(&rig);
	/* ELEMENTS - 1 are kept: a rest, and the lines after it */
	CHECK_EQ_U64(lines, (ELEMENTS - 2) / 2);
	CHECK_EQ_U64(rig.port.last_seq, seq);
	CHECK_EQ_U64(rig.port.damaged, 2);
	CHECK_EQ_U64(rig.port.lost, ELEMENTS - 2 - (first + 1) + ELEMENTS + 1);
}
