/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drain: takes records out of a ring, of any writer and in any memory, into private
 * memory, and lets nothing through that the schema does not know, that overlaps, or that would
 * turn time back.
 *
 *	ring --copy a run--> private memory --check slot by slot--> records fit for a trace
 *
 * Each byte is copied once and looked at in the copy, where nobody can change it any more.
 *	- A record that makes no sense is skipped slot by slot and counted; the next good one is
 *	  preceded by a records-lost (damaged).
 *	- A stamp that is earlier than its predecessor's, or later than the present, becomes its
 *	  predecessor's (or the present); a clock-back record before it says what it was.
 *	- Filler is dropped.
 * Costs of a hostile ring are bounded: after an anomaly the next run is short, and grows again.
 *
 * A drain belongs to one thread at a time.
 */
#ifndef RS_EVENT_DRAIN_H
#define RS_EVENT_DRAIN_H

#include "event/layout.h"
#include <ringside/source.h>

/* The consuming end of a ring, by whatever access there is to its memory. */
struct rs_port {
	void *ctx;
	/* What the producer has published (a byte offset, not checked) and ever refused. */
	bool (*poll)(void *ctx, uint32_t *tail, uint64_t *refused);
	bool (*copy)(void *ctx, uint32_t offset, void *to, uint32_t bytes);
	bool (*release)(void *ctx, uint32_t head);
	uint32_t size; /* bytes of slots */
	/* Bytes of slots that can wait at once, where that is more than size: the port is a window
	 * on a larger ring. */
	uint32_t holds;
	uint32_t head; /* where reading begins */
};

#define RS_DRAIN_KNOWN 64 /* a power of two */

struct rs_drain {
	struct rs_port port;
	struct rs_layouts layouts;
	uint64_t last_tsc;
	uint64_t told_lost;  /* of what the producer refused: told, by its own loss records or us */
	uint64_t told_ahead; /* by us at an end: its next loss record will say it again */
	uint64_t damaged;    /* slots skipped since the last loss record of ours */
	uint64_t damaged_total;
	uint32_t chunk; /* bytes to copy next */
	/* Header words, without the CPU, of records of one slot that were good: most are of a few
	 * kinds, and one comparison identifies them. No loss records, and none with a text. */
	uint64_t known[RS_DRAIN_KNOWN];
	/* Called with the header word of a slot whose id the schema lacks: defines the event, if it
	 * can, and returns whether it may have. May be NULL. */
	bool (*learn)(void *ctx, uint64_t head);
	void *learn_ctx;
	/* The ring's. Each read asks it for the present after it has read the tail: what was put
	 * until then is not of the future, even if this thread did not run for long. May be NULL.
	 */
	const struct rs_clock *clock;
};

/* What a read put into the buffer. */
struct rs_drained {
	uint32_t bytes;
	uint32_t records; /* the producer's own: no loss, no clock records */
	uint64_t first_tsc, last_tsc;
	uint64_t lost;	  /* sum over the loss records among them */
	uint32_t padding; /* bytes behind the last one's last field */
};

/* Room that a read needs at least to make progress. */
#define RS_DRAIN_ROOM_MIN (2 * RS_RECORD_SLOTS_MAX * RS_SLOT_BYTES)
_Static_assert(RS_DRAIN_ROOM_MIN >= (RS_RECORD_SLOTS_MAX + RS_LOST_SLOTS + 1) * RS_SLOT_BYTES,
	       "the longest record, a loss before it, a clock record");

enum rs_drain_status {
	RS_DRAIN_OK,
	RS_DRAIN_BAD_POSITION, /* tail is out of the ring */
	RS_DRAIN_BAD_MEMORY,   /* the ring's memory can't be reached (any more) */
};

void rs_drain_init(struct rs_drain *drain, const struct rs_port *port,
		   const struct rs_schema *schema);

/*
 * Takes what fits into room bytes (at least RS_DRAIN_ROOM_MIN) at to, 8-byte aligned. now: the
 * present in the ring's clock, with the slack that is to be allowed; where drain->clock tells a
 * later one, that. After anything but RS_DRAIN_OK the ring is broken and must not be read again;
 * *out is valid in each case.
 */
enum rs_drain_status rs_drain_read(struct rs_drain *drain, void *to, uint32_t room, uint64_t now,
				   struct rs_drained *out);

/* After the producer has ended and a read gave nothing: losses not told yet. */
void rs_drain_end(struct rs_drain *drain, void *to, uint32_t room, uint64_t now,
		  struct rs_drained *out);

/* What stamps may be ahead of a reading of the clock: TSCs of two CPUs, a put in the making. */
#define RS_STAMP_SLACK (UINT64_C(1) << 20)

/* The present in a stream's clock, for the calls above. */
static inline uint64_t rs_drain_now(const struct rs_clock *clock)
{
	return rs_clock_now(clock) + clock->error_cycles + RS_STAMP_SLACK;
}

const char *rs_drain_status_text(enum rs_drain_status status);

/* A port on a ring in this process's memory. consumer stays the caller's and must outlive it. */
struct rs_port rs_port_local(struct rs_sbuf_consumer *consumer);

#endif
