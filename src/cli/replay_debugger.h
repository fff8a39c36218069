/* SPDX-License-Identifier: BSD-2-Clause */
/* Serves a debugger at a position of a replay, for `replay gdb` and `replay seek --gdb`. */
#ifndef RS_CLI_REPLAY_DEBUGGER_H
#define RS_CLI_REPLAY_DEBUGGER_H

#include "replay/seek.h"

struct rs_cli_debugger {
	const char *verb; /* "replay gdb" */
	bool quiet;
	bool kernel_frames; /* as in struct rs_debugger_options */
};

/* Serves a debugger on the machine that rs_seek_run() has stopped, until the debugger disconnects.
 * Prints the address to connect to, and whether the guest's tasks are known. */
struct rs_error *rs_cli_debugger_serve(const struct rs_cli_debugger *c, struct rs_seek *at);

#endif
