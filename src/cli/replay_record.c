/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside replay record: records a guest in QEMU.
 *
 *	folder, copies (or a folder of programs, packed) -> QEMU records -> the guest's end, Ctrl-C
 *	or a limit -> hashes, sizes
 */
#include "base/now.h"
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/count.h"
#include "base/duration.h"
#include "base/json.h"
#include "cli/numbers.h"
#include "cli/replay.h"
#include "cli/replay_guest.h"
#include "cli/script_run.h"
#include "cli/shared.h"
#include "replay/initramfs.h"
#include "replay/material.h"
#include "replay/moment.h"
#include "replay/qemu.h"
#include "replay/rr_log.h"
#include "replay/snapshots.h"

#define NS_PER_SEC  UINT64_C(1000000000)
#define TICK_NS	    20000000
#define LOOK_NS	    200000000u /* between two looks where it is */
#define WORDS_BYTES 256	       /* the end of the console, where our first process speaks */

struct record_arguments {
	struct replay_guest guest;
	struct rs_cli_program program; /* for the replay after the recording; or none */
	uint64_t limit_ns;	       /* of the guest's time; 0: none */
	uint64_t limit_bytes;	       /* of the log; 0: none */
	bool json;
};

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_TIME = 256, KEY_SIZE, KEY_SNAPSHOT };

static const struct argp_option options[] = {
	{ "snapshot", KEY_SNAPSHOT, "SNAP", 0,
	  "Begin with the running guest that `ringside replay snapshot` saved", 2 },
	{ "time", KEY_TIME, "TIME", 0, "End after this much of the guest's time", 3 },
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
	"Boot a guest, and write down what was not deterministic.\v"
	"The machine is QEMU's pc under TCG with one processor, RAM, a serial port, whose output "
	"goes to REC/console, and with --disk an IDE disk. Behind -- it can be given as QEMU's own "
	"arguments; those that would not replay are refused, with the reason. It ends when the "
	"guest powers off or resets, at Ctrl-C, or at a limit; the recording is valid in each "
	"case. With -n or -s it is replayed then with this program's probes, as ringside replay "
	"run "
	"does.\n\n"
	"Examples:\n"
	"  ringside replay record -o rec --kernel vmlinuz --initrd initrd.gz --append quiet\n"
	"  ringside replay record -o rec --guest-dir programs --exec 'sort big.txt'\n"
	"  ringside replay record -o rec --guest-dir programs --exec 'sort big.txt' "
	"-n 'guest:timer::1ms /args.cpl == 3/ { @[reg(\"rip\")] = count(); }'\n"
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
	case KEY_SNAPSHOT:
		a->guest.of.snapshot = text;
		break;
	case KEY_TIME:
		a->limit_ns = rs_cli_time(state, "--time", text, NS_PER_SEC);
		break;
	case KEY_SIZE:
		if (!rs_cli_read_size(text, 1, UINT64_MAX >> 1, &a->limit_bytes))
			argp_error(state, "--size '%s': expected bytes, as in 512K, 4M or 1G",
				   text);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- recording ---------------------------------------------------------------------------- */

struct recording {
	struct record_arguments *a;
	struct rs_recording made;
	struct rs_snapshots snapshots; /* its begin, and its writes to the disk */
	struct rs_qemu qemu;
	int console_to, console; /* QEMU writes one, and we read the other */
	uint64_t log_bytes;
	bool shows;
};

/* Describes how QEMU is started before it is, so that a failed recording has it, too. */
static struct rs_error *start_qemu(struct recording *r)
{
	struct rs_qemu_command command = { 0 };
	struct rs_error *err = rs_snapshots_make(&r->snapshots, &r->made, NULL, false);

	if (!err) {
		rs_recording_command(&r->made, RS_RECORDING_RECORD, -1, r->console_to, &command);
		rs_snapshots_add_to(&r->snapshots, &command);
		err = rs_recording_keep_words(&r->made, &command);
	}
	if (!err)
		err = rs_recording_write(&r->made);
	if (!err)
		err = rs_qemu_start(&r->qemu, &command);
	rs_qemu_command_deinit(&command);
	if (err || !r->made.snapshot)
		return err;
	err = rs_qemu_monitor(&r->qemu, "loadvm " RS_SNAPSHOT_START);
	return err ? err : rs_qmp_execute(r->qemu.qmp, "cont", NULL, NULL);
}

static struct rs_error *begin(struct recording *r)
{
	struct rs_error *err = rs_cli_confine(RS_CONFINE_REPLAYER);

	if (!err)
		err = replay_guest_make(&r->a->guest, "replay record", &r->made);
	if (!err)
		err = rs_material_make_log(&r->made);
	if (!err)
		err = rs_replay_guest_console(&r->made, &r->console_to, &r->console);
	return err ? err : start_qemu(r);
}

static uint64_t guest_ns(const struct recording *r)
{
	return r->made.icount << r->made.shift;
}

static uint64_t bytes_of(int fd)
{
	struct stat st = { 0 };

	return fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
}

/* Reads how far the guest has come. Returns false if QEMU has ended, which is no error here. */
static bool look(struct recording *r)
{
	json_t *result = NULL;
	struct rs_error *err = rs_qmp_execute(r->qemu.qmp, "query-replay", NULL, &result);
	char text[RS_MOMENT_TEXT_MAX];
	bool there = !err || rs_error_code(err) != RS_ABSENT;

	rs_error_free(err);
	if (json_is_integer(json_object_get(result, "icount")))
		r->made.icount = (uint64_t)json_integer_value(json_object_get(result, "icount"));
	json_decref(result);
	r->log_bytes = bytes_of(r->made.files[RS_RECORDING_LOG]);
	if (r->shows)
		fprintf(stderr, "\r\033[K%s of the guest's time, log %.1f KB",
			rs_moment_text(guest_ns(r), text), (double)r->log_bytes / 1e3);
	return there;
}

/* Returns why the recording ends now, or NULL if it goes on. */
static const char *end_reason(const struct recording *r)
{
	if (rs_cli_stop)
		return "stopped";
	if (r->a->limit_ns && guest_ns(r) >= r->a->limit_ns)
		return "the limit of the guest's time";
	if (r->a->limit_bytes && r->log_bytes >= r->a->limit_bytes)
		return "the limit of the log's size";
	return NULL;
}

/* Returns what the first process printed about its program, or NULL if it printed nothing. */
static char *last_words(const struct recording *r)
{
	char words[WORDS_BYTES + 1], *at = NULL;
	uint64_t bytes = bytes_of(r->console);
	off_t from = bytes > WORDS_BYTES ? (off_t)(bytes - WORDS_BYTES) : 0;
	ssize_t n = pread(r->console, words, WORDS_BYTES, from);

	if (n < 0)
		return NULL;
	words[n] = '\0';
	for (char *next = words; (next = strstr(next, RS_INITRAMFS_SAYS)); at = next++)
		;
	if (!at)
		return NULL;
	at += strlen(RS_INITRAMFS_SAYS);
	at[strcspn(at, "\r\n")] = '\0';
	return at[0] ? strdup(at) : NULL;
}

static char *why_it_ended(const struct recording *r, const struct rs_error *err, const char *why)
{
	char *said = err || why || !r->a->guest.of.exec ? NULL : last_words(r), *text;

	if (!said)
		return strdup(err ? rs_error_text(err) : why ? why : "the guest's end");
	if (asprintf(&text, "the guest's end, %s", said) < 0)
		text = NULL;
	free(said);
	return text;
}

static struct rs_error *go_on(struct recording *r)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	const char *why = NULL;
	uint64_t looked = 0;
	bool there = true;
	struct rs_error *err;

	while (rs_qemu_runs(&r->qemu) && there && !why) {
		if (rs_now_ns(CLOCK_MONOTONIC) - looked >= LOOK_NS) {
			there = look(r);
			looked = rs_now_ns(CLOCK_MONOTONIC);
		}
		why = end_reason(r);
		if (!why)
			nanosleep(&tick, NULL); /* a signal ends it */
	}
	if (why)
		look(r);
	err = rs_qemu_quit(&r->qemu);
	r->made.state = err ? RS_RECORDING_CUT : RS_RECORDING_CLOSED;
	r->made.why = why_it_ended(r, err, why);
	return err;
}

/* Calls put() for each file of the recording, with its size. */
static void for_each_file(const struct recording *r,
			  void (*put)(void *ctx, const char *name, uint64_t bytes), void *ctx)
{
	uint64_t bytes;

	for (size_t i = 0; i < RS_RECORDING_FILES; i++) {
		if (rs_folder_bytes(&r->made.folder, rs_recording_files[i], &bytes))
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
	const struct recording *r = about;

	rs_json_text(rs_json_key(json, "recording"), r->a->guest.of.directory);
	rs_json_text(rs_json_key(json, "why"), r->made.why);
	rs_json_unsigned(rs_json_key(json, "instructions"), r->made.icount);
	rs_json_seconds(rs_json_key(json, "guest_seconds"), (double)guest_ns(r) / 1e9);
	rs_json_unsigned(rs_json_key(json, "log_bytes"), r->log_bytes);
	rs_json_unsigned(rs_json_key(json, "console_bytes"), bytes_of(r->console));
	rs_json_open(rs_json_key(json, "files"), '{');
	for_each_file(r, put_size, json);
	rs_json_close(json, '}');
	rs_json_bool(rs_json_key(json, "whole"), r->made.state == RS_RECORDING_CLOSED);
}

static struct rs_error *summary(const struct recording *r)
{
	const char *before = "";
	char text[RS_MOMENT_TEXT_MAX];

	if (r->shows)
		fputs("\r\033[K", stderr);
	if (!r->a->guest.quiet) {
		fprintf(stderr,
			"ringside replay record: %s: %s of the guest's time, %" PRIu64
			" instructions; ",
			r->a->guest.of.directory, rs_moment_text(guest_ns(r), text),
			r->made.icount);
		for_each_file(r, print_size, &before);
		fprintf(stderr, ", console %s; %s\n", RS_COUNT_OF(bytes_of(r->console), "byte"),
			r->made.why);
	}
	return r->a->json ? rs_cli_json_print(put_recording, r) : NULL;
}

/* Reports what was recorded, after a failure too. err is the earlier failure, or NULL. */
static struct rs_error *end(struct recording *r, struct rs_error *err)
{
	bool cut = r->made.state == RS_RECORDING_CUT;
	int log = r->made.files[RS_RECORDING_LOG];
	struct rs_error *next = cut ? NULL : rs_rr_log_repair(log, "its log", &r->made.icount);

	rs_error_free(next); /* a log that we can't read: the last look's count stays */
	next = rs_material_end_log(&r->made, r->made.files[RS_RECORDING_LOG]);
	if (!next)
		next = cut ? rs_recording_repair(&r->made) : rs_recording_write(&r->made);
	else
		next = rs_error_first(next, rs_recording_write(&r->made));
	r->log_bytes = bytes_of(log);
	next = rs_error_first(next, summary(r));
	return rs_error_first(err, next);
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
	rs_cli_stop = false; /* Ctrl-C ended the recording; another one is the replay's */
	rs_cli_catch_stop();
	return rs_script_run(&run);
}

int replay_record(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "-- QEMU-ARGS...\n", doc, children,
					  NULL,	   NULL };
	struct record_arguments a = { .guest = REPLAY_GUEST_NOTHING, .program.optional = true };
	struct recording r = {
		.a = &a, .console_to = -1, .console = -1, .qemu = { .said_fd = -1, .gdb_fd = -1 }
	};
	struct rs_error *err;
	int status;

	r.made.command = rs_cli_command(argc, argv);
	if (rs_cli_parse_maker(&argp, argc, argv, &a)) {
		rs_recording_deinit(&r.made);
		return RS_EXIT_USAGE;
	}
	r.shows = !a.guest.quiet && !a.json && isatty(STDERR_FILENO);
	rs_cli_catch_stop();
	err = begin(&r);
	if (!err)
		err = end(&r, go_on(&r));
	rs_qemu_end(&r.qemu);
	rs_snapshots_deinit(&r.snapshots);
	rs_recording_deinit(&r.made);
	rs_replay_guest_deinit(&a.guest.of);
	if (r.console >= 0)
		close(r.console);
	if (r.console_to >= 0)
		close(r.console_to);
	status = rs_cli_fail("replay record", err);
	return status || !rs_cli_program_given(&a.program) ? status : run_program(&a);
}
