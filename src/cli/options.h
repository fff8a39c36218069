/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options of a verb as a table: those of its argp and of the argps below it, in one list. Rules
 * that name options, such as those that exclude each other, are looked up here.
 */
#ifndef RS_CLI_OPTIONS_H
#define RS_CLI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#define RS_CLI_OPTIONS_MAX 128u

/* Sets `at` to the options of an argp and its children, without headings. Returns their number, at
 * most RS_CLI_OPTIONS_MAX. */
size_t rs_cli_options(const struct argp *argp,
		      const struct argp_option *at[static RS_CLI_OPTIONS_MAX]);

/* Returns the index of the option that an alias stands for, or the option's own index if it is no
 * alias. */
size_t rs_cli_option_of_alias(const struct argp_option *const at[], size_t i);

/* A word of a command line: an option with its argument, or an argument of the verb. */
struct rs_cli_word {
	const struct argp_option *option; /* NULL: an argument of the verb, or the "--" */
	const char *value;		  /* NULL: an option without an argument */
};

/*
 * Reads a command line as argp does, and calls `each` for each word, in order. argv[0] is the verb.
 * Skips an option that does not exist or lacks its argument. Returns false if it skipped one, or
 * found a request for help.
 */
bool rs_cli_options_walk(const struct argp *argp, int argc, char **argv,
			 void (*each)(const struct rs_cli_word *word, void *context),
			 void *context);

/* Options that exclude each other, by their long names: `one` and each of `others`, a
 * space-separated list. verb: NULL for all verbs that have both. */
struct rs_cli_conflict {
	const char *verb, *one, *others;
};
/* Returns whether there is an i-th row. */
bool rs_cli_conflict(size_t i, struct rs_cli_conflict *conflict);

/*
 * Prints an error and returns false if a command line has two options that exclude each other.
 * `verb` is the verb's name, as in "report exits". Reads the options as argp does, and leaves
 * requests for help, and everything that argp refuses, to argp.
 */
bool rs_cli_options_agree(const struct argp *argp, const char *verb, int argc, char **argv);

#endif
