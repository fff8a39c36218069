/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside replay gdb: serves a debugger on a replay, with each task of the guest as a thread. */
#include "cli/cli.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/numbers.h"
#include "cli/replay.h"
#include "cli/replay_debugger.h"
#include "cli/shared.h"

#define LISTEN ":0" /* a free port of the loopback interface */

struct gdb_arguments {
	struct rs_seek_options seek;
	struct rs_cli_debugger debugger;
	bool shows;
};

enum { KEY_AT = 256, KEY_LISTEN, KEY_KERNEL };

static const struct argp_option options[] = {
	{ "at", KEY_AT, "TIME", 0,
	  "Begin at this guest time, or time of its kernel's clock, as in dmesg:2.570288 (the end "
	  "of the recording)",
	  1 },
	{ "listen", KEY_LISTEN, "ADDRESS", 0,
	  "Serve the debugger at unix:PATH, or at :PORT or HOST:PORT of the loopback interface (a "
	  "free port)",
	  2 },
	{ "kernel-frames", KEY_KERNEL, NULL, 0,
	  "Show the stack of a waiting task in the kernel, instead of in its program", 2 },
	{ 0 },
};

static const char doc[] =
	"Serve gdb on a replay. Each task of the guest is a thread.\v"
	"The replay stops at --at and waits for one debugger of the same user. In gdb, 'info "
	"threads' lists the guest's tasks, found in its memory by the kernel's symbols and types. "
	"This needs a Linux kernel for x86-64, but no file of it. Backtraces of waiting tasks, "
	"breakpoints, watchpoints, reverse-step and reverse-continue work. The replay ends when "
	"gdb disconnects.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 the recording is damaged.\n\n"
	"Examples:\n"
	"  ringside replay gdb rec\n"
	"  ringside replay gdb --at 1.5s --listen :1234 rec\n"
	"  gdb -ex 'set tcp connect-timeout unlimited' -ex 'target remote 127.0.0.1:1234' "
	"program\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct gdb_arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->debugger.quiet;
		break;
	case KEY_AT:
		a->seek.to = rs_cli_moment(state, "--at", text);
		break;
	case KEY_LISTEN:
		a->seek.gdb = text;
		break;
	case KEY_KERNEL:
		a->debugger.kernel_frames = true;
		break;
	case ARGP_KEY_ARG:
		if (a->seek.directory)
			argp_error(state, "only one recording is allowed, got '%s'", text);
		a->seek.directory = text;
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no recording given");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static void show_progress(void *ctx, bool back, uint64_t guest_ns)
{
	const struct gdb_arguments *a = ctx;
	char text[RS_MOMENT_TEXT_MAX];

	(void)back;
	if (a->shows)
		fprintf(stderr, "\r\033[Kto %s of the guest's time",
			rs_moment_text(guest_ns, text));
}

int replay_gdb(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_quiet_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { options, parse, "REC", doc, children, NULL, NULL };
	struct gdb_arguments a = { .seek = { .to.ns = UINT64_MAX,
					     .gdb = LISTEN,
					     .stop = &rs_cli_stop,
					     .progress = show_progress,
					     .ctx = &a },
				   .debugger.verb = "replay gdb" };
	struct rs_seek at = RS_SEEK_NONE;
	struct rs_error *err;

	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	a.shows = !a.debugger.quiet && isatty(STDERR_FILENO);
	rs_cli_catch_stop();
	err = rs_cli_confine(RS_CONFINE_REPLAYER);
	if (!err)
		err = rs_seek_open(&a.seek, &at);
	if (!err)
		err = rs_seek_run(&at);
	if (a.shows)
		fputs("\r\033[K", stderr);
	if (!err)
		err = rs_cli_debugger_serve(&a.debugger, &at);
	rs_seek_close(&at);
	return err ? rs_cli_fail("replay gdb", err) : RS_EXIT_OK;
}
