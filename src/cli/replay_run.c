/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside replay run: runs a D program's probes in a replay. */
#include "cli/cli.h"

#include <stdlib.h>

#include "cli/replay.h"
#include "cli/script_run.h"
#include "cli/shared.h"

static const struct argp_option options[] = {
	{ "output", 'o', "TRACE", RS_CLI_TEXT(struct rs_script_run, replay.trace),
	  "Write the probes that fired to this trace directory", 2 },
	{ "list", 'l', NULL, RS_CLI_FLAG(struct rs_script_run, list),
	  "List the probes that the program matches, with their arguments", 5 },
	{ 0 },
};

static const char doc[] =
	"Replay a recording with the probes of a D program.\v"
	"The machine is stopped while a clause runs, and continues undisturbed. Each ARG is one of "
	"the program's $1, $2, ... Probes: guest:timer::N(us|ms|s|insns), guest:addr:0xADDR:exec, "
	"guest:mem:0xADDR:read, write and read|write; of a Linux guest "
	"guest:kernel:FUNCTION:entry, return and +BYTES, guest:syscall:NAME:entry and return, "
	"guest:sched::switch; of --binary PROGRAM guest:PROGRAM:FUNCTION:entry, return and +BYTES, "
	"guest:usdt:PROVIDER:NAME and guest:assert:FILE:LINE. pid, tid, execname and curthread are "
	"those of the guest's thread. Clauses can read uregs[R_RAX], reg(\"cr3\"), copyin(), "
	"copyinstr(), copyinphys() and *(int *)address. Guest time is the count of instructions, "
	"without the effects of caches and pipelines. ringside-d(7) describes the language.\n"
	"With --live, the same probes stop a running machine. Its clock loses that time; the loss "
	"is measured and printed.\n\n"
	"Examples:\n"
	"  ringside replay run rec -n 'guest:timer::1ms { @[args.cpl] = count(); }'\n"
	"  ringside replay run rec -n 'guest:addr:0x401136:exec { trace(copyinstr(uregs[R_RDI])); "
	"}'\n"
	"  ringside replay run rec -n 'guest:syscall:openat:entry { @[execname, copyinstr(arg1)] = "
	"count(); }'\n"
	"  ringside replay run rec -o trace -s probes.d\n"
	"  ringside replay run rec --binary program\n"
	"  ringside replay run rec --guest-rings -o trace\n"
	"  ringside replay run --live=localhost:1234 --to 10s -n 'guest:timer::10ms { "
	"@[reg(\"rip\")] = count(); }'\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_script_run *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->program;
		state->child_inputs[1] = &a->program;
		state->child_inputs[2] = &a->replay;
		break;
	case ARGP_KEY_ARG:
		rs_cli_word_add(state,
				a->on.n || rs_script_replay_attaches(&a->replay) ? &a->program.args
										 : &a->on,
				text);
		break;
	case ARGP_KEY_END:
		if (!rs_cli_program_given(&a->program) && !a->replay.n_binaries &&
		    !a->replay.options.rings)
			argp_error(state, "no probes given: -n 'PROGRAM', -s FILE, --binary, or "
					  "--guest-rings?");
		break;
	case ARGP_KEY_NO_ARGS:
		if (!rs_script_replay_attaches(&a->replay))
			argp_error(state, "no recording given");
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

int replay_run(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_program_argp, 0, NULL, 0 },
						      { &rs_cli_program_output_argp, 0, NULL, 0 },
						      { &rs_script_replay_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse,    "REC [ARG...]\n--live=GDB [ARG...]",
					  doc,	   children, NULL,
					  NULL };
	struct rs_script_run a = { .verb = "replay run",
				   .program.optional = true,
				   .replay.given = true };
	struct rs_error *err;
	char *command;
	int status;

	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	err = rs_cli_confine(RS_CONFINE_REPLAYER);
	if (err)
		return rs_cli_fail("replay run", err);
	/* Without a program: only assertions, which are reported, or the guest's records. */
	if (!rs_cli_program_given(&a.program)) {
		a.program.programs.at[a.program.programs.n++] = "BEGIN { }";
		a.program.options.at[a.program.options.n++] = "quiet";
	}
	rs_cli_catch_stop();
	command = rs_cli_command(argc, argv);
	a.command = command;
	status = rs_script_run(&a);
	free(command);
	return status;
}
