/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording that is replayed: the machine stands still whenever we look, at any instruction we
 * name, and does not know.
 *
 *	open (stands at 0) -> run to N or to a point that was set -> look -> run on -> ended
 *
 * Breaks at an instruction go through the monitor command of the GDB channel, guest RAM through a
 * mapping of the file that is QEMU's memory.
 */
#ifndef RS_REPLAY_SESSION_H
#define RS_REPLAY_SESSION_H

#include "replay/gdb.h"
#include "replay/recording.h"

struct rs_session;

/* RAM as it is mapped: `bytes` of it, those below 4 GiB first (QEMU's pc: at most 3.5 GiB there).
 */
struct rs_session_ram {
	const uint8_t *mem;
	uint64_t bytes;
};

struct rs_session_options {
	const char *console; /* where the guest's serial port goes; NULL: nowhere */
};

/* Starts QEMU on the recording, which must have passed rs_recording_check(). */
struct rs_error *rs_session_open(const struct rs_recording *recording,
				 const struct rs_session_options *options,
				 struct rs_session **session);
/* Ends QEMU, wherever it is. NULL is nothing. */
void rs_session_close(struct rs_session *session);

struct rs_session_ram rs_session_ram(const struct rs_session *session);
struct rs_gdb *rs_session_gdb(struct rs_session *session);

/* How many instructions the machine has done; while it stands. */
struct rs_error *rs_session_icount(struct rs_session *session, uint64_t *icount);

/* Ends early when *stop (may be NULL) becomes true: with why RS_GDB_STOPPED, and not at_target. A
 * log that lacks something is RS_FAILED: QEMU itself may wait for ever. */
struct rs_session_run {
	uint64_t icount; /* to this instruction; UINT64_MAX: to the end, or a point */
	const volatile bool *stop;
	bool at_target; /* it has come there */
	struct rs_gdb_stopped stopped;
};

/* Lets it go on. RS_FAILED: QEMU lost its way (its log and it differ), with its words. */
struct rs_error *rs_session_run(struct rs_session *session, struct rs_session_run *run);

/* One instruction; or, where an interrupt or a fault comes instead, the way to its handler. Of run
 * only `stop` is looked at. */
struct rs_error *rs_session_step(struct rs_session *session, struct rs_session_run *run);

/* Hash of all registers, all RAM and the instruction count: two machines with the same one do the
 * same from here on. */
struct rs_state_hash {
	uint64_t low, high; /* XXH3-128 */
};
struct rs_error *rs_session_hash(struct rs_session *session, struct rs_state_hash *hash);

#endif
