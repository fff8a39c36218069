/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside replay snapshot: runs a guest, without recording it, to the point where recordings will
 * begin, and saves its whole state there.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <sys/stat.h>

#include "cli/replay.h"
#include "cli/replay_guest.h"
#include "cli/shared.h"
#include "replay/making.h"

struct snapshot {
	struct replay_guest guest;
	struct rs_making_when when;
};

/* ---- arguments ---------------------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "when", RS_CLI_TEXT(struct snapshot, when.text), "TEXT", 0,
	  "Take the snapshot when the guest's console has this text", 3 },
	{ "time", RS_CLI_SECONDS(struct snapshot, when.time_ns), "TIME", 0,
	  "Take the snapshot at this time of the guest's clock, in seconds", 3 },
	{ 0 },
};

static const struct argp_child children[] = { { &replay_guest_argp, 0, NULL, 0 }, { 0 } };

static const char doc[] =
	"Run a guest, and save its state, from which recordings can begin.\v"
	"The snapshot is taken when the console has a text, at a time, or at Ctrl-C, whichever "
	"comes first; then the guest ends. Any number of recordings can begin with the snapshot: "
	"ringside replay record --snapshot SNAP. The guest cannot have a disk.\n\n"
	"Examples:\n"
	"  ringside replay snapshot -o snap --kernel vmlinuz --initrd initrd.gz --when 'login:'\n"
	"  ringside replay record -o rec --snapshot snap --time 10s\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct snapshot *s = state->input;

	if (key != ARGP_KEY_INIT)
		return rs_cli_store(options, key, text, state);
	state->child_inputs[0] = &s->guest;
	return 0;
}

static void summary(const struct snapshot *s, const struct rs_making *making)
{
	struct stat st = { 0 };

	fstat(making->states.fd, &st);
	if (!s->guest.quiet)
		fprintf(stderr, "ringside replay snapshot: %s: %.1f MB\n", s->guest.of.directory,
			(double)st.st_size / 1e6);
}

int replay_snapshot(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "-- QEMU-ARGS...\n", doc, children,
					  NULL,	   NULL };
	struct snapshot s = { .guest = REPLAY_GUEST_NOTHING, .when.stop = &rs_cli_stop };
	struct rs_making making = RS_MAKING_NONE;
	struct rs_error *err;

	making.made.command = rs_cli_command(argc, argv);
	if (rs_cli_parse_maker(&argp, argc, argv, &s)) {
		rs_making_deinit(&making);
		return RS_EXIT_USAGE;
	}
	s.guest.of.keeps_no_disk = true;
	rs_cli_catch_stop();
	err = rs_cli_confine(RS_CONFINE_REPLAYER);
	if (!err)
		err = replay_guest_make(&s.guest, "replay snapshot", &making.made);
	if (!err)
		err = rs_making_begin_snapshot(&making);
	if (!err)
		err = rs_making_snapshot(&making, &s.when);
	if (!err)
		summary(&s, &making);
	rs_making_deinit(&making);
	rs_replay_guest_deinit(&s.guest.of);
	return rs_cli_fail("replay snapshot", err);
}
