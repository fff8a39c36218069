/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside report memory: shows what programs and guests allocated, by call stack, and what they
 * never freed.
 *
 *	trace -> source -> heap --> profile -> tables, or a flame graph
 *			     |	      ^
 *			     stacks --+-- binaries
 */
#include "cli/report.h"

#include <string.h>
#include <unistd.h>

#include "cli/numbers.h"
#include "cli/shared.h"
#include "cli/symbols.h"
#include "export/profile.h"
#include "view/heap.h"

#define MOST_STACKS    20
#define MOST_INTERVALS 16

enum { OPT_BY = 256, OPT_TOP, OPT_FLAME, OPT_DIFF };

static const struct argp_option options[] = {
	{ "by", OPT_BY, "peak|live|bytes|allocations", 0,
	  "Sort the stacks by live bytes at the peak (peak, the default) or at the end (live), or "
	  "by allocated bytes or number of allocations",
	  2 },
	{ "top", OPT_TOP, "N", 0, "Show this many stacks (20); 0: all", 2 },
	{ "flame", OPT_FLAME, "FILE", 0,
	  "Also write a flame graph of the value of --by to this "
	  "new file (SVG)",
	  2 },
	{ "diff", OPT_DIFF, NULL, 0,
	  "Compare two traces: show the increase from the first to the second, by stack", 2 },
	{ 0 },
};

static const char doc[] =
	"Show what the programs and guests of a trace allocated: live bytes over time, what was "
	"live at the peak and at the end, and how long allocations lived, by call stack.\v"
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
	struct rs_report report;
	struct rs_heap_show show;
	struct rs_cli_symbols symbols;
	const char *flame;
	bool diff;
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

/* compare() opens the two traces itself. */
static struct rs_error *open_none(struct rs_report *report, struct rs_input *input)
{
	(void)report;
	(void)input;
	return NULL;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->report;
		state->child_inputs[1] = &a->show.form;
		state->child_inputs[2] = &a->symbols;
		break;
	case OPT_BY:
		a->show.by = order_of(state, text);
		break;
	case OPT_TOP:
		a->show.most = (uint32_t)rs_cli_number(state, "--top", text, 0, UINT32_MAX);
		break;
	case OPT_FLAME:
		a->flame = text;
		a->report.input.writes = true;
		break;
	case OPT_DIFF:
		a->diff = true;
		a->report.open = open_none;
		break;
	case ARGP_KEY_END:
		if (a->diff && a->report.input.n != 2)
			argp_error(state, "--diff compares two traces");
		if (a->diff && a->flame)
			argp_error(state, "--flame and --diff exclude each other");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* The result of a trace. */
struct one {
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
}

static struct rs_error *one_read(struct arguments *a, const struct rs_input *input, struct one *one)
{
	struct rs_profile_resolver resolver = { 0 };
	struct rs_error *err;

	one->symbols = a->symbols;
	err = rs_cli_symbols_open(&one->symbols, input, a->report.verb, &resolver);
	if (!err)
		err = rs_heap_sink_create(&one->sink);
	if (!err)
		err = rs_report_run(&a->report, input, one->sink);
	if (err)
		return err;
	rs_heap_collect(one->sink, &one->heap);
	return rs_heap_profile(&one->heap, &resolver, &one->profile);
}

static struct rs_error *print(struct arguments *a, struct one *one)
{
	const struct rs_heap *heap = &one->heap;
	struct rs_error *err = NULL;

	if (a->flame)
		err = rs_profile_write_file(a->flame, &one->profile,
					    &(struct rs_profile_what){ a->show.by, a->show.trace },
					    rs_profile_write_flame);
	if (!err)
		err = rs_heap_print(&a->show, heap, &one->profile);
	if (err)
		return err;
	if (!heap->records)
		rs_report_remark(&a->report, "no memory event of %s is selected", a->show.trace);
	rs_report_lacks(&a->report, &(struct rs_cli_loss){ heap->lost, "record", "lost" }, 1);
	return NULL;
}

/* Reads the two traces, one after the other, and compares them. */
static struct rs_error *compare(struct arguments *a)
{
	struct rs_input inputs[2] = { 0 };
	struct one two[2] = { 0 };
	struct rs_error *err = NULL;
	uint64_t lost = 0;

	for (uint32_t i = 0; !err && i < 2; i++) {
		struct rs_cli_input from = a->report.input;

		from.n = 0;
		rs_cli_input_add(&from, a->report.input.paths[i]);
		err = rs_cli_input_open(&from, &inputs[i]);
		if (!err)
			err = one_read(a, &inputs[i], &two[i]);
		if (!err && !a->report.quiet)
			rs_cli_input_remarks(a->report.verb, &from, &inputs[i]);
		lost += two[i].heap.lost;
	}
	if (!err)
		err = rs_heap_print_difference(&a->show, &two[0].profile, &two[1].profile);
	if (!err)
		rs_report_lacks(&a->report, &(struct rs_cli_loss){ lost, "record", "lost" }, 1);
	for (uint32_t i = 0; i < 2; i++) {
		one_close(&two[i]);
		rs_input_close(&inputs[i]);
	}
	return err;
}

static struct rs_error *show(struct rs_report *report, struct rs_input *input)
{
	struct arguments *a = (struct arguments *)report;
	struct one one = { 0 };
	struct rs_error *err;

	a->show.trace = report->input.path;
	if (a->diff)
		return compare(a);
	err = one_read(a, input, &one);
	if (!err)
		err = print(a, &one);
	one_close(&one);
	return err;
}

int report_memory(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_report_argp, 0, NULL, 0 },
						      { &rs_cli_form_argp, 0, NULL, 0 },
						      { &rs_cli_symbols_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "TRACE...", doc, children, NULL, NULL };
	struct arguments a = { .show = { .fd = STDOUT_FILENO,
					 .by = RS_HEAP_PEAK_SPACE,
					 .most = MOST_STACKS,
					 .intervals = MOST_INTERVALS } };

	return rs_report_main(&argp, argc, argv, &a.report, show);
}
