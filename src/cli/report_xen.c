/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside report volume, sched, hypercalls, interrupts, io, cr3, pm, summary: summarizes a Xen
 * trace. The report exits uses this code for a Xen trace.
 *
 *	trace, or the running Xen -> source -> Xen sink -> tables
 */
#include "cli/report.h"

#include <string.h>
#include <unistd.h>

#include "analyze/xen.h"
#include "cli/shared.h"
#include "cli/xen.h"
#include "live/record_xen.h"

struct arguments {
	struct rs_report report;
	struct rs_xen_show show;
	struct rs_cli_interval interval;
	struct rs_cli_xen xen; /* live */
	uint64_t duration_ns;
};

static const struct argp_option options[] = {
	{ "duration", RS_CLI_SECONDS(struct arguments, duration_ns), "SEC", 0,
	  "With --xen: stop after this time (default: at Ctrl-C)", 5 },
	{ 0 },
};

static const char doc[] =
	"Summarize a Xen trace.\v"
	"TRACE is a file of xentrace, or a pipe with its output, such as /dev/stdin, or a trace "
	"directory with Xen's events, recorded or imported. Several TRACEs are merged on one "
	"timeline.\n\n"
	"Exit codes: 0 done; 1 failed, or times that do not add up; 2 usage error; 3 done, but "
	"records were lost or the trace is damaged.\n\n"
	"Examples:\n"
	"  ringside report volume --interval 0.1 --csv xen.trace\n"
	"  ringside report sched --freq 2596125000 xen.trace\n"
	"  ringside report sched --xen --duration 10\n"
	"  ringside report exits --xen --classes hvm --interval 1 --poll 50\n"
	"  ringside report summary --json xen.trace | jq '.rows[] | select(.table == \"vcpus\")'\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->report;
		state->child_inputs[1] = &a->show.form;
		state->child_inputs[2] = &a->xen;
		state->child_inputs[3] = &a->interval;
		break;
	case ARGP_KEY_END:
		if (a->xen.selected && a->report.input.path)
			argp_error(state, "--xen and a trace exclude each other");
		if (!a->xen.selected && a->duration_ns)
			argp_error(state, "--duration requires --xen");
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

/* ---- the run -------------------------------------------------------------------------------- */

/*
 * The Xen sink and its results so far. In a report by intervals, this is a sink before it, which
 * collects and shows the results at the end of each interval.
 */
struct shown {
	struct rs_sink sink;
	struct rs_sink *xen;
	const struct rs_xen_show *what;
	bool begun;
	int64_t end_ns; /* start of the interval */
	uint64_t lost, losses, refused, rows;
};

/* Shows the results up to to_ns. */
static struct rs_error *print(struct shown *s, int64_t to_ns, bool whole)
{
	struct rs_xen_result result;
	struct rs_error *err = whole ? rs_xen_collect(s->xen, &result)
				     : rs_xen_collect_until(s->xen, to_ns, &result);

	if (!err)
		err = rs_xen_print(s->what, &result);
	if (err)
		return err;
	s->lost += result.lost;
	s->losses += result.losses;
	s->refused += result.refused;
	s->rows += result.n_rows;
	return rs_xen_check(&result);
}

static struct rs_error *interval_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct shown *s = (struct shown *)sink;
	int64_t interval = s->what->interval_ns;
	struct rs_error *err = NULL;

	if (!s->begun && n) /* end_ns: the latest begin of the first interval */
		s->end_ns += ((views[0].ts_ns - s->end_ns) / interval + 1) * interval;
	s->begun |= n != 0;
	while (n && !err && !rs_cli_stop) {
		size_t some = 0;

		while (some < n && views[some].ts_ns < s->end_ns)
			some++;
		err = s->xen->ops->events(s->xen, views, some);
		views += some;
		n -= some;
		if (!n || err)
			break;
		err = print(s, s->end_ns, false);
		rs_xen_continue(s->xen);
		s->end_ns += interval;
	}
	return err;
}

static const struct rs_sink_ops interval_ops = { .name = "intervals", .events = interval_events };

static void remarks(struct rs_report *report, const struct shown *s)
{
	/* For some losses, Xen does not count the records. */
	rs_report_lacks(
		report,
		(struct rs_cli_loss[]){
			{ s->lost, "record", "lost" },
			{ s->lost ? 0 : s->losses, "loss", "of an unknown number of records" },
			{ s->refused, "count", "dropped because a table was full" } },
		3);
	if (!s->rows)
		rs_report_remark(report, "%s has no event for this report", s->what->trace);
}

struct rs_error *rs_report_xen(struct rs_report *report, const struct rs_input *input,
			       const struct rs_xen_show *what)
{
	struct shown s = { .sink.ops = &interval_ops, .what = what };
	struct rs_error *err = rs_xen_sink_create(what->kinds, &s.xen);

	if (report->query.from_ns > 0)
		s.end_ns = report->query.from_ns;
	if (!err)
		err = rs_report_run(report, input, what->interval_ns ? &s.sink : s.xen);
	if (!err) {
		err = print(&s, 0, true);
		remarks(report, &s);
	}
	rs_xen_sink_destroy(s.xen);
	return err;
}

/* The running Xen as an input. */
static struct rs_error *live_open(struct rs_report *report, struct rs_input *input)
{
	struct arguments *a = (struct arguments *)report;
	struct rs_xen_session *session;
	struct rs_source *source;
	struct rs_error *err;

	report->input.path = "Xen";
	err = rs_cli_xen_open(&a->xen, report->verb, report->quiet, &session);
	if (!err)
		err = rs_xen_reading_create(session, rs_cli_xen_poll_ms(&a->xen), a->duration_ns,
					    &rs_cli_stop, &input->foreign);
	if (err)
		return err;
	source = &input->foreign->source;
	input->clock = &input->foreign->clock;
	err = rs_cli_confine(RS_CONFINE_COLLECTOR);
	if (!err)
		err = rs_merge_create(&source, 1, &input->source);
	if (err)
		rs_source_destroy(source);
	return err;
}

static struct rs_error *show(struct rs_report *report, struct rs_input *input)
{
	struct arguments *a = (struct arguments *)report;

	a->show.report = report->name;
	a->show.kinds = rs_xen_report_kinds(report->name);
	a->show.trace = report->input.path;
	a->show.interval_ns = (int64_t)a->interval.ns;
	if (!a->xen.selected && !rs_input_is_xen(input))
		return rs_error_create(RS_USAGE, "%s: %s", a->show.trace,
				       report->input.n > 1 ? "not each of them has Xen's records"
							   : "it has no records of Xen");
	if (!a->xen.selected && a->show.kinds == 1u << RS_XEN_VOLUME && !a->show.interval_ns)
		report->query.counts =
			RS_COUNTS_XEN; /* a file's records are counted while it is read */
	return rs_report_xen(report, input, &a->show);
}

bool rs_report_is_live(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (!strcmp(argv[i], "--xen"))
			return true;
	}
	return false;
}

int report_xen(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_report_argp, 0, NULL, 0 },
						      { &rs_cli_form_argp, 0, NULL, 0 },
						      { &rs_cli_xen_argp, 0, NULL, 0 },
						      { &rs_cli_interval_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "TRACE...", doc, children, NULL, NULL };
	struct arguments a = { .show.fd = STDOUT_FILENO };

	a.report.live = rs_report_is_live(argc, argv);
	if (a.report.live)
		a.report.open = live_open;
	return rs_report_main(&argp, argc, argv, &a.report, show);
}
