/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording that is replayed: the machine stands still whenever we look, at any instruction we
 * name, and does not know.
 *
 *	open (stands at 0) -> run to N or to a point that was set -> look -> run on -> ended
 *
 * Breaks at an instruction go by the fast path (fast.h) or, where QEMU has none, through the
 * monitor command of the GDB channel; guest RAM through a mapping of the file that is QEMU's
 * memory.
 *
 * Snapshots are what seeking goes from, back and far ahead: QEMU's, of the whole machine and its
 * place in the log, in a file without a name that ends with the session. Each takes what the guest
 * uses of its RAM. A session's QEMU ends with the thread that opened it.
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
	bool snapshots;	     /* rs_session_snapshot() and rs_session_seek() back are wanted */
	bool slow;	     /* all stops through the GDB channel */
	/* NULL, or one whose snapshots this one begins with: a copy. It must stand still. */
	struct rs_session *like;
};

/* Starts QEMU on the recording, which must have passed rs_recording_check(). */
struct rs_error *rs_session_open(const struct rs_recording *recording,
				 const struct rs_session_options *options,
				 struct rs_session **session);
/* Ends QEMU, wherever it is. NULL is nothing. */
void rs_session_close(struct rs_session *session);

struct rs_session_ram rs_session_ram(const struct rs_session *session);

/* NULL: stops at an instruction go by the fast path. Otherwise why not, in words. */
const char *rs_session_slow(const struct rs_session *session);

/* The GDB channel, to set points and read by; it is settled for that, and not to be kept. */
struct rs_gdb *rs_session_gdb(struct rs_session *session);
/* A machine that stands by the fast path stands in QEMU's sense then: all its channels answer. */
struct rs_error *rs_session_settle(struct rs_session *session);

struct rs_error *rs_session_registers(struct rs_session *session, struct rs_x86_regs *regs);

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

/* Keeps the state of the machine, which stands, to seek to. RS_USAGE: without options.snapshots. */
struct rs_error *rs_session_snapshot(struct rs_session *session);

/* To this instruction, from the nearest snapshot before it or from where it stands, whichever is
 * less far; back only with options.snapshots (the start is one then). No points may be set. What
 * the guest writes on the way goes to the console once more. RS_FAILED also: the replay does not
 * come there, or *stop became true. */
struct rs_error *rs_session_seek(struct rs_session *session, uint64_t icount,
				 const volatile bool *stop);

/* Back to where the last of the points that are set was hit before the instruction where it stands;
 * *found false: nowhere, and it stands at the start. Needs options.snapshots. */
struct rs_error *rs_session_back(struct rs_session *session, const volatile bool *stop, bool *found,
				 struct rs_gdb_stopped *stopped);

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
