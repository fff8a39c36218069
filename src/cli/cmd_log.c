/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside log: collects a log's rings; ringside log level: what goes into them. */
#include "cli/cli.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "log/collect.h"
#include "log/files.h"
#include "log/memory.h"
#include "ring/shared.h"

#define PATHS_MAX RS_LOG_LANES_MAX
#define POLL_MS	  100

struct arguments {
	const char *paths[PATHS_MAX];
	uint32_t n_paths;
	const char *directory;
	uint64_t file_bytes;
	uint32_t files, poll_ms;
	bool follow, last, json, quiet, set;
	uint32_t level;
	uint64_t cpus[RS_LOG_LANES_MAX / 64];
	bool some_cpus;
	int levels[RS_LOG_SINKS]; /* -1: as it is */
};

enum { KEY_CONSOLE = 256, KEY_MEMORY, KEY_LEVEL, KEY_CPUS, KEY_JSON };

static const struct argp_option options[] = {
	{ "follow", 'f', NULL, 0, "Go on until it is stopped; a run that begins anew is taken up",
	  1 },
	{ "output", 'o', "DIR", 0,
	  "Write files NAME_cur.N there, and NAME_last.N of what runs that are no more left, "
	  "instead of standard output; what is written is taken out of the rings",
	  1 },
	{ "size", 's', "BYTES", 0, "Of a file, with K, M or G; 0: no limit (1M)", 1 },
	{ "files", 'n', "N", 0, "The newest N stay; 0: all (4)", 1 },
	{ "last", 'l', NULL, 0,
	  "Only what runs that are no more left: save it in DIR, and say how they ended", 1 },
	{ "poll", 't', "MS", 0, "Between two looks at the rings, 1 to 999 (100)", 1 },
	{ "level", KEY_LEVEL, "LEVEL", 0, "Only lines up to this level: 1 to 6, or fatal to debug",
	  2 },
	{ "cpus", KEY_CPUS, "LIST", 0, "Only lines of these CPUs, as in 0,2-3", 2 },
	{ "json", KEY_JSON, NULL, 0, "An object for each line and each gap", 2 },
	{ "quiet", 'q', NULL, 0, "No summary on standard error", 2 },
	{ "console", KEY_CONSOLE, "LEVEL", 0,
	  "log level: what the program shows itself, from now on; 0 or off: nothing", 3 },
	{ "memory", KEY_MEMORY, "LEVEL", 0, "log level: what it puts into the rings", 3 },
	{ 0 },
};

static const char doc[] =
	"Collect the log of a hypervisor, VMM or guest from its rings, in order over all CPUs.\v"
	"PATH is the memory of a program that logs (ringside/log.h): a file, or shm:NAME; or rings "
	"of "
	"ACRN's form, a file or device (/dev/acrn_hvlog_cur_0) for each CPU. Without one: the "
	"memory shm:ringside-log-* of this user's programs if there is one only, else ACRN's "
	"devices. A file must belong to root or to this user, and nobody else may write to it.\n\n"
	"Lines that are missing are told by a line with their number, CPUs and time.\n\n"
	"'ringside log level' shows the levels of a program that runs, or sets them: 1 fatal, 2 "
	"acrn, "
	"3 error, 4 warning, 5 info, 6 debug.\n\n"
	"Examples:\n"
	"  ringside log -f\n"
	"  ringside log -f -o /var/log/ringside -s 1M -n 4\n"
	"  ringside log --last -o . shm:ringside-log-myvmm\n"
	"  ringside log level --memory debug\n";

/* ---- arguments ------------------------------------------------------------------------------ */

static uint64_t parse_bytes(struct argp_state *state, const char *text)
{
	static const char units[] = "KMG";
	char *end;
	unsigned long long value = strtoull(text, &end, 10);
	const char *unit = *end ? strchr(units, *end) : NULL;
	int shift = unit ? 10 * (int)(unit - units + 1) : 0;

	if (text[0] < '0' || text[0] > '9' || (*end && !unit) || (unit && end[1]) ||
	    value > UINT64_MAX >> 34)
		argp_error(state, "'%s': expected a number of bytes, as in 512K or 1M", text);
	return value << shift;
}

static uint32_t parse_number(struct argp_state *state, const char *what, const char *text,
			     uint32_t least, uint32_t most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end || value < least || value > most)
		argp_error(state, "%s: '%s': expected a number from %u to %u", what, text, least,
			   most);
	return (uint32_t)value;
}

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

static void parse_cpus(struct argp_state *state, struct arguments *a, const char *text)
{
	const char *at = text;

	a->some_cpus = true;
	do {
		char *end;
		unsigned long from = strtoul(at, &end, 10), to = from;

		if (end == at || *at < '0' || *at > '9')
			from = RS_LOG_LANES_MAX;
		if (*end == '-') {
			at = end + 1;
			to = strtoul(at, &end, 10);
			if (end == at)
				from = RS_LOG_LANES_MAX;
		}
		if (from > to || to >= RS_LOG_LANES_MAX || from >= RS_LOG_LANES_MAX ||
		    (*end && *end != ','))
			argp_error(state, "--cpus: '%s': expected CPUs below %u, as in 0,2-3", text,
				   RS_LOG_LANES_MAX);
		for (; from <= to && from < RS_LOG_LANES_MAX; from++)
			a->cpus[from / 64] |= UINT64_C(1) << from % 64;
		at = *end ? end + 1 : end;
	} while (*at);
}

static void check(struct argp_state *state, const struct arguments *a)
{
	bool levels = a->levels[0] >= 0 || a->levels[1] >= 0;

	if (levels && !a->set)
		argp_error(state, "--console and --memory are for 'ringside log level'");
	if (a->set && (a->follow || a->last || a->directory))
		argp_error(state,
			   "log level: it collects nothing; --console and --memory set levels");
	if (a->last && !a->directory)
		argp_error(state, "--last: into which directory? -o DIR");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'f':
		a->follow = true;
		break;
	case 'o':
		a->directory = text;
		break;
	case 's':
		a->file_bytes = parse_bytes(state, text);
		break;
	case 'n':
		a->files = parse_number(state, "--files", text, 0, 1000000);
		break;
	case 'l':
		a->last = true;
		break;
	case 't':
		a->poll_ms = parse_number(state, "--poll", text, 1, 999);
		break;
	case KEY_LEVEL:
		a->level = parse_level(state, "--level", text);
		break;
	case KEY_CPUS:
		parse_cpus(state, a, text);
		break;
	case KEY_JSON:
		a->json = true;
		break;
	case 'q':
		a->quiet = true;
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
			argp_error(state, "up to %u rings", PATHS_MAX);
		else
			a->paths[a->n_paths++] = text;
		break;
	case ARGP_KEY_END:
		check(state, a);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- where the log is ----------------------------------------------------------------------- */

/* The log of this user's programs, if there is only one; else ACRN's devices. found keeps the
 * names. */
static struct rs_error *find(struct arguments *a, glob_t *found)
{
	char folder[RS_SHARED_FOLDER_MAX];
	struct rs_error *err;
	size_t n;

	if (a->n_paths)
		return NULL;
	err = rs_shared_find("ringside-log-*", found);
	if (err)
		return err;
	if (!found->gl_pathc && !a->set && !a->last)
		glob("/dev/acrn_hvlog_cur_*", 0, NULL, found);
	else if (found->gl_pathc > 1)
		return rs_error_create(RS_USAGE, "there are %zu logs: which? %s, for one",
				       found->gl_pathc, found->gl_pathv[0]);
	n = found->gl_pathc;
	if (!n)
		return rs_error_create(RS_FAILED,
				       "there is no %s/ringside-log-*%s: no program of this user "
				       "logs, or its log must be named",
				       rs_shared_folder(folder),
				       a->set || a->last ? "" : ", and no /dev/acrn_hvlog_cur_*");
	for (size_t i = 0; i < n && i < PATHS_MAX; i++)
		a->paths[a->n_paths++] = found->gl_pathv[i];
	return NULL;
}

/* ---- levels --------------------------------------------------------------------------------- */

static void show_levels(const struct arguments *a, const uint32_t *levels)
{
	const char *names[RS_LOG_SINKS];

	for (uint32_t i = 0; i < RS_LOG_SINKS; i++)
		names[i] = rs_log_level_name(levels[i]);
	if (a->json)
		printf("{\"console\": %u, \"memory\": %u}\n", levels[RS_LOG_CONSOLE],
		       levels[RS_LOG_MEMORY]);
	else
		printf("console %u %s\nmemory  %u %s\n", levels[RS_LOG_CONSOLE],
		       names[RS_LOG_CONSOLE], levels[RS_LOG_MEMORY], names[RS_LOG_MEMORY]);
}

static struct rs_error *levels(const struct arguments *a)
{
	struct rs_log_memory memory;
	uint32_t now[RS_LOG_SINKS];
	struct rs_error *err;

	if (a->n_paths != 1)
		return rs_error_create(RS_USAGE, "levels are in one program's memory at a time");
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
	show_levels(a, now);
	rs_log_memory_close(&memory);
	return NULL;
}

/* ---- what comes out -------------------------------------------------------------------------- */

struct output {
	const struct arguments *a;
	struct rs_out out;
	struct rs_log_files files;
	bool has_files;
};

/* A file takes each line by itself, standard output what has come together. */
static struct rs_error *pass_on(struct output *o)
{
	struct rs_error *err = NULL;

	if (!o->has_files)
		return NULL;
	err = rs_log_files_write(&o->files, o->out.buffer, o->out.used);
	o->out.used = 0;
	return err;
}

static struct rs_error *on_line(void *ctx, const struct rs_log_line *line)
{
	struct output *o = ctx;
	const struct arguments *a = o->a;

	if (line->level > a->level)
		return NULL;
	if (a->some_cpus &&
	    (line->cpu >= RS_LOG_LANES_MAX || !(a->cpus[line->cpu / 64] >> line->cpu % 64 & 1)))
		return NULL;
	rs_log_write_line(&o->out, line, a->json);
	return pass_on(o);
}

static struct rs_error *on_gap(void *ctx, const struct rs_log_gap *gap)
{
	struct output *o = ctx;

	rs_log_write_gap(&o->out, gap, o->a->json);
	return pass_on(o);
}

static struct rs_error *output_open(struct output *o, const struct arguments *a, const char *name)
{
	char full[RS_LOG_NAME_MAX + 8];
	struct rs_error *err = rs_out_init(&o->out, STDOUT_FILENO);

	if (err || !a->directory)
		return err;
	snprintf(full, sizeof(full), "%s_cur", name);
	err = rs_log_files_init(&o->files, a->directory, full, a->file_bytes, a->files);
	o->has_files = !err;
	return err;
}

static void output_close(struct output *o)
{
	if (o->has_files)
		rs_log_files_deinit(&o->files);
	rs_out_deinit(&o->out);
}

/* ---- what runs that are no more left -------------------------------------------------------- */

/* How the runs ended, as far as that is known of all of them. */
static const char *how_ended(const struct rs_log_left *left)
{
	if (left->crashed == left->runs)
		return " that ended unexpectedly";
	if (left->orderly == left->runs)
		return " that ended in order, but had not been collected,";
	return "";
}

static void tell_left(const struct arguments *a, const struct rs_log_left *left, bool *partial)
{
	*partial |= left->damaged || left->missing;
	if (a->quiet || (!left->runs && !left->damaged))
		return;
	fprintf(stderr,
		"ringside log: %u run%s%s left %llu lines (%llu missing, %llu torn elements) and "
		"%llu "
		"trace records: %s\n",
		left->runs, left->runs == 1 ? "" : "s", how_ended(left),
		(unsigned long long)left->lines, (unsigned long long)left->missing,
		(unsigned long long)left->torn, (unsigned long long)left->records, left->file);
	if (left->remark[0])
		fprintf(stderr, "ringside log: %s\n", left->remark);
}

static struct rs_error *recover(const struct arguments *a, const char *path, bool *partial)
{
	struct rs_log_left left;
	struct rs_error *err = rs_log_recover(path, a->directory, a->files, &left);

	if (!err)
		tell_left(a, &left, partial);
	return err;
}

/* ---- collecting ------------------------------------------------------------------------------ */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void wait_ms(uint32_t ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L }, NULL);
}

static struct rs_error *follow(const struct arguments *a, struct output *o,
			       struct rs_log_collector *c, bool *partial)
{
	const char *memory = rs_log_collector_memory(c);
	struct rs_error *err = NULL, *end_err;
	bool was_writing = false, done = false;
	uint32_t runs = 0;

	while (!err && !done && !rs_cli_stop) {
		struct rs_log_collected sum;

		err = rs_log_collector_poll(c, now_ms(), &done);
		if (!err && !o->has_files)
			err = rs_out_flush(&o->out);
		sum = rs_log_collector_sum(c);
		if (!err && memory && a->directory &&
		    (sum.runs != runs || (was_writing && !sum.writing)))
			err = recover(a, memory, partial);
		runs = sum.runs;
		was_writing = sum.writing;
		if (!err && !done && !rs_cli_stop)
			wait_ms(a->poll_ms);
	}
	end_err = rs_log_collector_end(c, now_ms());
	if (!end_err && !o->has_files)
		end_err = rs_out_flush(&o->out);
	if (!err)
		return end_err;
	rs_error_free(end_err);
	return err;
}

static void tell_sum(const struct arguments *a, const struct rs_log_collected *sum, bool *partial)
{
	*partial |= sum->missing || sum->damaged || sum->late;
	if (a->quiet || (!a->directory && !sum->missing && !sum->damaged && !sum->late))
		return;
	fprintf(stderr,
		"ringside log: %llu lines; %llu missing, in %llu gaps; %llu too late, %llu "
		"elements "
		"damaged\n",
		(unsigned long long)sum->lines, (unsigned long long)sum->missing,
		(unsigned long long)sum->gaps, (unsigned long long)sum->late,
		(unsigned long long)sum->damaged);
}

static struct rs_error *collect(const struct arguments *a, bool *partial)
{
	struct output o = { .a = a };
	const struct rs_log_taker taker = { &o, on_line, on_gap };
	const struct rs_log_collect_options collect_options = {
		.paths = a->paths,
		.n_paths = a->n_paths,
		.patience_ms = RS_LOG_PATIENCE_MS,
		.consume = a->directory,
		.once = !a->follow,
	};
	struct rs_log_collector *c;
	struct rs_log_collected sum;
	struct rs_error *err = rs_log_collector_create(&collect_options, &taker, &c);

	if (err)
		return err;
	rs_cli_catch_stop();
	err = output_open(&o, a, rs_log_collector_name(c));
	if (!err)
		err = follow(a, &o, c, partial);
	sum = rs_log_collector_sum(c);
	if (!err)
		tell_sum(a, &sum, partial);
	if (!err && rs_log_collector_memory(c) && a->directory)
		err = recover(a, rs_log_collector_memory(c), partial);
	output_close(&o);
	rs_log_collector_destroy(c);
	return err;
}

int cmd_log(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "[level] [PATH...]", doc };
	struct arguments a = { .file_bytes = RS_LOG_FILE_BYTES,
			       .files = RS_LOG_FILES,
			       .poll_ms = POLL_MS,
			       .level = RS_LOG_DEBUG,
			       .levels = { -1, -1 } };
	glob_t found = { 0 };
	struct rs_error *err;
	bool partial = false;
	int code = rs_cli_parse_writer(&argp, argc, argv, &a);

	if (code)
		return code;
	err = rs_cli_confine(RS_CONFINE_WRITER);
	if (!err)
		err = find(&a, &found);
	if (!err && a.set)
		err = levels(&a);
	else if (!err && a.last)
		err = recover(&a, a.paths[0], &partial);
	else if (!err)
		err = collect(&a, &partial);
	globfree(&found);
	code = rs_cli_fail("log", err);
	return code || !partial ? code : RS_EXIT_PARTIAL;
}
