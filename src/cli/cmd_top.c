/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside top: shows VMs and vCPUs as a live screen. */
#include "base/now.h"
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/exits.h"
#include "cli/numbers.h"
#include "cli/shared.h"
#include "live/kvm.h"
#include "view/top.h"

#define INTERVAL_MIN_NS 50000000
#define FIRST_NS	250000000 /* until the first picture, which should appear soon */
#define BATCH_COLUMNS	120
#define BATCH_LINES	60
#define BATCH_POLL_NS	50000000 /* the longest delay of an interrupt */
#define NS_PER_SEC	UINT64_C(1000000000)
#define PID_MAX		(1u << 22)
#define COUNT_MAX	(1u << 30)

static const char doc[] =
	"Show the VMs on this host: exits per second, how each vCPU spends its time, and the exit "
	"reasons of the selected vCPU.\v"
	"Time is in percent of the interval: in the guest, in exits handled by the kernel (KERN) "
	"and by the VMM (USER), polling while halted (POLL), halted (HALT), asleep in the VMM "
	"(BLOCK), waiting for a CPU (WAIT). Keys: arrows select a row, s sorts, f filters, p "
	"pauses, v hides vCPUs, c shows causes, h shows help, q quits.\n\n"
	"Examples:\n"
	"  ringside top\n"
	"  ringside top --vm 'web-*' --interval 2\n"
	"  ringside top --batch --count 1        one page of text, for a log\n";

struct arguments {
	struct rs_top top;
	int pid;
	struct rs_cli_interval interval;
	uint32_t count;
	bool batch, user;
};

enum { OPT_VM = 256, OPT_COUNT };

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "Show only the VM of this process", 0 },
	{ "vm", OPT_VM, "NAME", 0,
	  "Show only VMs with a name that contains NAME, or matches it as a pattern (* ? [])", 0 },
	{ "count", OPT_COUNT, "N", 0, "End after N updates", 0 },
	{ "batch", RS_CLI_FLAG(struct arguments, batch), NULL, 0,
	  "Print each update as text, without a screen or keys", 0 },
	{ "user", RS_CLI_FLAG(struct arguments, user), NULL, 0,
	  "Count returns to the VMM by KVM_EXIT_ reason instead of exits", 0 },
	{ 0 },
};

/* A running top. */
struct run {
	struct arguments *a;
	struct rs_kvm_session *session;
	struct rs_source *source;
	struct rs_sink *sink;
	uint64_t opened_ns;
	struct rs_exits exits;
	char host[64];
	const char *note;
	struct rs_top_page *page;
	uint64_t next_ns; /* time of the next picture; 0: before the first */
	uint32_t shown;	  /* pictures */
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->interval;
		break;
	case 'p':
		a->pid = (int)rs_cli_number(state, "--pid", text, 1, PID_MAX);
		break;
	case OPT_VM:
		if (strlen(text) >= sizeof(a->top.filter))
			argp_error(state, "--vm '%s': the name is too long", text);
		snprintf(a->top.filter, sizeof(a->top.filter), "%s", text);
		break;
	case OPT_COUNT:
		a->count = (uint32_t)rs_cli_number(state, "--count", text, 1, COUNT_MAX);
		break;
	case ARGP_KEY_ARG:
		argp_error(state,
			   "only options are allowed, got '%s': --vm NAME or -p PID select VMs",
			   text);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

/* ---- the run -------------------------------------------------------------------------------- */

static struct rs_error *run_open(struct run *run)
{
	struct rs_kvm_options session = { .pid = run->a->pid };
	struct rs_exits_options exits = { 0 };
	struct rs_error *err;
	uint32_t pushed;

	if (rs_kvm_only_user_exits()) {
		run->note = "kvm_exit never fires on this KVM; top shows returns to the VMM";
		run->a->user = true;
	}
	session.user = exits.user = run->a->user;
	session.latency = session.causes = exits.latency = exits.causes = !run->a->user;
	gethostname(run->host, sizeof(run->host) - 1);
	err = rs_cli_check_ids(run->a->pid, NULL, 0);
	if (!err)
		err = rs_kvm_open(&session, &run->session);
	if (!err)
		err = rs_exits_sink_create(&exits, &run->sink);
	if (!err)
		err = rs_kvm_source_create(run->session, &run->source);
	if (!err)
		err = run->source->ops->open(run->source, rs_exits_query(run->sink), &pushed);
	if (!err)
		err = rs_kvm_gate(run->session, true);
	run->opened_ns = rs_now_ns(CLOCK_MONOTONIC);
	return err ? err : rs_cli_confine(RS_CONFINE_COLLECTOR);
}

static void run_close(struct run *run)
{
	rs_source_destroy(run->source);
	rs_exits_sink_destroy(run->sink);
	rs_kvm_close(run->session);
}

/* Collects the counts since the last picture. While paused, they accumulate. */
static struct rs_error *run_collect(struct run *run)
{
	if (run->a->top.paused)
		return NULL;
	return rs_exits_collect(run->sink, false,
				(int64_t)(rs_now_ns(CLOCK_MONOTONIC) - run->opened_ns),
				&run->exits);
}

static struct rs_error *run_page(struct run *run, int columns, int lines)
{
	struct rs_top_about about = {
		.host = run->host,
		.interval_ns = (uint64_t)(run->exits.to_ns - run->exits.from_ns),
		.note = run->note,
	};
	time_t seconds = time(NULL);
	struct tm local;
	char clock[16];

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&seconds, &local));
	about.clock = clock;
	return rs_top_page(&run->a->top, &run->exits, &about, columns, lines, run->page);
}

/* Returns whether another picture is due. */
static bool run_continues(const struct run *run)
{
	return !rs_cli_stop && (!run->a->count || run->shown < run->a->count);
}

/* ---- with a screen -------------------------------------------------------------------------- */

static struct rs_error *screen_show(struct run *run)
{
	struct rs_error *err;
	int columns, lines;

	rs_top_screen_size(&columns, &lines);
	err = run_page(run, columns, lines);
	if (!err)
		rs_top_screen_draw(run->page);
	return err;
}

/* Handles keys until the next picture is due. Sets *stop if a key or a signal ends the run. */
static struct rs_error *screen_wait(struct run *run, bool *stop)
{
	struct rs_error *err = NULL;
	uint64_t now;

	while (!err && (now = rs_now_ns(CLOCK_MONOTONIC)) < run->next_ns) {
		int key = rs_top_screen_key((int)((run->next_ns - now) / 1000000) + 1);

		*stop = rs_cli_stop ||
			(key != RS_TOP_KEY_NONE && rs_top_key(&run->a->top, &run->exits, key));
		if (*stop)
			break;
		if (key != RS_TOP_KEY_NONE)
			err = screen_show(run);
	}
	return err;
}

/* Shows a picture, first an empty one, and waits for the next. */
static struct rs_error *screen_idle(void *ctx, const struct rs_batch *batch, bool *stop)
{
	struct run *run = ctx;
	uint64_t now = rs_now_ns(CLOCK_MONOTONIC);
	bool first = !run->next_ns;
	struct rs_error *err = first ? NULL : run_collect(run);

	(void)batch;
	run->next_ns = now + (first ? FIRST_NS : run->a->interval.ns);
	run->shown += !first;
	if (!err)
		err = screen_show(run);
	*stop = !run_continues(run);
	return err || *stop ? err : screen_wait(run, stop);
}

static struct rs_error *with_screen(struct run *run)
{
	const struct rs_feed_hooks hooks = { .idle = screen_idle, .ctx = run };
	struct rs_error *err = rs_top_screen_open();

	if (err)
		return err;
	err = rs_source_feed(run->source, run->sink, &hooks);
	rs_top_screen_close();
	return err;
}

/* ---- without -------------------------------------------------------------------------------- */

/* The screen adds empty lines and the line of keys. */
static void page_print(const struct rs_top_page *page)
{
	for (int i = 0; i < page->lines - 1; i++) {
		if (page->line[i].text[0])
			puts(page->line[i].text);
	}
	puts("");
	fflush(stdout);
}

/* Prints a picture, except in the first call, and waits for the next. A signal ends the wait
 * early. */
static struct rs_error *batch_idle(void *ctx, const struct rs_batch *batch, bool *stop)
{
	const struct timespec nap = { .tv_nsec = BATCH_POLL_NS };
	struct run *run = ctx;
	struct rs_error *err = NULL;

	(void)batch;
	if (run->next_ns) {
		err = run_collect(run);
		if (!err)
			err = run_page(run, BATCH_COLUMNS, BATCH_LINES);
		if (!err)
			page_print(run->page);
		run->shown++;
		*stop = !run_continues(run);
	}
	run->next_ns = rs_now_ns(CLOCK_MONOTONIC) + run->a->interval.ns;
	while (!err && !*stop && !rs_cli_stop && rs_now_ns(CLOCK_MONOTONIC) < run->next_ns)
		nanosleep(&nap, NULL);
	return err;
}

static struct rs_error *as_text(struct run *run)
{
	const struct rs_feed_hooks hooks = { .idle = batch_idle, .ctx = run };

	return rs_source_feed(run->source, run->sink, &hooks);
}

int cmd_top(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_interval_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, NULL, doc, children, NULL, NULL };
	struct arguments arguments = { .interval = { NS_PER_SEC, INTERVAL_MIN_NS } };
	struct run run = { .a = &arguments };
	struct rs_error *err;
	int status;

	if (rs_cli_parse(&argp, argc, argv, &arguments))
		return RS_EXIT_USAGE;
	run.page = malloc(sizeof(*run.page));
	if (!run.page)
		return rs_cli_fail("top", rs_error_no_memory());
	rs_cli_catch_stop();
	err = run_open(&run);
	if (!err)
		err = arguments.batch ? as_text(&run) : with_screen(&run);
	status = rs_cli_fail("top", err);
	if (!status && (run.exits.lost || run.exits.dropped))
		status = RS_EXIT_PARTIAL;
	run_close(&run);
	free(run.page);
	return status;
}
