/* SPDX-License-Identifier: BSD-2-Clause */
/* A D program from a verb's options: its text, its arguments and its options. */
#ifndef RS_CLI_PROGRAM_H
#define RS_CLI_PROGRAM_H

#include <argp.h>

#include "lang/lang.h"

#define RS_CLI_WORDS_MAX 64

/* Repeatable options. */
struct rs_cli_words {
	const char *at[RS_CLI_WORDS_MAX];
	uint32_t n;
};

/* The caller sets `optional` and zeroes the rest before parsing. */
struct rs_cli_program {
	bool optional; /* the verb also works without a program */
	const char *file;
	struct rs_cli_words programs;		/* of -n, in order */
	struct rs_cli_words args, options, cpp; /* args: filled by the verb */
	bool preprocess;
};

/* A child of a verb's argp; its input is a struct rs_cli_program. */
extern const struct argp rs_cli_program_argp;
/* --quiet and --json, for verbs that output what the program prints; with the same input. */
extern const struct argp rs_cli_program_output_argp;

void rs_cli_word_add(struct argp_state *state, struct rs_cli_words *words, const char *word);

static inline bool rs_cli_program_given(const struct rs_cli_program *program)
{
	return program->programs.n || program->file;
}

/* Returns the program's name for messages: its file, or "-n". */
const char *rs_cli_program_name(const struct rs_cli_program *program);

/* Reads the program's text, through the preprocessor with -C; the caller frees it. */
struct rs_error *rs_cli_program_read(const struct rs_cli_program *program, char **text,
				     size_t *len);

/* Prints "description 'x' matched 2 probes" on standard error, unless the program is quiet. */
void rs_cli_program_notice(const char *verb, const struct rs_cli_program *program,
			   const struct rs_script *script);

#endif
