/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of a D program on a replay or on a running machine. */
#include "cli/script_replay.h"

#include "cli/numbers.h"
#include "cli/shared.h"

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_SEED = 896, KEY_BINARY, KEY_LIVE };

static const struct argp_option probes[] = {
	{ "no-jitter", RS_CLI_FLAG(struct rs_script_replay, options.steady), NULL, 0,
	  "In a replay: fire timers at the end of each period, not at a pseudo-random point in it",
	  3 },
	{ "seed", KEY_SEED, "N", 0,
	  "In a replay: seed the pseudo-random points of timers with this number (0)", 3 },
	{ "no-fast", RS_CLI_FLAG(struct rs_script_replay, options.slow), NULL, 0,
	  "In a replay: stop the machine only through QEMU's GDB channel, which is slower", 3 },
	{ "binary", KEY_BINARY, "PROGRAM[@0xBASE]", 0,
	  "In a replay: probe the functions, static probes and assertions of this program or "
	  "library of the guest, where the guest maps it; BASE sets the load address of a position "
	  "independent program. May be repeated",
	  3 },
	{ "live", KEY_LIVE, "GDB", OPTION_ARG_OPTIONAL,
	  "Instead of a replay: probe a running QEMU through its GDB stub, unix:PATH or HOST:PORT; "
	  "without GDB, boot the recording's machine again. The effect on the guest's clock is "
	  "measured",
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
		rs_cli_append(state, "--binary", text, replay->binaries, &replay->n_binaries,
			      RS_PROGRAMS_MAX);
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

static const struct argp_option whole[] = {
	{ "guest-rings", RS_CLI_FLAG(struct rs_script_replay, options.rings), NULL, 0,
	  "In a replay: also read the records that the guest writes with ringside/guest.h, from "
	  "the rings in its RAM",
	  3 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_script_replay *replay = state->input;

	if (key != ARGP_KEY_INIT) {
		if (rs_cli_store(whole, key, text, state))
			return ARGP_ERR_UNKNOWN;
		replay->given = true;
		return 0;
	}
	state->child_inputs[0] = replay;
	state->child_inputs[1] = &replay->times;
	return 0;
}

static const struct argp_child children[] = { { &rs_script_replay_probes_argp, 0, NULL, 0 },
					      { &rs_cli_moments_argp, 0, NULL, 0 },
					      { 0 } };

const struct argp rs_script_replay_argp = { whole, parse, NULL, NULL, children, NULL, NULL };
