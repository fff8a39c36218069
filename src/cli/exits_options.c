/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of kvmexit and Ringside's additions, for live exits and those of a trace. */
#include "cli/exits.h"

#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/numbers.h"
#include "cli/shared.h"

#define NS_PER_MS UINT64_C(1000000)
#define TIDS_MAX  65536u

enum {
	OPT_TOP = 512, /* the keys of verbs are below */
	OPT_THAN,
	OPT_CSV,
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID", 0, "Count only this process, with all of its threads in one row", 1 },
	{ "vcpu", 'v', "VCPU", 0, "With -p: count only this vCPU", 1 },
	{ "v", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 1 }, /* kvmexit's long form */
	{ "alltids", 'a', NULL, RS_CLI_FLAG(struct rs_cli_exits, all_tids),
	  "With -p: show a row for each thread", 1 },
	{ "tid", 't', "TID", 0, "Count only this thread", 1 },
	{ "tids", 'T', "TID,TID", 0, "Count only these threads, with a row for each", 1 },
	{ "latency", RS_CLI_FLAG(struct rs_cli_exits, show.latency), NULL, 0,
	  "Show the durations of exits, from the exit to the next entry, and their parts", 2 },
	{ "hist", RS_CLI_FLAG(struct rs_cli_exits, show.hist), NULL, 0,
	  "Show histograms of the times of --latency", 2 },
	{ "detail", RS_CLI_FLAG(struct rs_cli_exits, show.causes), NULL, 0,
	  "Show the causes of exits: ports, addresses, MSRs, CPUID leaves, ...", 2 },
	{ "time", RS_CLI_FLAG(struct rs_cli_exits, show.shares), NULL, 0,
	  "Show how each vCPU spent its time", 2 },
	{ "top", OPT_TOP, "N", 0, "With --detail: show this many causes (20); 0: all", 2 },
	{ "than", OPT_THAN, "TIME", 0,
	  "List each exit that took longer than this, as in 500us or 1ms", 2 },
	{ "user", RS_CLI_FLAG(struct rs_cli_exits, user), NULL, 0,
	  "Count returns to the VMM by KVM_EXIT_ reason instead of exits from the guest", 2 },
	{ "json", 'j', NULL, 0, "Print one JSON object", 3 },
	{ "csv", OPT_CSV, NULL, 0, "Print comma-separated values, with a header line", 3 },
	{ 0 },
};

static void add_tids(const struct argp_state *state, struct rs_cli_exits *e, char *list)
{
	free(e->tids);
	e->tids = calloc(TIDS_MAX, sizeof(*e->tids));
	if (!e->tids)
		argp_failure(state, 1, ENOMEM, "--tids");
	e->show.choice.n_tids = rs_cli_tids(state, "--tids", list, e->tids, 0, TIDS_MAX);
	e->show.choice.tids = e->tids;
}

/* Derives the scope from the options. options.c has refused options that exclude each other. */
static void choose(const struct argp_state *state, struct rs_cli_exits *e)
{
	struct rs_exits_choice *choice = &e->show.choice;
	bool vcpu = choice->vcpu >= 0, all_tids = e->all_tids;

	if ((vcpu || all_tids) && !choice->pid)
		argp_error(state, "%s requires -p PID", vcpu ? "-v" : "-a");
	if (choice->tid)
		choice->scope = RS_EXITS_TID;
	else if (choice->n_tids)
		choice->scope = RS_EXITS_TIDS;
	else if (vcpu)
		choice->scope = RS_EXITS_VCPU;
	else if (choice->pid)
		choice->scope = all_tids ? RS_EXITS_PID_TIDS : RS_EXITS_PID;
	else
		choice->scope = choice->vm ? RS_EXITS_VM : RS_EXITS_ALL;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_cli_exits *e = state->input;
	struct rs_exits_choice *choice = &e->show.choice;

	switch (key) {
	case ARGP_KEY_INIT:
		e->show.top = RS_EXITS_TOP;
		choice->vcpu = -1;
		state->child_inputs[0] = &choice->vm;
		break;
	case 'p':
		choice->pid = rs_cli_int(state, "--pid", text, 1);
		break;
	case 'v':
		choice->vcpu = rs_cli_int(state, "--vcpu", text, 0);
		break;
	case 't':
		choice->tid = rs_cli_int(state, "--tid", text, 1);
		break;
	case 'T':
		add_tids(state, e, text);
		break;
	case OPT_TOP:
		e->show.top = (uint32_t)rs_cli_int(state, "--top", text, 0);
		break;
	case OPT_THAN:
		e->than_ns = rs_cli_time(state, "--than", text, NS_PER_MS);
		break;
	case 'j':
		e->show.form = RS_TABLE_JSON;
		break;
	case OPT_CSV:
		e->show.form = RS_TABLE_CSV;
		break;
	case ARGP_KEY_END:
		if (e->show.top != RS_EXITS_TOP && !e->show.causes)
			argp_error(state, "--top requires --detail");
		choose(state, e);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

static const struct argp_child children[] = { { &rs_cli_vm_argp, 0, NULL, 0 }, { 0 } };
const struct argp rs_cli_exits_argp = { options, parse, NULL, NULL, children, NULL, NULL };

void rs_cli_exits_deinit(struct rs_cli_exits *exits)
{
	free(exits->tids);
}

bool rs_cli_exits_latency(const struct rs_cli_exits *exits)
{
	const struct rs_exits_show *show = &exits->show;

	return show->latency || show->hist || show->causes || show->shares || exits->than_ns;
}

bool rs_cli_exits_causes(const struct rs_cli_exits *exits)
{
	return exits->show.causes || exits->than_ns;
}

bool rs_cli_exits_losses(const char *verb, const struct rs_exits *exits)
{
	const struct rs_cli_loss losses[] = { { exits->lost, "record", "lost" },
					      { exits->dropped, "exit",
						"not counted because a table was full" } };

	return rs_cli_report_losses(verb, losses, sizeof(losses) / sizeof(losses[0]));
}
