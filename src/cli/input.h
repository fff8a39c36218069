/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs that read a trace have in common: which one, and what is to be known of it. */
#ifndef RS_CLI_INPUT_H
#define RS_CLI_INPUT_H

#include <argp.h>

#include "source/open.h"

/* Zero, but for `what`, before parsing. */
struct rs_cli_input {
	const char *what; /* "trace": as errors call it, and it has to be given; NULL: it may be */
	const char *path;
	const char *format; /* NULL: as its first bytes say */
	struct rs_foreign_options foreign;
};

/* Child of a verb's argp; its input is a struct rs_cli_input. Takes the verb's argument, unless the
 * verb itself does. */
extern const struct argp rs_cli_input_argp;

/* Takes `text` for *path: "one trace, please" where there was one. */
void rs_cli_one(const struct argp_state *state, const char *what, const char *text,
		const char **path);

struct rs_error *rs_cli_input_open(const struct rs_cli_input *from, struct rs_input *input);

/* What a reader should know of another tool's file: "ringside VERB: FILE: remark" for each, behind
 * what was printed. Nothing of a trace directory. */
void rs_cli_input_remarks(const char *verb, const struct rs_cli_input *from,
			  const struct rs_input *input);

#endif
