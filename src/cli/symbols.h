/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options that select the binaries by which a verb names functions: those that the trace or the
 * user names.
 */
#ifndef RS_CLI_SYMBOLS_H
#define RS_CLI_SYMBOLS_H

#include <argp.h>

#include "analyze/profile.h"
#include "input/open.h"

#define RS_CLI_BINARIES_MAX 16u

/* Zero before parsing. */
struct rs_cli_symbols {
	const char *binaries[RS_CLI_BINARIES_MAX];
	uint32_t n;
	const char *symfs; /* NULL: / */
	struct rs_symbolizer *symbolizer;
	const char *verb;
};

/* A child of a verb's argp; its input is a struct rs_cli_symbols. */
extern const struct argp rs_cli_symbols_argp;

/* Opens the binaries of an input. An invalid binary that the user named is an error. */
struct rs_error *rs_cli_symbols_open(struct rs_cli_symbols *symbols, const struct rs_input *input,
				     const char *verb, struct rs_profile_resolver *resolver);
/* Reports to standard error why addresses have no names. May be called without a successful
 * open. */
void rs_cli_symbols_close(struct rs_cli_symbols *symbols);

#endif
