/* SPDX-License-Identifier: BSD-2-Clause */
/* The common part of the reports: arguments, the run of an input into a sink, remarks, the exit
 * status. */
#include "cli/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shared.h"

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_report *report = state->input;

	(void)text;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = &report->input;
	state->child_inputs[1] = &report->query;
	state->child_inputs[2] = &report->quiet;
	return 0;
}

static const struct argp_child children[] = { { &rs_cli_input_argp, 0, NULL, 0 },
					      { &rs_cli_span_argp, 0, NULL, 0 },
					      { &rs_cli_quiet_argp, 0, NULL, 0 },
					      { 0 } };
const struct argp rs_report_argp = { NULL, parse, NULL, NULL, children, NULL, NULL };

int rs_report_main(const struct argp *argp, int argc, char **argv, struct rs_report *report,
		   rs_report_fn *show)
{
	struct rs_input input = { 0 };
	struct rs_error *err;
	char verb[64];

	snprintf(verb, sizeof(verb), "%s", argv[0]); /* argp's parser changes argv[0] */
	report->verb = verb;
	report->name = verb + strlen("report ");
	rs_query_init(&report->query);
	report->input.what = report->open ? NULL : "trace";
	if (rs_cli_parse(argp, argc, argv, report))
		return RS_EXIT_USAGE;
	rs_cli_catch_stop();
	err = report->open ? report->open(report, &input)
			   : rs_cli_input_open(&report->input, &input);
	if (!err) {
		err = show(report, &input);
		if (!report->quiet)
			rs_cli_input_remarks(verb, &report->input, &input);
	}
	rs_input_close(&input);
	err = rs_error_first(report->damage, err);
	return err ? rs_cli_fail(verb, err) : report->code;
}

struct rs_error *rs_report_run(struct rs_report *report, const struct rs_input *input,
			       struct rs_sink *sink)
{
	struct rs_error *err =
		rs_run(input->source, &report->query, sink, report->live ? NULL : &rs_cli_stop);

	if (err && rs_error_code(err) != RS_DAMAGED)
		return err;
	report->damage = rs_error_first(report->damage, err);
	return NULL;
}

void rs_report_remark(const struct rs_report *report, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	if (report->quiet || rs_cli_pipe_closed())
		return;
	va_start(args, format);
	if (vasprintf(&text, format, args) >= 0)
		rs_cli_message(report->verb, text);
	va_end(args);
	free(text);
}

void rs_report_lacks(struct rs_report *report, const struct rs_cli_loss *losses, size_t n)
{
	if (!rs_cli_pipe_closed() && rs_cli_report_losses(report->verb, losses, n))
		report->code = RS_EXIT_PARTIAL;
}
