/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside report spans: shows how often the spans of a trace occurred and how long they lasted, by
 * name or as a call tree; for a guest, also the time in the VMM.
 *
 *	trace -> source -> spans -> a table, a tree, or a flame graph
 */
#include "cli/report.h"

#include <inttypes.h>
#include <unistd.h>

#include "cli/shared.h"
#include "cli/symbols.h"
#include "export/profile.h"
#include "view/spans.h"

struct arguments {
	struct rs_report report;
	struct rs_spans_show show;
	struct rs_cli_symbols symbols;
	const char *flame;
};

enum { OPT_FLAME = 256 };

static const struct argp_option options[] = {
	{ "tree", RS_CLI_FLAG(struct arguments, show.tree), NULL, 0,
	  "Show the call tree, with the time of each path", 2 },
	{ "flame", OPT_FLAME, "FILE", 0, "Also write a flame graph to this new file (SVG)", 2 },
	{ 0 },
};

static const char doc[] =
	"Show how often the spans of a trace occurred and how long they lasted. For spans of a "
	"guest whose exits are in the trace, the time is split into that of the guest, of calls of "
	"the host, and of other exits.\v"
	"A span is code that RS_SPAN() or RS_FUNCTION() encloses, or a function compiled with "
	"-finstrument-functions. TRACE is a trace directory, or a file or directory that import "
	"can read. Several TRACEs are merged on one timeline.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 done, but records were lost or the trace "
	"is damaged.\n\n"
	"Examples:\n"
	"  ringside report spans trace\n"
	"  ringside report spans --tree --flame spans.svg trace\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->report;
		state->child_inputs[1] = &a->show.form;
		state->child_inputs[2] = &a->symbols;
		break;
	case OPT_FLAME:
		a->flame = text;
		a->report.input.writes = true;
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

/* Reports spans without a duration. */
static void remarks(struct rs_report *report, const struct rs_spans *spans)
{
	if (!spans->n_rows)
		rs_report_remark(report, "no span of %s is selected", report->input.path);
	if (spans->open)
		rs_report_remark(report, "%" PRIu64 " spans have no end", spans->open);
	if (spans->unbegun)
		rs_report_remark(report, "%" PRIu64 " spans have no begin", spans->unbegun);
	if (spans->too_deep)
		rs_report_remark(report, "%" PRIu64 " spans nested deeper than %u are skipped",
				 spans->too_deep, RS_SPANS_DEPTH_MAX);
	rs_report_lacks(report, &(struct rs_cli_loss){ spans->lost, "record", "lost" }, 1);
}

static struct rs_error *print(struct arguments *a, struct rs_sink *sink)
{
	struct rs_profile profile = { 0 };
	struct rs_spans spans;
	struct rs_error *err = rs_spans_collect(sink, &spans);

	if (!err && (a->show.tree || a->flame))
		err = rs_spans_profile(&spans, a->show.resolver, &profile);
	if (!err && a->flame)
		err = rs_profile_write_file(
			a->flame, &profile,
			&(struct rs_profile_what){ RS_SPANS_TIME, a->show.trace },
			rs_profile_write_flame);
	if (!err)
		err = rs_spans_print(&a->show, &spans, &profile);
	rs_profile_deinit(&profile);
	if (!err)
		remarks(&a->report, &spans);
	return err;
}

static struct rs_error *show(struct rs_report *report, struct rs_input *input)
{
	struct arguments *a = (struct arguments *)report;
	struct rs_profile_resolver resolver = { 0 };
	struct rs_sink *sink = NULL;
	struct rs_error *err;

	a->show.trace = report->input.path;
	a->show.resolver = &resolver;
	err = rs_cli_symbols_open(&a->symbols, input, report->verb, &resolver);
	if (!err)
		err = rs_spans_sink_create(&sink);
	if (!err)
		err = rs_report_run(report, input, sink);
	if (!err)
		err = print(a, sink);
	rs_spans_sink_destroy(sink);
	rs_cli_symbols_close(&a->symbols);
	return err;
}

int report_spans(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_report_argp, 0, NULL, 0 },
						      { &rs_cli_form_argp, 0, NULL, 0 },
						      { &rs_cli_symbols_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "TRACE...", doc, children, NULL, NULL };
	struct arguments a = { .show.fd = STDOUT_FILENO };

	return rs_report_main(&argp, argc, argv, &a.report, show);
}
