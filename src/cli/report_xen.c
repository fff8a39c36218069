/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside report volume, sched, hypercalls, interrupts, io, cr3, pm, summary: a Xen trace summed
 * up. The report exits comes here too, when its trace is one of Xen's.
 *
 *	trace, or the running Xen -> source -> Xen sink -> tables
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/xen.h"
#include "cli/input.h"
#include "cli/numbers.h"
#include "cli/report.h"
#include "cli/shared.h"
#include "cli/xen.h"
#include "event/query.h"
#include "live/record_xen.h"

enum { OPT_CSV = 256, OPT_DURATION };

static const struct argp_option options[] = {
	{ "duration", OPT_DURATION, "SEC", 0, "With --xen: stop after this time (until Ctrl-C)",
	  5 },
	{ "json", 'j', NULL, 0, "Print one JSON object; with --interval, one line for each", 2 },
	{ "csv", OPT_CSV, NULL, 0,
	  "Print tables of comma-separated values, each with a header line", 2 },
	{ 0 },
};

static const char doc[] =
	"Summarize a Xen trace.\v"
	"TRACE is a file of xentrace, or a pipe with one, as /dev/stdin; or a trace directory with "
	"Xen's events, recorded or imported. Several are one, on one timeline.\n\n"
	"Exit codes: 0 done; 1 failed, or times that do not add up; 2 usage error; 3 done, but "
	"records were lost or the trace is damaged.\n\n"
	"Examples:\n"
	"  ringside report volume --interval 0.1 --csv xen.trace\n"
	"  ringside report sched --freq 2596125000 xen.trace\n"
	"  ringside report sched --xen --duration 10\n"
	"  ringside report exits --xen --classes hvm --interval 1 --poll 50\n"
	"  ringside report summary --json xen.trace | jq '.rows[] | select(.table == \"vcpus\")'\n";

#define NS_PER_SEC UINT64_C(1000000000)

struct arguments {
	struct rs_xen_show show;
	struct rs_cli_input input;
	struct rs_query query; /* its times */
	struct rs_cli_interval interval;
	const char *verb; /* report NAME */
	bool quiet;
	struct rs_cli_xen xen; /* live */
	uint64_t duration_ns;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		state->child_inputs[1] = &a->xen;
		state->child_inputs[2] = &a->query;
		state->child_inputs[3] = &a->interval;
		state->child_inputs[4] = &a->quiet;
		break;
	case 'j':
		a->show.form = RS_TABLE_JSON;
		break;
	case OPT_CSV:
		a->show.form = RS_TABLE_CSV;
		break;
	case OPT_DURATION:
		a->duration_ns = rs_cli_time(state, "--duration", text, NS_PER_SEC);
		break;
	case ARGP_KEY_END:
		if (a->xen.wanted && a->input.path)
			argp_error(state, "--xen goes without a trace");
		if (!a->xen.wanted && a->duration_ns)
			argp_error(state, "--duration goes with --xen");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- the run -------------------------------------------------------------------------------- */

/*
 * The Xen sink, and what it came to so far. Where the report is by intervals, this stands before it
 * as a sink, and takes and shows what there is at the end of each.
 */
struct shown {
	struct rs_sink sink;
	struct rs_sink *xen;
	const struct rs_xen_show *what;
	bool begun;
	int64_t end_ns; /* of the interval */
	uint64_t lost, losses, refused, rows;
};

/* Shows what happened until to_ns. */
static struct rs_error *show(struct shown *s, int64_t to_ns, bool whole)
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

	if (!s->begun && n) /* end_ns: where the first begins, at the latest */
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
		err = show(s, s->end_ns, false);
		rs_xen_continue(s->xen);
		s->end_ns += interval;
	}
	return err;
}

static const struct rs_sink_ops interval_ops = { .name = "intervals", .events = interval_events };

static void remarks(const struct shown *s, int *code)
{
	/* Xen does not count the records of every loss. */
	const struct rs_cli_loss losses[] = { { s->lost, "record", "lost" },
					      { s->lost ? 0 : s->losses, "loss",
						"of an unknown number of records" },
					      { s->refused, "count", "dropped for lack of room" } };
	char verb[64];

	if (rs_cli_pipe_closed())
		return;
	snprintf(verb, sizeof(verb), "report %s", s->what->report);
	if (rs_cli_report_losses(verb, losses, sizeof(losses) / sizeof(losses[0])))
		*code = RS_EXIT_PARTIAL;
	if (!s->rows)
		fprintf(stderr, "ringside %s: %s has nothing of this\n", verb, s->what->trace);
}

/* Shows what came before the damage, then reports the damage. */
struct rs_error *rs_report_xen(struct rs_input *input, const struct rs_query *query,
			       const struct rs_xen_show *what, int *code)
{
	struct shown s = { .sink.ops = &interval_ops, .what = what };
	bool live = !input->importer && !input->trace && !input->n_parts;
	struct rs_error *err, *run_err;

	if (query->from_ns > 0)
		s.end_ns = query->from_ns;
	err = rs_xen_sink_create(what->kinds, &s.xen);
	if (err)
		return err;
	/* A live source ends once it has given what was traced until it was stopped. */
	run_err = rs_run(input->source, query, what->interval_ns ? &s.sink : s.xen,
			 live ? NULL : &rs_cli_stop);
	if (!run_err || rs_error_code(run_err) == RS_DAMAGED) {
		err = show(&s, 0, true);
		remarks(&s, code);
	}
	rs_xen_sink_destroy(s.xen);
	return rs_error_first(err, run_err);
}

/* The running Xen as an input. */
static struct rs_error *live_open(const struct arguments *a, struct rs_input *input)
{
	struct rs_xen_session *session;
	struct rs_source *source;
	struct rs_error *err;

	err = rs_cli_xen_open(&a->xen, a->verb, a->quiet, &session);
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

static struct rs_error *run(struct arguments *a, int *code)
{
	struct rs_input input = { 0 };
	struct rs_error *err;

	a->show.interval_ns = (int64_t)a->interval.ns;
	err = a->xen.wanted ? live_open(a, &input) : rs_cli_input_open(&a->input, &input);
	if (err)
		return err;
	if (!a->xen.wanted && !rs_input_is_xen(&input)) {
		rs_input_close(&input);
		return rs_error_create(RS_USAGE, "%s: %s", a->show.trace,
				       a->input.n > 1 ? "not each has records of Xen's"
						      : "it has no records of Xen's");
	}
	if (!a->xen.wanted && a->show.kinds == 1u << RS_XEN_VOLUME && !a->show.interval_ns)
		a->query.counts = RS_COUNTS_XEN; /* a file's records are counted as it is read */
	err = rs_report_xen(&input, &a->query, &a->show, code);
	if (!a->quiet)
		rs_cli_input_remarks(a->verb, &a->input, &input);
	rs_input_close(&input);
	return err;
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
	static const struct argp_child children[] = {
		{ &rs_cli_input_argp, 0, NULL, 0 }, { &rs_cli_xen_argp, 0, NULL, 0 },
		{ &rs_cli_span_argp, 0, NULL, 0 },  { &rs_cli_interval_argp, 0, NULL, 0 },
		{ &rs_cli_quiet_argp, 0, NULL, 0 }, { 0 }
	};
	static const struct argp argp = { options, parse, "TRACE...", doc, children, NULL, NULL };
	const char *verb = argv[0], *space = strchr(verb, ' ');
	struct arguments a = { .show.fd = STDOUT_FILENO, .input.what = "trace" };
	int code = RS_EXIT_OK;
	struct rs_error *err;
	char name[64];

	snprintf(name, sizeof(name), "%s", verb); /* argp's parser gives argv[0] another */
	a.verb = name;
	a.show.report = space ? name + (space - verb) + 1 : name;
	a.show.kinds = rs_xen_report_kinds(a.show.report);
	rs_query_init(&a.query);
	if (rs_report_is_live(argc, argv))
		a.input.what = NULL;
	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	if (a.xen.wanted)
		a.input.path = "Xen";
	a.show.trace = a.input.path;
	rs_cli_catch_stop();
	err = run(&a, &code);
	return err ? rs_cli_fail(name, err) : code;
}
