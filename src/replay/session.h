/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replays a recording. The session can stop the machine at any instruction, without an effect that
 * the guest can observe.
 *
 *	open (stopped at 0) -> run to N or to a point that was set -> inspect -> continue -> ended
 *
 * Stops at an instruction use the fast path (fast.h) or, if QEMU has none, the monitor command of
 * the GDB channel; guest RAM is read through a mapping of the file that is QEMU's memory.
 *
 * Seeking back and far ahead starts from snapshots. QEMU takes them of the whole machine and its
 * position in the log, in an unnamed file that ends with the session. Each has about the size of
 * the RAM that the guest uses. A session's QEMU ends with the thread that opened it.
 */
#ifndef RS_REPLAY_SESSION_H
#define RS_REPLAY_SESSION_H

#include "replay/gdb.h"
#include "replay/recording.h"

struct rs_session;

/* Mapped RAM of `bytes` bytes. The part below 4 GiB is first (QEMU's pc: at most 3.5 GiB there). */
struct rs_session_ram {
	const uint8_t *mem;
	uint64_t bytes;
	int fd; /* the mapped file, which the session owns */
};

struct rs_session_options {
	const char *console; /* output of the guest's serial port; NULL: none */
	bool snapshots;	     /* enables rs_session_snapshot() and seeking back */
	bool slow;	     /* use only the GDB channel for stops */
	/* NULL, or a stopped session whose snapshots this one copies at its start. */
	struct rs_session *like;
};

/* Starts QEMU on the recording, which must have passed rs_recording_check(). */
struct rs_error *rs_session_open(const struct rs_recording *recording,
				 const struct rs_session_options *options,
				 struct rs_session **session);
/* Ends QEMU at any position. Accepts NULL. */
void rs_session_close(struct rs_session *session);

struct rs_session_ram rs_session_ram(const struct rs_session *session);

/* Returns NULL if stops use the fast path, else the reason. */
const char *rs_session_slow(const struct rs_session *session);

/* Returns the GDB channel, to set points and to read. Prepares the session for that. Do not keep
 * the pointer. */
struct rs_gdb *rs_session_gdb(struct rs_session *session);
/* Hands a machine that the fast path holds over to QEMU, after which all of QEMU's channels
 * answer. */
struct rs_error *rs_session_settle(struct rs_session *session);

struct rs_error *rs_session_registers(struct rs_session *session, struct rs_x86_regs *regs);

/* Returns how many instructions the stopped machine has executed. */
struct rs_error *rs_session_icount(struct rs_session *session, uint64_t *icount);

/* Returns the value that the guest's RDTSC would return in the stopped machine. Sets *known to
 * false if the session has no fast path, without which QEMU does not provide the TSC. */
struct rs_error *rs_session_tsc(struct rs_session *session, uint64_t *tsc, bool *known);

/* The arguments and results of a run. It ends early when *stop (may be NULL) becomes true, with
 * RS_GDB_STOPPED and without at_target. Returns RS_FAILED if the log lacks an event, for which QEMU
 * itself may wait forever. */
struct rs_session_run {
	uint64_t icount; /* run to this instruction; UINT64_MAX: to the end, or a point */
	const volatile bool *stop;
	bool at_target; /* the instruction was reached */
	struct rs_gdb_stopped stopped;
};

/* Continues the machine. Returns RS_FAILED, with QEMU's text, if the execution differs from its
 * log. */
struct rs_error *rs_session_run(struct rs_session *session, struct rs_session_run *run);

/* Takes a snapshot of the stopped machine, for seeking. Returns RS_USAGE without
 * options.snapshots. */
struct rs_error *rs_session_snapshot(struct rs_session *session);

/*
 * Seeks to this instruction, from the nearest snapshot before it or from the present place,
 * whichever is nearer; back only with options.snapshots (the start is then a snapshot). No points
 * may be set. The guest's output on the way goes to the console again. Also returns RS_FAILED if
 * the replay does not reach it, or *stop became true.
 */
struct rs_error *rs_session_seek(struct rs_session *session, uint64_t icount,
				 const volatile bool *stop);

/* Goes back to the last hit of a point before the present instruction. Sets *found to false if
 * there is none; the machine is then at the start. Needs options.snapshots. With breakpoints, the
 * segments without a hit are replayed twice. */
struct rs_error *rs_session_back(struct rs_session *session, const volatile bool *stop, bool *found,
				 struct rs_gdb_stopped *stopped);

/* Executes one instruction, or enters the handler if an interrupt or a fault occurs instead. Uses
 * only `stop` of run. */
struct rs_error *rs_session_step(struct rs_session *session, struct rs_session_run *run);

/* Returns a hash of all registers, all RAM and the instruction count. Two machines with the same
 * hash behave identically from here on. */
struct rs_state_hash {
	uint64_t low, high; /* XXH3-128 */
};
struct rs_error *rs_session_hash(struct rs_session *session, struct rs_state_hash *hash);

#endif
