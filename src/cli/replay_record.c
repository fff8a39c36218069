/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside replay record: records a guest in QEMU, and replays it with a program's probes if one is
 * given. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/count.h"
#include "base/json.h"
#include "cli/numbers.h"
#include "cli/replay.h"
#include "cli/replay_guest.h"
#include "cli/script_run.h"
#include "cli/shared.h"
#include "replay/making.h"
#include "replay/moment.h"

struct record_arguments {
	struct replay_guest guest;
	struct rs_cli_program program; /* for the replay after the recording; optional */
	struct rs_making_limits limits;
	bool json;
};

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_SIZE = 256 };

static const struct argp_option options[] = {
	{ "snapshot", RS_CLI_TEXT(struct record_arguments, guest.of.snapshot), "SNAP", 0,
	  "Begin with the running guest that `ringside replay snapshot` saved", 2 },
	{ "time", RS_CLI_SECONDS(struct record_arguments, limits.guest_ns), "TIME", 0,
	  "End after this much guest time", 3 },
	{ "max-time", 0, NULL, OPTION_ALIAS, NULL, 3 },
	{ "size", KEY_SIZE, "SIZE", 0, "End when the log reaches this size, with K, M or G", 3 },
	{ "max-size", 0, NULL, OPTION_ALIAS, NULL, 3 },
	{ 0 },
};

static const struct argp_child children[] = { { &replay_guest_argp, 0, NULL, 0 },
					      { &rs_cli_program_argp, 0, NULL, 0 },
					      { &rs_cli_json_argp, 0, NULL, 0 },
					      { 0 } };

static const char doc[] =
	"Boot a guest, and record its nondeterministic input.\v"
	"The machine is QEMU's pc under TCG with one processor, RAM, a serial port, whose output "
	"goes to REC/console, and with --disk an IDE disk. QEMU's arguments may follow --; those "
	"that would not replay are refused, with the reason. The recording ends when the guest "
	"powers off or resets, at Ctrl-C, or at a limit; it is valid in each case. With -n or -s, "
	"the recording is then replayed with this program's probes, as ringside replay run "
	"does.\n\n"
	"Examples:\n"
	"  ringside replay record -o rec --kernel vmlinuz --initrd initrd.gz --append quiet\n"
	"  ringside replay record -o rec --guest-dir programs --exec 'sort big.txt'\n"
	"  ringside replay record -o rec --guest-dir programs --exec 'sort big.txt' -n "
	"'guest:timer::1ms /args.cpl == 3/ { @[reg(\"rip\")] = count(); }'\n"
	"  ringside replay record -o rec -- -m 512 -kernel vmlinuz -drive file=a.img,format=raw\n"
	"  ringside replay record -o rec --snapshot snap --time 10s\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct record_arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->guest;
		state->child_inputs[1] = &a->program;
		state->child_inputs[2] = &a->json;
		break;
	case KEY_SIZE:
		if (!rs_cli_read_size(text, 1, UINT64_MAX >> 1, &a->limits.log_bytes))
			argp_error(state, "--size '%s': expected bytes, as in 512K, 4M or 1G",
				   text);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

/* ---- the summary -------------------------------------------------------------------------- */

struct recorded {
	const struct record_arguments *a;
	const struct rs_making *making;
};

static void progress(const struct rs_making *making)
{
	char text[RS_MOMENT_TEXT_MAX];

	fprintf(stderr, "\r\033[K%s of the guest's time, log %.1f KB",
		rs_moment_text(rs_making_guest_ns(making), text), (double)making->log_bytes / 1e3);
}

/* Calls put() with each file of the recording and its size. */
static void for_each_file(const struct rs_making *making,
			  void (*put)(void *ctx, const char *name, uint64_t bytes), void *ctx)
{
	uint64_t bytes;

	for (size_t i = 0; i < RS_RECORDING_FILES; i++) {
		if (rs_folder_bytes(&making->made.folder, rs_recording_files[i], &bytes))
			put(ctx, rs_recording_files[i], bytes);
	}
}

static void print_size(void *ctx, const char *name, uint64_t bytes)
{
	const char **before = ctx;

	fprintf(stderr, "%s%s %.1f KB", *before, name, (double)bytes / 1e3);
	*before = ", ";
}

static void put_size(void *ctx, const char *name, uint64_t bytes)
{
	rs_json_unsigned(rs_json_key(ctx, name), bytes);
}

static void put_recording(struct rs_json *json, const void *about)
{
	const struct recorded *of = about;
	const struct rs_making *m = of->making;

	rs_json_text(rs_json_key(json, "recording"), of->a->guest.of.directory);
	rs_json_text(rs_json_key(json, "why"), m->made.why);
	rs_json_unsigned(rs_json_key(json, "instructions"), m->made.icount);
	rs_json_seconds(rs_json_key(json, "guest_seconds"), (double)rs_making_guest_ns(m) / 1e9);
	rs_json_unsigned(rs_json_key(json, "log_bytes"), m->log_bytes);
	rs_json_unsigned(rs_json_key(json, "console_bytes"), rs_making_console_bytes(m));
	rs_json_open(rs_json_key(json, "files"), '{');
	for_each_file(m, put_size, json);
	rs_json_close(json, '}');
	rs_json_bool(rs_json_key(json, "whole"), m->made.state == RS_RECORDING_CLOSED);
}

static struct rs_error *summary(const struct record_arguments *a, const struct rs_making *m)
{
	const char *before = "";
	char text[RS_MOMENT_TEXT_MAX];

	if (a->limits.progress)
		fputs("\r\033[K", stderr);
	if (!a->guest.quiet) {
		fprintf(stderr,
			"ringside replay record: %s: %s of the guest's time, %" PRIu64
			" instructions; ",
			a->guest.of.directory, rs_moment_text(rs_making_guest_ns(m), text),
			m->made.icount);
		for_each_file(m, print_size, &before);
		fprintf(stderr, ", console %s; %s\n",
			RS_COUNT_OF(rs_making_console_bytes(m), "byte"), m->made.why);
	}
	return a->json ? rs_cli_json_print(put_recording, &(struct recorded){ a, m }) : NULL;
}

/* Replays the recording with the program's probes. */
static int run_program(const struct record_arguments *a)
{
	struct rs_script_run run = { .verb = "replay record",
				     .program = a->program,
				     .on = { .at = { a->guest.of.directory }, .n = 1 },
				     .replay.given = true };

	if (a->guest.quiet && run.program.options.n < RS_CLI_WORDS_MAX)
		run.program.options.at[run.program.options.n++] = "quiet";
	rs_cli_stop = false; /* Ctrl-C ended the recording; another one ends the replay */
	rs_cli_catch_stop();
	return rs_script_run(&run);
}

/* Records the guest, and prints the summary even if QEMU fails. */
static struct rs_error *record(struct record_arguments *a, struct rs_making *making)
{
	struct rs_error *err = rs_cli_confine(RS_CONFINE_REPLAYER);

	if (!err)
		err = replay_guest_make(&a->guest, "replay record", &making->made);
	if (!err)
		err = rs_making_begin_record(making);
	if (err)
		return err;
	a->limits.has_init = a->guest.of.exec;
	err = rs_making_record(making, &a->limits);
	return rs_error_first(err, summary(a, making));
}

int replay_record(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "-- QEMU-ARGS...\n", doc, children,
					  NULL,	   NULL };
	struct record_arguments a = { .guest = REPLAY_GUEST_NOTHING,
				      .program.optional = true,
				      .limits.stop = &rs_cli_stop };
	struct rs_making making = RS_MAKING_NONE;
	int status;

	making.made.command = rs_cli_command(argc, argv);
	if (rs_cli_parse_maker(&argp, argc, argv, &a)) {
		rs_making_deinit(&making);
		return RS_EXIT_USAGE;
	}
	if (!a.guest.quiet && !a.json && isatty(STDERR_FILENO))
		a.limits.progress = progress;
	rs_cli_catch_stop();
	status = rs_cli_fail("replay record", record(&a, &making));
	rs_making_deinit(&making);
	rs_replay_guest_deinit(&a.guest.of);
	return status || !rs_cli_program_given(&a.program) ? status : run_program(&a);
}
