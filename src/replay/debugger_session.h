/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The session of a debugger with a replayed machine: the server's side of the GDB protocol.
 *
 *	debugger ── bytes ── gate ── packet ──┬── the processor: QEMU's stub, by the GDB channel
 *	                                      └── threads, tasks that wait: debugger_threads.h
 *
 * Each packet has one reply. The thread that the machine runs has the processor's registers, and
 * memory as the processor sees it; both can be changed. Of another thread, registers and memory are
 * only read. When the machine runs, all of it does: a thread that is not current cannot be stepped.
 *
 * The debugger's bytes are not trusted. One thread.
 */
#ifndef RS_REPLAY_DEBUGGER_SESSION_H
#define RS_REPLAY_DEBUGGER_SESSION_H

#include "replay/debugger_threads.h"

struct rs_gdb;

struct rs_debugger_options {
	const struct rs_memory *memory; /* of the machine */
	bool kernel_frames;		/* threads that wait have their registers in the kernel */
	const volatile bool *stop;	/* ends the session */
	/* Reports, in a sentence, that the guest's tasks are known from now on, or not; or NULL. */
	void (*notice)(void *ctx, bool known, const char *why);
	void *ctx;
};

/* Serves the debugger at a connected socket until it leaves, the machine ends or *stop becomes
 * true. Sets *foreign if the peer does not use the protocol. */
struct rs_error *rs_debugger_session(int debugger, struct rs_gdb *gdb,
				     const struct rs_debugger_options *options, bool *foreign);

#endif
