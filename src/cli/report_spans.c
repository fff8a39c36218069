/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside report spans: how often the spans of a trace occurred and how long they lasted, by name
 * or as a call tree; for a guest, how much of it was spent in the VMM.
 *
 *	trace -> source -> spans -> a table, a tree, or a flame graph
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/report.h"
#include "cli/shared.h"
#include "cli/symbols.h"
#include "event/query.h"
#include "export/profile.h"
#include "view/spans.h"

#define VERB "report spans"

enum { OPT_CSV = 256, OPT_TREE, OPT_FLAME };

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print one JSON object", 2 },
	{ "csv", OPT_CSV, NULL, 0, "Print comma-separated values, with a header line", 2 },
	{ "tree", OPT_TREE, NULL, 0, "Show the call tree, with the time of each path", 2 },
	{ "flame", OPT_FLAME, "FILE", 0, "Also write a flame graph to this new file (SVG)", 2 },
	{ 0 },
};

static const char doc[] =
	"Show how often the spans of a trace occurred and how long they lasted. For spans of a "
	"guest "
	"whose exits are in the trace, the time is split into the guest's own, calls of the host, "
	"and other exits.\v"
	"A span is what RS_SPAN() or RS_FUNCTION() enclose, or a function that was compiled with "
	"-finstrument-functions. TRACE is a trace directory, or a file or directory that import "
	"can read. Several TRACEs are merged on one timeline.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 done, but records were lost or the trace "
	"is damaged.\n\n"
	"Examples:\n"
	"  ringside report spans trace\n"
	"  ringside report spans --tree --flame spans.svg trace\n";

struct arguments {
	struct rs_spans_show show;
	struct rs_cli_input input;
	struct rs_cli_symbols symbols;
	struct rs_query query;
	const char *flame;
	bool quiet;
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		state->child_inputs[1] = &a->query;
		state->child_inputs[2] = &a->quiet;
		state->child_inputs[3] = &a->symbols;
		break;
	case 'j':
		a->show.form = RS_TABLE_JSON;
		break;
	case OPT_CSV:
		a->show.form = RS_TABLE_CSV;
		break;
	case OPT_TREE:
		a->show.tree = true;
		break;
	case OPT_FLAME:
		a->flame = text;
		a->input.writes = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* Reports spans that have no duration. */
static void remarks(const struct arguments *a, const struct rs_spans *spans)
{
	if (a->quiet)
		return;
	if (!spans->n_rows)
		fprintf(stderr, "ringside " VERB ": no span of %s is selected\n", a->show.trace);
	if (spans->open)
		fprintf(stderr, "ringside " VERB ": %" PRIu64 " spans have no end\n", spans->open);
	if (spans->unbegun)
		fprintf(stderr, "ringside " VERB ": %" PRIu64 " spans have no begin\n",
			spans->unbegun);
	if (spans->too_deep)
		fprintf(stderr,
			"ringside " VERB ": %" PRIu64 " spans within %u others are left out\n",
			spans->too_deep, RS_SPANS_DEPTH_MAX);
}

static struct rs_error *show(const struct arguments *a, struct rs_sink *sink,
			     const struct rs_profile_resolver *resolver, int *code)
{
	struct rs_profile profile = { 0 };
	struct rs_spans spans;
	struct rs_error *err = rs_spans_collect(sink, &spans);

	if (!err && (a->show.tree || a->flame))
		err = rs_spans_profile(&spans, resolver, &profile);
	if (!err && a->flame)
		err = rs_profile_write_file(
			a->flame, &profile,
			&(struct rs_profile_what){ RS_SPANS_TIME, a->show.trace },
			rs_profile_write_flame);
	if (!err)
		err = rs_spans_print(&a->show, &spans, &profile);
	rs_profile_deinit(&profile);
	if (err || rs_cli_pipe_closed())
		return err;
	remarks(a, &spans);
	if (rs_cli_report_losses(VERB, (struct rs_cli_loss[]){ { spans.lost, "record", "lost" } },
				 1))
		*code = RS_EXIT_PARTIAL;
	return NULL;
}

static struct rs_error *run(struct arguments *a, int *code)
{
	struct rs_profile_resolver resolver = { 0 };
	struct rs_input input = { 0 };
	struct rs_error *err = rs_cli_input_open(&a->input, &input), *run_err = NULL;
	struct rs_sink *sink = NULL;

	if (err)
		return err;
	a->show.trace = a->input.path;
	a->show.resolver = &resolver;
	err = rs_cli_symbols_open(&a->symbols, &input, VERB, &resolver);
	if (!err)
		err = rs_spans_sink_create(&sink);
	if (!err)
		run_err = rs_run(input.source, &a->query, sink, &rs_cli_stop);
	if (!err && (!run_err || rs_error_code(run_err) == RS_DAMAGED))
		err = show(a, sink, &resolver, code);
	if (!a->quiet)
		rs_cli_input_remarks(VERB, &a->input, &input);
	rs_spans_sink_destroy(sink);
	rs_cli_symbols_close(&a->symbols);
	rs_input_close(&input);
	return rs_error_first(run_err, err);
}

int report_spans(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_input_argp, 0, NULL, 0 },
						      { &rs_cli_span_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { &rs_cli_symbols_argp, 0, NULL, 0 },
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
	return err ? rs_cli_fail(VERB, err) : code;
}
