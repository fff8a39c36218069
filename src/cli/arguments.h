/* SPDX-License-Identifier: BSD-2-Clause */
/* The values of arguments of verbs and of options, for a shell's completion. */
#ifndef RS_CLI_ARGUMENTS_H
#define RS_CLI_ARGUMENTS_H

#include <stdbool.h>

#include "cli/candidates.h"

enum rs_cli_files {
	RS_CLI_NO_FILES,
	RS_CLI_FILES, /* and directories */
	RS_CLI_DIRECTORIES,
};

/* A row holds for each argument that matches its first three members; NULL matches all. */
struct rs_cli_argument {
	const char *verb;   /* as in "report exits" */
	const char *option; /* its long name; "": an argument of the verb */
	const char *arg;    /* what --help calls it, without the dots of one that can be repeated */
	enum rs_cli_files files;
	rs_cli_source_fn *source; /* other words that it can be; NULL: none */
	const char *words;	  /* for the source */
	bool list;		  /* of such words, with commas between them */
};

/* Returns an argument's row, or NULL if there is none. option: NULL for the verb's argument. */
const struct rs_cli_argument *rs_cli_argument_find(const char *verb, const char *option,
						   const char *arg);

#endif
