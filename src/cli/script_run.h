/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program in D, from its text to its exit status, on what there is to run it on: a trace, live
 * sources, a replay, or nothing.
 */
#ifndef RS_CLI_SCRIPT_RUN_H
#define RS_CLI_SCRIPT_RUN_H

#include "cli/input.h"
#include "cli/program.h"
#include "cli/script_live.h"
#include "cli/script_replay.h"

/* Zero, but for `verb`, before parsing. */
struct rs_script_run {
	const char *verb; /* whose words messages are */
	struct rs_cli_program program;
	struct rs_cli_words on;	   /* traces, other tools' files; or one recording */
	struct rs_cli_input input; /* what is to be known of them */
	struct rs_script_live live;
	struct rs_script_replay replay;
	const char *output; /* appended to instead of standard output; or NULL */
	const char *command;
	bool list, compile, disassemble; /* instead of running it */
	struct rs_input opened;		 /* `input`, which `on` was added to */
};

/* Opens what it runs on, compiles, runs. Says what is wrong; the exit status. */
int rs_script_run(struct rs_script_run *run);

#endif
