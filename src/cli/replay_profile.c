/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside replay profile: samples what the guest of a recording executes, by task and stack. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/count.h"
#include "base/now.h"
#include "cli/numbers.h"
#include "cli/paths.h"
#include "cli/replay.h"
#include "cli/shared.h"
#include "export/profile.h"
#include "export/samples.h"
#include "replay/sampler.h"
#include "script/walker.h"
#include "view/replay_profile.h"

#define NS_PER_MS   UINT64_C(1000000)
#define NS_PER_US   UINT64_C(1000)
#define INTERVAL_NS NS_PER_MS
#define TOP	    40u

enum { OPT_INTERVAL = 256, OPT_LIVE, OPT_TO, OPT_TOP, OPT_WALKER };

struct profiling {
	const char *directory, *comm, *symfs, *output;
	const char *live; /* a GDB stub, or "": the recording's machine; NULL: a replay */
	const struct rs_profile_format *format;
	uint64_t interval_ns, time_ns;
	uint32_t top;
	bool slow, json, quiet;
	struct rs_recording recording;
	struct rs_profile profile;
	struct rs_sample_trace *trace; /* NULL: no samples are kept */
	uint64_t samples, unknown, cut, not_walked;
	const char *walker_words[RS_WALKERS_MAX];
	uint32_t n_walkers;
	struct rs_walkers *walkers; /* NULL: none were given */
};

static const struct argp_option options[] = {
	{ "comm", RS_CLI_TEXT(struct profiling, comm), "NAME", 0, "Show only tasks with this name",
	  1 },
	{ "interval", OPT_INTERVAL, "TIME", 0,
	  "Sample once per TIME of the guest, as in 100us (1ms)", 1 },
	{ "live", OPT_LIVE, "GDB", OPTION_ARG_OPTIONAL,
	  "Instead of a replay: sample a running QEMU through its GDB stub, unix:PATH or "
	  "HOST:PORT; without GDB, boot the recording's machine again. The effect on the guest's "
	  "clock is measured",
	  1 },
	{ "no-fast", RS_CLI_FLAG(struct profiling, slow), NULL, 0,
	  "Stop the machine only through QEMU's GDB channel, which is slower", 1 },
	{ "symfs", RS_CLI_TEXT(struct profiling, symfs), "DIR", 0,
	  "Search DIR, as the guest's /, for the guest's programs and their debug files; a missing "
	  "program is read from the guest's page cache",
	  1 },
	{ "time", RS_CLI_SECONDS(struct profiling, time_ns), "TIME", 0,
	  "End after this much guest time, or with --live, after the guest ran for this time", 1 },
	{ "walker", OPT_WALKER, "SCRIPT:PROGRAM", 0,
	  "Show the stacks of the interpreter PROGRAM, a file with DWARF, as the D program SCRIPT "
	  "reads them; a SCRIPT without '/', such as lua5.4, is part of Ringside. Repeatable",
	  1 },
	{ "top", OPT_TOP, "N", 0, "Show this many rows (40); 0: all", 2 },
	{ "to", OPT_TO, "FORMAT", 0,
	  "With -o: write folded, flame (SVG), pprof, speedscope or callgrind instead of the table",
	  2 },
	{ "output", 'o', "TRACE", RS_CLI_TEXT(struct profiling, output),
	  "Keep the samples in this trace directory; with --to, write this new file instead", 2 },
	{ 0 },
};

static const char doc[] =
	"Show which tasks and functions the guest of a recording executes, by samples in a "
	"replay.\v"
	"Samples do not change the guest's execution. Time is the count of instructions: shares "
	"are of instructions, without the effects of caches and pipelines. profile finds the "
	"guest's Linux kernel in its memory as it boots; earlier samples are shown as unknown.\n"
	"With --live, the samples stop a running machine. Shares are then of the time that it ran, "
	"including idle time. The guest's clock falls behind; this delay is measured and "
	"printed.\n\n"
	"Exit codes: 0 done; 1 failed; 2 usage error; 3 all tasks are unknown.\n\n"
	"Examples:\n"
	"  ringside replay profile rec\n"
	"  ringside replay profile --comm nginx --interval 100us rec\n"
	"  ringside replay profile --to flame -o rec.svg rec\n"
	"  ringside replay profile -o trace rec\n"
	"  ringside replay profile --walker lua5.4:root/usr/bin/lua --symfs root rec\n"
	"  ringside replay profile --live=localhost:1234 --interval 10ms --time 10\n";

static const struct rs_profile_value values[] = { { "time", "nanoseconds" },
						  { "samples", "count" } };

static void format_set(const struct argp_state *state, struct profiling *p, const char *name)
{
	p->format = rs_profile_format_find(name);
	if (!p->format)
		argp_error(state, "--to: there is no format '%s'", name);
}

static void walker_add(const struct argp_state *state, struct profiling *p, const char *word)
{
	const char *colon = strrchr(word, ':');

	if (!colon || colon == word || !colon[1])
		argp_error(state, "--walker: '%s' is not SCRIPT:PROGRAM", word);
	rs_cli_append(state, "--walker", word, p->walker_words, &p->n_walkers, RS_WALKERS_MAX);
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct profiling *p = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &p->json;
		state->child_inputs[1] = &p->quiet;
		return 0;
	case OPT_INTERVAL:
		p->interval_ns = rs_cli_time_within(state, "--interval", text, NS_PER_MS, NS_PER_US,
						    1000 * NS_PER_MS);
		return 0;
	case OPT_LIVE:
		p->live = text ? text : "";
		return 0;
	case OPT_WALKER:
		walker_add(state, p, text);
		return 0;
	case OPT_TO:
		format_set(state, p, text);
		return 0;
	case OPT_TOP:
		p->top = (uint32_t)rs_cli_int(state, "--top", text, 0);
		return 0;
	case ARGP_KEY_ARG:
		if (p->directory)
			argp_error(state, "only one recording is allowed, got '%s'", text);
		p->directory = text;
		return 0;
	case ARGP_KEY_END:
		if (p->format && !p->output)
			argp_error(state, "--to requires -o FILE");
		if (p->live && *p->live && p->directory)
			argp_error(state, "--live=GDB takes no recording");
		if (!p->directory && !(p->live && *p->live))
			argp_error(state, "no recording given");
		return 0;
	default:
		return rs_cli_store(options, key, text, state);
	}
}

/* ---- samples -------------------------------------------------------------------------------- */

static struct rs_error *put(struct profiling *p, const struct rs_profile_frame *frame,
			    struct rs_profile_path_made *path)
{
	return rs_profile_put(&p->profile, frame, RS_SAMPLE_CUT, path);
}

/* Appends the functions of frame i. */
static struct rs_error *put_frame(struct profiling *p, struct rs_stacks *stacks,
				  const struct rs_linux_stack *stack, uint32_t i,
				  struct rs_profile_path_made *path)
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

		err = put(
			p,
			&(struct rs_profile_frame){
				.function = f->function ? f->function : text,
				.file = f->file,
				.module = !f->module && i < stack->n_kernel ? "kernel" : f->module,
				.line = f->line,
				.inlined = f->inlined,
				.by_fp = stack->frames[i].origin == RS_FRAME_POINTER },
			path);
	}
	return err;
}

/* Appends the frames of an interpreter, preceded by frame i unless they replace it. */
static struct rs_error *put_walked(struct profiling *p, struct rs_stacks *stacks,
				   const struct rs_linux_stack *stack, uint32_t i,
				   const struct rs_walked *walked,
				   struct rs_profile_path_made *path)
{
	const struct rs_walked_place *place = walked ? &walked->places[i] : NULL;
	struct rs_error *err = NULL;

	if (!place || !place->n || place->keeps)
		err = put_frame(p, stacks, stack, i, path);
	for (uint32_t n = place ? place->n : 0; n-- && !err;) {
		const struct rs_walked_frame *frame = &walked->frames[place->first + n];

		err = put(p,
			  &(struct rs_profile_frame){ .function = frame->function,
						      .file = frame->file,
						      .module = frame->walker,
						      .line = frame->line },
			  path);
	}
	return err;
}

/* Writes a sample to the trace. The first frame of its path is the task. */
static struct rs_error *keep(struct profiling *p, const struct rs_replay_sample *sample,
			     const struct rs_profile_path_made *path, bool is_cut)
{
	const struct rs_linux_task *task = sample->task;

	return rs_sample_trace_add(p->trace, &p->profile,
				   &(struct rs_sampled){ .now_ns = sample->now_ns,
							 .period_ns = sample->period_ns,
							 .pc = sample->regs->rip,
							 .vcpu = sample->vcpu,
							 .cpl = sample->regs->cs & 3,
							 .whole = task && !is_cut,
							 .tid = task ? (uint32_t)task->pid : 0,
							 .pid = task ? (uint32_t)task->tgid : 0,
							 .comm = task ? task->comm : NULL,
							 .path = path->frames + 1,
							 .n = path->n - 1 });
}

static struct rs_error *on_sample(void *ctx, const struct rs_replay_sample *sample)
{
	const struct rs_linux_stack *stack = sample->stack;
	const struct rs_linux_task *task = sample->task;
	struct profiling *p = ctx;
	const uint64_t amounts[] = { sample->period_ns, 1 };
	struct rs_profile_path_made path = { .n = 0 };
	bool is_cut = task && (*stack->kernel_why || *stack->user_why);
	const struct rs_walked *walked = NULL;
	struct rs_error *err = NULL;

	p->samples++;
	p->unknown += !task;
	if (p->comm && (!task || strcmp(task->comm, p->comm) != 0))
		return NULL;
	if (task && p->walkers)
		err = rs_walkers_walk(p->walkers, sample->stacks, stack, task, &walked);
	p->not_walked += walked && walked->failed;
	if (!err)
		err = put(p,
			  &(struct rs_profile_frame){ .function = task ? task->comm
								       : RS_SAMPLE_UNKNOWN },
			  &path);
	if (!err && is_cut)
		err = put(p, &(struct rs_profile_frame){ .function = RS_SAMPLE_CUT }, &path);
	for (uint32_t i = task ? stack->n : 0; i-- && !err;)
		err = put_walked(p, sample->stacks, stack, i, walked, &path);
	is_cut |= path.is_cut;
	p->cut += is_cut;
	if (!err && p->trace)
		err = keep(p, sample, &path, is_cut);
	return err ? err : rs_profile_add(&p->profile, path.frames, path.n, amounts);
}

/* ---- the output ----------------------------------------------------------------------------- */

static int by_samples(const void *a, const void *b)
{
	const struct rs_replay_profile_row *one = a, *other = b;

	return (one->samples < other->samples) - (one->samples > other->samples);
}

/* Makes a row for each task and innermost function. Returns the number of rows. */
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
		if (p->walkers)
			rs_json_unsigned(rs_json_key(json, "not_walked"), p->not_walked);
		rs_json_open(rs_json_key(json, "functions"), '[');
	}
	rs_table_rows(&table, rows, n, sizeof(*rows));
	if (p->json)
		rs_json_close(json, ']');
	free(rows);
}

static const char *title(const struct profiling *p)
{
	return p->directory ? p->directory : p->live;
}

static struct rs_error *show(const struct profiling *p)
{
	struct rs_out out;
	struct rs_json json = { .out = &out };
	struct rs_error *err;

	if (p->format)
		return rs_profile_write_file(p->output, &p->profile,
					     &(struct rs_profile_what){ 0, title(p) },
					     p->format->write);
	if (p->json)
		return rs_cli_json_print(put_rows, p);
	err = rs_out_init(&out, STDOUT_FILENO);
	if (!err)
		put_rows(&json, p);
	return err ? err : rs_out_end(&out, NULL);
}

/* ---- walkers -------------------------------------------------------------------------------- */

static void walker_remark(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "ringside replay profile: %s\n", text);
}

/* Returns the path of a walker: of the installed one for a name, or the given path. */
static char *walker_path(const char *script, size_t len)
{
	char *path = NULL;
	int made;

	if (memchr(script, '/', len))
		return strndup(script, len);
	made = asprintf(&path, RS_EXAMPLES "/walkers/%.*s%s", (int)len, script,
			len > 2 && !strncmp(script + len - 2, ".d", 2) ? "" : ".d");
	return made < 0 ? NULL : path;
}

static struct rs_error *walkers_open(struct profiling *p)
{
	static const struct rs_script_remarks remarks = { .report = walker_remark };
	struct rs_error *err = NULL;

	if (p->n_walkers)
		err = rs_walkers_create(p->symfs, &remarks, &p->walkers);
	for (uint32_t i = 0; i < p->n_walkers && !err; i++) {
		const char *word = p->walker_words[i], *colon = strrchr(word, ':');
		char *path = walker_path(word, (size_t)(colon - word));

		err = path ? rs_walkers_add(p->walkers, path, colon + 1) : rs_error_no_memory();
		free(path);
	}
	return err;
}

/* ---- the run -------------------------------------------------------------------------------- */

static struct rs_error *sample_live(const struct profiling *p, struct rs_replay_sampling *sampling)
{
	struct rs_live *live = NULL;
	struct rs_error *err = p->directory ? rs_live_boot(&p->recording, NULL, &live)
					    : rs_live_attach(p->live, &live);

	if (!err)
		err = rs_live_sample(live, sampling);
	rs_live_close(live);
	return err;
}

static struct rs_error *trace_begin(struct profiling *p, const char *command)
{
	int64_t began_ns =
		p->live ? (int64_t)rs_now_ns(CLOCK_REALTIME) : rs_recording_began_ns(&p->recording);

	return rs_sample_trace_create(p->output, command, began_ns, &p->trace);
}

static struct rs_error *trace_end(struct profiling *p, uint64_t guest_ns, struct rs_error *failed)
{
	uint64_t records = 0;
	struct rs_error *err = rs_sample_trace_close(p->trace, guest_ns, failed, &records);

	if (p->trace && !err && !p->quiet)
		fprintf(stderr, "ringside replay profile: %s: %s\n", p->output,
			RS_COUNT_OF(records, "record"));
	return rs_error_first(failed, err);
}

static struct rs_error *run(struct profiling *p, struct rs_replay_sampling *sampling,
			    const char *command)
{
	struct rs_error *err = walkers_open(p);

	if (!err && p->directory) {
		err = rs_recording_read(p->directory, &p->recording);
		if (!err)
			err = rs_recording_check(&p->recording);
	}
	if (!err && p->output && !p->format)
		err = trace_begin(p, command);
	if (!err)
		err = p->live ? sample_live(p, sampling)
			      : rs_replay_sample(&p->recording, sampling);
	p->profile.duration_ns = (int64_t)sampling->guest_ns;
	return trace_end(p, sampling->guest_ns, err);
}

static void remark(const struct profiling *p, const struct rs_distortion *distortion)
{
	char text[RS_DISTORTION_BYTES];

	if (p->live) {
		rs_distortion_text(distortion, text);
		fprintf(stderr, "ringside replay profile: live: %s\n", text);
	}
	fprintf(stderr,
		"ringside replay profile: %" PRIu64 " samples, %" PRIu64
		" of an unknown task, %" PRIu64 " with unknown callers\n",
		p->samples, p->unknown, p->cut);
	if (p->walkers)
		fprintf(stderr,
			"ringside replay profile: the walkers failed on %" PRIu64 " samples\n",
			p->not_walked);
}

int replay_profile(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_json_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "REC\n--live=GDB", doc, children,
					  NULL,	   NULL };
	struct profiling p = { .interval_ns = INTERVAL_NS, .top = TOP };
	struct rs_replay_sampling sampling = { .stop = &rs_cli_stop,
					       .sample = on_sample,
					       .ctx = &p };
	struct rs_error *err;
	char *command;

	if (rs_cli_parse_writer(&argp, argc, argv, &p))
		return RS_EXIT_USAGE;
	sampling.interval_ns = p.interval_ns;
	sampling.time_ns = p.time_ns;
	sampling.slow = p.slow;
	sampling.comm = p.comm;
	sampling.symfs = p.symfs;
	rs_profile_init(&p.profile, values, sizeof(values) / sizeof(values[0]));
	rs_cli_catch_stop();
	command = rs_cli_command(argc, argv);
	err = rs_cli_confine(RS_CONFINE_REPLAYER);
	if (!err)
		err = run(&p, &sampling, command);
	if (!err)
		err = show(&p);
	if (!err && !p.quiet)
		remark(&p, &sampling.distortion);
	free(command);
	rs_walkers_destroy(p.walkers);
	rs_profile_deinit(&p.profile);
	rs_recording_deinit(&p.recording);
	if (err)
		return rs_cli_fail("replay profile", err);
	return p.unknown == p.samples ? RS_EXIT_PARTIAL : RS_EXIT_OK;
}
