/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A debugger of somebody else's on a machine of ours: its words go through us to the stub, which
 * speaks with one at a time, and the stub's words back.
 *
 *	gdb ── socket at an address ── us ── GDB channel ── QEMU
 */
#ifndef RS_REPLAY_DEBUGGER_H
#define RS_REPLAY_DEBUGGER_H

#include <stdbool.h>
#include <ringside/error.h>

struct rs_gdb;

struct rs_debugger {
	int listens; /* -1: no socket */
	char *path;  /* of a socket with a name, which goes with it; or NULL */
};
#define RS_DEBUGGER_NONE                                                                           \
	{                                                                                          \
		.listens = -1                                                                      \
	}

/* Listens at "unix:PATH", "HOST:PORT" or ":PORT", which is of this host alone. RS_USAGE: it is none
 * of these. */
struct rs_error *rs_debugger_listen(const char *address, struct rs_debugger *debugger);

/* Waits for one debugger, and lends it the channel until it goes, the machine ends or *stop becomes
 * true. The channel is not to be used afterwards but to be closed. */
struct rs_error *rs_debugger_serve(struct rs_debugger *debugger, struct rs_gdb *gdb,
				   const volatile bool *stop);

void rs_debugger_close(struct rs_debugger *debugger);

#endif
