/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside replay distortion: compares how methods of probing disturb the guest of a recording, in
 * a replay and on the same machine booted again.
 *
 *	method ──┬── replay verify ──> states and console equal to an undisturbed replay's: exact
 *	         └── machine that runs ──> the guest's clock, and the lines of its console
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/numbers.h"
#include "cli/program.h"
#include "cli/replay.h"
#include "cli/script_quiet.h"
#include "cli/script_replay.h"
#include "cli/shared.h"
#include "replay/verify.h"
#include "view/replay_distortion.h"

#define POINTS	    4u
#define CONSOLE_MAX (UINT64_C(16) << 20)
#define GUESTS_END  "the guest's end" /* replay_record.c: the reason of the end, and its status */

#define STEPS	 5003u /* of the method "single steps": a prime */
#define STEPS_AT 4u    /* they begin after this part of the recorded time */

#define METHOD_STEPS 3u /* in methods[] */

/* The methods, from the least to the most intrusive; a program adds one. */
static const struct method {
	const char *name, *program; /* NULL: program_make() makes it */
} methods[] = {
	{ "none", "BEGIN { }" },
	{ "samples", "guest:timer::1ms { @ = sum(*(uint64_t *)uregs[R_RSP]); }" },
	{ "switches", "guest:sched::switch { @ = count(); }" },
	[METHOD_STEPS] = { "single steps", NULL },
	{ "system calls", "guest:kernel:do_syscall_64:entry { @ = count(); }" },
	{ "calls", "guest:kernel:vfs_*:entry { @ = count(); }" },
};
#define N_METHODS (sizeof(methods) / sizeof(methods[0]))

struct distortion {
	const char *directory;
	struct rs_cli_program own; /* the method of -n or -s */
	bool json, quiet;
	struct rs_recording recording;
	char *console; /* the recorded console */
	/* The method in progress. */
	const struct rs_cli_program *program;
	const char *name;
	bool remarked; /* why a method is missing */
	struct rs_replay_distortion_row rows[N_METHODS + 1];
	uint32_t n_rows;
};

static const char doc[] =
	"Compare how methods of probing disturb the guest of a recording: in a replay, and on the "
	"same machine booted again and running.\v"
	"Each method is a D program: no probes; a timer each millisecond; each task switch; 5003 "
	"single steps; each system call; each call of the kernel's functions vfs_*; and the "
	"program of -n or -s. A replay is exact if all registers, all RAM and "
	"the console equal those of a replay without probes and of the recording. A live machine "
	"is measured by its own clock, and by how many lines of its console equal the recorded "
	"ones: a program that prints its measurements prints other lines if it was disturbed.\n\n"
	"Exit codes: 0 each replay is exact; 1 a replay is not exact, or failed; 2 usage error; 3 "
	"a method was not possible.\n\n"
	"Examples:\n"
	"  ringside replay distortion rec\n"
	"  ringside replay distortion rec -n 'guest:kernel:vfs_read:entry { @ = count(); }'\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct distortion *d = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &d->own;
		state->child_inputs[1] = &d->json;
		state->child_inputs[2] = &d->quiet;
		return 0;
	case ARGP_KEY_ARG:
		if (!d->directory)
			d->directory = text;
		else if (!rs_cli_program_given(&d->own))
			argp_error(state, "only one recording is allowed, got '%s'", text);
		else
			rs_cli_word_add(state, &d->own.args, text);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no recording given");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- the console ---------------------------------------------------------------------------- */

/* Reads a console, at most CONSOLE_MAX bytes. The caller frees it. */
static struct rs_error *console_read(int fd, char **text)
{
	size_t used = 0, room = 1u << 16;
	char *bytes = malloc(room);
	ssize_t n = 1;

	while (bytes && n > 0 && used < CONSOLE_MAX) {
		n = pread(fd, bytes + used, room - used - 1, (off_t)used);
		used += n > 0 ? (size_t)n : 0;
		if (used + 1 == room) {
			char *more = realloc(bytes, room *= 2);

			if (!more)
				free(bytes);
			bytes = more;
		}
	}
	if (!bytes)
		return rs_error_no_memory();
	if (n < 0) {
		free(bytes);
		return rs_error_errno(errno, "reading a console");
	}
	bytes[used] = '\0';
	*text = bytes;
	return NULL;
}

/* Returns the next line without its newline and advances past it, or NULL at the end. */
static const char *line_next(const char **at, size_t *len)
{
	const char *line = *at;

	if (!*line)
		return NULL;
	*len = strcspn(line, "\n");
	*at = line + *len + (line[*len] ? 1 : 0);
	return line;
}

/* Counts the lines of a console, and those of them that another has in the same order. */
static void lines_count(const char *recorded, const char *other, uint64_t *lines, uint64_t *same)
{
	const char *line, *from = other;
	size_t len;

	*lines = *same = 0;
	while ((line = line_next(&recorded, &len))) {
		const char *at = from, *found;
		size_t found_len;

		++*lines;
		while ((found = line_next(&at, &found_len)) &&
		       (found_len != len || memcmp(found, line, len) != 0))
			;
		if (found) {
			++*same;
			from = at;
		}
	}
}

/* ---- in a replay ---------------------------------------------------------------------------- */

static void ignore(void *ctx, const char *text)
{
	(void)ctx;
	(void)text;
}

static struct rs_script_replay replay_make(void)
{
	return (struct rs_script_replay){ .stop = &rs_cli_stop, .remarks = { ignore, NULL } };
}

/* Replays with the method's program; a callback of rs_verify_run(). */
static struct rs_error *replay_program(void *ctx, const struct rs_verify_part *part,
				       uint64_t *fired, uint64_t *errors)
{
	const struct distortion *d = ctx;

	return rs_script_quiet_part(replay_make(), d->directory, d->program, part, fired, errors);
}

static struct rs_error *measure_replay(struct distortion *d, struct rs_replay_distortion_row *row)
{
	const struct rs_verify_options options = { .points = POINTS,
						   .jobs = 1,
						   .to_end = true,
						   .stop = &rs_cli_stop,
						   .probe = replay_program,
						   .ctx = d };
	struct rs_verified v = { 0 };
	struct rs_error *err = rs_verify_run(&d->recording, &options, &v);

	if (!err) {
		row->replayed = true;
		row->fired = v.fired;
		row->exact = v.same_points == POINTS && v.same_console && v.same_as_recorded;
	}
	rs_verified_deinit(&v);
	return err;
}

/* ---- live ----------------------------------------------------------------------------------- */

static struct rs_error *live_lines(const struct distortion *d, int fd,
				   struct rs_replay_distortion_row *row)
{
	char *text = NULL;
	struct rs_error *err = console_read(fd, &text);

	if (!err)
		lines_count(d->console, text, &row->lines, &row->live_lines);
	free(text);
	return err;
}

/* Boots the machine again and runs it with the method's program, until the guest ends or for the
 * recorded time. */
static struct rs_error *measure_live(const struct distortion *d,
				     struct rs_replay_distortion_row *row)
{
	const struct rs_recording *r = &d->recording;
	struct rs_script_replay live = replay_make();
	int fd = memfd_create("console", 0);
	struct rs_distortion distortion = { 0 };
	char path[32];
	uint64_t errors = 0;
	struct rs_error *err;

	if (fd < 0)
		return rs_error_errno(errno, "memory for the console");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	live.live = "";
	live.options.console = path;
	if (!r->why || strncmp(r->why, GUESTS_END, strlen(GUESTS_END)) != 0)
		live.times.to.ns = r->icount << r->shift;
	err = rs_script_replay_open(&live, d->directory);
	if (!err)
		err = rs_script_quiet_run(&live, d->program, &errors);
	if (!err && rs_cli_stop)
		err = rs_error_create(RS_FAILED, "stopped");
	if (!err) {
		rs_live_source_distortion(live.source, &distortion);
		row->lived = true;
		row->live_stops = distortion.stops;
		row->factor = distortion.factor;
		row->behind_ns = distortion.behind_ns;
		err = live_lines(d, fd, row);
	}
	rs_script_replay_close(&live);
	close(fd);
	return rs_error_wrap(err, "live");
}

/* ---- all methods ---------------------------------------------------------------------------- */

/* Measures a method. Reports a usage error of its program, such as a probe that the guest does not
 * have, and returns NULL. */
static struct rs_error *measure(struct distortion *d, const char *name,
				const struct rs_cli_program *program)
{
	struct rs_replay_distortion_row *row = &d->rows[d->n_rows++];
	struct rs_error *err;

	*row = (struct rs_replay_distortion_row){ .method = name };
	d->program = program;
	if (!d->quiet && isatty(STDERR_FILENO))
		fprintf(stderr, "ringside replay distortion: %s\n", name);
	err = measure_replay(d, row);
	if (!err)
		err = measure_live(d, row);
	if (!err || rs_cli_stop || rs_error_code(err) != RS_USAGE)
		return err;
	rs_cli_message("replay distortion", rs_error_text(err));
	rs_error_free(err);
	d->remarked = true;
	return NULL;
}

/* Returns the program of a method, which the caller frees; NULL without memory. */
static char *program_make(const struct distortion *d, uint32_t method)
{
	const uint64_t recorded_ns = d->recording.icount << d->recording.shift;
	char *text = NULL;

	if (method != METHOD_STEPS)
		return strdup(methods[method].program);
	if (asprintf(&text, "guest:timer:%" PRIu64 "ns+%u:1insns { @ = count(); }",
		     recorded_ns / STEPS_AT, STEPS) < 0)
		return NULL;
	return text;
}

static struct rs_error *measure_all(struct distortion *d)
{
	struct rs_error *err = NULL;
	int fd = -1;

	err = rs_folder_fd(&d->recording.folder, "console", O_RDONLY, &fd);
	if (!err)
		err = console_read(fd, &d->console);
	if (fd >= 0)
		close(fd);
	for (uint32_t i = 0; !err && i < N_METHODS; i++) {
		struct rs_cli_program program = { 0 };
		char *text = program_make(d, i);

		program.programs.at[program.programs.n++] = text;
		err = text ? measure(d, methods[i].name, &program) : rs_error_no_memory();
		free(text);
	}
	if (!err && rs_cli_program_given(&d->own))
		err = measure(d, "program", &d->own);
	return err;
}

/* ---- the output ----------------------------------------------------------------------------- */

static void put_rows(struct rs_json *json, const void *about)
{
	const struct distortion *d = about;
	struct rs_table table = { .json = json,
				  .form = d->json ? RS_TABLE_JSON : RS_TABLE_TEXT,
				  .columns = rs_replay_distortion_columns };

	if (d->json)
		rs_json_open(rs_json_key(json, "methods"), '[');
	rs_table_rows(&table, d->rows, d->n_rows, sizeof(*d->rows));
	if (d->json)
		rs_json_close(json, ']');
}

static struct rs_error *show(const struct distortion *d)
{
	struct rs_out out;
	struct rs_json json = { .out = &out };
	struct rs_error *err;

	if (d->json)
		return rs_cli_json_print(put_rows, d);
	err = rs_out_init(&out, STDOUT_FILENO);
	if (!err)
		put_rows(&json, d);
	return err ? err : rs_out_end(&out, NULL);
}

int replay_distortion(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_program_argp, 0, NULL, 0 },
						      { &rs_cli_json_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { NULL, parse, "REC [ARG...]", doc, children, NULL, NULL };
	static struct distortion d = { .own.optional = true };
	bool exact = true;
	struct rs_error *err;

	if (rs_cli_parse(&argp, argc, argv, &d))
		return RS_EXIT_USAGE;
	rs_cli_catch_stop();
	err = rs_cli_confine(RS_CONFINE_REPLAYER);
	if (!err)
		err = rs_recording_read(d.directory, &d.recording);
	if (!err)
		err = rs_recording_check(&d.recording);
	if (!err)
		err = measure_all(&d);
	if (!err)
		err = show(&d);
	for (uint32_t i = 0; i < d.n_rows; i++)
		exact = exact && (!d.rows[i].replayed || d.rows[i].exact);
	free(d.console);
	rs_recording_deinit(&d.recording);
	if (err)
		return rs_cli_fail("replay distortion", err);
	if (!exact)
		return RS_EXIT_FAILED;
	return d.remarked ? RS_EXIT_PARTIAL : RS_EXIT_OK;
}
