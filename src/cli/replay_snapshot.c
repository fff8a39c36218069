/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside replay snapshot: runs a guest, without recording it, to where recordings are to begin,
 * and saves its whole state there.
 *
 *	folder, copies -> QEMU counts -> a text on the console, a time, Ctrl-C -> state -> hashes
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "cli/numbers.h"
#include "cli/replay.h"
#include "cli/replay_guest.h"
#include "replay/material.h"
#include "replay/qemu.h"
#include "replay/snapshots.h"

#define NS_PER_SEC UINT64_C(1000000000)
#define TICK_NS	   50000000

struct snapshot {
	struct replay_guest guest;
	const char *when; /* on the console; NULL: whatever is there */
	uint64_t time_ns; /* of the guest's clock; 0: whenever */
	struct rs_recording made;
	struct rs_snapshots states;
	struct rs_qemu qemu;
	int console_to, console; /* QEMU writes one, and we read the other */
};

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_TIME = 256, KEY_WHEN };

static const struct argp_option options[] = {
	{ "when", KEY_WHEN, "TEXT", 0, "Take the snapshot when this text is on the guest's console",
	  3 },
	{ "time", KEY_TIME, "TIME", 0,
	  "Take the snapshot at this time of the guest's clock, in seconds", 3 },
	{ 0 },
};

static const struct argp_child children[] = { { &replay_guest_argp, 0, NULL, 0 }, { 0 } };

static const char doc[] =
	"Run a guest, and keep it as it is where recordings are to begin.\v"
	"It is taken when the console has a text, at a time, or at Ctrl-C, whichever comes first; "
	"then the guest ends. The folder can be what any number of recordings begin with: ringside "
	"replay record --snapshot REC. The guest can have no disk.\n\n"
	"Examples:\n"
	"  ringside replay snapshot -o snap --kernel vmlinuz --initrd initrd.gz --when 'login:'\n"
	"  ringside replay record -o rec --snapshot snap --time 10s\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct snapshot *s = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &s->guest;
		break;
	case KEY_WHEN:
		s->when = text;
		break;
	case KEY_TIME:
		s->time_ns = rs_cli_time(state, "--time", text, NS_PER_SEC);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- the guest ---------------------------------------------------------------------------- */

static struct rs_error *start(struct snapshot *s)
{
	struct rs_qemu_command command = { 0 };
	struct rs_error *err = rs_cli_confine(RS_CONFINE_REPLAYER);
	int fd = -1;

	if (!err)
		err = replay_guest_make(&s->guest, "replay snapshot", &s->made);
	if (!err)
		err = rs_replay_guest_console(&s->made, &s->console_to, &s->console);
	if (!err)
		err = rs_folder_fd(&s->made.folder, rs_recording_files[RS_RECORDING_BEGIN],
				   O_RDWR | O_CREAT | O_EXCL, &fd);
	if (err)
		return err;
	s->states.fd = fd;
	err = rs_snapshots_write_empty(fd);
	rs_recording_command(&s->made, RS_RECORDING_PLAIN, -1, s->console_to, &command);
	rs_snapshots_add_to(&s->states, &command);
	if (!err)
		err = rs_recording_keep_words(&s->made, &command);
	if (!err)
		err = rs_qemu_start(&s->qemu, &command);
	rs_qemu_command_deinit(&command);
	return err;
}

static bool console_has(const struct snapshot *s)
{
	bool found = false;
	struct stat st;
	void *text;

	if (fstat(s->console, &st) || !st.st_size)
		return false;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, s->console, 0);
	if (text != MAP_FAILED) {
		found = memmem(text, (size_t)st.st_size, s->when, strlen(s->when));
		munmap(text, (size_t)st.st_size);
	}
	return found;
}

static int field(const json_t *json, const char *name)
{
	return (int)json_integer_value(json_object_get(json, name));
}

/* Returns how far the guest's clock has come, by its RTC. */
static uint64_t clock_ns(struct snapshot *s)
{
	struct tm now = { 0 }, start = { 0 };
	json_t *tm = NULL;
	time_t seconds = 0;

	rs_error_free(rs_qmp_execute(
		s->qemu.qmp, "qom-get",
		json_pack("{s:s, s:s}", "path", "/machine", "property", "rtc-time"), &tm));
	if (tm && strptime(s->made.date, "%Y-%m-%dT%H:%M:%S", &start)) {
		now = (struct tm){ .tm_year = field(tm, "tm_year"),
				   .tm_mon = field(tm, "tm_mon"),
				   .tm_mday = field(tm, "tm_mday"),
				   .tm_hour = field(tm, "tm_hour"),
				   .tm_min = field(tm, "tm_min"),
				   .tm_sec = field(tm, "tm_sec") };
		seconds = timegm(&now) - timegm(&start);
	}
	json_decref(tm);
	return seconds > 0 ? (uint64_t)seconds * NS_PER_SEC : 0;
}

static bool is_time(struct snapshot *s)
{
	return rs_cli_stop || (s->when && console_has(s)) ||
	       (s->time_ns && clock_ns(s) >= s->time_ns);
}

static bool runs(struct snapshot *s)
{
	return rs_qemu_runs(&s->qemu) && !rs_qmp_ends(s->qemu.qmp);
}

static struct rs_error *wait_for_it(struct snapshot *s)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };

	while (runs(s) && !is_time(s))
		nanosleep(&tick, NULL); /* a signal ends it */
	if (runs(s))
		return NULL;
	return rs_error_create(RS_FAILED,
			       "the guest ended before it was taken: %s/console has its words",
			       s->guest.of.directory);
}

static struct rs_error *take(struct snapshot *s)
{
	struct rs_error *err = rs_qmp_execute(s->qemu.qmp, "stop", NULL, NULL);

	if (!err)
		err = rs_qemu_monitor(&s->qemu, "savevm " RS_SNAPSHOT_START);
	if (!err)
		err = rs_qemu_quit(&s->qemu);
	if (!err)
		err = rs_snapshots_reset_count(s->states.fd, "its snapshot", s->made.shift);
	s->made.state = RS_RECORDING_SNAPSHOT;
	s->made.snapshot = true;
	if (!err)
		err = rs_material_describe(&s->made, RS_RECORDING_BEGIN, s->states.fd);
	return err ? err : rs_recording_write(&s->made);
}

static void summary(const struct snapshot *s)
{
	struct stat st = { 0 };

	fstat(s->states.fd, &st);
	if (!s->guest.quiet)
		fprintf(stderr, "ringside replay snapshot: %s: %.1f MB\n", s->guest.of.directory,
			(double)st.st_size / 1e6);
}

int replay_snapshot(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "-- QEMU-ARGS...\n", doc, children,
					  NULL,	   NULL };
	struct snapshot s = { .guest = REPLAY_GUEST_NOTHING,
			      .console_to = -1,
			      .console = -1,
			      .qemu = { .said_fd = -1, .gdb_fd = -1 } };
	struct rs_error *err;

	s.made.command = rs_cli_command(argc, argv);
	if (rs_cli_parse_maker(&argp, argc, argv, &s)) {
		rs_recording_deinit(&s.made);
		return RS_EXIT_USAGE;
	}
	s.guest.of.keeps_no_disk = true;
	rs_cli_catch_stop();
	err = start(&s);
	if (!err)
		err = wait_for_it(&s);
	if (!err)
		err = take(&s);
	if (!err)
		summary(&s);
	rs_qemu_end(&s.qemu);
	rs_snapshots_deinit(&s.states);
	rs_recording_deinit(&s.made);
	rs_replay_guest_deinit(&s.guest.of);
	if (s.console >= 0)
		close(s.console);
	if (s.console_to >= 0)
		close(s.console_to);
	return rs_cli_fail("replay snapshot", err);
}
