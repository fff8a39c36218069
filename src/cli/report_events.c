/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside report events: counts a trace's events by probe.
 *
 *	trace -> source -> events -> a table
 */
#include "cli/report.h"

#include <unistd.h>

#include "cli/shared.h"
#include "view/events.h"

static const char doc[] =
	"Count a trace's events by probe, with their share and rate, and the times of the first "
	"and the last event.\v"
	"TRACE is a trace directory, or a file or directory that import can read. Several TRACEs "
	"are merged on one timeline.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 done, but records were lost or the trace "
	"is damaged.\n\n"
	"Examples:\n"
	"  ringside report events trace\n"
	"  ringside report events --csv xen.trace\n";

struct arguments {
	struct rs_report report;
	struct rs_events_show show;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	(void)text;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = &a->report;
	state->child_inputs[1] = &a->show.form;
	return 0;
}

static struct rs_error *show(struct rs_report *report, struct rs_input *input)
{
	struct arguments *a = (struct arguments *)report;
	struct rs_events events = { 0 };
	struct rs_sink *sink = NULL;
	struct rs_error *err = rs_events_sink_create(&sink);

	a->show.trace = report->input.path;
	a->show.cycles_only = rs_input_cycles_only(input);
	if (!err)
		err = rs_report_run(report, input, sink);
	if (!err)
		err = rs_events_collect(sink, &events);
	if (!err)
		err = rs_events_print(&a->show, &events);
	if (!err && !events.count)
		rs_report_remark(report, "no event of %s is selected", a->show.trace);
	rs_report_lacks(report,
			(struct rs_cli_loss[]){
				{ events.lost, "record", "lost" },
				{ events.refused, "event", "dropped because a table was full" } },
			2);
	rs_events_sink_destroy(sink);
	return err;
}

int report_events(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_report_argp, 0, NULL, 0 },
						      { &rs_cli_form_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { NULL, parse, "TRACE...", doc, children, NULL, NULL };
	struct arguments a = { .show.fd = STDOUT_FILENO };

	return rs_report_main(&argp, argc, argv, &a.report, show);
}
