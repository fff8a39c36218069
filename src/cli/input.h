/* SPDX-License-Identifier: BSD-2-Clause */
/* The traces that a verb reads: options, arguments, and remarks about the traces. */
#ifndef RS_CLI_INPUT_H
#define RS_CLI_INPUT_H

#include <argp.h>

#include "input/open.h"

#define RS_CLI_PATHS_TEXT 512u

/* The caller sets `what`, `one` and `writes`, and zeroes the rest, before parsing. */
struct rs_cli_input {
	const char *what; /* its name in errors, as in "trace"; NULL: it is optional */
	bool one;	  /* only one trace is allowed */
	const char *paths[RS_INPUTS_MAX];
	uint32_t n;
	const char *path; /* for messages: the path; "A, B" for several; NULL for none */
	char several[RS_CLI_PATHS_TEXT]; /* the text of `path` for several */
	const char *format;		 /* NULL: the first bytes identify it */
	struct rs_foreign_options foreign;
	bool writes; /* the verb writes files */
};

/* A child of a verb's argp; its input is a struct rs_cli_input. It reads the verb's arguments,
 * unless the verb does. */
extern const struct argp rs_cli_input_argp;

/* Returns the path that an argument names; "-" is standard input. */
const char *rs_cli_path(const char *text);

/* Adds a trace to read. Returns false if there are too many. */
bool rs_cli_input_add(struct rs_cli_input *input, const char *path);

/* Sets *path to `text`. A second path is a usage error. */
void rs_cli_one(const struct argp_state *state, const char *what, const char *text,
		const char **path);

/* Confines the process to reading, and also to writing if `writes` is set, and opens the traces as
 * one, on one timeline. */
struct rs_error *rs_cli_input_open(const struct rs_cli_input *from, struct rs_input *input);

/* Prints remarks about the traces to standard error: those of other tools' files, and how the times
 * of several traces were aligned. */
void rs_cli_input_remarks(const char *verb, const struct rs_cli_input *from,
			  const struct rs_input *input);

/* Prints on standard error which records of a trace's program may be missing: those of rings that
 * wait for a repair, and those of rings that died with the program. */
void rs_cli_rings_remark(const char *verb, const struct rs_trace *trace);

#endif
