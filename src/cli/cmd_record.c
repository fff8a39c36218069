/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside record: records live sources into a trace directory, or into memory, whose newest events
 * are written on a trigger (a flight recorder). This file has the table of the kinds of sources,
 * and the options that they share.
 */
#include "cli/cli.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/numbers.h"
#include "cli/recording.h"
#include "cli/shared.h"

#define NS_PER_MS  UINT64_C(1000000)
#define MEMORY_MIN (UINT64_C(1) << 20)

static const struct rs_record_kind *const kinds[] = { &rs_record_kvm, &rs_record_tracepoint,
						      &rs_record_sbuf, &rs_record_memory,
						      &rs_record_xen };
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))
_Static_assert(N_KINDS <= RS_RECORD_KINDS_MAX, "a recording has room for each kind");

/* The input of the parser. */
struct arguments {
	struct rs_record_common common;
	struct rs_cli_recording recording;
};

/* The keys of the kinds begin at 512. */
enum { KEY_BUFFER = 256, KEY_POLL, KEY_CPUS, KEY_MEMORY };

static const struct argp_option options[] = {
	{ "output", 'o', "DIR", RS_CLI_TEXT(struct arguments, common.directory),
	  "Write this trace directory, which must be new or empty", 2 },
	{ "duration", RS_CLI_SECONDS(struct arguments, common.duration_ns), "SEC", 0,
	  "Stop after this time (default: at Ctrl-C)", 2 },
	{ "buffer", KEY_BUFFER, "SIZE", 0, "The size of each CPU's ring, with K or M (1M)", 2 },
	{ "poll", KEY_POLL, "MS", 0, "Poll the rings at this interval, in ms or as in 500us (1)",
	  2 },
	{ "cpus", KEY_CPUS, "LIST", 0,
	  "Only these host CPUs, as in 0-3,7; only for sources with one ring for each CPU, which "
	  "excludes --kvm",
	  2 },
	{ "flight", RS_CLI_SECONDS(struct arguments, common.flight_ns), "TIME", 0,
	  "Keep only the events of the last TIME (10s), in memory, and write them to DIR.1, DIR.2 "
	  "and so on at SIGUSR1 and --when",
	  4 },
	{ "memory", KEY_MEMORY, "SIZE", 0,
	  "With --flight: keep at most this much, even if it covers less than TIME (256M)", 4 },
	{ "once", RS_CLI_FLAG(struct arguments, common.once), NULL, 0,
	  "With --flight: write once, to DIR, then end", 4 },
	{ 0 },
};

static const char doc[] =
	"Record live events into a trace directory.\v"
	"The kernel's events are time-stamped and written to rings, one for each CPU, and drained "
	"to files. Events that do not fit are counted, and appear as records-lost at their place "
	"in the trace.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 done, but records were lost.\n\n"
	"Examples:\n"
	"  ringside record --kvm -o trace --duration 10\n"
	"  ringside record --kvm -o trace -p 4711\n"
	"  ringside record --kvm --tracepoint 'block:*' --tracepoint sched:sched_switch -o trace\n"
	"  ringside record --kvm -o trace --flight 10s --when 'exit > 1ms'\n"
	"  ringside record --sbuf /dev/acrn_trace_* -o trace --duration 10\n"
	"  ringside record --guest-memory 4711 -o trace\n"
	"  ringside record --xen --classes sched,hvm -o trace --duration 10\n"
	"  ringside print trace\n";

/* ---- option checks ------------------------------------------------------------------------ */

static void choose(const struct argp_state *state, struct rs_cli_recording *r)
{
	char names[RS_RECORD_WHY_MAX] = "";

	for (size_t i = 0; i < N_KINDS; i++) {
		size_t len = strlen(names);

		snprintf(names + len, sizeof(names) - len, "%s--%s", i ? ", " : "", kinds[i]->name);
		if (kinds[i]->is_selected(kinds[i]->state))
			r->kinds[r->n_kinds++] = kinds[i];
	}
	if (!r->n_kinds)
		argp_error(state, "no source given: %s", names);
}

/* Refuses a common option that no selected kind uses. */
static void check_use(const struct argp_state *state, const struct rs_cli_recording *r,
		      uint32_t use, const char *option)
{
	char names[RS_RECORD_WHY_MAX] = "";

	for (uint32_t i = 0; i < r->n_kinds; i++) {
		if (r->kinds[i]->uses & use)
			return;
	}
	for (size_t i = 0; i < N_KINDS; i++) {
		size_t len = strlen(names);

		if (kinds[i]->uses & use)
			snprintf(names + len, sizeof(names) - len, "%s--%s", len ? ", " : "",
				 kinds[i]->name);
	}
	argp_error(state, "%s has no effect here%s%s", option,
		   names[0] ? ": it requires one of " : "", names);
}

static void check(const struct argp_state *state, struct rs_cli_recording *r,
		  const struct rs_record_common *c)
{
	choose(state, r);
	for (size_t i = 0; i < N_KINDS; i++) {
		if (kinds[i]->check)
			kinds[i]->check(kinds[i]->state, state, c);
	}
	if (!c->directory)
		argp_error(state, "no output directory given: -o DIR");
	if (!c->flight_ns && (c->memory_bytes || c->once))
		argp_error(state, "--memory and --once require --flight");
	if (c->buffer_bytes)
		check_use(state, r, RS_RECORD_BUFFER, "--buffer");
	if (c->poll_ns)
		check_use(state, r, RS_RECORD_POLL, "--poll");
	if (c->cpus.some)
		check_use(state, r, RS_RECORD_CPUS, "--cpus");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct rs_record_common *c = &a->common;

	switch (key) {
	case ARGP_KEY_INIT:
		for (size_t i = 0; i < N_KINDS; i++)
			state->child_inputs[i] = kinds[i]->state;
		state->child_inputs[N_KINDS] = &c->json;
		state->child_inputs[N_KINDS + 1] = &c->quiet;
		break;
	case KEY_BUFFER:
		c->buffer_bytes = (uint32_t)rs_cli_size(state, "--buffer", text, UINT32_MAX);
		break;
	case KEY_POLL:
		c->poll_ns = rs_cli_poll(state, text, NS_PER_MS);
		break;
	case KEY_CPUS:
		rs_cli_cpus(state, text, &c->cpus);
		break;
	case KEY_MEMORY:
		c->memory_bytes = rs_cli_size(state, "--memory", text, INT64_MAX);
		if (c->memory_bytes < MEMORY_MIN)
			argp_error(state, "--memory '%s': expected at least 1M", text);
		break;
	case ARGP_KEY_END:
		check(state, &a->recording, c);
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

int cmd_record(int argc, char **argv)
{
	struct argp_child children[N_KINDS + 3] = {
		[N_KINDS] = { &rs_cli_json_argp, 0, NULL, 0 },
		[N_KINDS + 1] = { &rs_cli_quiet_argp, 0, NULL, 0 },
	};
	const struct argp argp = { options, parse, NULL, doc, children, NULL, NULL };
	struct arguments a = { 0 };
	struct rs_cli_recording *r = &a.recording;
	struct rs_error *err;

	for (size_t i = 0; i < N_KINDS; i++)
		children[i].argp = kinds[i]->argp;
	r->common = &a.common;
	r->command = rs_cli_command(argc, argv);
	if (rs_cli_parse_maker(&argp, argc, argv, &a)) {
		free(r->command);
		return RS_EXIT_USAGE;
	}
	a.common.shows = !a.common.quiet && !a.common.json && isatty(STDERR_FILENO);
	rs_cli_catch_stop();
	signal(SIGUSR1, SIG_IGN);
	err = rs_cli_recording_run(r);
	free(r->command);
	if (err)
		return rs_cli_fail("record", err);
	return r->partial ? RS_EXIT_PARTIAL : RS_EXIT_OK;
}
