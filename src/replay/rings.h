/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the records that a replayed guest itself wrote (ringside/guest.h), from the rings in its
 * RAM.
 *
 *	find: a replay until the guest has its area --> the schema of its events
 *	begin -> the machine stops: next(), stopped(), read() ... -> ended: the losses
 *
 * Nothing is written to the guest's memory, since that would change the replay. So a ring that no
 * host drained in the recording has the records that fitted; the guest counted the rest. A ring
 * that drops its oldest records (RS_GUEST_KEEP) loses none: the machine stops before unread ones
 * are dropped, unless the ring is smaller than 64 KiB, when they are counted.
 *
 * A record's stamp is a value of the guest's TSC, which advances while the guest sleeps; a replay's
 * time does not. The machine sleeps where QEMU's log has a checkpoint for that. The TSC is read
 * after each of these instructions; between two of them it counts instructions, so a stamp's
 * instruction is known exactly. Without the fast path (fast.h), QEMU does not provide the TSC, and
 * a record has the time of the stop that found it.
 *
 * A put that a stop interrupts is not published yet: its record has the time of that stop. One
 * thread.
 */
#ifndef RS_REPLAY_RINGS_H
#define RS_REPLAY_RINGS_H

#include "introspect/memory.h"
#include "replay/source.h"

struct rs_replay_rings;

/* Replays the recording until an area is found. clock: clock of the replay's source; vm: name of
 * the guest for the stream. Both must outlive the rings. Returns RS_ABSENT if there is no area, or
 * none that this host can read. */
struct rs_error *rs_replay_rings_find(const struct rs_recording *recording,
				      const struct rs_replay_options *options,
				      const struct rs_clock *clock, const char *vm,
				      struct rs_replay_rings **rings);
void rs_replay_rings_destroy(struct rs_replay_rings *rings); /* NULL is ignored */

const struct rs_stream *rs_replay_rings_stream(const struct rs_replay_rings *rings);

/* Begins with a stopped machine. memory is the machine's, and must outlive the rings. Records
 * outside the instructions from..to are dropped. */
struct rs_error *rs_replay_rings_begin(struct rs_replay_rings *rings, struct rs_session *session,
				       struct rs_memory *memory, uint64_t from, uint64_t to);

/* Returns the next instruction at which the machine must stop, or UINT64_MAX. */
uint64_t rs_replay_rings_next(const struct rs_replay_rings *rings);

/* Processes a stop of the machine at an instruction. ended: it is the last stop, and the session
 * may be at its end. */
struct rs_error *rs_replay_rings_stopped(struct rs_replay_rings *rings, uint64_t icount,
					 bool ended);

/* Reads records that are published at this stop, in order of time. Sets *n to 0 if there are no
 * more. Views are valid until the next call. */
struct rs_error *rs_replay_rings_read(struct rs_replay_rings *rings, const struct rs_view **views,
				      size_t *n);

struct rs_replay_rings_result {
	uint64_t records;
	bool found;	    /* the guest has created its ring */
	bool exact;	    /* records have the times of their stamps */
	uint64_t within_ns; /* else their times are at most this late */
	const char *broken; /* why reading stopped early; NULL: all records were read */
};
struct rs_replay_rings_result rs_replay_rings_result(const struct rs_replay_rings *rings);

#endif
