/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of a D program on a replay or on a running machine. */
#include "cli/script_replay.h"

#include "cli/numbers.h"
#include "cli/shared.h"

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_SEED = 896, KEY_BINARY, KEY_LIVE };

static const struct argp_option probes[] = {
	{ "no-jitter", RS_CLI_FLAG(struct rs_script_replay, options.steady), NULL, 0,
	  "In a replay: timers at the end of each period, not at a pseudo-random place in it", 3 },
	{ "seed", KEY_SEED, "N", 0,
	  "In a replay: the seed of the pseudo-random places of timers (0)", 3 },
	{ "no-fast", RS_CLI_FLAG(struct rs_script_replay, options.slow), NULL, 0,
	  "In a replay: stop it through QEMU's GDB channel alone, which is slower", 3 },
	{ "binary", KEY_BINARY, "PROGRAM[@0xBASE]", 0,
	  "In a replay: the functions, static probes and assertions of this program of the "
	  "guest's; "
	  "BASE is "
	  "where a position independent one is, if not where it is without randomization",
	  3 },
	{ "live", KEY_LIVE, "GDB", OPTION_ARG_OPTIONAL,
	  "Instead of a replay: a QEMU that runs, by its GDB stub, unix:PATH or HOST:PORT; without "
	  "GDB the recording's machine, booted anew. What that does to it is measured",
	  3 },
	{ 0 },
};

static error_t parse_probes(int key, char *text, struct argp_state *state)
{
	struct rs_script_replay *replay = state->input;

	switch (key) {
	case KEY_SEED:
		replay->options.seed = rs_cli_number(state, "--seed", text, 0, UINT64_MAX);
		break;
	case KEY_BINARY:
		if (replay->binary)
			argp_error(state, "only one --binary is allowed");
		replay->binary = text;
		break;
	case KEY_LIVE:
		replay->live = text ? text : "";
		break;
	default:
		if (rs_cli_store(probes, key, text, state))
			return ARGP_ERR_UNKNOWN;
	}
	replay->given = true;
	return 0;
}

const struct argp rs_script_replay_probes_argp = { probes, parse_probes, NULL, NULL,
						   NULL,   NULL,	 NULL };

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_script_replay *replay = state->input;

	(void)text;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = replay;
	state->child_inputs[1] = &replay->times;
	return 0;
}

static const struct argp_child children[] = { { &rs_script_replay_probes_argp, 0, NULL, 0 },
					      { &rs_cli_moments_argp, 0, NULL, 0 },
					      { 0 } };

const struct argp rs_script_replay_argp = { NULL, parse, NULL, NULL, children, NULL, NULL };
