/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options by which a verb finds the functions at a trace's addresses: the binaries that the
 * trace names, or that the user does.
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

/* Child of a verb's argp; its input is a struct rs_cli_symbols. */
extern const struct argp rs_cli_symbols_argp;

/* Opens the binaries of an input. A binary that the user named and that is wrong is an error. */
struct rs_error *rs_cli_symbols_open(struct rs_cli_symbols *symbols, const struct rs_input *input,
				     const char *verb, struct rs_profile_resolver *resolver);
/* Reports on standard error why addresses stayed numbers. Also for one that was not opened. */
void rs_cli_symbols_close(struct rs_cli_symbols *symbols);

#endif
