/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that describe a guest to record, and the copies of its files. */
#include "cli/replay_guest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "cli/numbers.h"
#include "cli/shared.h"

/* ---- arguments ---------------------------------------------------------------------------- */

enum {
	KEY_MEMORY = 512,
	KEY_SHIFT,
};

static const struct argp_option options[] = {
	{ "output", 'o', "REC", RS_CLI_TEXT(struct replay_guest, of.directory),
	  "Write this directory, which must be new or empty", 1 },
	{ "kernel", RS_CLI_TEXT(struct replay_guest, of.kernel), "FILE", 0,
	  "Boot this Linux kernel (the newest in /boot)", 2 },
	{ "initrd", RS_CLI_TEXT(struct replay_guest, of.initrd), "FILE", 0,
	  "Boot with this "
	  "initramfs",
	  2 },
	{ "guest-dir", RS_CLI_TEXT(struct replay_guest, of.programs), "DIR", 0,
	  "Make this directory the guest's root, and add the libraries that its programs need", 2 },
	{ "exec", RS_CLI_TEXT(struct replay_guest, of.exec), "CMD", 0,
	  "Run this command in the guest, then power it off", 2 },
	{ "append", RS_CLI_TEXT(struct replay_guest, of.append), "ARGS", 0,
	  "Append these kernel arguments to those that keep the log small", 2 },
	{ "disk", RS_CLI_TEXT(struct replay_guest, of.disk), "IMAGE", 0,
	  "Use a copy of this raw image as the guest's IDE disk; the guest's writes are discarded "
	  "at its end",
	  2 },
	{ "memory", KEY_MEMORY, "MIB", 0, "Give the guest this much RAM, in MiB (256)", 2 },
	{ "date", RS_CLI_TEXT(struct replay_guest, of.date), "DATE", 0,
	  "Start the guest's clock at this date, as in 2026-01-31T12:00:00 (the host's date)", 2 },
	{ "shift", KEY_SHIFT, "N", 0, "Count 2^N ns of guest time per instruction, 0 to 10 (1)",
	  2 },
	{ 0 },
};

static void check(const struct rs_replay_guest *g, const struct argp_state *state)
{
	if (!g->directory)
		argp_error(state, "no output directory given: -o REC");
	if (g->exec && !g->programs)
		argp_error(state, "--exec requires --guest-dir DIR");
	if (g->date && !rs_arguments_is_date(g->date))
		argp_error(state, "--date '%s': expected a date as 2026-01-31T12:00:00", g->date);
	if (g->snapshot && g->date)
		argp_error(state, "--snapshot sets the guest's clock: leave out --date");
	if (g->snapshot && g->n_words)
		argp_error(state, "--snapshot sets the whole machine: leave out QEMU's arguments");
}

/* Keeps QEMU's arguments. --help among them prints the verb's help. */
static void parse_rest(struct rs_replay_guest *g, struct argp_state *state)
{
	g->words = state->argv + state->next - 1;
	g->n_words = state->argc - state->next + 1;
	state->next = state->argc;
	for (int i = 0; i < g->n_words; i++)
		if (!strcmp(g->words[i], "--help"))
			argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct replay_guest *guest = state->input;
	struct rs_replay_guest *g = &guest->of;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &guest->quiet;
		break;
	case KEY_MEMORY:
		g->memory_mib = rs_cli_number(state, "--memory", text, RS_RECORDING_MEMORY_MIN,
					      RS_RECORDING_MEMORY_MAX);
		break;
	case KEY_SHIFT:
		g->shift = rs_cli_number(state, "--shift", text, 0, RS_RECORDING_SHIFT_MAX);
		break;
	case ARGP_KEY_ARG:
		if (text[0] != '-')
			argp_error(state,
				   "'%s': put the output directory after -o, and QEMU's arguments "
				   "after --",
				   text);
		parse_rest(g, state);
		break;
	case ARGP_KEY_END:
		check(g, state);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

static const struct argp_child children[] = { { &rs_cli_quiet_argp, 0, NULL, 0 }, { 0 } };
const struct argp replay_guest_argp = { options, parse, NULL, NULL, children, NULL, NULL };

struct rs_error *replay_guest_make(struct replay_guest *guest, const char *verb,
				   struct rs_recording *made)
{
	struct rs_error *err = rs_replay_guest_make(&guest->of, made);
	const struct rs_initramfs *packed = &guest->of.packed;

	if (!err && guest->of.programs && !guest->quiet)
		fprintf(stderr, "ringside %s: %s: %s, %" PRIu32 " libraries with them, %.1f MB\n",
			verb, guest->of.programs, RS_COUNT_OF(packed->files, "file"),
			packed->libraries, (double)packed->bytes / 1e6);
	return err;
}
