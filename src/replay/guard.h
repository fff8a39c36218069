/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guard process that continues another user's machine if Ringside is killed while the machine is
 * stopped.
 *
 *	session ── GDB channel ─ QEMU		QEMU keeps points, and a stopped machine, when
 *	 │          │				its debugger disconnects without detaching
 *	pipe      same channel
 *	 └── guard ─┘				the pipe ends: removes points, continues the machine
 *
 * The guard runs in its own session, and has only these two descriptors.
 */
#ifndef RS_REPLAY_GUARD_H
#define RS_REPLAY_GUARD_H

#include <sys/types.h>
#include <ringside/error.h>

struct rs_guard {
	pid_t pid; /* 0: none */
	int pipe;
};

/* Starts the guard. gdb is the connected channel. */
struct rs_error *rs_guard_start(struct rs_guard *guard, int gdb);
/* Ends the guard. The machine must run, or have ended. *guard may be all zero. */
void rs_guard_dismiss(struct rs_guard *guard);

#endif
