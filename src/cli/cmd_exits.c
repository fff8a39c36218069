/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside exits: counts the exits of this host's VMs, live.
 *
 *	session (BPF counts) -> source -> exits sink -> a table at the end, or one each interval
 *
 * The verb also polls the source between tables, so that threads get their names while they live,
 * and long exits are shown immediately.
 */
#include "base/now.h"
#include "cli/cli.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/exits.h"
#include "cli/numbers.h"
#include "cli/shared.h"
#include "live/kvm.h"

#define NS_PER_SEC	UINT64_C(1000000000)
#define TICK_NS		100000000u /* the longest time until a signal takes effect */
#define POLL_NS		500000000u /* the interval of polls while no table is due */
#define INTERVAL_MIN_NS 10000000u

static const struct argp_option options[] = {
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 4 },
	{ 0 },
};

static const char doc[] =
	"Count the exits of the VMs on this host by reason, for DURATION seconds or until Ctrl-C; "
	"--latency adds their durations, and --detail their causes.\v"
	"The options -p, -v, -a, -t, -T and the tables are those of kvmexit. vCPUs have KVM's "
	"numbers.\n\n"
	"Exit codes: 0 done; 1 failed, or times that do not add up; 2 usage error; 3 done, but "
	"exits were dropped or lost.\n\n"
	"Examples:\n"
	"  ringside exits                    every vCPU, until Ctrl-C\n"
	"  ringside exits -p 1273795 5       one VM, for 5 seconds\n"
	"  ringside exits -p 1273795 -v 0    its vCPU 0\n"
	"  ringside exits --vm web --latency --interval 1\n"
	"  ringside exits --than 1ms 10      each exit that took longer than 1 ms\n";

struct arguments {
	struct rs_cli_exits exits;
	uint64_t duration_ns;		 /* 0: until Ctrl-C */
	struct rs_cli_interval interval; /* 0: one table */
	bool quiet;
};

struct run {
	struct arguments *a;
	struct rs_kvm_session *session;
	struct rs_source *source;
	struct rs_sink *sink;
	uint64_t opened_ns;
	bool seen;		   /* any exit */
	bool chosen;		   /* of a selected thread */
	uint64_t end_ns, table_ns; /* end of the run; time of the next table */
	bool table_due, shut;	   /* a table follows this poll; the gate is closed */
};

/* ---- arguments ------------------------------------------------------------------------------ */

static void check(struct argp_state *state, const struct arguments *a)
{
	if (a->interval.ns && a->duration_ns && a->interval.ns > a->duration_ns)
		argp_error(state, "--interval is longer than the duration");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->exits;
		state->child_inputs[1] = &a->interval;
		state->child_inputs[2] = &a->quiet;
		break;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		break;
	case ARGP_KEY_ARG:
		if (a->duration_ns)
			argp_error(state, "only one DURATION is allowed, got '%s'", text);
		a->duration_ns = rs_cli_time(state, "the duration", text, NS_PER_SEC);
		break;
	case ARGP_KEY_END:
		check(state, a);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- selected vCPUs ------------------------------------------------------------------------- */

static struct rs_error *check_vcpu(const struct rs_exits_choice *choice)
{
	if (choice->scope != RS_EXITS_VCPU || rs_kvm_find_vcpu(choice->pid, choice->vcpu))
		return NULL;
	return rs_error_create(RS_FAILED, "There's no vCPU %d for PID %d.", choice->vcpu,
			       choice->pid);
}

/* ---- the run -------------------------------------------------------------------------------- */

/* Shows a long exit when it happens. */
static struct rs_error *show_long(void *ctx, const struct rs_exits_long *exit)
{
	const struct run *run = ctx;
	const struct rs_exits_show *show = &run->a->exits.show;

	if (!rs_exits_chosen(&show->choice, exit->vm, exit->pid, exit->tid, exit->vcpu))
		return NULL;
	return rs_exits_print_long(show, exit);
}

static struct rs_error *run_open(struct run *run)
{
	const struct rs_cli_exits *e = &run->a->exits;
	const struct rs_exits_choice *choice = &e->show.choice;
	struct rs_kvm_options session = {
		.latency = rs_cli_exits_latency(e),
		.causes = rs_cli_exits_causes(e),
		.user = e->user,
		.than_ns = e->than_ns,
		.pid = choice->pid,
		.tids = choice->tid ? &choice->tid : choice->tids,
		.n_tids = choice->tid ? 1 : (uint32_t)choice->n_tids,
	};
	struct rs_exits_options exits = {
		.latency = session.latency,
		.causes = session.causes,
		.user = session.user,
		.than_ns = e->than_ns,
		.than = show_long,
		.ctx = run,
	};
	struct rs_error *err = rs_cli_check_ids(choice->pid, session.tids, session.n_tids);
	uint32_t pushed;

	if (!err)
		err = rs_kvm_open(&session, &run->session);
	if (!err)
		err = check_vcpu(choice);
	if (!err)
		err = rs_exits_sink_create(&exits, &run->sink);
	if (!err)
		err = rs_kvm_source_create(run->session, &run->source);
	if (!err)
		err = run->source->ops->open(run->source, rs_exits_query(run->sink), &pushed);
	return err ? err : rs_cli_confine(RS_CONFINE_COLLECTOR);
}

static void run_close(struct run *run)
{
	rs_source_destroy(run->source);
	if (run->sink)
		rs_exits_sink_destroy(run->sink);
	rs_kvm_close(run->session);
}

/* Prints the time of day, before the table of an interval. */
static void time_line(const struct rs_exits_show *show)
{
	struct timespec now;
	struct tm local;
	char text[16];

	if (show->form != RS_TABLE_TEXT)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	strftime(text, sizeof(text), "%H:%M:%S", localtime_r(&now.tv_sec, &local));
	dprintf(show->fd, "%s.%03ld\n", text, now.tv_nsec / 1000000);
}

static bool any_chosen(const struct rs_exits_choice *choice, const struct rs_exits *exits)
{
	for (size_t i = 0; i < exits->n_rows; i++) {
		const struct rs_exits_row *row = &exits->rows[i];

		if (rs_exits_chosen(choice, row->vm, row->pid, row->tid, row->vcpu))
			return true;
	}
	return false;
}

/* Shows a table of the exits since the last table. */
static struct rs_error *show_table(struct run *run)
{
	struct rs_exits_show *show = &run->a->exits.show;
	struct rs_exits exits;
	struct rs_error *err = rs_exits_collect(
		run->sink, false, (int64_t)(rs_now_ns(CLOCK_MONOTONIC) - run->opened_ns), &exits);

	if (err)
		return err;
	run->seen = run->seen || exits.n_rows;
	run->chosen = run->chosen || any_chosen(&show->choice, &exits);
	if (run->a->interval.ns)
		time_line(show);
	err = rs_exits_print(show, &exits);
	/* Each text table has its own header; CSV has one header. */
	show->has_head = show->form == RS_TABLE_CSV;
	return err;
}

/* Sleeps until `until_ns`, for at most a tick. A signal interrupts the sleep. */
static void sleep_until(uint64_t until_ns)
{
	uint64_t now = rs_now_ns(CLOCK_MONOTONIC), ns = until_ns > now ? until_ns - now : 0;
	struct timespec tick = { .tv_nsec = (long)(ns < TICK_NS ? ns : TICK_NS) };

	nanosleep(&tick, NULL);
}

/* Waits until the next poll of the source. Returns whether a table is due after it. */
static bool wait_for_poll(const struct run *run)
{
	uint64_t now = rs_now_ns(CLOCK_MONOTONIC);
	uint64_t poll = now + (run->a->exits.than_ns ? TICK_NS : POLL_NS);

	while (!rs_cli_stop && now < run->end_ns && now < poll) {
		uint64_t next = poll < run->end_ns ? poll : run->end_ns;

		if (now >= run->table_ns && run->end_ns - now > INTERVAL_MIN_NS / 2)
			return true;
		sleep_until(now < run->table_ns && run->table_ns < next ? run->table_ns : next);
		now = rs_now_ns(CLOCK_MONOTONIC);
	}
	return false;
}

/* Closes the gate at the end of the duration, or at a signal. The source then ends. */
static struct rs_error *run_tick(void *ctx, bool *stop)
{
	struct run *run = ctx;

	(void)stop;
	if (run->shut || (!rs_cli_stop && rs_now_ns(CLOCK_MONOTONIC) < run->end_ns))
		return NULL;
	run->shut = true;
	return rs_kvm_gate(run->session, false);
}

static struct rs_error *run_idle(void *ctx, const struct rs_batch *batch, bool *stop)
{
	struct run *run = ctx;
	uint64_t interval = run->a->interval.ns;
	struct rs_error *err = NULL;

	(void)batch;
	(void)stop;
	if (run->table_due) {
		err = show_table(run);
		run->table_ns += (rs_now_ns(CLOCK_MONOTONIC) - run->table_ns) / interval * interval;
		run->table_ns += interval;
	}
	run->table_due = !err && !run->shut && wait_for_poll(run);
	return err;
}

/* Feeds the sink and shows tables until the source ends, then shows the last table. */
static struct rs_error *run_feed(struct run *run)
{
	const struct rs_feed_hooks hooks = { run_tick, run_idle, run };
	const struct arguments *a = run->a;
	struct rs_error *err;

	run->end_ns = a->duration_ns ? run->opened_ns + a->duration_ns : UINT64_MAX;
	run->table_ns = a->interval.ns ? run->opened_ns + a->interval.ns : UINT64_MAX;
	err = rs_source_feed(run->source, run->sink, &hooks);
	if (!run->shut)
		err = rs_error_first(err, rs_kvm_gate(run->session, false));
	return rs_error_first(err, show_table(run));
}

/* ---- remarks at the end --------------------------------------------------------------------- */

/* Reports that the threads that the options select had no exits. */
static void remark_none_chosen(const struct rs_exits_choice *choice)
{
	fputs("ringside exits: no exits were observed of ", stderr);
	if (choice->tid)
		fprintf(stderr, "thread %d", choice->tid);
	else if (choice->n_tids)
		fputs("these threads", stderr);
	else if (choice->pid)
		fprintf(stderr, "process %d", choice->pid);
	if (choice->vm)
		fprintf(stderr, "%sa VM with a name that matches '%s'",
			choice->scope == RS_EXITS_VM ? "" : " as ", choice->vm);
	fputs(": does it run a vCPU? 'ringside top' lists the VMs\n", stderr);
}

static void remark_nothing(const struct run *run)
{
	const struct arguments *a = run->a;

	if (a->quiet || run->chosen)
		return;
	if (!run->seen && !a->exits.user && rs_kvm_only_user_exits())
		fputs("ringside exits: kvm_exit never fires on this host's KVM, which uses neither "
		      "VMX nor SVM; 'ringside exits --user' counts the returns to the VMM\n",
		      stderr);
	else if (a->exits.show.choice.scope != RS_EXITS_ALL)
		remark_none_chosen(&a->exits.show.choice);
	else
		fputs("ringside exits: no exits were observed: is a VM running? 'ringside top' "
		      "lists them\n",
		      stderr);
}

/* Reports the losses of the whole run, and whether its times add up. */
static struct rs_error *judge(struct run *run, int *code)
{
	const struct arguments *a = run->a;
	struct rs_exits all;
	struct rs_error *err = rs_exits_collect(
		run->sink, true, (int64_t)(rs_now_ns(CLOCK_MONOTONIC) - run->opened_ns), &all);

	if (err)
		return err;
	remark_nothing(run);
	if (rs_cli_exits_losses("exits", &all)) {
		*code = RS_EXIT_PARTIAL;
		return NULL; /* with losses, times do not add up */
	}
	return rs_cli_exits_latency(&a->exits) ? rs_exits_check(&all, RS_CLI_SCHED_SLACK_NS) : NULL;
}

static struct rs_error *run_all(struct run *run, int *code)
{
	struct rs_exits_show *show = &run->a->exits.show;
	struct rs_error *err = run_open(run);

	if (err)
		return err;
	err = rs_exits_banner(show, run->a->duration_ns);
	/* If lines precede the table, rs_exits_print() writes the header with the table. */
	if (!err && !run->a->interval.ns && !run->a->exits.than_ns)
		err = rs_exits_head(show);
	if (!err)
		err = rs_kvm_gate(run->session, true);
	run->opened_ns = rs_now_ns(CLOCK_MONOTONIC);
	if (err)
		return err;
	err = run_feed(run);
	return err ? err : judge(run, code);
}

int cmd_exits(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_exits_argp, 0, NULL, 0 },
						      { &rs_cli_interval_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "[DURATION]", doc, children, NULL, NULL };
	struct arguments a = { .exits.show.fd = STDOUT_FILENO, .interval.min_ns = INTERVAL_MIN_NS };
	struct run run = { .a = &a };
	int code = RS_EXIT_OK;
	struct rs_error *err;

	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	rs_cli_catch_stop();
	err = run_all(&run, &code);
	run_close(&run);
	rs_cli_exits_deinit(&a.exits);
	return err ? rs_cli_fail("exits", err) : code;
}
