/* SPDX-License-Identifier: BSD-2-Clause */
/* The options and arguments that select the traces that a verb reads. */
#include "cli/input.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "cli/cli.h"
#include "cli/numbers.h"
#include "cli/shared.h"
#include "store/reader.h"
#include "store/waiting.h"

enum { OPT_FREQ = 1024 }; /* the keys of verbs and of their other children are below */

static const struct argp_option options[] = {
	{ "freq", OPT_FREQ, "HZ", 0,
	  "Use this TSC frequency, as in 2.6GHz, for files that do not contain it (xentrace's, "
	  "ACRN's)",
	  3 },
	{ "xen-log", RS_CLI_TEXT(struct rs_cli_input, foreign.xen_log), "FILE", 0,
	  "Read the TSC frequency from Xen's boot log FILE", 3 },
	{ "format", 'f', "NAME", RS_CLI_TEXT(struct rs_cli_input, format),
	  "Read a file in this format if its first bytes do not identify it: trace.dat "
	  "(trace-cmd's), xentrace, acrn, acrnlog, hyperlight",
	  3 },
	{ 0 },
};

const char *rs_cli_path(const char *text)
{
	return strcmp(text, "-") ? text : "/dev/stdin";
}

void rs_cli_one(const struct argp_state *state, const char *what, const char *text,
		const char **path)
{
	if (*path)
		argp_error(state, "only one %s is allowed, got '%s'", what, text);
	*path = text;
}

bool rs_cli_input_add(struct rs_cli_input *input, const char *path)
{
	size_t at;

	if (input->n == RS_INPUTS_MAX)
		return false;
	input->paths[input->n++] = path;
	if (input->n == 1) {
		input->path = path;
		return true;
	}
	if (input->n == 2)
		snprintf(input->several, sizeof(input->several), "%s", input->path);
	input->path = input->several;
	at = strlen(input->several);
	snprintf(input->several + at, sizeof(input->several) - at, ", %s", path);
	return true;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_cli_input *input = state->input;

	switch (key) {
	case OPT_FREQ:
		input->foreign.freq_hz = rs_cli_frequency(state, text);
		break;
	case ARGP_KEY_ARG:
		if (input->one)
			rs_cli_one(state, input->what, text, &input->path);
		if (!rs_cli_input_add(input, rs_cli_path(text)))
			argp_error(state, "more than %u traces", RS_INPUTS_MAX);
		break;
	case ARGP_KEY_END:
		if (!input->path && input->what)
			argp_error(state, "no %s given", input->what);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

const struct argp rs_cli_input_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

struct rs_error *rs_cli_input_open(const struct rs_cli_input *from, struct rs_input *input)
{
	struct rs_error *err = rs_cli_confine(from->writes ? RS_CONFINE_WRITER : RS_CONFINE_READER);

	return err ? err
		   : rs_open_several(from->paths, from->n, from->format, &from->foreign, input);
}

__attribute__((format(printf, 2, 3))) static void remark(const char *verb, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) >= 0)
		rs_cli_message(verb, text);
	va_end(args);
	free(text);
}

static void foreign_remarks(const char *verb, const char *path, const struct rs_foreign *foreign)
{
	for (uint32_t i = 0; foreign && i < foreign->tally.n_remarks; i++)
		remark(verb, "%s: %s", path, foreign->tally.remarks[i]);
}

void rs_cli_input_remarks(const char *verb, const struct rs_cli_input *from,
			  const struct rs_input *input)
{
	const struct rs_input *part;

	for (uint32_t i = 0; (part = rs_input_part(input, i)); i++) {
		const struct rs_input *to = part->beside;
		int64_t later = to ? part->later_ns - to->later_ns : 0;

		if (to)
			remark(verb, "%s begins %.9f s %s %s, aligned by %s", from->paths[i],
			       (double)(later < 0 ? -later : later) / 1e9,
			       later < 0 ? "before" : "after", from->paths[to - input->parts],
			       part->alignment);
		foreign_remarks(verb, from->n > 1 ? from->paths[i] : from->path, part->foreign);
	}
}

static void private_remark(const char *verb, const struct rs_trace *trace)
{
	const struct rs_state_private *private = &trace->private;

	if (private->n && trace->end != RS_TRACE_RECORDING)
		remark(verb,
		       "%s: %" PRIu32 " of %s may lack the last records: their rings died with the "
		       "program (%s)",
		       rs_trace_directory(trace), private->n,
		       RS_COUNT_OF(trace->describe.n_streams, "stream"), private->why);
}

void rs_cli_rings_remark(const char *verb, const struct rs_trace *trace)
{
	struct rs_waiting waiting;

	if (rs_waiting_find(trace, rs_cli_user(), &waiting)) {
		remark(verb,
		       "%s: %s of the program that died wait%s, with %s: 'ringside repair %s' "
		       "recovers %s",
		       rs_trace_directory(trace), RS_COUNT_OF(waiting.rings, "ring"),
		       waiting.rings == 1 ? "s" : "", RS_COUNT_OF(waiting.records, "record"),
		       rs_trace_directory(trace), waiting.rings == 1 ? "it" : "them");
		rs_waiting_deinit(&waiting);
	}
	private_remark(verb, trace);
}
