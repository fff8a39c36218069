/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue of filled packets between the drain and the disk. Any idle thread writes them, in order,
 * so a ring can be drained during a slow write.
 *
 *	filler --swap--> [oldest] ... [newest] --one at a time--> write() --> spare
 *	   ^------------------------------------------------------------------/ or a new one
 *
 * The queue is bounded. At the limit, a swap waits until a packet is written, or writes one.
 * Packets are allocated on demand, or all in advance: in a VM, the first access to a page may be as
 * slow as a disk, because the host must allocate it. Any thread may call.
 */
#ifndef RS_STORE_BEHIND_H
#define RS_STORE_BEHIND_H

#include "event/drain.h"
#include "store/format.h"

struct rs_store_stream;

/* In front of a packet's content: room for its header, and for a record of a loss before it. */
#define RS_PACKET_FRONT	  (sizeof(struct rs_packet_head) + RS_LOST_SLOTS * RS_SLOT_BYTES)
#define RS_PACKET_CONTENT (RS_PACKET_BYTES - sizeof(struct rs_packet_head))

struct rs_store_packet {
	struct rs_store_packet *next;
	struct rs_store_stream *stream;
	struct rs_drained what; /* bytes: of the content so far */
	bool last;		/* the last packet of its stream */
	_Alignas(8) uint8_t front[RS_PACKET_FRONT];
	uint8_t content[RS_PACKET_CONTENT];
};
_Static_assert(offsetof(struct rs_store_packet, content) ==
		       offsetof(struct rs_store_packet, front) + RS_PACKET_FRONT,
	       "the front is right before the content");
_Static_assert(offsetof(struct rs_store_packet, content) % 8 == 0, "drains need this alignment");

struct rs_store_packet *
rs_store_packet_create(struct rs_store_stream *stream); /* NULL: no memory */

struct rs_behind;

/* Creates a queue of at most `packets` packets, at least 1. write() writes one packet; one thread
 * calls it at a time. ahead: allocates all packets now, and keeps them. Returns NULL if there is no
 * memory. */
struct rs_behind *rs_behind_create(uint32_t packets, bool ahead,
				   void (*write)(struct rs_store_packet *packet));

/* Adds a packet to the queue. Returns an empty packet of the same stream. */
struct rs_store_packet *rs_behind_swap(struct rs_behind *behind, struct rs_store_packet *packet);

/* Adds a stream's last packet to the queue. Does not wait. */
void rs_behind_end(struct rs_behind *behind, struct rs_store_packet *packet);

/* Returns whether packets wait and no thread writes. */
bool rs_behind_waits(struct rs_behind *behind);

/* Writes the packets that wait now, unless another thread does. */
void rs_behind_write(struct rs_behind *behind);

/* Writes the waiting packets, and destroys the queue, which no other thread may use any more.
 * Accepts NULL. */
void rs_behind_destroy(struct rs_behind *behind);

#endif
