/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/input.h"

#include <stdio.h>

#include "cli/numbers.h"

#define FREQ_HZ_MIN 1000000
#define FREQ_HZ_MAX 1000000000000

enum { OPT_FREQ = 1024, OPT_XEN_LOG }; /* a verb's own keys, and its other children's, are below */

static const struct argp_option options[] = {
	{ "freq", OPT_FREQ, "HZ", 0,
	  "The TSC's frequency, for files that do not say it (xentrace's, ACRN's)", 3 },
	{ "xen-log", OPT_XEN_LOG, "FILE", 0, "Take it from Xen's boot messages in this file", 3 },
	{ "format", 'f', "NAME", 0,
	  "What the file is, where its first bytes do not say: trace.dat (of trace-cmd), xentrace, "
	  "acrn",
	  3 },
	{ 0 },
};

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
		rs_cli_one(state, input->what, text, &input->path);
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

struct rs_error *rs_cli_input_open(const struct rs_cli_input *from, struct rs_input *input)
{
	return rs_open_with(from->path, from->format, &from->foreign, input);
}

void rs_cli_input_remarks(const char *verb, const struct rs_cli_input *from,
			  const struct rs_input *input)
{
	const struct rs_foreign_tally *tally = input->foreign ? &input->foreign->tally : NULL;

	fflush(stdout);
	for (uint32_t i = 0; tally && i < tally->n_remarks; i++)
		fprintf(stderr, "ringside %s: %s: %s\n", verb, from->path, tally->remarks[i]);
}
