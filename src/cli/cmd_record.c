/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside record: live sources into a trace directory, or into memory, of which the newest is
 * written when something happens (a flight recorder).
 *
 *	sources opened -> clock, recorder -> gates opened -> wait -> gates shut
 *	-> what is left is drained, directory closed -> reports -> sources closed
 */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/duration.h"
#include "cli/record.h"

#define NS_PER_SEC     UINT64_C(1000000000)
#define TICK_NS	       20000000	  /* between two looks at the trigger, the clock, signals */
#define LOOK_NS	       500000000u /* for new threads, and to show how it goes */
#define MEMORY_DEFAULT (UINT64_C(256) << 20)
#define MEMORY_MIN     (UINT64_C(1) << 20)
#define WORKERS_MAX    4

static const struct rs_record_kind *const kinds[] = { &rs_record_kvm };
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* ---- arguments ---------------------------------------------------------------------------- */

enum {
	KEY_KVM = 256,
	KEY_DURATION,
	KEY_VM,
	KEY_EXITS,
	KEY_BUFFER,
	KEY_FLIGHT,
	KEY_WHEN,
	KEY_MEMORY,
	KEY_ONCE,
};

static const struct argp_option options[] = {
	{ "kvm", KEY_KVM, NULL, 0,
	  "The host's KVM: exits and entries, what they were about, and when vCPUs' threads were "
	  "off "
	  "the CPU",
	  1 },
	{ "exits", KEY_EXITS, NULL, 0,
	  "With --kvm: count exits beside it, from the same moment to the same moment, and show "
	  "the "
	  "table at the end",
	  1 },
	{ "output", 'o', "DIR", 0, "The trace directory, which must be new or empty", 2 },
	{ "duration", KEY_DURATION, "SEC", 0, "Stop after this long; until Ctrl-C", 2 },
	{ "buffer", KEY_BUFFER, "SIZE", 0, "Each CPU's ring; suffixes K and M; 1M", 2 },
	{ "pid", 'p', "PID", 0, "With --kvm: only this process's vCPUs", 3 },
	{ "tid", 't', "TID", 0, "With --kvm: only this thread", 3 },
	{ "tids", 'T', "TID,...", 0, "With --kvm: only these threads", 3 },
	{ "vm", KEY_VM, "GLOB", 0, "With --kvm: only VMs that run and whose name matches", 3 },
	{ "flight", KEY_FLIGHT, "TIME", 0,
	  "Keep only what was recorded in the last TIME (10s), in memory, and write it to DIR.1, "
	  "DIR.2 "
	  "and so on: at SIGUSR1 and --when",
	  4 },
	{ "when", KEY_WHEN, "COND", 0,
	  "With --flight and --kvm: write when an exit takes longer: 'exit > 1ms', 'exit HLT > "
	  "5ms'; "
	  "at most once in TIME",
	  4 },
	{ "memory", KEY_MEMORY, "SIZE", 0,
	  "With --flight: keep no more than this, even if that is less than TIME; 256M", 4 },
	{ "once", KEY_ONCE, NULL, 0, "With --flight: write once, to DIR, and end", 4 },
	{ "json", 'j', NULL, 0, "One JSON object on what was recorded, on standard output", 5 },
	{ "quiet", 'q', NULL, 0, "No summary and no remarks on standard error, but errors", 5 },
	{ 0 },
};

static const char doc[] =
	"Record live events into a trace directory.\v"
	"Events of the kernel are stamped and put into rings, one for each CPU, and drained into "
	"files. What does not fit is counted, and is records-lost at its place in the trace.\n\n"
	"Exit codes: 0 done; 1 failed; 2 wrong use; 3 done, but records were lost.\n\n"
	"Examples:\n"
	"  ringside record --kvm -o trace --duration 10\n"
	"  ringside record --kvm -o trace -p 4711\n"
	"  ringside record --kvm -o trace --flight 10s --when 'exit > 1ms'\n"
	"  ringside print trace\n";

static int positive(struct argp_state *state, const char *option, const char *text)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (end == text || *end || errno || n <= 0 || n > INT32_MAX)
		argp_error(state, "%s '%s': expected a number above 0", option, text);
	return (int)n;
}

static void add_tids(struct argp_state *state, struct rs_record_arguments *a, const char *option,
		     char *list)
{
	char *rest = NULL;

	for (char *tid = strtok_r(list, ", ", &rest); tid; tid = strtok_r(NULL, ", ", &rest)) {
		if (a->n_tids == RS_RECORD_TIDS_MAX)
			argp_error(state, "more than %u threads", RS_RECORD_TIDS_MAX);
		a->tids[a->n_tids++] = positive(state, option, tid);
	}
	if (!a->n_tids)
		argp_error(state, "%s: which thread?", option);
}

static uint64_t size_bytes(struct argp_state *state, const char *option, const char *text)
{
	char *end;
	unsigned long long n;
	unsigned int shift = 0;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (end != text && *end) {
		static const char suffixes[] = "KMGkmg";
		const char *suffix = strchr(suffixes, *end);

		if (suffix) {
			shift = 10 + 10 * (unsigned int)((suffix - suffixes) % 3);
			end++;
		}
	}
	if (end == text || *end || errno || text[0] == '-' || !n || n > UINT64_MAX >> (shift + 1))
		argp_error(state, "%s '%s': expected bytes, as in 512K, 4M or 1G", option, text);
	return (uint64_t)n << shift;
}

static uint64_t duration_ns(struct argp_state *state, const char *option, const char *text)
{
	uint64_t ns = 0;
	struct rs_error *err = rs_duration_parse(text, NS_PER_SEC, &ns);

	if (err)
		argp_error(state, "%s: %s", option, rs_error_text(err));
	if (!ns)
		argp_error(state, "%s '%s': expected a time above 0", option, text);
	return ns;
}

static void set_when(struct argp_state *state, struct rs_record_arguments *a, const char *text)
{
	struct rs_error *err = rs_when_parse(text, rs_when_host_isa(), &a->when);

	if (err)
		argp_error(state, "--when: %s", rs_error_text(err));
	a->when_text = text;
}

/* What goes with what. */
static void check(struct argp_state *state, const struct rs_record_arguments *a)
{
	bool any = false;

	for (size_t i = 0; i < N_KINDS; i++)
		any |= kinds[i]->is_wanted(a);
	if (!any)
		argp_error(state, "record what? --kvm");
	if (a->exits && !a->kvm)
		argp_error(state, "--exits goes with --kvm");
	if (!a->directory)
		argp_error(state, "into which directory? -o DIR");
	if (!a->flight_ns && (a->when_text || a->memory_bytes || a->once))
		argp_error(state, "--when, --memory and --once go with --flight");
	if (a->vm && (a->pid || a->n_tids))
		argp_error(state, "--vm goes without -p, -t and -T");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_record_arguments *a = state->input;

	switch (key) {
	case KEY_KVM:
		a->kvm = true;
		break;
	case KEY_EXITS:
		a->exits = true;
		break;
	case 'o':
		a->directory = text;
		break;
	case KEY_DURATION:
		a->duration_ns = duration_ns(state, "--duration", text);
		break;
	case KEY_BUFFER:
		a->buffer_bytes = (uint32_t)size_bytes(state, "--buffer", text);
		if (size_bytes(state, "--buffer", text) > UINT32_MAX)
			argp_error(state, "--buffer '%s' is too much", text);
		break;
	case 'p':
		a->pid = positive(state, "--pid", text);
		break;
	case 't':
		add_tids(state, a, "--tid", text);
		break;
	case 'T':
		add_tids(state, a, "--tids", text);
		break;
	case KEY_VM:
		a->vm = text;
		break;
	case KEY_FLIGHT:
		a->flight_ns = duration_ns(state, "--flight", text);
		break;
	case KEY_WHEN:
		set_when(state, a, text);
		break;
	case KEY_MEMORY:
		a->memory_bytes = size_bytes(state, "--memory", text);
		if (a->memory_bytes < MEMORY_MIN)
			argp_error(state, "--memory '%s': at least 1M", text);
		break;
	case KEY_ONCE:
		a->once = true;
		break;
	case 'j':
		a->json = true;
		break;
	case 'q':
		a->quiet = true;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s': the directory goes behind -o", text);
		break;
	case ARGP_KEY_END:
		check(state, a);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- a recording -------------------------------------------------------------------------- */

struct recording {
	const struct rs_record_arguments *a;
	char *command;
	struct rs_clock clock;
	struct rs_recorder *recorder;
	void *states[N_KINDS]; /* NULL: not recorded */
	bool open[N_KINDS];    /* its gate */
	uint64_t began_ns, look_ns;
	bool shows; /* how it goes, on a terminal */
	bool partial;
	/* The flight recorder. */
	uint32_t n_written;
	uint64_t quiet_until_ns; /* no trigger but a signal's, before */
};

/* Set by SIGUSR1. */
static volatile sig_atomic_t asked;

static void on_asked(int signal_number)
{
	(void)signal_number;
	asked = 1;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

__attribute__((format(printf, 2, 3))) static void remark(const struct recording *r,
							 const char *format, ...)
{
	va_list args;

	if (r->a->quiet)
		return;
	fputs(r->shows ? "\r\033[K" : "", stderr);
	fputs("ringside record: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* Calls one of the operations of each source that is recorded, until one fails. */
#define EACH(r, i)                                                                                 \
	for (size_t i = 0; i < N_KINDS; i++)                                                       \
		if ((r)->states[i])

static struct rs_error *sources_open(struct recording *r)
{
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < N_KINDS; i++) {
		if (kinds[i]->is_wanted(r->a))
			err = kinds[i]->open(r->a, &r->states[i]);
	}
	return err;
}

static struct rs_error *gates(struct recording *r, bool open)
{
	struct rs_error *err = NULL, *next;

	EACH(r, i)
	{
		if (r->open[i] == open || (open && err))
			continue;
		next = kinds[i]->gate(r->states[i], open);
		r->open[i] = open;
		if (!err)
			err = next;
		else
			rs_error_free(next);
	}
	return err;
}

/* A directory of the flight recorder, by number. */
static char *directory_of(const struct recording *r, uint32_t number)
{
	char *path;

	if (r->a->once)
		return strdup(r->a->directory);
	return asprintf(&path, "%s.%u", r->a->directory, number) < 0 ? NULL : path;
}

/* Said before hours have passed. */
static struct rs_error *check_directory(const struct recording *r)
{
	char *path = directory_of(r, 1);
	struct rs_error *err = NULL;

	if (!path)
		return rs_error_no_memory();
	if (!access(path, F_OK) && rmdir(path))
		err = rs_error_create(
			RS_USAGE, "%s exists already and is not empty: name another with -o", path);
	free(path);
	return err;
}

static struct rs_error *begin(struct recording *r)
{
	const struct rs_record_arguments *a = r->a;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct rs_recorder_options recorder = {
		.directory = a->flight_ns ? NULL : a->directory,
		.threads = (uint32_t)(cpus < 1		   ? 1
				      : cpus > WORKERS_MAX ? WORKERS_MAX
							   : cpus),
		.command = r->command,
		.keep_ns = a->flight_ns,
		.keep_bytes = a->memory_bytes ? a->memory_bytes : MEMORY_DEFAULT,
	};
	struct rs_error *err = a->flight_ns ? check_directory(r) : NULL;

	if (!err)
		err = sources_open(r);
	if (!err)
		err = rs_clock_host(&r->clock);
	recorder.clock = r->clock;
	if (!err)
		err = rs_recorder_create(&recorder, &r->recorder);
	EACH(r, i)
	{
		if (!err)
			err = kinds[i]->attach(r->states[i], r->recorder, &r->clock);
	}
	if (!err)
		err = gates(r, true);
	if (!err)
		r->began_ns = r->look_ns = now_ns();
	return err;
}

/* ---- while it goes on --------------------------------------------------------------------- */

static void show_progress(const struct recording *r, uint64_t now)
{
	struct rs_recorder_summary sum;

	if (!r->shows)
		return;
	rs_recorder_progress(r->recorder, &sum);
	fprintf(stderr, "\r\033[K%.1f s: %llu records, %.1f MB, %llu lost",
		(double)(now - r->began_ns) / 1e9, (unsigned long long)sum.records,
		(double)sum.bytes / 1e6, (unsigned long long)sum.lost);
}

static struct rs_error *look(struct recording *r, uint64_t now)
{
	struct rs_error *err = NULL;

	if (now - r->look_ns < LOOK_NS)
		return NULL;
	r->look_ns = now;
	EACH(r, i)
	{
		if (!err)
			err = kinds[i]->look(r->states[i]);
	}
	show_progress(r, now);
	return err;
}

/* ---- the flight recorder ------------------------------------------------------------------- */

static bool triggered(struct recording *r, uint64_t now, char why[RS_RECORD_WHY_MAX])
{
	if (asked) {
		asked = 0;
		snprintf(why, RS_RECORD_WHY_MAX, "SIGUSR1");
		return true;
	}
	if (!r->a->when_text || now < r->quiet_until_ns)
		return false;
	EACH(r, i)
	{
		if (kinds[i]->triggered && kinds[i]->triggered(r->states[i], why))
			return true;
	}
	return false;
}

static void print_json(json_t *json)
{
	json_dumpf(json, stdout, 0);
	putchar('\n');
	fflush(stdout);
	json_decref(json);
}

static void tell_written(struct recording *r, const char *path, const char *why,
			 const struct rs_recorder_kept *kept)
{
	bool whole = kept->from_ns == INT64_MIN;
	double seconds = (double)(kept->at_ns - (whole ? 0 : kept->from_ns)) / 1e9;

	r->partial |= kept->sum.lost != 0;
	remark(r, "%s: %s: %llu records of %.3f s%s, %llu lost", path, why,
	       (unsigned long long)kept->sum.records, seconds,
	       kept->short_of_bytes ? " (more does not fit: --memory)" : "",
	       (unsigned long long)kept->sum.lost);
	if (!r->a->json)
		return;
	print_json(json_pack("{s:s, s:s, s:I, s:I, s:I, s:f, s:b}", "trace", path, "why", why,
			     "records", (json_int_t)kept->sum.records, "lost",
			     (json_int_t)kept->sum.lost, "bytes", (json_int_t)kept->sum.bytes,
			     "seconds", seconds, "short_of_memory", (int)kept->short_of_bytes));
}

static struct rs_error *flight(struct recording *r, uint64_t now)
{
	char why[RS_RECORD_WHY_MAX];
	struct rs_recorder_kept kept;
	struct rs_error *err = NULL;
	char *path;

	if (!triggered(r, now, why))
		return NULL;
	path = directory_of(r, r->n_written + 1);
	if (!path)
		return rs_error_no_memory();
	EACH(r, i)
	{
		if (!err && kinds[i]->tell)
			err = kinds[i]->tell(r->states[i]);
	}
	if (!err)
		err = rs_recorder_write_kept(r->recorder, path, why, &kept);
	if (!err) {
		tell_written(r, path, why, &kept);
		r->n_written++;
		rs_cli_stop |= r->a->once;
	}
	r->quiet_until_ns = now_ns() + r->a->flight_ns;
	EACH(r, i)
	{
		if (kinds[i]->rearm)
			kinds[i]->rearm(r->states[i]);
	}
	free(path);
	return err;
}

static struct rs_error *wait_for_end(struct recording *r)
{
	const struct timespec tick = { .tv_nsec = TICK_NS };
	struct rs_error *err = NULL;

	while (!err && !rs_cli_stop) {
		uint64_t now = now_ns();

		if (r->a->duration_ns && now - r->began_ns >= r->a->duration_ns)
			break;
		err = look(r, now);
		if (!err && r->a->flight_ns)
			err = flight(r, now);
		nanosleep(&tick, NULL); /* a signal ends it */
	}
	return err;
}

/* ---- the end ------------------------------------------------------------------------------ */

static void summary(struct recording *r, const struct rs_recorder_summary *sum, double seconds)
{
	char text[RS_RECORD_WHY_MAX] = "";
	json_t *json = json_pack("{s:I, s:I, s:I, s:I, s:f}", "records", (json_int_t)sum->records,
				 "lost", (json_int_t)sum->lost, "bytes", (json_int_t)sum->bytes,
				 "streams", (json_int_t)sum->streams, "seconds", seconds);

	EACH(r, i)
	kinds[i]->sum(r->states[i], text, json);
	if (r->a->flight_ns) {
		remark(r, "%u written; %llu records of %s went by in %.1f s, %llu lost",
		       r->n_written, (unsigned long long)sum->records, text, seconds,
		       (unsigned long long)sum->lost);
		json_object_set_new(json, "written", json_integer(r->n_written));
	} else {
		remark(r, "%s: %llu records of %s in %.1f s, %.1f MB, %llu lost", r->a->directory,
		       (unsigned long long)sum->records, text, seconds, (double)sum->bytes / 1e6,
		       (unsigned long long)sum->lost);
		json_object_set_new(json, "trace", json_string(r->a->directory));
	}
	if (r->a->json)
		print_json(json);
	else
		json_decref(json);
}

/* Whatever has begun ends here, whether or not it went well: err is what went wrong before. */
static struct rs_error *end(struct recording *r, struct rs_error *err)
{
	struct rs_recorder_summary sum = { 0 };
	struct rs_error *next = gates(r, false);
	double seconds = (double)(now_ns() - r->began_ns) / 1e9;

	err = err ? (rs_error_free(next), err) : next;
	next = rs_recorder_close(r->recorder, &sum);
	err = err ? (rs_error_free(next), err) : next;
	if (r->began_ns)
		summary(r, &sum, seconds);
	/* A flight recorder's loss counts where it was written. */
	if (!r->a->flight_ns)
		r->partial |= sum.lost != 0;
	EACH(r, i)
	{
		if (!err)
			err = kinds[i]->report(r->states[i], &r->partial);
		kinds[i]->close(r->states[i]);
	}
	return err;
}

int cmd_record(int argc, char **argv)
{
	static const struct argp argp = { options, parse, NULL, doc, NULL, NULL, NULL };
	static struct rs_record_arguments a; /* large */
	struct recording r = { .a = &a, .command = rs_cli_command(argc, argv) };
	struct rs_error *err;

	if (rs_cli_parse(&argp, argc, argv, &a)) {
		free(r.command);
		return RS_EXIT_USAGE;
	}
	r.shows = !a.quiet && !a.json && isatty(STDERR_FILENO);
	rs_cli_catch_stop();
	signal(SIGUSR1, SIG_IGN);
	err = begin(&r);
	if (a.flight_ns) /* one that comes before there is anything to write is ignored */
		signal(SIGUSR1, on_asked);
	if (!err)
		err = wait_for_end(&r);
	err = end(&r, err);
	free(r.command);
	if (err)
		return rs_cli_fail("record", err);
	return r.partial ? RS_EXIT_PARTIAL : RS_EXIT_OK;
}
