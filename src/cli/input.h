/* SPDX-License-Identifier: BSD-2-Clause */
/* What the verbs that read a trace have in common: which one, or which several, and what is to be
 * known of them. */
#ifndef RS_CLI_INPUT_H
#define RS_CLI_INPUT_H

#include <argp.h>

#include "input/open.h"

#define RS_CLI_PATHS_TEXT 512u

/* Zero, but for `what`, `one` and `writes`, before parsing. */
struct rs_cli_input {
	const char *what; /* "trace": as errors call it, and it has to be given; NULL: it may be */
	bool one;	  /* the verb takes no more than one */
	const char *paths[RS_INPUTS_MAX];
	uint32_t n;
	const char *path; /* what to call it: the path; "A, B" of several; NULL of none */
	char several[RS_CLI_PATHS_TEXT]; /* the memory of that */
	const char *format;		 /* NULL: as its first bytes say */
	struct rs_foreign_options foreign;
	bool writes; /* the verb makes files of it */
};

/* Child of a verb's argp; its input is a struct rs_cli_input. Takes the verb's arguments, unless
 * the verb itself does. */
extern const struct argp rs_cli_input_argp;

/* The path that an argument names: "-" is standard input. */
const char *rs_cli_path(const char *text);

/* Adds a trace to read. Returns false if there are too many. */
bool rs_cli_input_add(struct rs_cli_input *input, const char *path);

/* Takes `text` for *path. A second one is a usage error. */
void rs_cli_one(const struct argp_state *state, const char *what, const char *text,
		const char **path);

/* Confines the process to reading, or to what `writes` says, and opens the trace; several as one,
 * on one timeline. */
struct rs_error *rs_cli_input_open(const struct rs_cli_input *from, struct rs_input *input);

/* What a reader should know of what was read, behind what was printed: of another tool's file
 * "ringside VERB: FILE: remark" for each; of several traces how each lies to the others. */
void rs_cli_input_remarks(const char *verb, const struct rs_cli_input *from,
			  const struct rs_input *input);

#endif
