/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside report exits: shows the tables of the verb exits for a trace.
 *
 *	trace -> source -> exits sink -> the same tables
 */
#include "cli/report.h"

#include <unistd.h>

#include "base/count.h"
#include "cli/exits.h"
#include "cli/shared.h"

enum { OPT_BY = 256 };

static const struct argp_option options[] = {
	{ "by", OPT_BY, "KEY,...", 0,
	  "Print the table that all kinds of traces have, with a row for each reason and each cpu, "
	  "vm or vcpu; only 'reason' sums over these",
	  1 },
	{ 0 },
};

static const char doc[] =
	"Count a trace's exits by reason. For KVM, print the tables of the verb exits; --latency "
	"adds times and --detail the cause of each exit. For Xen, print times by domain and vCPU, "
	"with the options --from, --to, --interval, --json and --csv. For ACRN and for VMMs, print "
	"times by reason, as --by does for every trace.\v"
	"TRACE is a trace directory, or a file or directory that import can read. Several TRACEs "
	"are merged on one timeline. --xen reads the Xen that this dom0 runs on instead, with the "
	"options of report sched.\n\n"
	"Exit codes: 0 done; 1 failed, or times that do not add up; 2 usage error; 3 done, but "
	"records were lost or the trace is damaged.\n\n"
	"Examples:\n"
	"  ringside report exits trace\n"
	"  ringside report exits --vm web --latency --detail trace\n"
	"  ringside report exits --json trace | jq '.rows[] | select(.reason == \"HLT\")'\n";

struct arguments {
	struct rs_report report;
	struct rs_cli_exits exits;
	struct rs_cli_interval interval;
	uint32_t by;
	bool is_by;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->report;
		state->child_inputs[1] = &a->exits;
		state->child_inputs[2] = &a->interval;
		break;
	case OPT_BY:
		a->by = rs_report_by(state, text);
		a->is_by = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- the run -------------------------------------------------------------------------------- */

static struct rs_error *print_long(void *ctx, const struct rs_exits_long *exit)
{
	const struct rs_exits_show *show = ctx;

	if (!rs_exits_chosen(&show->choice, exit->vm, exit->pid, exit->tid, exit->vcpu))
		return NULL;
	return rs_exits_print_long(show, exit);
}

/* Returns an error if the trace lacks a selected process, thread or vCPU. */
static struct rs_error *check_choice(const struct rs_exits_show *show, const struct rs_exits *exits)
{
	const struct rs_exits_choice *c = &show->choice;

	for (size_t i = 0; i < exits->n_vcpus; i++) {
		const struct rs_exits_vcpu *v = &exits->vcpus[i];

		if (rs_exits_chosen(c, v->vm, v->pid, v->tid, v->vcpu))
			return NULL;
	}
	switch (c->scope) {
	case RS_EXITS_VCPU:
		return rs_error_create(RS_FAILED, "There's no vCPU %d for PID %d.", c->vcpu,
				       c->pid);
	case RS_EXITS_PID:
	case RS_EXITS_PID_TIDS:
		return rs_error_create(RS_FAILED, "%s has no vCPU of process %d", show->trace,
				       c->pid);
	case RS_EXITS_TID:
		return rs_error_create(RS_FAILED, "%s: thread %d is not a vCPU there", show->trace,
				       c->tid);
	case RS_EXITS_TIDS:
		return rs_error_create(RS_FAILED, "%s: none of these threads is a vCPU there",
				       show->trace);
	case RS_EXITS_VM:
		return rs_error_create(RS_FAILED, "%s has no VM '%s'", show->trace, c->vm);
	case RS_EXITS_ALL:
		break;
	}
	return NULL;
}

static void remark_nothing(const struct arguments *a, const struct rs_exits *exits)
{
	const char *path = a->report.input.path;

	if (exits->n_rows)
		return;
	if (exits->n_vcpus && !a->exits.user)
		rs_report_remark(&a->report,
				 "%s has events of %s, but no exits from guests: --user counts the "
				 "returns to the VMM",
				 path, RS_COUNT_OF(exits->n_vcpus, "vCPU"));
	else
		rs_report_remark(&a->report, "%s has no exits", path);
}

static struct rs_error *print(struct arguments *a, struct rs_sink *sink)
{
	const struct rs_exits_show *view = &a->exits.show;
	struct rs_exits exits;
	struct rs_error *err = rs_exits_collect(sink, true, 0, &exits);

	if (!err)
		err = check_choice(view, &exits);
	if (!err && !a->exits.than_ns)
		err = rs_exits_banner(view, 0);
	if (!err)
		err = rs_exits_print(view, &exits);
	if (err || a->report.damage || rs_cli_pipe_closed())
		return err;
	remark_nothing(a, &exits);
	if (rs_cli_exits_losses(a->report.verb, &exits)) {
		a->report.code = RS_EXIT_PARTIAL;
		return NULL; /* with losses, times do not add up */
	}
	return rs_exits_check(&exits, RS_CLI_SCHED_SLACK_NS);
}

/* Returns whether options select times. The tally of a VMM's trace also has times. */
static bool latency_options(const struct rs_cli_exits *e)
{
	return e->show.latency || e->show.causes;
}

/* Returns whether options are given that need a KVM trace. */
static bool kvm_options(const struct rs_cli_exits *e)
{
	return e->show.choice.scope != RS_EXITS_ALL || e->show.choice.vm || e->show.hist ||
	       e->show.shares || e->than_ns || e->user;
}

static struct rs_error *show_xen(struct arguments *a, const struct rs_input *input)
{
	const char *path = a->report.input.path;

	if (kvm_options(&a->exits) || latency_options(&a->exits))
		return rs_error_create(RS_USAGE,
				       "%s: for a Xen trace, exits are shown by domain and vCPU; "
				       "only --from, --to, --interval, --json and --csv apply",
				       path);
	return rs_report_xen(&a->report, input,
			     &(struct rs_xen_show){ .fd = a->exits.show.fd,
						    .form = a->exits.show.form,
						    .report = "exits",
						    .kinds = rs_xen_report_kinds("exits"),
						    .trace = path,
						    .interval_ns = (int64_t)a->interval.ns });
}

/* Reports traces of neither KVM nor Xen, and any trace with --by. */
static struct rs_error *show_tally(struct arguments *a, const struct rs_input *input)
{
	const char *path = a->report.input.path;

	if (kvm_options(&a->exits) || (latency_options(&a->exits) && !rs_report_has(input, "vmm")))
		return rs_error_create(RS_USAGE,
				       "%s: with --by, and for traces other than KVM's, only "
				       "--from, --to, --json and --csv apply",
				       path);
	if (a->exits.show.causes)
		rs_report_remark(&a->report,
				 "%s: --detail shows the causes of exits in KVM traces; this table "
				 "is by reason",
				 path);
	return rs_report_tally(&a->report, input,
			       &(struct rs_tally_show){ .fd = a->exits.show.fd,
							.form = a->exits.show.form,
							.kind = RS_TALLY_EXITS,
							.by = a->by,
							.trace = path });
}

static struct rs_error *show_kvm(struct arguments *a, const struct rs_input *input)
{
	const struct rs_exits_options o = { .latency = rs_cli_exits_latency(&a->exits),
					    .causes = rs_cli_exits_causes(&a->exits),
					    .user = a->exits.user,
					    .than_ns = a->exits.than_ns,
					    .than = print_long,
					    .ctx = &a->exits.show };
	const struct rs_query times = a->report.query;
	struct rs_sink *sink = NULL;
	struct rs_error *err = rs_exits_sink_create(&o, &sink);

	if (!err && o.than_ns) /* the header precedes the long exits, which are printed first */
		err = rs_exits_banner(&a->exits.show, 0);
	if (!err) {
		a->report.query = *rs_exits_query(sink);
		a->report.query.from_ns = times.from_ns;
		a->report.query.to_ns = times.to_ns;
		err = rs_report_run(&a->report, input, sink);
	}
	if (!err)
		err = print(a, sink);
	rs_exits_sink_destroy(sink);
	return err;
}

/* Returns whether the tally reports the trace. A trace of no known kind gets KVM's tables, which
 * are empty. */
static bool is_tallied(const struct arguments *a, const struct rs_input *input)
{
	if (a->is_by)
		return true;
	if (rs_report_has(input, "kvm"))
		return false;
	return rs_report_has(input, "acrn") || rs_report_has(input, "vmm") ||
	       !(kvm_options(&a->exits) || latency_options(&a->exits));
}

static struct rs_error *show(struct rs_report *report, struct rs_input *input)
{
	struct arguments *a = (struct arguments *)report;

	a->exits.show.trace = report->input.path;
	if (!a->is_by && rs_input_is_xen(input))
		return show_xen(a, input);
	if (a->interval.ns)
		return rs_error_create(RS_USAGE, "%s: --interval requires a Xen trace",
				       report->input.path);
	return is_tallied(a, input) ? show_tally(a, input) : show_kvm(a, input);
}

int report_exits(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_report_argp, 0, NULL, 0 },
						      { &rs_cli_exits_argp, 0, NULL, 0 },
						      { &rs_cli_interval_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "TRACE...", doc, children, NULL, NULL };
	struct arguments a = { .exits.show.fd = STDOUT_FILENO };
	int code = rs_report_main(&argp, argc, argv, &a.report, show);

	rs_cli_exits_deinit(&a.exits);
	return code;
}
