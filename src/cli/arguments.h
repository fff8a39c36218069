/* SPDX-License-Identifier: BSD-2-Clause */
/* The values that arguments of verbs and options accept, for shell completion. */
#ifndef RS_CLI_ARGUMENTS_H
#define RS_CLI_ARGUMENTS_H

#include <stdbool.h>

#include "cli/candidates.h"

enum rs_cli_files {
	RS_CLI_NO_FILES,
	RS_CLI_FILES, /* and directories */
	RS_CLI_DIRECTORIES,
};

/* A row applies to each argument that matches its first three members; NULL matches all. */
struct rs_cli_argument {
	const char *verb;   /* as in "report exits" */
	const char *option; /* its long name; "": an argument of the verb */
	const char *arg;    /* its name in --help, without the dots of a repeatable one */
	enum rs_cli_files files;
	rs_cli_source_fn *source; /* other accepted words; NULL: none */
	const char *words;	  /* for the source */
	bool list;		  /* a comma-separated list of such words */
};

/* Returns an argument's row, or NULL if there is none. option: NULL for the verb's argument. */
const struct rs_cli_argument *rs_cli_argument_find(const char *verb, const char *option,
						   const char *arg);

#endif
