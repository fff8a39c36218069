/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The drain copies records out of a ring, of any writer and in any memory, into private memory. It
 * drops records that the schema lacks or that overlap, and corrects stamps that go back in time.
 *
 *	ring --copy a run--> private memory --check slot by slot--> records valid for a trace
 *
 * Each byte is copied once, and the copy, which the writer cannot change, is checked.
 *	- An invalid record is skipped slot by slot and counted. A records-lost (damaged) precedes
 *	  the next good record.
 *	- A stamp that is earlier than its predecessor's, or later than the present, becomes its
 *	  predecessor's (or the present). A clock-back record before it contains the old stamp.
 *	- Filler is dropped.
 * The cost of a hostile ring is bounded: after an anomaly the next run is short, and grows again.
 *
 * A drain belongs to one thread at a time.
 */
#ifndef RS_EVENT_DRAIN_H
#define RS_EVENT_DRAIN_H

#include "event/layout.h"
#include <ringside/source.h>

/* The consumer's side of a ring, for any kind of access to the ring's memory. */
struct rs_port {
	void *ctx;
	/* Returns the end of the published records (a byte offset, not checked), and the number of
	 * records that the producer has refused in total. Like the two below, returns false if the
	 * ring's memory cannot be accessed. */
	bool (*poll)(void *ctx, uint32_t *tail, uint64_t *refused);
	bool (*copy)(void *ctx, uint32_t offset, void *to, uint32_t bytes);
	bool (*release)(void *ctx, uint32_t head);
	uint32_t size; /* bytes of slots */
	/* The most bytes of slots that can wait, if more than size: for a window on a larger
	 * ring. */
	uint32_t holds;
	uint32_t head; /* the offset at which reading begins */
};

#define RS_DRAIN_KNOWN 64 /* a power of two */

struct rs_drain {
	struct rs_port port;
	struct rs_layouts layouts;
	uint64_t last_tsc;
	uint64_t reported_lost; /* refused records reported by loss records, also by the drain's */
	/* Of those, the records that rs_drain_end() reported. The producer's next loss record
	 * repeats them. */
	uint64_t reported_ahead;
	uint64_t damaged; /* slots skipped since the drain's last loss record */
	uint64_t damaged_total;
	uint32_t chunk; /* bytes to copy next */
	/* Header words, without the CPU, of good one-slot records. Most records are of a few kinds,
	 * which one comparison identifies. Loss records and records with a text are not
	 * included. */
	uint64_t known[RS_DRAIN_KNOWN];
	/* Called with the header word of a slot whose id the schema lacks. Defines the event if
	 * possible. Returns whether the event may now be defined. May be NULL. */
	bool (*refresh)(void *ctx, uint64_t head);
	void *refresh_ctx;
	/* The ring's clock. Each read of the ring reads the clock after the tail, so that no record
	 * is later than the clock, even if this thread was preempted. May be NULL. */
	const struct rs_clock *clock;
	/* Added to each stamp in the ring, to convert a guest's TSC to the host's. `clock` is the
	 * clock of the result. */
	uint64_t shift;
};

/* The records that a read wrote to the buffer. */
struct rs_drained {
	uint32_t bytes;
	uint32_t records; /* the producer's own, without loss and clock-back records */
	uint64_t first_tsc, last_tsc;
	uint64_t lost;	  /* the sum of the loss records */
	uint32_t padding; /* bytes after the last record's last field */
};

/* The least room with which a read makes progress. */
#define RS_DRAIN_ROOM_MIN (2 * RS_RECORD_SLOTS_MAX * RS_SLOT_BYTES)
_Static_assert(RS_DRAIN_ROOM_MIN >= (RS_RECORD_SLOTS_MAX + RS_LOST_SLOTS + 1) * RS_SLOT_BYTES,
	       "the longest record, a loss before it, a clock-back record");

enum rs_drain_status {
	RS_DRAIN_OK,
	RS_DRAIN_BAD_POSITION, /* tail is outside the ring */
	RS_DRAIN_BAD_MEMORY,   /* the ring's memory cannot be accessed */
};

void rs_drain_init(struct rs_drain *drain, const struct rs_port *port,
		   const struct rs_schema *schema);

/*
 * Reads as many records as fit into `room` bytes (at least RS_DRAIN_ROOM_MIN) at `to`, which is
 * 8-byte aligned. `now` is the present in the ring's clock, with slack; drain->clock is used if it
 * is later. After any status but RS_DRAIN_OK the ring is broken and must not be read again. *out is
 * always valid.
 */
enum rs_drain_status rs_drain_read(struct rs_drain *drain, void *to, uint32_t room, uint64_t now,
				   struct rs_drained *out);

/* Writes the losses that no record reports yet. Called after the producer has ended and a read
 * found nothing. */
void rs_drain_end(struct rs_drain *drain, void *to, uint32_t room, uint64_t now,
		  struct rs_drained *out);

/* The most by which stamps may be ahead of a reading of the clock, because of two CPUs' TSCs, or a
 * put in progress. */
#define RS_STAMP_SLACK (UINT64_C(1) << 20)

/* Returns the present in a stream's clock, for the calls above. */
static inline uint64_t rs_drain_now(const struct rs_clock *clock)
{
	return rs_clock_now(clock) + clock->error_cycles + RS_STAMP_SLACK;
}

const char *rs_drain_status_text(enum rs_drain_status status);

/* Returns a port on a ring in this process's memory. The caller keeps consumer, which must outlive
 * the port. */
struct rs_port rs_port_local(struct rs_sbuf_consumer *consumer);

#endif
