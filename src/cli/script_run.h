/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a D program, from its text to its exit status, on a trace, live sources, a replay, or
 * without an input.
 */
#ifndef RS_CLI_SCRIPT_RUN_H
#define RS_CLI_SCRIPT_RUN_H

#include "cli/input.h"
#include "cli/program.h"
#include "cli/script_live.h"
#include "cli/script_replay.h"

/* The caller sets `verb` and zeroes the rest before parsing. */
struct rs_script_run {
	const char *verb; /* for messages */
	struct rs_cli_program program;
	struct rs_cli_words on;	   /* traces and other tools' files, or one recording */
	struct rs_cli_input input; /* for remarks about the sources */
	struct rs_script_live live;
	struct rs_script_replay replay;
	const char *output; /* a file to append the output to, or NULL for standard output */
	const char *command;
	bool list, compile, disassemble; /* instead of running it */
	struct rs_input opened;		 /* `input`, with `on` added */
};

/* Opens the input, compiles the program and runs it. Prints errors. Returns the exit status. */
int rs_script_run(struct rs_script_run *run);

#endif
