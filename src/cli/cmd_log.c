/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside log: collects a log's rings; ringside log level: sets which lines are logged. */
#include "base/now.h"
#include "base/count.h"
#include "base/json.h"
#include "cli/cli.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/numbers.h"
#include "cli/shared.h"
#include "event/query.h"
#include "log/collect.h"
#include "log/files.h"
#include "log/memory.h"
#include "ring/shared.h"

#define PATHS_MAX   RS_LOG_LANES_MAX
#define POLL_MS	    100
#define NS_PER_MS   UINT64_C(1000000)
#define POLL_NS_MAX (999 * NS_PER_MS)
#define ATTEMPTS    50 /* attempts to read a log, before it is reported as unreadable */

struct arguments {
	const char *paths[PATHS_MAX];
	uint32_t n_paths;
	const char *directory;
	uint64_t file_bytes;
	uint32_t files, poll_ms;
	bool follow, last, json, quiet, set;
	uint32_t level;
	struct rs_cpu_set cpus;
	int levels[RS_LOG_SINKS]; /* -1: unchanged */
};

enum { KEY_CONSOLE = 256, KEY_MEMORY, KEY_LEVEL, KEY_CPUS };

static const struct argp_option options[] = {
	{ "follow", 'f', NULL, RS_CLI_FLAG(struct arguments, follow),
	  "Continue until stopped, and follow a program that restarts", 1 },
	{ "output", 'o', "DIR", RS_CLI_TEXT(struct arguments, directory),
	  "Write files instead of standard output: NAME_cur.N, and NAME_last.N for runs that have "
	  "ended; written lines are removed from the rings",
	  1 },
	{ "size", 's', "BYTES", 0,
	  "Begin a new file when the current one reaches this size, with K, M or G; 0: no limit "
	  "(1M)",
	  1 },
	{ "files", 'n', "N", 0, "Keep the newest N files; 0: all (4)", 1 },
	{ "last", 'l', NULL, RS_CLI_FLAG(struct arguments, last),
	  "Save only the logs of runs that have ended, in DIR, and report how each ended", 1 },
	{ "poll", 't', "MS", 0, "Poll the rings at this interval of 1 to 999 ms (100)", 1 },
	{ "level", KEY_LEVEL, "LEVEL", 0, "Only lines up to this level: 1 to 6, or fatal to debug",
	  2 },
	{ "cpus", KEY_CPUS, "LIST", 0, "Only lines of these CPUs, as in 0,2-3", 2 },
	{ "json", RS_CLI_FLAG(struct arguments, json), NULL, 0,
	  "Print a JSON object for each line and each gap", 2 },
	{ "console", KEY_CONSOLE, "LEVEL", 0,
	  "log level: set the level up to which the program prints lines; 0 or off: none", 3 },
	{ "memory", KEY_MEMORY, "LEVEL", 0,
	  "log level: set the level up to which the program writes lines to the rings", 3 },
	{ 0 },
};

static const char doc[] =
	"Collect the log of a hypervisor, VMM or guest from its rings, and merge all CPUs in "
	"order.\v"
	"PATH is the log memory of a program (ringside/log.h), as a file or shm:NAME, or ACRN's "
	"rings, as a file or device (/dev/acrn_hvlog_cur_0) for each CPU. Without PATH, log reads "
	"the memories shm:ringside-log-* of this user's programs, and ACRN's devices; with -f, "
	"also those that appear later. A file must belong to root or to this user, and must not be "
	"writable by others.\n\n"
	"Where lines are missing, one line gives their number, CPUs and time.\n\n"
	"'ringside log level' shows or sets the levels of a running program: 1 fatal, 2 acrn, 3 "
	"error, 4 warning, 5 info, 6 debug.\n\n"
	"Examples:\n"
	"  ringside log -f\n"
	"  ringside log -f -o /var/log/ringside -s 1M -n 4\n"
	"  ringside log --last -o . shm:ringside-log-myvmm\n"
	"  ringside log level --memory debug\n";

/* ---- arguments ------------------------------------------------------------------------------ */

static uint32_t parse_level(struct argp_state *state, const char *what, const char *text)
{
	uint32_t level = 0;

	if (!rs_log_level_parse(text, &level))
		argp_error(state,
			   "%s: '%s': expected 0 (off), 1 (fatal), 2 (acrn), 3 (error), "
			   "4 (warning), 5 (info) or 6 (debug)",
			   what, text);
	return level;
}

static void check(struct argp_state *state, const struct arguments *a)
{
	bool levels = a->levels[0] >= 0 || a->levels[1] >= 0;

	if (levels && !a->set)
		argp_error(state, "--console and --memory require 'ringside log level'");
	if (a->set && (a->follow || a->last || a->directory))
		argp_error(
			state,
			"log level: it collects no log; only --console and --memory are allowed");
	if (a->last && !a->directory)
		argp_error(state, "--last: no output directory given: -o DIR");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->quiet;
		break;
	case 's':
		if (!rs_cli_read_size(text, 0, INT64_MAX, &a->file_bytes))
			argp_error(state, "--size '%s': expected bytes, as in 512K or 1M, or 0",
				   text);
		break;
	case 'n':
		a->files = (uint32_t)rs_cli_number(state, "--files", text, 0, 1000000);
		break;
	case 't':
		a->poll_ms = (uint32_t)(rs_cli_time_within(state, "--poll", text, NS_PER_MS,
							   NS_PER_MS, POLL_NS_MAX) /
					NS_PER_MS);
		break;
	case KEY_LEVEL:
		a->level = parse_level(state, "--level", text);
		break;
	case KEY_CPUS:
		rs_cli_cpus(state, text, &a->cpus);
		break;
	case KEY_CONSOLE:
		a->levels[RS_LOG_CONSOLE] = (int)parse_level(state, "--console", text);
		break;
	case KEY_MEMORY:
		a->levels[RS_LOG_MEMORY] = (int)parse_level(state, "--memory", text);
		break;
	case ARGP_KEY_ARG:
		if (!a->set && !a->n_paths && !strcmp(text, "level"))
			a->set = true;
		else if (a->n_paths == PATHS_MAX)
			argp_error(state, "more than %u rings", PATHS_MAX);
		else
			a->paths[a->n_paths++] = text;
		break;
	case ARGP_KEY_END:
		check(state, a);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

/* ---- where the log is ----------------------------------------------------------------------- */

static void paths_add(struct arguments *a, const glob_t *found)
{
	for (size_t i = 0; i < found->gl_pathc && a->n_paths < PATHS_MAX; i++)
		a->paths[a->n_paths++] = found->gl_pathv[i];
}

/* Finds the logs of this user's programs, and ACRN's devices; found keeps their names. */
static struct rs_error *find(struct arguments *a, glob_t *found)
{
	char folder[RS_SHARED_FOLDER_MAX];
	struct rs_error *err;

	if (a->n_paths)
		return NULL;
	err = rs_shared_find("ringside-log-*", found);
	if (err)
		return err;
	if (a->set && found->gl_pathc > 1)
		return rs_error_create(RS_USAGE, "there are %zu logs: choose one, such as %s",
				       found->gl_pathc, found->gl_pathv[0]);
	if (!a->set && !a->last)
		glob("/dev/acrn_hvlog_cur_*", found->gl_pathc ? GLOB_APPEND : 0, NULL, found);
	if (a->last || (a->follow && a->directory))
		glob("/dev/acrn_hvlog_last_*", found->gl_pathc ? GLOB_APPEND : 0, NULL, found);
	paths_add(a, found);
	if (a->n_paths)
		return NULL;
	if (a->follow && !a->quiet)
		fprintf(stderr, "ringside log: there is no log yet; waiting for one\n");
	if (a->follow)
		return NULL;
	return rs_error_create(RS_FAILED,
			       "there is no %s/ringside-log-*%s: no program of this user logs, or "
			       "its log must be named",
			       rs_shared_folder(folder),
			       a->set	 ? ""
			       : a->last ? ", and no /dev/acrn_hvlog_last_*"
					 : ", and no /dev/acrn_hvlog_cur_*");
}

/* ---- levels --------------------------------------------------------------------------------- */

static void put_levels(struct rs_json *json, const void *about)
{
	const uint32_t *levels = about;

	rs_json_unsigned(rs_json_key(json, "console"), levels[RS_LOG_CONSOLE]);
	rs_json_unsigned(rs_json_key(json, "memory"), levels[RS_LOG_MEMORY]);
}

static struct rs_error *show_levels(const struct arguments *a, const uint32_t *levels)
{
	if (a->json)
		return rs_cli_json_print(put_levels, levels);
	printf("console %u %s\nmemory  %u %s\n", levels[RS_LOG_CONSOLE],
	       rs_log_level_name(levels[RS_LOG_CONSOLE]), levels[RS_LOG_MEMORY],
	       rs_log_level_name(levels[RS_LOG_MEMORY]));
	return NULL;
}

static struct rs_error *levels(const struct arguments *a)
{
	struct rs_log_memory memory;
	uint32_t now[RS_LOG_SINKS];
	struct rs_error *err;

	if (a->n_paths != 1)
		return rs_error_create(RS_USAGE, "log level allows only one PATH, a program's "
						 "memory");
	err = rs_log_memory_open(a->paths[0], &memory);
	if (err) {
		rs_log_memory_close(&memory);
		return err;
	}
	for (uint32_t i = 0; i < RS_LOG_SINKS; i++) {
		uint32_t *level = &memory.head->level[i];

		if (a->levels[i] >= 0)
			__atomic_store_n(level, (uint32_t)a->levels[i], __ATOMIC_RELAXED);
		now[i] = __atomic_load_n(level, __ATOMIC_RELAXED);
	}
	err = show_levels(a, now);
	rs_log_memory_close(&memory);
	return err;
}

/* ---- output ---------------------------------------------------------------------------------- */

struct logs;

/* A log in collection: a program's memory, or ACRN's rings of one boot. */
struct one {
	struct logs *logs;
	char **paths;
	uint32_t n_paths, runs;
	bool last, has_files, was_writing, done;
	char name[RS_LOG_NAME_MAX + 8]; /* the prefix of its files' names, before the number */
	struct rs_out out;
	struct rs_log_files files;
	struct rs_log_collector *collector;
};

/* A log that was found but could not be opened yet. */
struct attempt {
	char *path;
	uint32_t n;
};

/* The logs in collection. One thread. */
struct logs {
	const struct arguments *a;
	struct one *one[PATHS_MAX];
	uint32_t n;
	const struct one *shown; /* the log of the last line on standard output */
	bool finds;		 /* no PATH was given */
	struct attempt attempts[PATHS_MAX];
	uint32_t n_attempts;
	size_t devices; /* the number at the last scan */
	bool partial;
	int code; /* the exit code of a failed log, while others continue */
};

/* Flushes a file after each line; standard output is written in larger pieces. */
static struct rs_error *pass_on(struct one *one)
{
	struct rs_error *err = NULL;

	if (!one->has_files)
		return NULL;
	err = rs_log_files_write(&one->files, one->out.buffer, one->out.used);
	one->out.used = 0;
	return err;
}

/* Writes the log's name before its lines if several logs are shown. */
static void head_write(struct one *one)
{
	struct logs *logs = one->logs;
	bool needed = logs->n > 1 && !one->has_files && !logs->a->json && logs->shown != one;

	logs->shown = one;
	if (!needed)
		return;
	rs_out_line(&one->out);
	rs_out_text(&one->out, "==> ");
	rs_out_text(&one->out, one->name);
	rs_out_text(&one->out, " <==\n");
}

/* Writes the log's name in JSON. */
static const char *json_name(const struct one *one)
{
	if (!one->logs->a->json)
		return NULL;
	return one->last ? one->name : rs_log_collector_name(one->collector);
}

static struct rs_error *on_line(void *ctx, const struct rs_log_line *line)
{
	struct one *one = ctx;
	const struct arguments *a = one->logs->a;

	if (line->level > a->level)
		return NULL;
	if (!rs_cpu_set_has(&a->cpus, (int)line->cpu))
		return NULL;
	head_write(one);
	rs_log_write_line(&one->out, line, json_name(one));
	return pass_on(one);
}

static struct rs_error *on_gap(void *ctx, const struct rs_log_gap *gap)
{
	struct one *one = ctx;

	head_write(one);
	rs_log_write_gap(&one->out, gap, json_name(one));
	return pass_on(one);
}

/* ---- what earlier runs left ----------------------------------------------------------------- */

/* Reports how the runs ended, if that is known for each of them. */
static const char *how_ended(const struct rs_log_left *left)
{
	if (left->crashed == left->runs)
		return " that ended unexpectedly";
	if (left->orderly == left->runs)
		return " that ended normally, but had not been collected,";
	return "";
}

static void report_left(const struct arguments *a, const struct rs_log_left *left, bool *partial)
{
	*partial |= left->damaged || left->missing;
	if (a->quiet || (!left->runs && !left->damaged))
		return;
	fprintf(stderr, "ringside log: %s%s left %s (%llu missing, %s) and %s: %s\n",
		RS_COUNT_OF(left->runs, "run"), how_ended(left), RS_COUNT_OF(left->lines, "line"),
		(unsigned long long)left->missing, RS_COUNT_OF(left->torn, "torn element"),
		RS_COUNT_OF(left->records, "trace record"), left->file);
	if (left->remark[0])
		fprintf(stderr, "ringside log: %s\n", left->remark);
}

static struct rs_error *recover(const struct arguments *a, const char *path, bool *partial)
{
	struct rs_log_left left;
	struct rs_error *err = rs_log_recover(path, a->directory, a->files, &left);

	if (!err)
		report_left(a, &left, partial);
	return err;
}

/* ---- collecting ------------------------------------------------------------------------------ */

static void wait_ms(uint32_t ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

/* ---- one log --------------------------------------------------------------------------------- */

static void one_close(struct one *one)
{
	if (one->has_files)
		rs_log_files_deinit(&one->files);
	rs_out_deinit(&one->out);
	rs_log_collector_destroy(one->collector);
	for (uint32_t i = 0; i < one->n_paths; i++)
		free(one->paths[i]);
	free(one->paths);
	free(one);
}

/* Opens the files. Each crash of ACRN's is one file. */
static struct rs_error *files_open(struct one *one)
{
	const struct arguments *a = one->logs->a;
	struct rs_error *err;

	for (uint32_t i = 0; i < one->logs->n; i++) {
		if (!strcmp(one->logs->one[i]->name, one->name))
			return rs_error_create(RS_USAGE,
					       "%s and %s: the files of both logs would be %s.N: "
					       "use different directories",
					       one->logs->one[i]->paths[0], one->paths[0],
					       one->name);
	}
	err = rs_log_files_init(&one->files, a->directory, one->name, one->last ? 0 : a->file_bytes,
				a->files);
	one->has_files = !err;
	return err;
}

static struct rs_error *collector_open(struct one *one)
{
	const struct arguments *a = one->logs->a;
	const struct rs_log_taker taker = { one, on_line, on_gap };
	const struct rs_log_collect_options collect_options = {
		.paths = (const char *const *)one->paths,
		.n_paths = one->n_paths,
		.patience_ms = RS_LOG_PATIENCE_MS,
		.consume = a->directory,
		.once = one->last || !a->follow,
	};
	struct rs_error *err = rs_log_collector_create(&collect_options, &taker, &one->collector);

	if (err)
		return err;
	snprintf(one->name, sizeof(one->name), "%s%s", rs_log_collector_name(one->collector),
		 one->last	? "_last"
		 : a->directory ? "_cur"
				: "");
	err = rs_out_init(&one->out, STDOUT_FILENO);
	return err || !a->directory ? err : files_open(one);
}

static struct rs_error *one_open(struct logs *logs, const char *const *paths, uint32_t n, bool last)
{
	struct one *one = logs->n < PATHS_MAX ? calloc(1, sizeof(*one)) : NULL;
	struct rs_error *err = NULL;

	if (!one)
		return rs_error_no_memory();
	one->logs = logs;
	one->last = last;
	one->files.fd = -1;
	one->paths = calloc(n, sizeof(*one->paths));
	for (; one->paths && one->n_paths < n; one->n_paths++) {
		one->paths[one->n_paths] = strdup(paths[one->n_paths]);
		if (!one->paths[one->n_paths])
			break;
	}
	if (one->n_paths < n)
		err = rs_error_no_memory();
	if (!err)
		err = collector_open(one);
	if (err)
		one_close(one);
	else
		logs->one[logs->n++] = one;
	return err;
}

static struct rs_error *one_poll(struct one *one)
{
	const char *memory = rs_log_collector_memory(one->collector);
	struct rs_log_collected sum;
	struct rs_error *err = rs_log_collector_poll(one->collector, rs_now_ms(), &one->done);

	if (err)
		return err;
	sum = rs_log_collector_sum(one->collector);
	if (memory && one->has_files &&
	    (sum.runs != one->runs || (one->was_writing && !sum.writing)))
		err = recover(one->logs->a, memory, &one->logs->partial);
	one->runs = sum.runs;
	one->was_writing = sum.writing;
	return err;
}

static void report_sum(const struct one *one)
{
	const struct arguments *a = one->logs->a;
	const struct rs_log_collected sum = rs_log_collector_sum(one->collector);
	bool lacks = sum.missing || sum.damaged || sum.late, several = one->logs->n > 1;

	one->logs->partial |= lacks;
	if (a->quiet || (!lacks && (!a->directory || (one->last && !sum.lines))))
		return;
	fprintf(stderr, "ringside log: %s%s%s; %llu missing, in %s; %llu too late, %s damaged\n",
		several || one->last ? one->name : "", several || one->last ? ": " : "",
		RS_COUNT_OF(sum.lines, "line"), (unsigned long long)sum.missing,
		RS_COUNT_OF(sum.gaps, "gap"), (unsigned long long)sum.late,
		RS_COUNT_OF(sum.damaged, "element"));
}

/* Writes the pending lines, and prints the summary. */
static struct rs_error *one_end(struct one *one)
{
	const char *memory = rs_log_collector_memory(one->collector);
	struct rs_error *err = rs_log_collector_end(one->collector, rs_now_ms());

	if (!err && !one->has_files)
		err = rs_out_flush(&one->out);
	if (err)
		return err;
	report_sum(one);
	return memory && one->has_files ? recover(one->logs->a, memory, &one->logs->partial) : NULL;
}

/* ---- all logs -------------------------------------------------------------------------------- */

/* Reports a log that failed, if several logs were found; the others continue. */
static struct rs_error *fail(struct logs *logs, struct rs_error *err)
{
	if (!err || !logs->finds)
		return err;
	logs->code = rs_cli_fail("log", err);
	return NULL;
}

static bool is_known(const struct logs *logs, const char *path)
{
	for (uint32_t i = 0; i < logs->n; i++) {
		if (!strcmp(logs->one[i]->paths[0], path))
			return true;
	}
	return false;
}

/* Returns the record of attempts at a path, or NULL if there is no room for another. */
static struct attempt *attempt_of(struct logs *logs, const char *path)
{
	struct attempt *attempt;

	for (uint32_t i = 0; i < logs->n_attempts; i++) {
		if (!strcmp(logs->attempts[i].path, path))
			return &logs->attempts[i];
	}
	if (logs->n_attempts == PATHS_MAX)
		return NULL;
	attempt = &logs->attempts[logs->n_attempts];
	attempt->path = strdup(path);
	logs->n_attempts += attempt->path != NULL;
	return attempt->path ? attempt : NULL;
}

/* Opens a memory that was found. Only a memory that stays unreadable is reported, because a program
 * may still be initializing it. */
static struct rs_error *found_open(struct logs *logs, const char *path)
{
	struct attempt *attempt;
	struct rs_error *err;

	if (is_known(logs, path))
		return NULL;
	if (!logs->a->follow)
		return fail(logs, one_open(logs, &path, 1, false));
	attempt = attempt_of(logs, path);
	if (!attempt || attempt->n > ATTEMPTS)
		return NULL;
	err = one_open(logs, &path, 1, false);
	if (err && attempt->n++ == ATTEMPTS)
		return fail(logs, err);
	rs_error_free(err);
	return NULL;
}

static bool is_device(const char *path)
{
	static const char devices[] = "/dev/acrn_hvlog_";

	return !strncmp(path, devices, sizeof(devices) - 1);
}

/* Opens what was given or found: each memory, the rings of this boot, and the rings of the last
 * boot. */
static struct rs_error *all_open(struct logs *logs)
{
	const struct arguments *a = logs->a;
	const char *rings[2][PATHS_MAX];
	struct rs_error *err = NULL;
	uint32_t n[2] = { 0 };

	for (uint32_t i = 0; i < a->n_paths && !err; i++) {
		const char *path = a->paths[i];
		bool is_found = logs->finds && !is_device(path);
		enum rs_log_path kind = is_found ? RS_LOG_PATH_MEMORY : rs_log_path_kind(path);

		if (kind != RS_LOG_PATH_MEMORY)
			rings[kind == RS_LOG_PATH_LAST][n[kind == RS_LOG_PATH_LAST]++] = path;
		else if (a->last)
			err = fail(logs, recover(a, path, &logs->partial));
		else
			err = is_found ? found_open(logs, path) : one_open(logs, &path, 1, false);
	}
	if (!err && a->last && n[0])
		return rs_error_create(RS_USAGE,
				       "%s: a ring of the current boot; --last saves the rings of "
				       "the last boot, /dev/acrn_hvlog_last_*",
				       rings[0][0]);
	for (uint32_t last = 0; last < 2 && !err; last++) {
		if (n[last])
			err = fail(logs, one_open(logs, rings[last], n[last], last));
	}
	logs->devices = logs->finds && n[0] ? SIZE_MAX : 0;
	return err;
}

/* Opens ACRN's devices, when no more of them appear. */
static struct rs_error *devices_poll(struct logs *logs)
{
	static const char *const patterns[] = { "/dev/acrn_hvlog_cur_*", "/dev/acrn_hvlog_last_*" };
	struct rs_error *err = NULL;
	size_t n = 0;

	if (logs->devices == SIZE_MAX)
		return NULL;
	for (uint32_t last = 0; last < (logs->a->directory ? 2 : 1) && !err; last++) {
		glob_t found = { 0 };

		glob(patterns[last], 0, NULL, &found);
		if (!last)
			n = found.gl_pathc;
		if (n && n == logs->devices && found.gl_pathc && found.gl_pathc <= PATHS_MAX)
			err = fail(logs, one_open(logs, (const char *const *)found.gl_pathv,
						  (uint32_t)found.gl_pathc, last));
		globfree(&found);
	}
	logs->devices = n && n == logs->devices ? SIZE_MAX : n;
	return err;
}

/* Finds logs that have appeared since the last scan. */
static struct rs_error *poll_again(struct logs *logs)
{
	glob_t found = { 0 };
	struct rs_error *err;

	if (!logs->finds || !logs->a->follow)
		return NULL;
	err = rs_shared_find("ringside-log-*", &found);
	for (size_t i = 0; i < found.gl_pathc && !err; i++)
		err = found_open(logs, found.gl_pathv[i]);
	globfree(&found);
	return err ? err : devices_poll(logs);
}

/* Polls each log. Sets *done if no more lines can arrive. */
static struct rs_error *all_poll(struct logs *logs, bool *done)
{
	struct rs_error *err = NULL;

	*done = !logs->finds || !logs->a->follow;
	for (uint32_t i = 0; i < logs->n && !err; i++) {
		struct one *one = logs->one[i];

		if (one->done)
			continue;
		err = one_poll(one);
		if (err) {
			one->done = true;
			err = fail(logs, err);
		}
		if (!err && !one->has_files)
			err = rs_out_flush(&one->out);
		*done &= one->done;
	}
	return err;
}

static struct rs_error *follow(struct logs *logs)
{
	struct rs_error *err = NULL;
	bool done = false;

	while (!err && !done && !rs_cli_stop) {
		err = all_poll(logs, &done);
		if (!err && !done)
			err = poll_again(logs);
		if (!err && !done && !rs_cli_stop)
			wait_ms(logs->a->poll_ms);
	}
	for (uint32_t i = 0; i < logs->n; i++) {
		struct rs_error *end_err = one_end(logs->one[i]);

		if (err)
			rs_error_free(end_err);
		else
			err = end_err;
	}
	return err;
}

static struct rs_error *collect(struct logs *logs)
{
	struct rs_error *err = all_open(logs);

	if (!err && (logs->n || (logs->finds && logs->a->follow))) {
		rs_cli_catch_stop();
		err = follow(logs);
	}
	for (uint32_t i = 0; i < logs->n; i++)
		one_close(logs->one[i]);
	for (uint32_t i = 0; i < logs->n_attempts; i++)
		free(logs->attempts[i].path);
	return err;
}

int cmd_log(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_quiet_argp, 0, NULL, 0 }, { 0 } };
	static const struct argp argp = { options, parse, "[level] [PATH...]", doc, children,
					  NULL,	   NULL };
	static struct arguments a = { .file_bytes = RS_LOG_FILE_BYTES,
				      .files = RS_LOG_FILES,
				      .poll_ms = POLL_MS,
				      .level = RS_LOG_DEBUG,
				      .levels = { -1, -1 } };
	static struct logs logs = { .a = &a };
	glob_t found = { 0 };
	struct rs_error *err;
	int code = rs_cli_parse_writer(&argp, argc, argv, &a);

	if (code)
		return code;
	logs.finds = !a.n_paths;
	err = rs_cli_confine(RS_CONFINE_WRITER);
	if (!err)
		err = find(&a, &found);
	if (!err)
		err = a.set ? levels(&a) : collect(&logs);
	globfree(&found);
	code = rs_cli_fail("log", err);
	if (!code)
		code = logs.code;
	return code || !logs.partial ? code : RS_EXIT_PARTIAL;
}
