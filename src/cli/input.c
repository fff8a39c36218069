/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/numbers.h"
#include "source/shift.h"

#define FREQ_HZ_MIN 1000000
#define FREQ_HZ_MAX 1000000000000

enum { OPT_FREQ = 1024, OPT_XEN_LOG }; /* a verb's own keys, and its other children's, are below */

static const struct argp_option options[] = {
	{ "freq", OPT_FREQ, "HZ", 0,
	  "The TSC's frequency, for files that do not say it (xentrace's, ACRN's)", 3 },
	{ "xen-log", OPT_XEN_LOG, "FILE", 0, "Take it from Xen's boot messages in this file", 3 },
	{ "format", 'f', "NAME", 0,
	  "What the file is, where its first bytes do not say: trace.dat (of trace-cmd), xentrace, "
	  "acrn, acrnlog",
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
		argp_error(state, "one %s, please; '%s' is the second", what, text);
	*path = text;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_cli_input *input = state->input;

	switch (key) {
	case OPT_FREQ:
		if (!rs_cli_read_number(text, FREQ_HZ_MIN, FREQ_HZ_MAX, &input->foreign.freq_hz))
			argp_error(state, "'%s': expected a frequency in Hz, 1 MHz to 1 THz", text);
		break;
	case OPT_XEN_LOG:
		input->foreign.xen_log = text;
		break;
	case 'f':
		input->format = text;
		break;
	case ARGP_KEY_ARG:
		rs_cli_one(state, input->what, rs_cli_path(text), &input->path);
		break;
	case ARGP_KEY_END:
		if (!input->path && input->what)
			argp_error(state, "which %s?", input->what);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp rs_cli_input_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

static struct rs_error *confine(const struct rs_cli_input *from)
{
	return rs_cli_confine(from->writes ? RS_CONFINE_WRITER : RS_CONFINE_READER);
}

struct rs_error *rs_cli_input_open(const struct rs_cli_input *from, struct rs_input *input)
{
	struct rs_error *err = confine(from);

	return err ? err : rs_open_with(from->path, from->format, &from->foreign, input);
}

/* ---- several ------------------------------------------------------------------------------ */

/* How much later each began than the first of them to begin. */
static struct rs_error *starts_find(const struct rs_cli_inputs *inputs, const char *const *paths,
				    int64_t later_ns[], uint32_t *first)
{
	int64_t least;

	*first = 0;
	for (uint32_t i = 0; i < inputs->n; i++) {
		struct rs_error *err =
			rs_shift_find(inputs->at[0].clock, inputs->at[i].clock, &later_ns[i]);

		if (err)
			return rs_error_wrap(err, "%s, beside %s", paths[i], paths[0]);
		if (later_ns[i] < later_ns[*first])
			*first = i;
	}
	least = later_ns[*first];
	for (uint32_t i = 0; i < inputs->n; i++)
		later_ns[i] -= least;
	return NULL;
}

/* The merge of all: it takes them over. */
static struct rs_error *inputs_merge(struct rs_cli_inputs *inputs, const int64_t later_ns[])
{
	struct rs_source *sources[RS_CLI_INPUTS_MAX];
	struct rs_error *err;

	for (uint32_t i = 0; i < inputs->n; i++) {
		struct rs_input *input = &inputs->at[i];

		err = rs_shift_create(input->source, later_ns[i], &sources[i]);
		if (!err) {
			input->source = NULL;
			continue;
		}
		while (i)
			rs_source_destroy(sources[--i]);
		return err;
	}
	err = rs_merge_create(sources, inputs->n, &inputs->source);
	for (uint32_t i = 0; err && i < inputs->n; i++)
		rs_source_destroy(sources[i]);
	return err;
}

/* What is told of files that do not say it themselves is for one of several at least. */
static struct rs_error *inputs_open_each(const struct rs_cli_input *from, const char *const *paths,
					 uint32_t n, struct rs_cli_inputs *inputs)
{
	struct rs_error *no_use = NULL;
	uint32_t used = 0;

	for (inputs->n = 0; inputs->n < n; inputs->n++) {
		struct rs_input *input = &inputs->at[inputs->n];
		struct rs_error *err =
			rs_open_with(paths[inputs->n], from->format, &from->foreign, input);

		used += !err;
		if (!err)
			continue;
		rs_error_free(no_use);
		no_use = err;
		if (n > 1 && rs_error_code(err) == RS_USAGE)
			err = rs_open_with(paths[inputs->n], from->format, NULL, input);
		if (!err)
			continue;
		if (err != no_use)
			rs_error_free(no_use);
		return err;
	}
	if (used) {
		rs_error_free(no_use);
		return NULL;
	}
	return no_use;
}

struct rs_error *rs_cli_inputs_open(const struct rs_cli_input *from, const char *const *paths,
				    uint32_t n, struct rs_cli_inputs *inputs)
{
	int64_t later_ns[RS_CLI_INPUTS_MAX] = { 0 }, end_ns;
	struct rs_error *err = confine(from);
	uint32_t first = 0;

	if (!err)
		err = inputs_open_each(from, paths, n, inputs);
	if (!err && n > 1)
		err = starts_find(inputs, paths, later_ns, &first);
	inputs->clock = inputs->at[first].clock;
	inputs->closed = !err;
	for (uint32_t i = 0; !err && i < n; i++) {
		inputs->closed &=
			inputs->at[i].trace && rs_trace_closed(inputs->at[i].trace, &end_ns);
		if (inputs->closed && end_ns + later_ns[i] > inputs->end_ns)
			inputs->end_ns = end_ns + later_ns[i];
	}
	if (err || n > 1)
		return err ? err : inputs_merge(inputs, later_ns);
	inputs->source = inputs->at[0].source;
	inputs->at[0].source = NULL;
	return NULL;
}

void rs_cli_inputs_close(struct rs_cli_inputs *inputs)
{
	rs_source_destroy(inputs->source);
	for (uint32_t i = 0; i < inputs->n; i++)
		rs_input_close(&inputs->at[i]);
	*inputs = (struct rs_cli_inputs){ 0 };
}

void rs_cli_input_remarks(const char *verb, const struct rs_cli_input *from,
			  const struct rs_input *input)
{
	const struct rs_foreign_tally *tally = input->foreign ? &input->foreign->tally : NULL;

	for (uint32_t i = 0; tally && i < tally->n_remarks; i++) {
		char *text = NULL;

		if (asprintf(&text, "%s: %s", from->path, tally->remarks[i]) >= 0)
			rs_cli_say(verb, text);
		free(text);
	}
}
