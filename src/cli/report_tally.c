/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside report cpu, and the exits and interrupts of any trace, by reason, vCPU and CPU.
 *
 *	trace -> source -> tally -> a table
 */
#include "cli/report.h"

#include <string.h>
#include <unistd.h>

#include "cli/numbers.h"
#include "cli/shared.h"
#include "import/acrn/trace.h"

enum { OPT_BY = 256, OPT_CPUS };

static const struct argp_option options[] = {
	{ "cpus", OPT_CPUS, "LIST", 0, "Count only events on these host CPUs, as in 0-3,7", 1 },
	{ "by", OPT_BY, "KEY,...", 0,
	  "Show separate rows for each cpu, vm or vcpu (one row for "
	  "all)",
	  1 },
	{ 0 },
};

static const char doc[] =
	"For a trace of ACRN, KVM, Xen or a VMM, show how long each vCPU ran on each physical CPU "
	"(cpu), or which interrupts arrived and how long their handlers ran (interrupts). For "
	"Xen's files without --by, interrupts prints Xen's table.\v"
	"TRACE is a trace directory, or a file or directory that import reads. Several TRACEs are "
	"merged on one timeline. Times are in cycles if the frequency of the TSC is neither in the "
	"trace nor given by --freq. interrupts --xen reads the Xen that this dom0 runs on instead "
	"of a TRACE, with the options of report sched.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 done, but records were lost or the trace "
	"is damaged.\n\n"
	"Examples:\n"
	"  ringside report cpu --freq 1881600000 acrntrace/20261121-101112\n"
	"  ringside report interrupts --by cpu --csv trace\n";

struct arguments {
	struct rs_report report;
	struct rs_tally_show show;
	struct rs_cli_interval interval;
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
		state->child_inputs[0] = &a->report;
		state->child_inputs[1] = &a->show.form;
		state->child_inputs[2] = &a->interval;
		break;
	case OPT_CPUS:
		rs_cli_cpus(state, text, &a->report.query.cpus);
		break;
	case OPT_BY:
		a->show.by = rs_report_by(state, text);
		a->show.is_by = true;
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

static struct rs_error *print(struct rs_report *report, struct rs_sink *sink,
			      const struct rs_tally_show *show)
{
	struct rs_tally tally;
	struct rs_error *err = rs_tally_collect(sink, show->by, &tally);
	bool any = false;

	if (!err)
		err = rs_tally_print(show, &tally);
	if (err)
		return err;
	for (size_t i = 0; i < tally.n_rows; i++)
		any |= tally.rows[i].kind == show->kind;
	if (!any)
		rs_report_remark(report, "%s has no event for this report", show->trace);
	rs_report_lacks(
		report,
		(struct rs_cli_loss[]){
			{ tally.lost, "record", "lost" },
			{ tally.contradictions, "switch", "of a thread that was not on the CPU" },
			{ tally.refused, "count", "dropped because a table was full" } },
		3);
	return NULL;
}

struct rs_error *rs_report_tally(struct rs_report *report, const struct rs_input *input,
				 struct rs_tally_show *what)
{
	struct rs_sink *sink = NULL;
	struct rs_error *err = rs_tally_sink_create(&sink);

	what->tsc_hz = tsc_hz(input->clock);
	if (!err)
		err = rs_report_run(report, input, sink);
	if (!err)
		err = print(report, sink, what);
	rs_tally_sink_destroy(sink);
	return err;
}

static struct rs_error *show(struct rs_report *report, struct rs_input *input)
{
	struct arguments *a = (struct arguments *)report;

	a->show.trace = report->input.path;
	if (a->show.kind == RS_TALLY_INTERRUPTS && rs_input_is_xen(input) && !a->show.is_by)
		return rs_report_xen(
			report, input, /* Xen's table of interrupts */
			&(struct rs_xen_show){ .fd = a->show.fd,
					       .form = a->show.form,
					       .report = report->name,
					       .kinds = rs_xen_report_kinds(report->name),
					       .trace = a->show.trace,
					       .interval_ns = (int64_t)a->interval.ns });
	if (a->interval.ns)
		return rs_error_create(RS_USAGE,
				       "%s: --interval requires a Xen trace, without --by",
				       a->show.trace);
	return rs_report_tally(report, input, &a->show);
}

int report_tally(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_report_argp, 0, NULL, 0 },
						      { &rs_cli_form_argp, 0, NULL, 0 },
						      { &rs_cli_interval_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "TRACE...", doc, children, NULL, NULL };
	struct arguments a = { .show.fd = STDOUT_FILENO };

	a.show.kind = strstr(argv[0], rs_tally_kind_name(RS_TALLY_CPU)) ? RS_TALLY_CPU
									: RS_TALLY_INTERRUPTS;
	return rs_report_main(&argp, argc, argv, &a.report, show);
}
