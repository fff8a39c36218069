/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside report cpu, and exits and interrupts of any trace, by reason, vCPU and CPU.
 *
 *	trace -> source -> tally -> a table
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/numbers.h"
#include "cli/report.h"
#include "cli/shared.h"
#include "event/query.h"
#include "import/acrn/trace.h"

enum { OPT_CSV = 256, OPT_BY, OPT_CPUS };

static const struct argp_option options[] = {
	{ "cpus", OPT_CPUS, "LIST", 0, "Only what these host CPUs saw, as in 0-3,7", 1 },
	{ "by", OPT_BY, "KEY,...", 0, "Show rows of each cpu, vm or vcpu apart (of all together)",
	  1 },
	{ "json", 'j', NULL, 0, "Print one JSON object", 2 },
	{ "csv", OPT_CSV, NULL, 0, "Print comma-separated values, with a header line", 2 },
	{ 0 },
};

static const char doc[] =
	"Of a trace of ACRN, KVM, Xen or a VMM: who had each physical CPU, and for how long (cpu); "
	"which interrupts came, and how long handling them took (interrupts). Of Xen's files, "
	"interrupts has a table of its own unless --by is given.\v"
	"TRACE is a trace directory, or a file or directory that import knows; several are one, on "
	"one timeline. Times are cycles "
	"alone where the frequency of the TSC is neither in the trace nor given by --freq. Of "
	"interrupts, instead of TRACE, --xen is the Xen that this dom0 runs on, with the options "
	"of "
	"report sched.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 done, but records were lost or the trace "
	"is "
	"damaged.\n\n"
	"Examples:\n"
	"  ringside report cpu --freq 1881600000 acrntrace/20261121-101112\n"
	"  ringside report interrupts --by cpu --csv trace\n";

struct arguments {
	struct rs_tally_show show;
	struct rs_cli_input input;
	struct rs_query query;
	struct rs_cli_interval interval;
	const char *verb; /* report NAME */
	bool quiet;
};

uint32_t rs_report_by(const struct argp_state *state, char *list)
{
	static const struct {
		const char *name;
		uint32_t by;
	} keys[] = { { "cpu", RS_TALLY_BY_CPU },
		     { "vm", RS_TALLY_BY_VM },
		     { "vcpu", RS_TALLY_BY_VM | RS_TALLY_BY_VCPU },
		     { "reason", 0 } }; /* always */
	char *rest = NULL;
	uint32_t by = 0;

	for (char *key = strtok_r(list, ",", &rest); key; key = strtok_r(NULL, ",", &rest)) {
		size_t i = 0;

		while (i < sizeof(keys) / sizeof(keys[0]) && strcmp(keys[i].name, key) != 0)
			i++;
		if (i == sizeof(keys) / sizeof(keys[0]))
			argp_error(state, "--by '%s': expected cpu, vm or vcpu", key);
		by |= keys[i].by;
	}
	return by;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		state->child_inputs[1] = &a->query;
		state->child_inputs[2] = &a->interval;
		state->child_inputs[3] = &a->quiet;
		break;
	case OPT_CPUS:
		rs_cli_cpus(state, text, &a->query.cpus);
		break;
	case OPT_BY:
		a->show.by = rs_report_by(state, text);
		a->show.is_by = true;
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

/* ---- the run -------------------------------------------------------------------------------- */

bool rs_report_has(const struct rs_input *input, const char *provider)
{
	const struct rs_stream *stream;

	for (uint32_t i = 0; (stream = rs_input_stream(input, i)); i++) {
		if (stream->schema && !strcmp(rs_schema_provider(stream->schema), provider))
			return true;
	}
	return false;
}

/* Returns the frequency of the trace's TSC, or 0 if it is unknown. */
static uint64_t tsc_hz(const struct rs_clock *clock)
{
	if (!clock || clock->monotonic || !strcmp(clock->freq_from, RS_ACRN_FREQ_UNKNOWN))
		return 0;
	return clock->freq_hz;
}

/* Shows what came before the damage, then reports the damage. */
static struct rs_error *show(struct rs_tally_show *show, const char *verb, struct rs_sink *sink,
			     bool quiet, int *code)
{
	struct rs_cli_loss losses[] = { { 0, "record", "lost" },
					{ 0, "switch", "from a thread that did not have the CPU" },
					{ 0, "count", "dropped for lack of room" } };
	struct rs_tally tally;
	struct rs_error *err = rs_tally_collect(sink, show->by, &tally);
	bool any = false;

	if (!err)
		err = rs_tally_print(show, &tally);
	if (err)
		return err;
	for (size_t i = 0; i < tally.n_rows; i++)
		any |= tally.rows[i].kind == show->kind;
	if (rs_cli_pipe_closed())
		return NULL;
	if (!any && !quiet)
		fprintf(stderr, "ringside %s: %s has nothing of this\n", verb, show->trace);
	losses[0].n = tally.lost;
	losses[1].n = tally.contradictions;
	losses[2].n = tally.refused;
	if (rs_cli_report_losses(verb, losses, sizeof(losses) / sizeof(losses[0])))
		*code = RS_EXIT_PARTIAL;
	return NULL;
}

struct rs_error *rs_report_tally(struct rs_input *input, const struct rs_query *query,
				 struct rs_tally_show *what, const char *verb, bool quiet,
				 int *code)
{
	struct rs_error *err, *run_err;
	struct rs_sink *sink;

	what->tsc_hz = tsc_hz(input->clock);
	err = rs_tally_sink_create(&sink);
	if (err)
		return err;
	run_err = rs_run(input->source, query, sink, &rs_cli_stop);
	if (run_err && rs_error_code(run_err) != RS_DAMAGED) {
		rs_tally_sink_destroy(sink);
		return run_err;
	}
	err = show(what, verb, sink, quiet, code);
	rs_tally_sink_destroy(sink);
	return rs_error_first(err, run_err);
}

/* Shows Xen's own table of interrupts. */
static struct rs_error *run_xen(const struct arguments *a, struct rs_input *input, int *code)
{
	const char *name = rs_tally_kind_name(a->show.kind);
	const struct rs_xen_show xen = { .fd = a->show.fd,
					 .form = a->show.form,
					 .report = name,
					 .kinds = rs_xen_report_kinds(name),
					 .trace = a->show.trace,
					 .interval_ns = (int64_t)a->interval.ns };

	return rs_report_xen(input, &a->query, &xen, code);
}

static struct rs_error *run(struct arguments *a, int *code)
{
	struct rs_input input = { 0 };
	struct rs_error *err = rs_cli_input_open(&a->input, &input);

	if (err)
		return err;
	a->show.trace = a->input.path;
	if (a->show.kind == RS_TALLY_INTERRUPTS && rs_input_is_xen(&input) && !a->show.is_by)
		err = run_xen(a, &input, code);
	else if (a->interval.ns)
		err = rs_error_create(RS_USAGE,
				      "%s: --interval is for Xen's interrupts, without --by",
				      a->show.trace);
	else
		err = rs_report_tally(&input, &a->query, &a->show, a->verb, a->quiet, code);
	if (!a->quiet)
		rs_cli_input_remarks(a->verb, &a->input, &input);
	rs_input_close(&input);
	return err;
}

int report_tally(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_input_argp, 0, NULL, 0 },
						      { &rs_cli_span_argp, 0, NULL, 0 },
						      { &rs_cli_interval_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "TRACE...", doc, children, NULL, NULL };
	struct arguments a = { .show.fd = STDOUT_FILENO, .input.what = "trace" };
	int code = RS_EXIT_OK;
	struct rs_error *err;
	char name[64];

	snprintf(name, sizeof(name), "%s", argv[0]); /* argp's parser gives argv[0] another */
	a.verb = name;
	a.show.kind =
		strstr(name, rs_tally_kind_name(RS_TALLY_CPU)) ? RS_TALLY_CPU : RS_TALLY_INTERRUPTS;
	rs_query_init(&a.query);
	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	rs_cli_catch_stop();
	err = run(&a, &code);
	return err ? rs_cli_fail(name, err) : code;
}
