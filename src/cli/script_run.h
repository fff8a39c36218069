/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a program in D, from its text to its exit status, on a trace, live sources, a replay, or
 * nothing.
 */
#ifndef RS_CLI_SCRIPT_RUN_H
#define RS_CLI_SCRIPT_RUN_H

#include "cli/input.h"
#include "cli/program.h"
#include "cli/script_live.h"
#include "cli/script_replay.h"

/* Zero, but for `verb`, before parsing. */
struct rs_script_run {
	const char *verb; /* for messages */
	struct rs_cli_program program;
	struct rs_cli_words on;	   /* traces, other tools' files; or one recording */
	struct rs_cli_input input; /* about them, for remarks */
	struct rs_script_live live;
	struct rs_script_replay replay;
	const char *output; /* appended to instead of standard output; or NULL */
	const char *command;
	bool list, compile, disassemble; /* instead of running it */
	struct rs_input opened;		 /* `input`, which `on` was added to */
};

/* Opens the input, compiles and runs. Prints errors. Returns the exit status. */
int rs_script_run(struct rs_script_run *run);

#endif
