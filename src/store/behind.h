/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets on their way to the disk: filled ones wait in a queue, in their order, and any idle
 * thread writes them. So a ring can be drained during a slow write.
 *
 *	filler --swap--> [oldest] ... [newest] --one at a time--> write() --> spare
 *	   ^------------------------------------------------------------------/ or a new one
 *
 * Bounded: when the limit of packets waits, a swap waits until one of them is written, or writes
 * it. Packets are made as they are needed, or ahead: in a VM, memory that was never touched may be
 * as slow as a disk, since the host must find it first. Any thread may call.
 */
#ifndef RS_STORE_BEHIND_H
#define RS_STORE_BEHIND_H

#include "event/drain.h"
#include "store/format.h"

struct rs_store_stream;

/* Before a packet's content: its head, and a loss that precedes its records. */
#define RS_PACKET_FRONT	  (sizeof(struct rs_packet_head) + RS_LOST_SLOTS * RS_SLOT_BYTES)
#define RS_PACKET_CONTENT (RS_PACKET_BYTES - sizeof(struct rs_packet_head))

struct rs_store_packet {
	struct rs_store_packet *next;
	struct rs_store_stream *stream;
	struct rs_drained what; /* bytes: those of the content so far */
	bool last;		/* of its stream */
	_Alignas(8) uint8_t front[RS_PACKET_FRONT];
	uint8_t content[RS_PACKET_CONTENT];
};
_Static_assert(offsetof(struct rs_store_packet, content) ==
		       offsetof(struct rs_store_packet, front) + RS_PACKET_FRONT,
	       "the front is right before the content");
_Static_assert(offsetof(struct rs_store_packet, content) % 8 == 0, "as drains want it");

struct rs_store_packet *
rs_store_packet_create(struct rs_store_stream *stream); /* NULL: no memory */

struct rs_behind;

/* Creates a queue of at most this many packets, at least 1, for write(), which one thread calls at
 * a time. ahead: makes and keeps all packets now. Returns NULL if there is no memory. */
struct rs_behind *rs_behind_create(uint32_t packets, bool ahead,
				   void (*write)(struct rs_store_packet *packet));

/* Hands a packet over, and returns an empty one of the same stream. */
struct rs_store_packet *rs_behind_swap(struct rs_behind *behind, struct rs_store_packet *packet);

/* Hands over a stream's last packet. Does not wait. */
void rs_behind_end(struct rs_behind *behind, struct rs_store_packet *packet);

/* Returns whether packets wait while no thread writes. */
bool rs_behind_waits(struct rs_behind *behind);

/* Writes what waits now, unless another thread does. */
void rs_behind_write(struct rs_behind *behind);

/* Writes what waits, and destroys the queue, which no other thread may use any more. Accepts
 * NULL. */
void rs_behind_destroy(struct rs_behind *behind);

#endif
