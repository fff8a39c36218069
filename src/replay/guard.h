/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who lets a machine of somebody else's go on when we are killed while it stands still for us.
 *
 *	we ──── GDB channel ──── QEMU		QEMU keeps points, and a machine that stands, when
 *	 │          │				its debugger goes without a word
 *	pipe      same channel
 *	 └── guard ─┘				the pipe ends: points go, the machine goes on
 *
 * A process of its own, in a session of its own, with nothing open but these two.
 */
#ifndef RS_REPLAY_GUARD_H
#define RS_REPLAY_GUARD_H

#include <sys/types.h>
#include <ringside/error.h>

struct rs_guard {
	pid_t pid; /* 0: none */
	int pipe;
};

/* gdb: the channel, connected. */
struct rs_error *rs_guard_start(struct rs_guard *guard, int gdb);
/* The machine goes on, or has gone: nothing is to be done. Also one of zero bytes. */
void rs_guard_dismiss(struct rs_guard *guard);

#endif
