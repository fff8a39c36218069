/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The session of a debugger with a replayed machine: the server's side of the GDB protocol.
 *
 *	debugger ── bytes ── gate ── packet ──┬── the processor: QEMU's stub, by the GDB channel
 *	                                      └── threads, tasks that wait: debugger_threads.h
 *
 * Each packet has one reply. The thread that the machine runs has the processor's registers, and
 * memory as the processor sees it; both can be changed. The registers and memory of another thread
 * can only be read. The machine runs as a whole, so only the current thread can be stepped.
 *
 * The debugger's bytes are not trusted. Only one thread may call.
 */
#ifndef RS_REPLAY_DEBUGGER_SESSION_H
#define RS_REPLAY_DEBUGGER_SESSION_H

#include "replay/debugger_threads.h"

struct rs_gdb;

struct rs_debugger_options {
	const struct rs_memory *memory; /* RAM of the machine */
	bool kernel_frames;		/* threads that wait have their registers in the kernel */
	const volatile bool *stop;	/* ends the session */
	/* Reports, in a sentence, whether the guest's tasks are known from now on; or NULL. */
	void (*notice)(void *ctx, bool known, const char *why);
	void *ctx;
};

/* Serves the debugger at a connected socket until it disconnects, the machine ends or *stop becomes
 * true. Sets *foreign if the peer does not use the protocol. */
struct rs_error *rs_debugger_session(int debugger, struct rs_gdb *gdb,
				     const struct rs_debugger_options *options, bool *foreign);

#endif
