/* SPDX-License-Identifier: BSD-2-Clause */
/* The command: one table of verbs feeds dispatch and help. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help; /* NULL: help does not list it; such rows are last */
} verbs[] = {
	{ "run", cmd_run, "boot a guest in the reference micro-VM, traced" },
	{ "exits", cmd_exits, "count and time the exits of this host's VMs, live" },
	{ "top", cmd_top, "show VMs and vCPUs, their exits and their time, live" },
	{ "profile", cmd_profile, "sample what a guest executes, while it runs" },
	{ "record", cmd_record, "record live events into a trace directory" },
	{ "print", cmd_print, "show a trace as text, JSON, or a tree of spans" },
	{ "report", cmd_report, "summarize a trace: exits, scheduling, I/O and more" },
	{ "script", cmd_script, "run a D program over a trace, live or in a replay" },
	{ "replay", cmd_replay, "record a guest once, then replay it under any probes" },
	{ "log", cmd_log, "collect the log of a hypervisor, VMM or guest, also after a crash" },
	{ "list", cmd_list, "list probes with their typed arguments" },
	{ "info", cmd_info, "show what a trace is: host, start, clock, streams" },
	{ "inspect", cmd_inspect, "show what runs in a guest, from a core of the machine" },
	{ "import", cmd_import, "write another tool's trace as a trace directory" },
	{ "export", cmd_export, "write a trace in another tool's format" },
	{ "repair", cmd_repair, "repair a truncated trace or a recording" },
	{ "doctor", cmd_doctor, "check what each verb needs of this machine" },
	{ "complete", cmd_complete, NULL },
};
#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

const char *rs_cli_verb(size_t at)
{
	return rs_cli_verb_help(at) ? verbs[at].name : NULL;
}

const char *rs_cli_verb_help(size_t at)
{
	return at < N_VERBS ? verbs[at].help : NULL;
}

static const struct verb *find(const char *name)
{
	for (size_t i = 0; i < N_VERBS; i++) {
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	}
	return NULL;
}

int (*rs_cli_verb_find(const char *name))(int argc, char **argv)
{
	const struct verb *verb = find(name);

	return verb ? verb->run : NULL;
}

static void usage(FILE *file)
{
	fputs("Usage: ringside VERB [options]\n\n"
	      "Traces virtual machines: hypervisor, host and guest on one clock.\n\n",
	      file);
	for (size_t i = 0; rs_cli_verb(i); i++)
		fprintf(file, "  %-8s %s\n", verbs[i].name, verbs[i].help);
	fputs("  help     help on a verb: ringside help VERB\n\n"
	      "Begin with: ringside run --record DIR GUEST, then ringside print --tree DIR.\n"
	      "Exit codes: 0 ok, 1 failed, 2 usage error, 3 partial result (with a message).\n",
	      file);
}

static int unknown(const char *name)
{
	fprintf(stderr, "ringside: there is no verb '%s'; 'ringside help' lists the verbs\n", name);
	return RS_EXIT_USAGE;
}

static int help(int argc, char **argv)
{
	const struct verb *verb;
	char *arguments[3] = { NULL, (char[]){ "--help" }, NULL };

	if (argc < 2) {
		usage(stdout);
		return RS_EXIT_OK;
	}
	verb = find(argv[1]);
	if (!verb)
		return unknown(argv[1]);
	arguments[0] = argv[1];
	return verb->run(2, arguments);
}

/* A trace may have more streams than the usual limit of 1024 open files. */
static void files_allow(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

int main(int argc, char **argv)
{
	const struct verb *verb;

	rs_cli_catch_pipe();
	files_allow();
	if (argc < 2) {
		usage(stderr);
		return RS_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("ringside " RS_VERSION);
		return rs_cli_pipe_status(RS_EXIT_OK);
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return rs_cli_pipe_status(help(argc - 1, argv + 1));
	verb = find(argv[1]);
	return verb ? rs_cli_pipe_status(verb->run(argc - 1, argv + 1)) : unknown(argv[1]);
}
