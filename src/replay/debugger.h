/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves a debugger on a replayed machine: its packets go to QEMU's stub through a gate
 * (gdb_gate.h), which forwards only what is allowed, and the stub's replies come back.
 *
 *	gdb ── socket, of our user or root's ── gate ── GDB channel ── QEMU
 *
 * The stub serves one debugger at a time. One thread.
 */
#ifndef RS_REPLAY_DEBUGGER_H
#define RS_REPLAY_DEBUGGER_H

#include <stdbool.h>
#include <ringside/error.h>

struct rs_gdb;

struct rs_debugger {
	int listens;	     /* -1: no socket */
	const char *address; /* as it was given */
	char *path;	     /* of a named socket, which is removed at the end */
};
#define RS_DEBUGGER_NONE                                                                           \
	{                                                                                          \
		.listens = -1                                                                      \
	}

/* Checks that a debugger can be served at "unix:PATH", whose socket only this user may connect to,
 * or at "HOST:PORT" or ":PORT" of a loopback address, which is bound. No debugger can connect yet.
 * Returns RS_USAGE if the address is none of these. Borrows the address. */
struct rs_error *rs_debugger_bind(const char *address, struct rs_debugger *debugger);
/* Accepts connections from now on: the machine must be ready. */
struct rs_error *rs_debugger_listen(struct rs_debugger *debugger);

/* Waits for one debugger of this user or root, and serves it until it disconnects, the machine ends
 * or *stop becomes true. Closes other connections. Close the channel afterwards. */
struct rs_error *rs_debugger_serve(struct rs_debugger *debugger, struct rs_gdb *gdb,
				   const volatile bool *stop);

void rs_debugger_close(struct rs_debugger *debugger);

#endif
