/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside script: runs a D program over a trace, live, in a replay, or without events. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "cli/script_run.h"
#include "cli/shared.h"

enum { KEY_ON = 256 };

static const struct argp_option options[] = {
	{ "on", KEY_ON, "TRACE", 0,
	  "Run the program on this trace or another tool's file, or on a recording. May be "
	  "repeated; several traces are merged by time",
	  1 },
	{ "output", 'o', "FILE", RS_CLI_TEXT(struct rs_script_run, output),
	  "Append the output to this file instead of standard output", 2 },
	{ "list", 'l', NULL, RS_CLI_FLAG(struct rs_script_run, list),
	  "List the probes that the program matches, with their arguments", 5 },
	{ "compile", 'e', NULL, RS_CLI_FLAG(struct rs_script_run, compile),
	  "Only compile the program", 5 },
	{ "disassemble", 'S', NULL, RS_CLI_FLAG(struct rs_script_run, disassemble),
	  "Show the code that the program is compiled to", 5 },
	{ 0 },
};

static const char doc[] =
	"Run a D program over a trace, live, or in a replay.\v"
	"Each ARG is one of the program's $1, $2, ... Without --on, a first ARG that is a "
	"directory, or a file that print can read, is the trace. A program with only BEGIN, END "
	"and ticks needs no trace. ringside-d(7) describes the language.\n\n"
	"Examples:\n"
	"  ringside script -n 'vmm:vcpu::exit { @[stringof(args.reason)] = count(); }' trace\n"
	"  ringside script -q -s slow.d --on trace 1000000\n"
	"  ringside script --kvm --duration 10 -n 'kvm:::exit { @[probename] = count(); }'\n"
	"  ringside script --on rec -n 'guest:timer::1ms { @[args.cpl] = count(); }'\n"
	"  ringside script -l -n 'kvm:::exit'\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_script_run *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->program;
		state->child_inputs[1] = &a->program;
		state->child_inputs[2] = &a->input;
		state->child_inputs[3] = &a->live;
		state->child_inputs[4] = &a->replay;
		break;
	case KEY_ON:
		if (a->on.n == RS_INPUTS_MAX)
			argp_error(state, "more than %u traces", RS_INPUTS_MAX);
		rs_cli_word_add(state, &a->on, rs_cli_path(text));
		break;
	case ARGP_KEY_ARG:
		rs_cli_word_add(state, &a->program.args, text);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

/* Without --on, the first argument is the trace if it is a directory or a trace file, or if
 * --format names its format. After --sbuf, arguments that are rings are further rings. */
static void find_trace(struct rs_script_run *a)
{
	struct rs_cli_words *args = &a->program.args;
	uint32_t n = 0;

	if (rs_script_live_wanted(&a->live)) {
		n = rs_script_live_rings(&a->live, args->at, args->n);
	} else if (!a->on.n && args->n && (a->input.format || rs_input_is(args->at[0]))) {
		a->on.at[a->on.n++] = rs_cli_path(args->at[0]);
		n = 1;
	}
	args->n -= n;
	memmove(args->at, args->at + n, args->n * sizeof(args->at[0]));
}

int cmd_script(int argc, char **argv)
{
	static const struct argp_child children[] = {
		{ &rs_cli_program_argp, 0, NULL, 0 },	{ &rs_cli_program_output_argp, 0, NULL, 0 },
		{ &rs_cli_input_argp, 0, NULL, 0 },	{ &rs_script_live_argp, 0, NULL, 0 },
		{ &rs_script_replay_argp, 0, NULL, 0 }, { 0 }
	};
	static const struct argp argp = { options, parse, "[TRACE] [ARG...]", doc, children,
					  NULL,	   NULL };
	struct rs_script_run a = { .verb = "script" };
	char *command;
	int status;

	if (rs_cli_parse_maker(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	rs_cli_catch_stop();
	command = rs_cli_command(argc, argv);
	a.command = command;
	find_trace(&a);
	status = rs_script_run(&a);
	free(command);
	return status;
}
