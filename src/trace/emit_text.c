/* SPDX-License-Identifier: BSD-2-Clause */
/* Records with a text at their end. Also part of the guest library, so no libc. */
#include <ringside/record.h>

bool rs_emit_text(struct rs_sbuf_producer *p, uint64_t id, const void *payload, uint32_t bytes,
		  const char *text, size_t len)
{
	uint32_t room_for_text = RS_RECORD_PAYLOAD_MAX - bytes - (uint32_t)sizeof(uint16_t);
	uint16_t n = (uint16_t)(len < room_for_text ? len : room_for_text);
	uint32_t total = bytes + (uint32_t)sizeof(n) + n;
	uint32_t slots = RS_RECORD_SLOTS(total);
	struct rs_sbuf_room room = rs_sbuf_reserve_nested(p, slots * RS_SLOT_BYTES);
	struct rs_slot *slot = (struct rs_slot *)(void *)room.at;
	uint8_t *at;

	if (!slot)
		return false;
	slot->tsc = room.tsc;
	slot->head = rs_record_head(id, slots) | p->cpu_bits;
	at = slot->payload;
	__builtin_memcpy(at, payload, bytes);
	__builtin_memcpy(at + bytes, &n, sizeof(n));
	__builtin_memcpy(at + bytes + sizeof(n), text, n);
	__builtin_memset(at + total, 0, slots * RS_SLOT_BYTES - RS_RECORD_HEAD - total);
	rs_sbuf_commit_nested(p, room);
	return true;
}
