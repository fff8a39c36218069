/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside replay diff: shows where two recordings part. */
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
	  "Compare the logs; do not replay", 1 },
	{ "binary", RS_CLI_TEXT(struct diff_arguments, binary), "PROGRAM[@0xBASE]", 0,
	  "Name the function where they part: of this program of the guest's, or its vmlinux", 1 },
	{ 0 },
};

static const char doc[] =
	"Say where two recordings part, and what differs there.\v"
	"What made them is compared first: kernel, initramfs, arguments, QEMU. Then their logs, "
	"each "
	"kind of event apart. Then both are replayed side by side: the instruction up to which "
	"all registers, all RAM and the console are the same is found by halves, from snapshots; "
	"and what differs after it is shown.\n\n"
	"Two recordings of one guest diverge where its clock is first read, unless both have the "
	"same --date. With it, their logs still contain the host's clock and the moment at which "
	"the "
	"recording was ended, which the guest does not see: the guests are compared by what they "
	"did, as far as both recordings go.\n\n"
	"Exit codes: 0 the same; 1 they part, or failed; 2 usage error; 3 one is not what was "
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
			argp_error(state, "expected two recordings");
		a->directories[a->directories[0] ? 1 : 0] = text;
		break;
	case ARGP_KEY_END:
		if (!a->directories[1])
			argp_error(state, "which two recordings?");
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
	/* Without a replay it only reads what others may have made. */
	struct rs_error *err = rs_cli_confine(a->logs ? RS_CONFINE_READER : RS_CONFINE_REPLAYER);

	if (!err)
		err = rs_diff_compare(&options, d);
	if (a->shows)
		fputs("\r\033[K", stderr);
	if (d->refused)
		rs_cli_say("replay diff", rs_error_text(d->refused));
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
