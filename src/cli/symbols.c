/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of verbs that print function names. */
#include "cli/symbols.h"

#include "analyze/symbolize.h"
#include "cli/cli.h"
#include "cli/shared.h"

enum { KEY_BINARY = 0x6100 };

static const struct argp_option options[] = {
	{ "binary", KEY_BINARY, "FILE[@0xLOAD]", 0,
	  "Name functions by this binary of the guest, which is loaded at LOAD if it is position "
	  "independent; may be repeated (the binaries that the trace names)",
	  3 },
	{ "symfs", RS_CLI_TEXT(struct rs_cli_symbols, symfs), "DIR", 0,
	  "Search for binaries and debug files in this folder, as if it were /", 3 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_cli_symbols *symbols = state->input;

	if (key != KEY_BINARY)
		return rs_cli_store(options, key, text, state);
	rs_cli_append(state, "--binary", text, symbols->binaries, &symbols->n, RS_CLI_BINARIES_MAX);
	return 0;
}

const struct argp rs_cli_symbols_argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

struct rs_error *rs_cli_symbols_open(struct rs_cli_symbols *symbols, const struct rs_input *input,
				     const char *verb, struct rs_profile_resolver *resolver)
{
	const struct rs_symbolizer_options o = { .binaries = symbols->binaries,
						 .n_binaries = symbols->n,
						 .symfs = symbols->symfs };
	struct rs_error *err = rs_symbolizer_create(input, &o, &symbols->symbolizer);

	symbols->verb = verb;
	if (!err)
		*resolver = rs_symbolizer_resolver(symbols->symbolizer);
	return err;
}

void rs_cli_symbols_close(struct rs_cli_symbols *symbols)
{
	if (symbols->symbolizer)
		rs_symbolizer_remarks(symbols->symbolizer, rs_cli_remark,
				      (char *)(uintptr_t)symbols->verb);
	rs_symbolizer_destroy(symbols->symbolizer);
	symbols->symbolizer = NULL;
}
