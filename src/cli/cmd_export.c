/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside export: writes a trace in another tool's format. One table of exporters feeds dispatch
 * and help. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/count.h"
#include "cli/input.h"
#include "cli/shared.h"
#include "cli/symbols.h"
#include "export/export.h"

static const struct rs_exporter exporters[] = {
	{ "xentrace", "Xen's records, window by window, for xenalyze and other tools",
	  rs_export_xentrace_suits, rs_export_xentrace },
	{ "acrn", "A directory of ACRN's raw files, one for each CPU, for acrnalyze.py",
	  rs_export_acrn_suits, rs_export_acrn },
	{ "chrome",
	  "Chrome's Trace Event Format (JSON), for Perfetto, about:tracing and speedscope",
	  rs_export_chrome_suits, rs_export_chrome },
	{ "folded", "Folded stacks of memory or spans, one on each line, for flamegraph.pl",
	  rs_export_profile_suits, rs_export_folded, true },
	{ "flame", "A flame graph of memory or spans: an SVG that zooms and searches",
	  rs_export_profile_suits, rs_export_flame, true },
	{ "pprof", "A profile of memory or spans for pprof (profile.proto, gzip)",
	  rs_export_profile_suits, rs_export_pprof, true },
	{ "speedscope", "A profile of memory or spans for speedscope (JSON)",
	  rs_export_profile_suits, rs_export_speedscope, true },
	{ "callgrind", "A profile of memory or spans with its calls, for kcachegrind",
	  rs_export_profile_suits, rs_export_callgrind, true },
};
#define N_EXPORTERS (sizeof(exporters) / sizeof(exporters[0]))

struct arguments {
	struct rs_cli_input input;
	const struct rs_exporter *to;
	struct rs_export_options options;
	struct rs_cli_symbols symbols;
	const char *output;
	bool quiet;
};

enum { KEY_TO = 256, KEY_OF };

static const struct argp_option options[] = {
	{ "to", KEY_TO, "FORMAT", 0, "Write this format", 1 },
	{ "output", 'o', "FILE", RS_CLI_TEXT(struct arguments, output), "Write this new file", 1 },
	{ "of", KEY_OF, "memory|spans|samples", 0,
	  "In a profile: what it shows (memory if the trace has memory events, then the samples of "
	  "replay profile, else spans)",
	  2 },
	{ "value", RS_CLI_TEXT(struct arguments, options.value), "NAME", 0,
	  "In a profile: the value of a format with one value, and the first of other formats: "
	  "alloc_objects, alloc_space, inuse_objects, inuse_space, peak_objects, peak_space, "
	  "spans, time, samples",
	  2 },
	{ 0 },
};

static const char doc[] =
	"Write a trace in another tool's format.\v"
	"TRACE is a trace directory, or a file that ringside import reads. Several TRACEs are "
	"merged on one timeline.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 done, but events were skipped or lost, or "
	"the trace is damaged.\n\n"
	"Example:\n"
	"  ringside export --to xentrace trace -o xen.trace && xenalyze --summary xen.trace\n";

static const struct rs_exporter *find(const char *name)
{
	for (size_t i = 0; i < N_EXPORTERS; i++) {
		if (!strcmp(exporters[i].name, name))
			return &exporters[i];
	}
	return NULL;
}

static enum rs_export_of of_find(const struct argp_state *state, const char *name)
{
	static const char *const names[] = { [RS_EXPORT_MEMORY] = "memory",
					     [RS_EXPORT_SPANS] = "spans",
					     [RS_EXPORT_SAMPLES] = "samples" };

	for (int i = RS_EXPORT_MEMORY; i <= RS_EXPORT_SAMPLES; i++)
		if (!strcmp(names[i], name))
			return (enum rs_export_of)i;
	argp_error(state, "--of '%s': expected memory, spans or samples", name);
	return RS_EXPORT_EITHER;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		state->child_inputs[1] = &a->quiet;
		state->child_inputs[2] = &a->symbols;
		break;
	case KEY_TO:
		a->to = find(text);
		if (!a->to)
			argp_error(state, "there is no format '%s'", text);
		break;
	case KEY_OF:
		a->options.of = of_find(state, text);
		break;
	case ARGP_KEY_END:
		if (!a->to)
			argp_error(state, "no format given: --to FORMAT");
		if (!a->output)
			argp_error(state, "no output file given: -o FILE");
		if (!a->to->is_profile &&
		    (a->options.of || a->options.value || a->symbols.n || a->symbols.symfs))
			argp_error(state, "--of, --value, --binary and --symfs are for profiles: "
					  "folded, flame, pprof, speedscope, callgrind");
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

static bool row(size_t i, struct rs_cli_row *row)
{
	if (i >= N_EXPORTERS)
		return false;
	*row = (struct rs_cli_row){ .name = exporters[i].name, .help = exporters[i].help };
	return true;
}

static char *list_formats(int key, const char *text, void *input)
{
	(void)input;
	return rs_cli_list_rows(key, text, "Formats", row);
}

static void summary(const struct arguments *a, const struct rs_input *input,
		    const struct rs_export_tally *tally)
{
	fprintf(stderr, "ringside export: %s: %s: %s written, %s left out, %" PRIu64 " lost\n",
		a->input.path, a->output, RS_COUNT_OF(tally->records, "record"),
		RS_COUNT_OF(tally->left_out, "event"), tally->lost);
	rs_cli_input_remarks("export", &a->input, input);
}

static struct rs_error *convert(const struct arguments *a, struct rs_input *input, int *code)
{
	struct rs_export *export;
	struct rs_error *err;

	if (!a->to->suits(input))
		return rs_error_create(RS_USAGE, "%s: no event of it fits into %s", a->input.path,
				       a->to->name);
	err = a->to->create(a->output, input, &a->options, &export);
	if (err)
		return err;
	err = rs_run(input->source, NULL, &export->sink, &rs_cli_stop);
	if (!err && rs_cli_stop)
		err = rs_error_create(RS_DAMAGED, "stopped before the end of the trace");
	if (!a->quiet)
		summary(a, input, &export->tally);
	if (export->tally.left_out || export->tally.lost)
		*code = RS_EXIT_PARTIAL;
	rs_export_destroy(export);
	return err;
}

int cmd_export(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_input_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { &rs_cli_symbols_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options,	parse, "TRACE... -o FILE", doc, children,
					  list_formats, NULL };
	struct arguments a = { .input = { .what = "trace", .writes = true } };
	struct rs_profile_resolver resolver = { 0 };
	struct rs_input input = { 0 };
	int code = RS_EXIT_OK;
	struct rs_error *err;

	if (rs_cli_parse_writer(&argp, argc, argv, &a))
		return RS_EXIT_USAGE;
	rs_cli_catch_stop();
	err = rs_cli_input_open(&a.input, &input);
	a.options.title = a.input.path;
	a.options.resolver = &resolver;
	if (!err && a.to->is_profile)
		err = rs_cli_symbols_open(&a.symbols, &input, "export", &resolver);
	if (!err)
		err = convert(&a, &input, &code);
	rs_cli_symbols_close(&a.symbols);
	rs_input_close(&input);
	return err ? rs_cli_fail("export", err) : code;
}
