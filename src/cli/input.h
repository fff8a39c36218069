/* SPDX-License-Identifier: BSD-2-Clause */
/* The traces that a verb reads: its options and arguments, and remarks about the traces. */
#ifndef RS_CLI_INPUT_H
#define RS_CLI_INPUT_H

#include <argp.h>

#include "input/open.h"

#define RS_CLI_PATHS_TEXT 512u

/* Zero, but for `what`, `one` and `writes`, before parsing. */
struct rs_cli_input {
	const char *what; /* its name in errors, as in "trace"; NULL: it is optional */
	bool one;	  /* the verb allows only one */
	const char *paths[RS_INPUTS_MAX];
	uint32_t n;
	const char *path; /* for messages: the path; "A, B" of several; NULL of none */
	char several[RS_CLI_PATHS_TEXT]; /* the text of `path`, if there are several */
	const char *format;		 /* NULL: the first bytes identify it */
	struct rs_foreign_options foreign;
	bool writes; /* the verb writes files */
};

/* Child of a verb's argp; its input is a struct rs_cli_input. Takes the verb's arguments, unless
 * the verb itself does. */
extern const struct argp rs_cli_input_argp;

/* Returns the path that an argument names; "-" is standard input. */
const char *rs_cli_path(const char *text);

/* Adds a trace to read. Returns false if there are too many. */
bool rs_cli_input_add(struct rs_cli_input *input, const char *path);

/* Sets *path to `text`. A second path is a usage error. */
void rs_cli_one(const struct argp_state *state, const char *what, const char *text,
		const char **path);

/* Confines the process to reading, and to writing if `writes`, and opens the traces as one, on one
 * timeline. */
struct rs_error *rs_cli_input_open(const struct rs_cli_input *from, struct rs_input *input);

/* Prints remarks about the traces on standard error: those of other tools' files, and how the times
 * of several traces lie to each other. */
void rs_cli_input_remarks(const char *verb, const struct rs_cli_input *from,
			  const struct rs_input *input);

#endif
