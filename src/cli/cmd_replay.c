/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside replay: records a guest once, and replays it any number of times. One table of verbs
 * feeds dispatch and help. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "cli/replay.h"

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{ "record", replay_record, "boot a guest, and record its nondeterministic input" },
	{ "snapshot", replay_snapshot,
	  "save the state of a running guest, as the start of recordings" },
	{ "run", replay_run, "replay a recording with the probes of a D program" },
	{ "profile", replay_profile, "show which tasks and functions the guest executes" },
	{ "seek", replay_seek, "replay to a time, or back to where a probe last fired" },
	{ "gdb", replay_gdb, "serve gdb, with each task of the guest as a thread" },
	{ "verify", replay_verify,
	  "prove that a replay equals the recording, with probes or without" },
	{ "distortion", replay_distortion, "compare how methods of probing disturb the guest" },
	{ "diff", replay_diff, "find where two recordings diverge, and what differs there" },
};
#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static const char doc[] =
	"Record a guest once, then replay it any number of times under any probes.\v"
	"The guest runs in QEMU, which counts instructions and records every input that they do "
	"not determine. A replay executes the same instructions again. A replayed guest cannot "
	"detect that it is stopped, so probes do not change its execution. Guest time in a replay "
	"is the count of instructions, without the effects of caches and pipelines.\n\n"
	"Each NAME has its own options: ringside replay NAME --help.\n\n"
	"Examples:\n"
	"  ringside replay record -o rec --kernel vmlinuz --initrd initrd.gz\n"
	"  ringside replay run rec -n 'guest:timer::1ms { @[args.cpl] = count(); }'\n"
	"  ringside replay seek rec --back guest:mem:0x4a7340:write\n"
	"  ringside replay gdb rec --at 1.5s\n"
	"  ringside replay verify rec --samples 10000\n"
	"  ringside replay diff good bad\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG:
		argp_error(state, "there is no 'replay %s'", text);
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no verb of replay given: record, snapshot, run, profile, seek, "
				  "gdb, verify, distortion, diff");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static bool row(size_t i, struct rs_cli_row *row)
{
	if (i >= N_VERBS)
		return false;
	*row = (struct rs_cli_row){ .name = verbs[i].name, .help = verbs[i].help };
	return true;
}

static char *list_verbs(int key, const char *text, void *input)
{
	(void)input;
	return rs_cli_list_rows(key, text, "Verbs", row);
}

int cmd_replay(int argc, char **argv)
{
	static const struct argp argp = { NULL, parse, "NAME ...", doc, NULL, list_verbs, NULL };
	char name[64];

	for (size_t i = 0; argc > 1 && i < N_VERBS; i++) {
		if (strcmp(verbs[i].name, argv[1]) != 0)
			continue;
		snprintf(name, sizeof(name), "%s %s", argv[0], verbs[i].name);
		argv[1] = name;
		return verbs[i].run(argc - 1, argv + 1);
	}
	return rs_cli_parse(&argp, argc, argv, NULL);
}
