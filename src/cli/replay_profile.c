/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside replay profile: what the guest of a recording executes, by task and stack. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/numbers.h"
#include "cli/replay.h"
#include "cli/shared.h"
#include "export/profile.h"
#include "replay/sampler.h"
#include "view/replay_profile.h"

#define NS_PER_MS   UINT64_C(1000000)
#define NS_PER_US   UINT64_C(1000)
#define INTERVAL_NS NS_PER_MS
#define TOP	    40u
#define UNKNOWN	    "[unknown]" /* before the kernel has a task */
#define CUT	    "[callers unknown]"

enum { OPT_COMM = 256, OPT_INTERVAL, OPT_SYMFS, OPT_TO, OPT_TOP };

static const struct argp_option options[] = {
	{ "comm", OPT_COMM, "NAME", 0, "Show only tasks of this name", 1 },
	{ "interval", OPT_INTERVAL, "TIME", 0,
	  "Sample once in TIME of the guest's, as in 100us (1ms)", 1 },
	{ "symfs", OPT_SYMFS, "DIR", 0,
	  "Search the guest's programs and their debug files in DIR, as in the guest's /; a "
	  "program "
	  "that is not there is read from the guest's page cache",
	  1 },
	{ "top", OPT_TOP, "N", 0, "Show this many rows (40); 0: all", 2 },
	{ "to", OPT_TO, "FORMAT", 0,
	  "With -o: write folded, flame (SVG), pprof or speedscope instead of the table", 2 },
	{ "output", 'o', "FILE", 0, "With --to: write to this new file", 2 },
	{ 0 },
};

static const char doc[] =
	"Show which tasks and functions the guest of a recording executes, by samples in a "
	"replay.\v"
	"Samples do not change what the guest does. Time is the count of instructions: a share is "
	"a "
	"share of instructions, without caches and pipelines. The guest's Linux kernel is found in "
	"its memory as it boots; samples before that are shown as unknown.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 no task was known.\n\n"
	"Examples:\n"
	"  ringside replay profile rec\n"
	"  ringside replay profile --comm nginx --interval 100us rec\n"
	"  ringside replay profile --to flame -o rec.svg rec\n";

static const struct {
	const char *name;
	rs_profile_write_fn *write;
} formats[] = { { "folded", rs_profile_write_folded },
		{ "flame", rs_profile_write_flame },
		{ "pprof", rs_profile_write_pprof },
		{ "speedscope", rs_profile_write_speedscope } };

static const struct rs_profile_value values[] = { { "time", "nanoseconds" },
						  { "samples", "count" } };

struct profiling {
	const char *directory, *comm, *symfs, *output;
	rs_profile_write_fn *write;
	uint64_t interval_ns;
	uint32_t top;
	bool json, quiet;
	struct rs_recording recording;
	struct rs_profile profile;
	uint64_t samples, unknown, cut;
};

static void format_set(const struct argp_state *state, struct profiling *p, const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name))
			p->write = formats[i].write;
	if (!p->write)
		argp_error(state, "--to: there is no format '%s'", name);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct profiling *p = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &p->json;
		state->child_inputs[1] = &p->quiet;
		return 0;
	case OPT_COMM:
		p->comm = text;
		return 0;
	case OPT_INTERVAL:
		p->interval_ns = rs_cli_time_within(state, "--interval", text, NS_PER_MS, NS_PER_US,
						    1000 * NS_PER_MS);
		return 0;
	case OPT_SYMFS:
		p->symfs = text;
		return 0;
	case OPT_TO:
		format_set(state, p, text);
		return 0;
	case OPT_TOP:
		p->top = (uint32_t)rs_cli_int(state, "--top", text, 0);
		return 0;
	case 'o':
		p->output = text;
		return 0;
	case ARGP_KEY_ARG:
		if (p->directory)
			argp_error(state, "only one recording is allowed, got '%s'", text);
		p->directory = text;
		return 0;
	case ARGP_KEY_END:
		if (!p->write != !p->output)
			argp_error(state, "--to and -o go together");
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a recording is needed");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- samples -------------------------------------------------------------------------------- */

/* A path in the making, outermost frame first. */
struct path {
	uint32_t frames[RS_PROFILE_DEPTH_MAX];
	uint32_t n;
};

static struct rs_error *put(struct profiling *p, const struct rs_profile_frame *frame,
			    struct path *path)
{
	if (path->n == RS_PROFILE_DEPTH_MAX)
		return NULL;
	return rs_profile_frame(&p->profile, frame, &path->frames[path->n++]);
}

/* Puts the functions of frame i. */
static struct rs_error *put_frame(struct profiling *p, struct rs_stacks *stacks,
				  const struct rs_linux_stack *stack, uint32_t i, struct path *path)
{
	struct rs_frame frames[RS_PROFILE_INLINED_MAX];
	uint32_t n = rs_stacks_lookup(stacks, stack, i, frames, RS_PROFILE_INLINED_MAX);
	struct rs_error *err = NULL;
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, stack->frames[i].address);
	if (!n)
		return put(p, &(struct rs_profile_frame){ .function = text }, path);
	while (n-- && !err) {
		const struct rs_frame *f = &frames[n];

		err = put(p,
			  &(struct rs_profile_frame){
				  .function = f->function ? f->function : text,
				  .file = f->file,
				  .module = i < stack->n_kernel ? "kernel" : f->module,
				  .line = f->line,
				  .inlined = f->inlined,
				  .by_fp = stack->frames[i].origin == RS_FRAME_POINTER },
			  path);
	}
	return err;
}

static struct rs_error *on_sample(void *ctx, const struct rs_linux_task *task,
				  struct rs_stacks *stacks, const struct rs_linux_stack *stack)
{
	struct profiling *p = ctx;
	const uint64_t amounts[] = { p->interval_ns, 1 };
	struct path path = { .n = 0 };
	bool is_cut = task && (*stack->kernel_why || *stack->user_why);
	struct rs_error *err;

	p->samples++;
	p->unknown += !task;
	p->cut += is_cut;
	if (p->comm && (!task || strcmp(task->comm, p->comm) != 0))
		return NULL;
	err = put(p, &(struct rs_profile_frame){ .function = task ? task->comm : UNKNOWN }, &path);
	if (!err && is_cut)
		err = put(p, &(struct rs_profile_frame){ .function = CUT }, &path);
	for (uint32_t i = task ? stack->n : 0; i-- && !err;)
		err = put_frame(p, stacks, stack, i, &path);
	return err ? err : rs_profile_add(&p->profile, path.frames, path.n, amounts);
}

/* ---- the output ----------------------------------------------------------------------------- */

static int by_samples(const void *a, const void *b)
{
	const struct rs_replay_profile_row *one = a, *other = b;

	return (one->samples < other->samples) - (one->samples > other->samples);
}

/* Makes a row for each task and innermost function. Returns how many. */
static uint32_t rows_make(const struct profiling *p, struct rs_replay_profile_row *rows)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->profile.n_paths; i++) {
		const struct rs_profile_path *path = p->profile.paths[i];
		const struct rs_profile_frame *root = p->profile.frames[path->frames[0]];
		const struct rs_profile_frame *leaf = p->profile.frames[path->frames[path->n - 1]];
		struct rs_replay_profile_row row = { .samples = path->amounts[1],
						     .of = p->samples,
						     .task = root->function,
						     .function =
							     path->n > 1 ? leaf->function : NULL,
						     .module = path->n > 1 ? leaf->module : NULL };
		uint32_t at = 0;

		while (at < n && (strcmp(rows[at].task, row.task) != 0 ||
				  strcmp(rows[at].function ? rows[at].function : "",
					 row.function ? row.function : "") != 0 ||
				  strcmp(rows[at].module ? rows[at].module : "",
					 row.module ? row.module : "") != 0))
			at++;
		if (at == n)
			rows[n++] = row;
		else
			rows[at].samples += row.samples;
	}
	qsort(rows, n, sizeof(*rows), by_samples);
	return n;
}

static void put_rows(struct rs_json *json, const void *about)
{
	const struct profiling *p = about;
	struct rs_table table = { .json = json,
				  .form = p->json ? RS_TABLE_JSON : RS_TABLE_TEXT,
				  .columns = rs_replay_profile_columns };
	struct rs_replay_profile_row *rows = calloc(p->profile.n_paths + 1, sizeof(*rows));
	uint32_t n = rows ? rows_make(p, rows) : 0;

	if (p->top && n > p->top)
		n = p->top;
	if (p->json) {
		rs_json_unsigned(rs_json_key(json, "samples"), p->samples);
		rs_json_unsigned(rs_json_key(json, "unknown"), p->unknown);
		rs_json_unsigned(rs_json_key(json, "incomplete"), p->cut);
		rs_json_open(rs_json_key(json, "functions"), '[');
	}
	rs_table_rows(&table, rows, n, sizeof(*rows));
	if (p->json)
		rs_json_close(json, ']');
	free(rows);
}

static struct rs_error *show(const struct profiling *p)
{
	struct rs_out out;
	struct rs_json json = { .out = &out };
	struct rs_error *err;

	if (p->write)
		return rs_profile_write_file(p->output, &p->profile,
					     &(struct rs_profile_what){ 0, p->directory },
					     p->write);
	if (p->json)
		return rs_cli_json_print(put_rows, p);
	err = rs_out_init(&out, STDOUT_FILENO);
	if (!err)
		put_rows(&json, p);
	return err ? err : rs_out_end(&out, NULL);
}

int replay_profile(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_json_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "REC", doc, children, NULL, NULL };
	struct profiling p = { .interval_ns = INTERVAL_NS, .top = TOP };
	struct rs_replay_sampling sampling = { .stop = &rs_cli_stop,
					       .sample = on_sample,
					       .ctx = &p };
	struct rs_error *err;

	if (rs_cli_parse_writer(&argp, argc, argv, &p))
		return RS_EXIT_USAGE;
	sampling.interval_ns = p.interval_ns;
	sampling.symfs = p.symfs;
	rs_profile_init(&p.profile, values, sizeof(values) / sizeof(values[0]));
	rs_cli_catch_stop();
	err = rs_cli_confine(RS_CONFINE_REPLAYER);
	if (!err)
		err = rs_recording_read(p.directory, &p.recording);
	if (!err)
		err = rs_recording_check(&p.recording);
	if (!err)
		err = rs_replay_sample(&p.recording, &sampling);
	p.profile.duration_ns = (int64_t)sampling.guest_ns;
	if (!err)
		err = show(&p);
	if (!err && !p.quiet)
		fprintf(stderr,
			"ringside replay profile: %" PRIu64 " samples, %" PRIu64
			" of an unknown task, %" PRIu64 " with unknown callers\n",
			p.samples, p.unknown, p.cut);
	rs_profile_deinit(&p.profile);
	rs_recording_deinit(&p.recording);
	if (err)
		return rs_cli_fail("replay profile", err);
	return p.unknown == p.samples ? RS_EXIT_PARTIAL : RS_EXIT_OK;
}
