/* SPDX-License-Identifier: BSD-2-Clause */
/* Serves a debugger at a position of a replay. */
#include "cli/replay_debugger.h"

#include <stdio.h>

#include "cli/cli.h"
#include "replay/ram.h"

/* Reports what gdb's threads are, whenever that changes. */
static void notice(void *ctx, bool known, const char *why)
{
	const struct rs_cli_debugger *c = ctx;

	if (!known)
		fprintf(stderr, "ringside %s: the only thread is the processor: %s\n", c->verb,
			why);
	else if (!c->quiet)
		fprintf(stderr, "ringside %s: threads are the tasks of the guest's Linux here\n",
			c->verb);
}

struct rs_error *rs_cli_debugger_serve(const struct rs_cli_debugger *c, struct rs_seek *at)
{
	const struct rs_session_ram ram = rs_session_ram(at->session);
	struct rs_memory memory = { .n_ram = 0 };
	const struct rs_debugger_options options = { .memory = &memory,
						     .kernel_frames = c->kernel_frames,
						     .stop = &rs_cli_stop,
						     .notice = notice,
						     .ctx = (void *)(uintptr_t)c };
	struct rs_error *err;

	rs_replay_ram_set(&memory, ram.mem, ram.bytes);
	err = rs_debugger_listen(&at->debugger);
	if (err)
		return err;
	if (!c->quiet)
		fprintf(stderr, "ringside %s: a debugger may connect: gdb -ex 'target remote %s'\n",
			c->verb, at->debugger.where);
	return rs_debugger_serve(&at->debugger, rs_session_gdb(at->session), &options);
}
