/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside import: writes another tool's trace as a trace directory. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/count.h"
#include "cli/input.h"
#include "cli/shared.h"
#include "store/sink.h"

struct arguments {
	struct rs_cli_input input;
	const char *directory;
	bool quiet;
};

static const struct argp_option options[] = {
	{ "output", 'o', "DIR", RS_CLI_TEXT(struct arguments, directory),
	  "Write this new trace directory", 1 },
	{ 0 },
};

static const char doc[] =
	"Write another tool's trace as a trace directory.\v"
	"trace-cmd's trace.dat: the kvm events, and scheduler events of vCPU threads, become "
	"events of provider kvm; all others become ftrace:SYSTEM::EVENT. The kernel's missed "
	"events become records-lost.\n\n"
	"xentrace's files: all records are kept unchanged, with their context.\n\n"
	"ACRN's files: acrntrace's raw files, as a file or a directory; text files of acrnlog or "
	"ringside log; or both, merged by time with --freq.\n\n"
	"ringside print reads the same files without an import.\n\n"
	"Example:\n"
	"  trace-cmd record -e kvm -e sched_switch -e sched_wakeup sleep 10\n"
	"  ringside import trace.dat -o trace && ringside print trace\n";

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		state->child_inputs[1] = &a->quiet;
		break;
	case ARGP_KEY_END:
		if (!a->directory)
			argp_error(state, "no output directory given: -o DIR");
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

/* Writes a whole input into a new trace. Returns the first error of reading or writing. */
static struct rs_error *convert(const struct arguments *a, struct rs_input *input,
				struct rs_store_summary *sum)
{
	const struct rs_stream *stream;
	struct rs_error *err, *close_err;
	struct rs_sink *sink;
	char command[512];

	snprintf(command, sizeof(command), "ringside import %.400s", a->input.path);
	err = rs_store_sink_create(a->directory, input->clock, input->foreign->host, command,
				   &sink);
	if (err)
		return err;
	for (uint32_t i = 0; !err && (stream = rs_input_stream(input, i)); i++)
		err = rs_store_sink_add(sink, stream);
	if (!err)
		err = rs_run(input->source, NULL, sink, &rs_cli_stop);
	if (!err && rs_cli_stop)
		err = rs_error_create(RS_DAMAGED, "stopped before the end of the file");
	close_err = rs_store_sink_close(sink, err, sum); /* the trace keeps err's text */
	return rs_error_first(err, close_err);
}

static void summary(const struct arguments *a, const struct rs_input *input,
		    const struct rs_store_summary *sum, bool failed)
{
	const struct rs_foreign_tally *tally = &input->foreign->tally;

	fprintf(stderr, "ringside import: %s (%s): ", a->input.path, input->importer->name);
	if (tally->records || !failed)
		fprintf(stderr, "%s of the file read, %" PRIu64 " left out; ",
			RS_COUNT_OF(tally->records, "record"), tally->left_out);
	else
		fputs("not read to its end; ", stderr);
	fprintf(stderr, "%s: %s, %" PRIu64 " lost\n", a->directory,
		RS_COUNT_OF(sum->records, "event"), sum->lost);
	rs_cli_input_remarks("import", &a->input, input);
}

int cmd_import(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_input_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = {
		options, parse, "FILE -o DIR", doc, children, NULL, NULL
	};
	struct rs_store_summary sum = { 0 };
	struct rs_input input = { 0 };
	struct arguments a = { .input = { .what = "file", .one = true, .writes = true } };
	struct rs_error *err;
	bool in_part;

	if (rs_cli_parse_maker(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	rs_cli_catch_stop();
	err = rs_cli_input_open(&a.input, &input);
	if (!err && input.trace)
		err = rs_error_create(RS_USAGE, "%s is a trace directory already", a.input.path);
	if (!err)
		err = convert(&a, &input, &sum);
	if (!a.quiet && input.foreign && sum.streams)
		summary(&a, &input, &sum, err != NULL);
	in_part = input.foreign && (input.foreign->tally.left_out || sum.lost);
	rs_input_close(&input);
	if (err)
		return rs_cli_fail("import", err);
	return in_part ? RS_EXIT_PARTIAL : RS_EXIT_OK;
}
