/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside replay diff: shows where two recordings diverge. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/replay.h"
#include "cli/replay_diff.h"
#include "cli/shared.h"

struct diff_arguments {
	const char *directories[2];
	const char *binary;
	bool logs, json, quiet, shows;
};

/* ---- arguments ---------------------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "logs", RS_CLI_FLAG(struct diff_arguments, logs), NULL, 0,
	  "Compare only the logs, without replays", 1 },
	{ "binary", RS_CLI_TEXT(struct diff_arguments, binary), "PROGRAM[@0xBASE]", 0,
	  "Name the function where they diverge, by this program of the guest or its vmlinux", 1 },
	{ 0 },
};

static const char doc[] =
	"Show where two recordings diverge, and what differs there.\v"
	"diff first compares the machines (kernel, initramfs, arguments, QEMU), then the logs, "
	"each kind of event separately. Then it replays both side by side: a binary search over "
	"snapshots finds the last instruction at which all registers, all RAM and the console are "
	"the same, and diff shows what differs after it.\n\n"
	"Two recordings of one guest diverge where its clock is first read, unless both have the "
	"same --date. Even with one date, the logs differ in the host's clock and in the end of "
	"each recording, which the guests cannot observe. The guests are then compared up to the "
	"end of the shorter recording.\n\n"
	"Exit codes: 0 the same; 1 they diverge, or failed; 2 usage error; 3 one is not what was "
	"recorded.\n\n"
	"Examples:\n"
	"  ringside replay diff good bad\n"
	"  ringside replay diff --binary program good bad\n"
	"  ringside replay diff --logs --json good bad\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct diff_arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->json;
		state->child_inputs[1] = &a->quiet;
		break;
	case ARGP_KEY_ARG:
		if (a->directories[1])
			argp_error(state, "expected only two recordings");
		a->directories[a->directories[0] ? 1 : 0] = text;
		break;
	case ARGP_KEY_END:
		if (!a->directories[1])
			argp_error(state, "expected two recordings");
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

/* ---- the verb ----------------------------------------------------------------------------- */

static void show_progress(void *ctx, uint64_t same, uint64_t differs)
{
	const struct diff_arguments *a = ctx;

	if (!a->shows)
		return;
	fprintf(stderr, "\r\033[Kthe same at %" PRIu64, same);
	if (differs != UINT64_MAX)
		fprintf(stderr, ", not at %" PRIu64, differs);
}

static struct rs_error *compare(struct diff_arguments *a, struct rs_diff *d)
{
	const struct rs_diff_options options = {
		.directories = { a->directories[0], a->directories[1] },
		.binary = a->binary,
		.logs = a->logs,
		.stop = &rs_cli_stop,
		.progress = show_progress,
		.ctx = a,
	};
	/* Without a replay, it only reads files, which other users may have written. */
	struct rs_error *err = rs_cli_confine(a->logs ? RS_CONFINE_READER : RS_CONFINE_REPLAYER);

	if (!err)
		err = rs_diff_compare(&options, d);
	if (a->shows)
		fputs("\r\033[K", stderr);
	if (d->refused)
		rs_cli_message("replay diff", rs_error_text(d->refused));
	return err;
}

int replay_diff(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_json_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "REC1 REC2", doc, children, NULL, NULL };
	struct diff_arguments a = { .logs = false };
	struct rs_diff *d = calloc(1, sizeof(*d));
	struct rs_error *err;
	int status;

	if (!d)
		return rs_cli_fail("replay diff", rs_error_no_memory());
	if (rs_cli_parse(&argp, argc, argv, &a)) {
		free(d);
		return RS_EXIT_USAGE;
	}
	a.shows = !a.quiet && !a.json && isatty(STDERR_FILENO);
	rs_cli_catch_stop();
	err = compare(&a, d);
	if (!err && a.json)
		err = rs_replay_diff_print_json(d);
	else if (!err)
		rs_replay_diff_print(d);
	status = err		   ? rs_cli_fail("replay diff", err)
		 : rs_diff_same(d) ? RS_EXIT_OK
				   : RS_EXIT_FAILED;
	rs_diff_deinit(d);
	free(d);
	return status;
}
