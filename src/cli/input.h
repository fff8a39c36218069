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
	bool writes; /* the verb makes files of it */
};

/* Child of a verb's argp; its input is a struct rs_cli_input. Takes the verb's argument, unless the
 * verb itself does. */
extern const struct argp rs_cli_input_argp;

/* The path that an argument names: "-" is standard input. */
const char *rs_cli_path(const char *text);

/* Takes `text` for *path: "one trace, please" where there was one. */
void rs_cli_one(const struct argp_state *state, const char *what, const char *text,
		const char **path);

/* Confines the process to reading, or to what `writes` says, and opens the trace. */
struct rs_error *rs_cli_input_open(const struct rs_cli_input *from, struct rs_input *input);

/* Several traces, merged by time: the first to begin gives time zero. */
#define RS_CLI_INPUTS_MAX 64u
struct rs_cli_inputs {
	struct rs_input at[RS_CLI_INPUTS_MAX];
	uint32_t n;
	struct rs_source *source; /* of all of them */
	const struct rs_clock *clock;
	bool closed; /* all are traces that say when they were closed */
	int64_t end_ns;
};

/* Of one of zero bytes, with as many as paths has; the rest of `from` holds for each. */
struct rs_error *rs_cli_inputs_open(const struct rs_cli_input *from, const char *const *paths,
				    uint32_t n, struct rs_cli_inputs *inputs);
void rs_cli_inputs_close(struct rs_cli_inputs *inputs); /* also one of zero bytes */

/* What a reader should know of another tool's file: "ringside VERB: FILE: remark" for each, behind
 * what was printed. Nothing of a trace directory. */
void rs_cli_input_remarks(const char *verb, const struct rs_cli_input *from,
			  const struct rs_input *input);

#endif
