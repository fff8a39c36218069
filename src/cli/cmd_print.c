/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside print: prints a trace as text, JSON Lines, or a tree of spans. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/aggregate.h"
#include "base/count.h"
#include "cli/input.h"
#include "cli/numbers.h"
#include "cli/seen.h"
#include "cli/shared.h"
#include "view/acrn.h"
#include "view/view.h"

#define NS_PER_SEC 1e9

enum form { FORM_TEXT, FORM_JSON, FORM_TREE, FORM_ACRN };

static const struct form_row {
	struct rs_error *(*create)(const struct rs_view_options *, struct rs_sink **);
} forms[] = {
	[FORM_TEXT] = { rs_text_sink_create },
	[FORM_JSON] = { rs_json_sink_create },
	[FORM_TREE] = { rs_tree_sink_create },
};

struct arguments {
	struct rs_cli_input input;
	const char *acrn_formats; /* NULL: ACRN's form from the catalogue */
	enum form form;
	enum rs_time_show time;
	uint64_t limit;
	bool quiet;
	struct rs_query query;
	/* Shows counts instead of the events. */
	bool counting;
	struct rs_aggregate aggregate;
};

enum { KEY_TREE = 256, KEY_CPUS, KEY_VCPUS, KEY_WALL, KEY_TSC, KEY_LIMIT, KEY_COUNT, KEY_ACRN };

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "Print JSON Lines, one object per event", 1 },
	{ "tree", KEY_TREE, NULL, 0, "Print spans as a tree, with their durations", 1 },
	{ "acrn", KEY_ACRN, "FORMATS", OPTION_ARG_OPTIONAL,
	  "Print ACRN's events in the form of acrntrace_format.py, with its formats file, or by "
	  "default with the catalogue",
	  1 },
	{ "count", KEY_COUNT, "KEY,...", 0,
	  "Count the events by probe, vm, vcpu, cpu, tid, or an argument's name, instead of "
	  "printing them; losses have their own row",
	  1 },
	{ "sum", RS_CLI_TEXT(struct arguments, aggregate.value), "ARG", 0,
	  "With --count: also show the sum, minimum and maximum of this argument", 1 },
	{ "probe", 'p', "GLOB", 0,
	  "Only probes that match PROVIDER:CLASS:FUNCTION:NAME; fewer fields are the last ones, "
	  "and an empty field matches all. May be repeated",
	  2 },
	{ "cpus", KEY_CPUS, "LIST", 0, "Only these host CPUs, as in 0-3,7", 2 },
	{ "vcpus", KEY_VCPUS, "LIST", 0, "Only these vCPUs", 2 },
	{ "limit", KEY_LIMIT, "N", 0, "Stop after N events", 2 },
	{ "wall", KEY_WALL, NULL, 0, "Print times as UTC", 3 },
	{ "tsc", KEY_TSC, NULL, 0, "Print times as raw stamps of the stream's clock", 3 },
	{ 0 },
};

static const char doc[] =
	"Show a trace: a directory, or a file that ringside import can read. Several TRACEs are "
	"merged on one timeline.\v"
	"Losses are shown where they happened, as PROVIDER:trace::records-lost. For a damaged or "
	"truncated trace, print shows the valid part, reports the place of the damage, and exits "
	"with 3.\n\n"
	"Examples:\n"
	"  ringside print --tree build/demo/trace\n"
	"  ringside print -p 'vmm:vcpu::exit' trace\n"
	"  ringside print guest.trace kvm.trace\n"
	"  ringside print -p 'vmm:vcpu::exit' --count vcpu,reason trace\n"
	"  ringside print --json trace | jq -c 'select(.args.reason == \"io\")'\n";

static void set(struct argp_state *state, struct rs_cpu_set *cpus, const char *list)
{
	struct rs_error *err = rs_cpu_set_parse(cpus, list);

	if (err)
		argp_error(state, "%s", rs_error_text(err));
}

static void add_glob(struct argp_state *state, struct rs_query *query, const char *glob)
{
	size_t colons = 0;

	for (const char *c = glob; *c; c++)
		colons += *c == ':';
	if (colons > 3)
		argp_error(state, "probe '%s' has more than four fields", glob);
	if (query->n_globs == RS_QUERY_GLOBS_MAX)
		argp_error(state, "more than %d probes", RS_QUERY_GLOBS_MAX);
	query->globs[query->n_globs++] = glob;
}

static void add_keys(struct argp_state *state, struct rs_aggregate *aggregate, char *list)
{
	char *rest = NULL;

	for (char *key = strtok_r(list, ",", &rest); key; key = strtok_r(NULL, ",", &rest)) {
		if (aggregate->n_keys == RS_AGGREGATE_KEYS_MAX)
			argp_error(state, "more than %d keys", RS_AGGREGATE_KEYS_MAX);
		aggregate->keys[aggregate->n_keys++] = key;
	}
	if (!aggregate->n_keys)
		argp_error(state, "--count: no keys given");
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		state->child_inputs[1] = &a->query;
		state->child_inputs[2] = &a->query.vm;
		state->child_inputs[3] = &a->quiet;
		break;
	case 'j':
		a->form = FORM_JSON;
		break;
	case KEY_TREE:
		a->form = FORM_TREE;
		break;
	case KEY_ACRN:
		a->form = FORM_ACRN;
		a->acrn_formats = text;
		break;
	case 'p':
		add_glob(state, &a->query, text);
		break;
	case KEY_CPUS:
		set(state, &a->query.cpus, text);
		break;
	case KEY_VCPUS:
		set(state, &a->query.vcpus, text);
		break;
	case KEY_LIMIT:
		if (!rs_cli_read_number(text, 1, UINT64_MAX, &a->limit))
			argp_error(state, "'%s': expected a count of at least 1", text);
		break;
	case KEY_WALL:
		a->time = RS_TIME_WALL;
		break;
	case KEY_TSC:
		a->time = RS_TIME_TSC;
		break;
	case KEY_COUNT:
		add_keys(state, &a->aggregate, text);
		a->counting = true;
		break;
	case ARGP_KEY_END:
		if (a->aggregate.value && !a->counting)
			argp_error(state, "--sum requires --count");
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

/* Counts the streams that the query's VMs and vCPUs select. */
static uint32_t streams_shown(const struct rs_input *input, const struct rs_query *query)
{
	struct rs_event event = { .kind = RS_KIND_LOSS }; /* selected, regardless of the probes */
	const struct rs_stream *stream;
	uint32_t n = 0;

	for (uint32_t i = 0; (stream = rs_input_stream(input, i)); i++) {
		struct rs_view view = { .stream = stream, .event = &event };

		n += rs_query_match(query, &view, RS_PUSHED_TIME | RS_PUSHED_CPUS);
	}
	return n;
}

/* Opens a tree with the binaries of its events. */
static void tree_opening(const struct rs_trace *trace)
{
	const struct rs_trace_binary *binary;

	for (uint32_t i = 0; (binary = rs_trace_binary(trace, i)); i++) {
		if (!binary->hash)
			continue;
		printf("[0ns      ] %s hash of %s binary %s is %s\n", binary->hash_name,
		       binary->role, binary->path, binary->hash);
	}
	fflush(stdout);
}

static void flight_remark(const struct rs_trace *trace)
{
	const struct rs_trace_flight *flight = rs_trace_flight(trace);

	if (!flight)
		return;
	fprintf(stderr, "ringside print: %s was written by a flight recorder at %.9f s: %s\n",
		rs_trace_directory(trace), (double)flight->at_ns / NS_PER_SEC, flight->why);
	if (flight->whole_from_ns != INT64_MIN)
		fprintf(stderr, "ringside print: the recording is complete from %.9f s on\n",
			(double)flight->whole_from_ns / NS_PER_SEC);
}

/* Reports what limits the trace as a whole. */
static void remarks(const struct rs_trace *trace)
{
	const struct rs_clock *last = NULL;

	if (rs_trace_end_state(trace) == RS_TRACE_RECORDING)
		fprintf(stderr,
			"ringside print: %s is still being recorded; print shows what has reached "
			"the disk\n",
			rs_trace_directory(trace));
	if (rs_trace_end_state(trace) == RS_TRACE_REPAIRED)
		fprintf(stderr,
			"ringside print: %s was truncated or damaged, and has been "
			"repaired\n",
			rs_trace_directory(trace));
	flight_remark(trace);
	rs_cli_rings_remark("print", trace);
	for (uint32_t i = 0; i < rs_trace_stream_count(trace); i++) {
		const struct rs_clock *clock = rs_trace_stream(trace, i)->clock;

		if (!clock->invariant && clock != last)
			fprintf(stderr,
				"ringside print: clock '%s' is not known to be invariant: "
				"its times may drift\n",
				clock->name);
		last = clock;
	}
}

/* Reports the records that --acrn has no line for. */
static void omitted_remark(const struct arguments *a, const struct rs_sink *sink)
{
	struct rs_acrn_omitted omitted = rs_acrn_sink_omitted(sink);

	fflush(stdout);
	if (omitted.records)
		fprintf(stderr,
			"ringside print: %s: %" PRIu64
			" records have no format in %s; the first has id 0x%" PRIx64 "\n",
			a->input.path, omitted.records, a->acrn_formats, omitted.id);
	if (omitted.lines)
		fprintf(stderr,
			"ringside print: %s: %" PRIu64
			" log lines are not shown with --acrn; print without it shows them\n",
			a->input.path, omitted.lines);
}

static struct rs_error *show(const struct arguments *a, const struct rs_input *input, bool *any)
{
	struct rs_view_options view = { .fd = STDOUT_FILENO,
					.time = a->time,
					.clock = input->clock,
					.cycles_only = rs_input_cycles_only(input),
					.streams = streams_shown(input, &a->query) > 1,
					.limit = a->limit,
					.stop = &rs_cli_stop };
	const struct rs_input *part;
	struct rs_sink *sink = NULL;
	struct rs_cli_seen seen;
	struct rs_error *err = a->form == FORM_ACRN
				       ? rs_acrn_sink_create(&view, a->acrn_formats, &sink)
				       : forms[a->form].create(&view, &sink);

	if (err)
		return err;
	for (uint32_t i = 0; a->form == FORM_TREE && (part = rs_input_part(input, i)); i++) {
		if (part->trace)
			tree_opening(part->trace);
	}
	rs_cli_seen_init(&seen, sink, &a->query);
	err = rs_run(input->source, &a->query, &seen.sink, &rs_cli_stop);
	*any = seen.any;
	if (a->form == FORM_ACRN && !a->quiet)
		omitted_remark(a, sink);
	rs_view_sink_destroy(sink);
	return err;
}

/* Returns a remark if an argument of this name in the trace is no number, or else "". */
static const char *not_a_number(const struct rs_input *input, const char *name)
{
	const struct rs_stream *stream;
	const struct rs_event *event;

	for (uint32_t i = 0; (stream = rs_input_stream(input, i)); i++) {
		for (uint32_t j = 0; (event = rs_schema_event(stream->schema, j)); j++) {
			for (uint16_t k = 0; k < event->n_fields; k++) {
				const struct rs_field *field = &event->fields[k];

				if (rs_type_is_tail(field->type) && !strcmp(field->name, name))
					return field->type == RS_TYPE_TEXT
						       ? " as a number (it is a text)"
						       : " as a number (it is a stack)";
			}
		}
	}
	return "";
}

/* Reports that no selected event has an argument that --count or --sum names. */
static void no_rows_remark(const struct arguments *a, const struct rs_input *input)
{
	static const char *const of_each[] = { "probe", "vm", "vcpu", "cpu", "tid" };
	const struct rs_aggregate *aggregate = &a->aggregate;
	const char *before = "";

	fprintf(stderr, "ringside print: no selected event of %s has the argument ", a->input.path);
	for (uint32_t i = 0; i <= aggregate->n_keys; i++) {
		const char *key = i < aggregate->n_keys ? aggregate->keys[i] : aggregate->value;
		size_t j = 0;

		while (key && j < sizeof(of_each) / sizeof(of_each[0]) && strcmp(key, of_each[j]))
			j++;
		if (!key || j < sizeof(of_each) / sizeof(of_each[0]))
			continue;
		fprintf(stderr, "%s'%s'%s", before, key, not_a_number(input, key));
		before = " or the argument ";
	}
	fputc('\n', stderr);
}

/* Shows what was counted before the damage, and then returns the error of the damage. */
static struct rs_error *count_events(const struct arguments *a, const struct rs_input *input,
				     bool *any)
{
	const struct rs_aggregate_row *rows;
	struct rs_error *err, *run_err;
	struct rs_cli_seen seen;
	struct rs_sink *sink;
	uint64_t dropped;
	size_t n;

	err = rs_aggregate_sink_create(&a->aggregate, 1, &sink);
	if (err)
		return err;
	rs_cli_seen_init(&seen, sink, &a->query);
	run_err = rs_run(input->source, &a->query, &seen.sink, &rs_cli_stop);
	*any = seen.any;
	err = rs_aggregate_rows(sink, 0, &rows, &n, &dropped);
	if (!err)
		err = rs_rows_print(STDOUT_FILENO, a->form == FORM_JSON, &a->aggregate, rows, n);
	if (!err && !a->quiet && seen.any && !n)
		no_rows_remark(a, input);
	if (!err && !run_err && dropped)
		err = rs_error_create(RS_DAMAGED, "%s not counted: there are more than %u rows",
				      RS_COUNT_OF(dropped, "event"), RS_AGGREGATE_ROWS_MAX);
	rs_aggregate_sink_destroy(sink);
	return rs_error_first(run_err, err);
}

static bool schema_has(const struct rs_schema *schema, const char *glob)
{
	for (uint32_t i = 0; i < rs_schema_count(schema); i++) {
		if (rs_probe_match(glob, rs_schema_event(schema, i)))
			return true;
	}
	return false;
}

/* Another tool's file may have streams that are not known at the start, with any event of the
 * catalogue. Also returns true if there is no memory to search the catalogue. */
static bool catalogue_has(const char *glob)
{
	const char *provider;
	bool found = false;

	for (uint32_t i = 0; !found && (provider = rs_catalogue_provider(i)); i++) {
		struct rs_schema *schema = NULL;
		struct rs_error *err = rs_schema_create_catalogue(provider, &schema);

		found = err || schema_has(schema, glob);
		rs_schema_destroy(schema);
		rs_error_free(err);
	}
	return found;
}

static bool matches_any(const char *glob, const struct rs_input *input)
{
	const struct rs_schema *last = NULL;
	const struct rs_stream *stream;
	const struct rs_input *part;
	bool foreign = false;

	for (uint32_t i = 0; (stream = rs_input_stream(input, i)); i++) {
		if (stream->schema != last && schema_has(stream->schema, glob))
			return true;
		last = stream->schema;
	}
	for (uint32_t i = 0; (part = rs_input_part(input, i)); i++)
		foreign |= part->foreign != NULL;
	return foreign && catalogue_has(glob);
}

/* Reports probes that match no event. Runs after the whole trace was read, because only then all
 * events of another tool's file are known. Returns whether it reported any. */
static bool probes_remark(const struct arguments *a, const struct rs_input *input)
{
	bool reported = false;

	for (uint32_t i = 0; i < a->query.n_globs; i++) {
		const char *glob = a->query.globs[i];

		if (matches_any(glob, input))
			continue;
		fprintf(stderr, "ringside print: no probe of %s matches '%s'", a->input.path, glob);
		if (input->trace)
			fprintf(stderr, "; 'ringside list --trace %s' shows them", a->input.path);
		fputc('\n', stderr);
		reported = true;
	}
	return reported;
}

/* Reports the combination of options that selected no event. */
static void selection_remark(const struct arguments *a)
{
	const struct rs_query *query = &a->query;
	const struct {
		bool given;
		const char *name;
	} parts[] = {
		{ query->n_globs, "--probe" },	       { query->from_ns != INT64_MIN, "--from" },
		{ query->to_ns != INT64_MAX, "--to" }, { query->cpus.some, "--cpus" },
		{ query->vcpus.some, "--vcpus" },      { query->vm, "--vm" },
	};
	const char *before = " ";

	if (rs_query_is_all(query))
		return;
	fprintf(stderr, "ringside print: no event of %s is selected by", a->input.path);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!parts[i].given)
			continue;
		fprintf(stderr, "%s%s", before, parts[i].name);
		before = " and ";
	}
	if (query->vm)
		fprintf(stderr, " '%s'", query->vm);
	fputc('\n', stderr);
}

int cmd_print(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_input_argp, 0, NULL, 0 },
						      { &rs_cli_span_argp, 0, NULL, 0 },
						      { &rs_cli_vm_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "TRACE...", doc, children, NULL, NULL };
	struct arguments a = { .input.what = "trace" };
	struct rs_input input = { 0 };
	const struct rs_input *part;
	struct rs_error *err;
	bool any = false;

	rs_query_init(&a.query);
	if (rs_cli_parse(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	rs_cli_catch_stop();
	err = rs_cli_input_open(&a.input, &input);
	if (!err && a.time == RS_TIME_WALL && !input.clock->wall_ns)
		err = rs_error_create(RS_USAGE, "--wall: %s lacks the time of day of its recording",
				      a.input.path);
	if (err) {
		rs_input_close(&input);
		return rs_cli_fail("print", err);
	}
	if (rs_input_cycles_only(&input) && a.time == RS_TIME_START)
		a.time = RS_TIME_TSC;
	for (uint32_t i = 0; !a.quiet && (part = rs_input_part(&input, i)); i++) {
		if (part->trace)
			remarks(part->trace);
	}
	err = a.counting ? count_events(&a, &input, &any) : show(&a, &input, &any);
	if (!a.quiet && !rs_cli_pipe_closed()) {
		if (!probes_remark(&a, &input) && !any && !rs_cli_stop)
			selection_remark(&a);
		rs_cli_input_remarks("print", &a.input, &input);
	}
	rs_input_close(&input);
	return rs_cli_fail("print", err);
}
