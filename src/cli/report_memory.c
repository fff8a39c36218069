/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside report memory: what programs and guests allocated, from where, and what they never
 * freed.
 *
 *	trace -> source -> heap --> profile -> tables, or a flame graph
 *			     |	      ^
 *			     stacks --+-- binaries
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/input.h"
#include "cli/numbers.h"
#include "cli/report.h"
#include "cli/shared.h"
#include "cli/symbols.h"
#include "event/query.h"
#include "export/profile.h"
#include "view/heap.h"

#define VERB	       "report memory"
#define MOST_STACKS    20
#define MOST_INTERVALS 16

enum { OPT_CSV = 256, OPT_BY, OPT_TOP, OPT_FLAME, OPT_DIFF };

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print one JSON object", 2 },
	{ "csv", OPT_CSV, NULL, 0, "Print the stacks as comma-separated values", 2 },
	{ "by", OPT_BY, "peak|live|bytes|allocations", 0,
	  "Show the stacks first that had the most bytes live at the peak (peak, the default), or "
	  "at the end (live), or allocated the most bytes or most often",
	  2 },
	{ "top", OPT_TOP, "N", 0, "Show so many stacks (20); 0 shows all", 2 },
	{ "flame", OPT_FLAME, "FILE", 0, "Also write a flame graph of --by to this new file (SVG)",
	  2 },
	{ "diff", OPT_DIFF, NULL, 0,
	  "Compare two traces: show what the second has more of than the first, by stack", 2 },
	{ 0 },
};

static const char doc[] =
	"Show what the programs and guests of a trace allocated: live bytes over time, what was "
	"live "
	"at the peak and at the end, and how long allocations lived, by call stack.\v"
	"TRACE is a trace directory whose program or guest records its allocations "
	"(ringside_memory(3)), or a file that import can read. Functions are named by the binaries "
	"that the trace names, or by --binary.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 done, but records were lost or the trace "
	"is damaged.\n\n"
	"Examples:\n"
	"  ringside report memory trace\n"
	"  ringside report memory --by live --flame leaks.svg trace\n"
	"  ringside report memory --diff before after\n";

static const struct {
	const char *name;
	enum rs_heap_value value;
} orders[] = {
	{ "peak", RS_HEAP_PEAK_SPACE },
	{ "live", RS_HEAP_INUSE_SPACE },
	{ "bytes", RS_HEAP_ALLOC_SPACE },
	{ "allocations", RS_HEAP_ALLOC_OBJECTS },
};

struct arguments {
	struct rs_heap_show show;
	struct rs_cli_input input;
	struct rs_cli_symbols symbols;
	struct rs_query query;
	const char *flame;
	bool quiet, diff;
};

static enum rs_heap_value order_of(const struct argp_state *state, const char *text)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (!strcmp(orders[i].name, text))
			return orders[i].value;
	}
	argp_error(state, "--by '%s': expected peak, live, bytes or allocations", text);
	return RS_HEAP_PEAK_SPACE;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		state->child_inputs[1] = &a->query;
		state->child_inputs[2] = &a->quiet;
		state->child_inputs[3] = &a->symbols;
		break;
	case 'j':
		a->show.form = RS_TABLE_JSON;
		break;
	case OPT_CSV:
		a->show.form = RS_TABLE_CSV;
		break;
	case OPT_BY:
		a->show.by = order_of(state, text);
		break;
	case OPT_TOP:
		a->show.most = (uint32_t)rs_cli_number(state, "--top", text, 0, UINT32_MAX);
		break;
	case OPT_FLAME:
		a->flame = text;
		a->input.writes = true;
		break;
	case OPT_DIFF:
		a->diff = true;
		break;
	case ARGP_KEY_END:
		if (a->diff && a->input.n != 2)
			argp_error(state, "--diff compares two traces");
		if (a->diff && a->flame)
			argp_error(state, "--flame shows one trace, without --diff");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* A trace, and what it came to. */
struct one {
	struct rs_input input;
	struct rs_sink *sink;
	struct rs_heap heap;
	struct rs_profile profile;
	struct rs_cli_symbols symbols;
};

static void one_close(struct one *one)
{
	rs_profile_deinit(&one->profile);
	rs_heap_sink_destroy(one->sink);
	rs_cli_symbols_close(&one->symbols);
	rs_input_close(&one->input);
}

/* Reads a trace. Damage is returned after what came before it. */
static struct rs_error *one_read(const struct arguments *a, const struct rs_cli_input *from,
				 struct one *one, struct rs_error **damage)
{
	struct rs_profile_resolver resolver = { 0 };
	struct rs_error *err = rs_cli_input_open(from, &one->input);

	one->symbols = a->symbols;
	if (!err)
		err = rs_cli_symbols_open(&one->symbols, &one->input, VERB, &resolver);
	if (!err)
		err = rs_heap_sink_create(&one->sink);
	if (err)
		return err;
	err = rs_run(one->input.source, &a->query, one->sink, &rs_cli_stop);
	if (err && rs_error_code(err) != RS_DAMAGED)
		return err;
	*damage = rs_error_first(*damage, err);
	rs_heap_collect(one->sink, &one->heap);
	if (!a->quiet)
		rs_cli_input_remarks(VERB, from, &one->input);
	return rs_heap_profile(&one->heap, &resolver, &one->profile);
}

static struct rs_error *show(const struct arguments *a, struct one *one, int *code)
{
	const struct rs_heap *heap = &one->heap;
	struct rs_cli_loss losses[] = { { heap->lost, "record", "lost" } };
	struct rs_error *err = NULL;

	if (a->flame)
		err = rs_profile_write_file(a->flame, &one->profile,
					    &(struct rs_profile_what){ a->show.by, a->show.trace },
					    rs_profile_write_flame);
	if (!err)
		err = rs_heap_print(&a->show, heap, &one->profile);
	if (err || rs_cli_pipe_closed())
		return err;
	if (!heap->records && !a->quiet)
		fprintf(stderr, "ringside " VERB ": no memory event of %s is selected\n",
			a->show.trace);
	if (rs_cli_report_losses(VERB, losses, 1))
		*code = RS_EXIT_PARTIAL;
	return NULL;
}

/* Reads each of the two traces, the one after the other, and compares them. */
static struct rs_error *compare(const struct arguments *a, struct rs_error **damage, int *code)
{
	struct one two[2] = { 0 };
	struct rs_error *err = NULL;
	uint64_t lost = 0;

	for (uint32_t i = 0; !err && i < 2; i++) {
		struct rs_cli_input from = a->input;

		from.n = 0;
		rs_cli_input_add(&from, a->input.paths[i]);
		err = one_read(a, &from, &two[i], damage);
		lost += two[i].heap.lost;
	}
	if (!err)
		err = rs_heap_print_difference(&a->show, &two[0].profile, &two[1].profile);
	if (!err &&
	    rs_cli_report_losses(VERB, (struct rs_cli_loss[]){ { lost, "record", "lost" } }, 1))
		*code = RS_EXIT_PARTIAL;
	one_close(&two[0]);
	one_close(&two[1]);
	return err;
}

static struct rs_error *run(struct arguments *a, int *code)
{
	struct rs_error *damage = NULL, *err;
	struct one one = { 0 };

	a->show.trace = a->input.path;
	if (a->diff)
		return rs_error_first(compare(a, &damage, code), damage);
	err = one_read(a, &a->input, &one, &damage);
	if (!err)
		err = show(a, &one, code);
	one_close(&one);
	return rs_error_first(damage, err);
}

int report_memory(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_input_argp, 0, NULL, 0 },
						      { &rs_cli_span_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { &rs_cli_symbols_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "TRACE...", doc, children, NULL, NULL };
	struct arguments a = { .show = { .fd = STDOUT_FILENO,
					 .by = RS_HEAP_PEAK_SPACE,
					 .most = MOST_STACKS,
					 .intervals = MOST_INTERVALS },
			       .input.what = "trace" };
	int code = RS_EXIT_OK;
	struct rs_error *err;

	rs_query_init(&a.query);
	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	rs_cli_catch_stop();
	err = run(&a, &code);
	return err ? rs_cli_fail(VERB, err) : code;
}
