/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Serves a debugger on a replayed machine. Its packets pass a gate (gdb_gate.h), which ignores
 * packets that are not on an allow-list:
 *
 *	gdb ── socket, of our user or root's ── gate ── session ──┬── GDB channel ── QEMU
 *	                                                          └── RAM: the guest's tasks
 *
 * One debugger is served at a time. Only one thread may call.
 */
#ifndef RS_REPLAY_DEBUGGER_H
#define RS_REPLAY_DEBUGGER_H

#include "replay/debugger_session.h"

#define RS_DEBUGGER_WHERE_MAX 128u

struct rs_debugger {
	int listens;			   /* -1: no socket */
	const char *address;		   /* the address as it was given */
	char *path;			   /* of a named socket, which is removed at the end */
	char where[RS_DEBUGGER_WHERE_MAX]; /* the address for gdb's `target remote` */
};
#define RS_DEBUGGER_NONE                                                                           \
	{                                                                                          \
		.listens = -1                                                                      \
	}

/* Checks that a debugger can be served at "unix:PATH", a socket for this user only, or at
 * "HOST:PORT" or ":PORT" of a loopback address, which is bound. No debugger can connect yet.
 * Returns RS_USAGE if the address has another form. Borrows the address. */
struct rs_error *rs_debugger_bind(const char *address, struct rs_debugger *debugger);
/* Starts to accept connections. The machine must be ready. */
struct rs_error *rs_debugger_listen(struct rs_debugger *debugger);

/* Waits for one debugger of this user or root, and serves it until it disconnects, the machine ends
 * or *options->stop becomes true. Closes other connections. Close the channel afterwards. */
struct rs_error *rs_debugger_serve(struct rs_debugger *debugger, struct rs_gdb *gdb,
				   const struct rs_debugger_options *options);

void rs_debugger_close(struct rs_debugger *debugger);

#endif
