/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside report events: which events a trace has, by probe.
 *
 *	trace -> source -> events -> a table
 */
#include "cli/cli.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/report.h"
#include "cli/shared.h"
#include "event/query.h"
#include "view/events.h"

enum { OPT_CSV = 256 };

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print one JSON object", 2 },
	{ "csv", OPT_CSV, NULL, 0, "Print comma-separated values, with a header line", 2 },
	{ 0 },
};

static const char doc[] =
	"Show which events a trace has: how many of each probe, their share and rate, and the "
	"times of the first and the last.\v"
	"TRACE is a trace directory, or a file or directory that import can read. Several TRACEs "
	"are merged on one timeline.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 done, but records were lost or the trace "
	"is damaged.\n\n"
	"Examples:\n"
	"  ringside report events trace\n"
	"  ringside report events --csv xen.trace\n";

struct arguments {
	struct rs_events_show show;
	struct rs_cli_input input;
	struct rs_query query;
	bool quiet;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	(void)text;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		state->child_inputs[1] = &a->query;
		state->child_inputs[2] = &a->quiet;
		break;
	case 'j':
		a->show.form = RS_TABLE_JSON;
		break;
	case OPT_CSV:
		a->show.form = RS_TABLE_CSV;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Shows what came before damage, which is reported afterwards. */
static struct rs_error *show(const struct arguments *a, struct rs_sink *sink, int *code)
{
	struct rs_cli_loss losses[] = { { 0, "record", "lost" },
					{ 0, "event", "of more probes than there is room for" } };
	struct rs_events events;
	struct rs_error *err = rs_events_collect(sink, &events);

	if (!err)
		err = rs_events_print(&a->show, &events);
	if (err || rs_cli_pipe_closed())
		return err;
	if (!events.count && !a->quiet)
		fprintf(stderr, "ringside report events: no event of %s is selected\n",
			a->show.trace);
	losses[0].n = events.lost;
	losses[1].n = events.refused;
	if (rs_cli_report_losses("report events", losses, sizeof(losses) / sizeof(losses[0])))
		*code = RS_EXIT_PARTIAL;
	return NULL;
}

static struct rs_error *run(struct arguments *a, int *code)
{
	struct rs_input input = { 0 };
	struct rs_error *err = rs_cli_input_open(&a->input, &input), *run_err = NULL;
	struct rs_sink *sink = NULL;

	if (err)
		return err;
	a->show.trace = a->input.path;
	err = rs_events_sink_create(&sink);
	if (!err)
		run_err = rs_run(input.source, &a->query, sink, &rs_cli_stop);
	if (!err && (!run_err || rs_error_code(run_err) == RS_DAMAGED))
		err = show(a, sink, code);
	if (!a->quiet)
		rs_cli_input_remarks("report events", &a->input, &input);
	rs_events_sink_destroy(sink);
	rs_input_close(&input);
	return rs_error_first(run_err, err);
}

int report_events(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_input_argp, 0, NULL, 0 },
						      { &rs_cli_span_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "TRACE...", doc, children, NULL, NULL };
	struct arguments a = { .show.fd = STDOUT_FILENO, .input.what = "trace" };
	int code = RS_EXIT_OK;
	struct rs_error *err;

	rs_query_init(&a.query);
	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	rs_cli_catch_stop();
	err = run(&a, &code);
	return err ? rs_cli_fail("report events", err) : code;
}
