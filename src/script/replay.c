/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a D program on a replay or on a running machine, and writes the trace of --trace. */
#include "script/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/count.h"
#include "insight/btf_types.h"
#include "introspect/dwarf_types.h"
#include "live/tee.h"
#include "replay/probed.h"
#include "replay/rings.h"
#include "script/asserts.h"
#include "store/sink.h"

/* ---- opening and closing ------------------------------------------------------------------ */

bool rs_script_replay_is(const char *path)
{
	struct stat st;
	char *file;
	bool is;

	if (asprintf(&file, "%s/recording.json", path) < 0)
		return false;
	is = !lstat(file, &st);
	free(file);
	return is;
}

static struct rs_error *open_binary(struct rs_script_replay *replay, uint32_t i)
{
	struct rs_program *program = &replay->programs[i];
	struct rs_notes *notes = &replay->notes[i];
	struct rs_error *err = rs_program_read(replay->binaries[i], program);

	if (!err)
		err = rs_notes_read(program->path, notes);
	if (!err && notes->left_out)
		rs_script_remark(&replay->remarks, "%s: %u static probes are invalid and ignored",
				 program->path, notes->left_out);
	if (err)
		return err;
	return (replay->live ? rs_live_source_add_notes
			     : rs_replay_source_add_notes)(replay->source, notes, program);
}

bool rs_script_replay_attaches(const struct rs_script_replay *replay)
{
	return replay->live && replay->live[0];
}

static struct rs_error *open_live(struct rs_script_replay *replay)
{
	const bool randomizes =
		rs_script_replay_attaches(replay) || rs_recording_randomizes(&replay->recording);
	const struct rs_live_source_options options = { .steady = replay->options.steady,
							.seed = replay->options.seed,
							.randomizes = randomizes,
							.stop = replay->stop };
	struct rs_live *live = NULL;
	struct rs_error *err =
		rs_script_replay_attaches(replay)
			? rs_live_attach(replay->live, &live)
			: rs_live_boot(&replay->recording, replay->options.console, &live);

	return err ? err : rs_live_source_create(live, &options, &replay->source);
}

const struct rs_stream *rs_script_replay_stream(const struct rs_script_replay *replay)
{
	return replay->live ? rs_live_source_stream(replay->source)
			    : rs_replay_source_stream(replay->source);
}

const struct rs_stream *rs_script_replay_rings_stream(const struct rs_script_replay *replay)
{
	return replay->options.rings ? rs_replay_source_rings_stream(replay->source) : NULL;
}

struct rs_error *rs_script_replay_make(void *of, const char *description, bool copies,
				       const struct rs_event **event)
{
	struct rs_script_replay *replay = of;

	(void)copies;
	return replay->live ? rs_live_source_make(replay->source, description, event)
			    : rs_replay_source_make(replay->source, description, event);
}

struct rs_error *rs_script_replay_find_kernel(struct rs_script_replay *replay,
					      struct rs_linux **kernel, const struct rs_error **why)
{
	return (replay->live ? rs_live_source_find_kernel
			     : rs_replay_source_find_kernel)(replay->source, kernel, why);
}

/* ---- types -------------------------------------------------------------------------------- */

static struct rs_error *kernel_types(struct rs_script_replay *replay)
{
	const struct rs_error *why = NULL;
	struct rs_linux *kernel = NULL;
	struct rs_error *err = NULL;

	if (replay->kernel_types)
		return NULL;
	err = rs_script_replay_find_kernel(replay, &kernel, &why);
	if (!err && !kernel)
		err = rs_error_create(RS_USAGE, "the guest's kernel is unknown: %s",
				      why ? rs_error_text(why) : "no search was made");
	if (!err && !kernel->btf)
		err = rs_error_create(RS_USAGE, "the guest's kernel has no types: %s",
				      kernel->no_btf ? rs_error_text(kernel->no_btf)
						     : "it has no BTF");
	return err ? err : rs_btf_types_create(kernel->btf, kernel->symbols,
						&replay->kernel_types);
}

struct rs_error *rs_script_replay_types(void *of, uint32_t index, const char **name,
					struct rs_types **types)
{
	struct rs_script_replay *replay = of;
	struct rs_types **program =
		index < replay->n_binaries ? &replay->program_types[index] : NULL;
	const char *path = program ? replay->programs[index].path : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;
	struct rs_error *err = NULL;

	*name = index == replay->n_binaries ? "kernel" : slash ? slash + 1 : path;
	if (!*name || !types)
		return NULL;
	if (!program)
		err = kernel_types(replay);
	else if (!*program)
		err = rs_dwarf_types_open(NULL, path, *name, program);
	*types = program ? *program : replay->kernel_types;
	return err;
}

/* Finds the guest's kernel if the program uses the guest's thread. */
static struct rs_error *find_thread(struct rs_script_replay *replay, const struct rs_script *script)
{
	const struct rs_error *why = NULL;
	struct rs_linux *kernel = NULL;
	struct rs_error *err;

	if (!rs_script_uses_thread(script))
		return NULL;
	err = rs_script_replay_find_kernel(replay, &kernel, &why);
	if (!err && why)
		rs_script_remark(
			&replay->remarks,
			"the guest's thread is unknown (pid, tid, execname, curthread): %s",
			rs_error_text(why));
	return err;
}

/* Converts stamps of the guest's clock to the recording's times. */
static struct rs_error *find_times(struct rs_script_replay *replay)
{
	struct rs_error *err;

	if (!replay->times.from.is_stamp && !replay->times.to.is_stamp)
		return NULL;
	if (replay->live)
		return rs_error_create(RS_USAGE,
				       "--from and --to: times of the guest's clock (dmesg:) "
				       "exist only in a recording");
	err = rs_moment_find(&replay->recording, &replay->times.from);
	if (!err)
		err = rs_moment_find(&replay->recording, &replay->times.to);
	return err || !replay->times.to.ns ? err
					   : rs_moment_span(&replay->times.from, &replay->times.to);
}

static struct rs_probed *probed_of(struct rs_script_replay *replay)
{
	return (replay->live ? rs_live_source_probed : rs_replay_source_probed)(replay->source);
}

static bool guest_stack(void *ctx, bool user, uint32_t most, rs_probed_frame_fn *each, void *to)
{
	return rs_probed_stack(probed_of(ctx), user, most, each, to);
}

static bool guest_symbol(void *ctx, uint64_t address, struct rs_frame *frame)
{
	return rs_probed_symbol(probed_of(ctx), address, frame);
}

static const char *guest_variable(void *ctx, uint32_t set, const struct rs_cvariable *variable,
				  uint64_t *address)
{
	struct rs_script_replay *replay = ctx;
	const struct rs_program *program =
		set < replay->n_binaries ? &replay->programs[set] : NULL; /* else the kernel */

	return rs_probed_variable(probed_of(replay), program, variable, address);
}

struct rs_error *rs_script_replay_open(struct rs_script_replay *replay, const char *directory)
{
	struct rs_error *err = NULL;

	if (directory && rs_script_replay_attaches(replay))
		err = rs_error_create(RS_USAGE, "--live=GDB takes no recording");
	else if (directory)
		err = rs_recording_read(directory, &replay->recording);
	if (!err && replay->live && replay->options.rings)
		err = rs_error_create(RS_USAGE,
				      "--guest-rings: for a running machine, use ringside "
				      "record --guest-memory");
	if (!err && directory)
		err = rs_recording_check(&replay->recording);
	if (!err)
		err = find_times(replay);
	replay->options.stop = replay->stop;
	replay->guest = (struct rs_script_guest){ replay, guest_stack, guest_symbol,
						  guest_variable };
	if (!err && replay->live)
		err = open_live(replay);
	else if (!err)
		err = rs_replay_source_create(&replay->recording, &replay->options,
					      &replay->source);
	for (uint32_t i = 0; i < replay->n_binaries && !err; i++)
		err = open_binary(replay, i);
	if (!err && replay->options.rings)
		err = rs_replay_source_find_rings(replay->source);
	return err;
}

void rs_script_replay_close(struct rs_script_replay *replay)
{
	for (uint32_t i = 0; i < replay->n_binaries; i++)
		rs_types_close(replay->program_types[i]);
	rs_types_close(replay->kernel_types);
	rs_source_destroy(replay->source);
	for (uint32_t i = 0; i < replay->n_binaries; i++) {
		rs_notes_deinit(&replay->notes[i]);
		rs_program_deinit(&replay->programs[i]);
	}
	rs_recording_deinit(&replay->recording);
}

/* ---- running ------------------------------------------------------------------------------ */

/* The trace of the probes that fired: a store, and a tee before the program. */
struct kept {
	struct rs_sink *store;
	struct rs_tee *tee;
};

static struct rs_error *keep(struct rs_script_replay *replay, struct rs_sink *to,
			     const char *command, struct kept *kept)
{
	const struct rs_stream *stream = rs_script_replay_stream(replay);
	struct rs_error *err;

	err = rs_store_sink_create(replay->trace, stream->clock, NULL, command, &kept->store);
	if (!err)
		err = rs_store_sink_add(kept->store, stream);
	stream = rs_script_replay_rings_stream(replay);
	if (!err && stream)
		err = rs_store_sink_add(kept->store, stream);
	return err ? err : rs_tee_create(kept->store, to, &kept->tee);
}

/* Returns the guest's time at the end. */
static int64_t ended_ns(const struct rs_script_replay *replay)
{
	struct rs_distortion distortion;

	if (!replay->live)
		return (int64_t)(rs_replay_source_counts(replay->source).icount
				 << replay->recording.shift);
	rs_live_source_distortion(replay->source, &distortion);
	return (int64_t)distortion.ran_ns;
}

static struct rs_error *keep_close(struct rs_script_replay *replay, struct kept *kept,
				   const struct rs_error *failed)
{
	struct rs_store_summary sum = { 0 };
	struct rs_error *err = NULL;

	if (kept->store) {
		rs_store_sink_set_closed(kept->store, ended_ns(replay));
		err = rs_store_sink_close(kept->store, failed, &sum);
		rs_script_remark(&replay->remarks, "%s: %s", replay->trace,
				 RS_COUNT_OF(sum.records, "record"));
	}
	rs_tee_destroy(kept->tee);
	return err;
}

void rs_script_replay_report_slow(const struct rs_script_replay *replay, const char *why)
{
	if (why && !replay->options.slow)
		rs_script_remark(&replay->remarks,
				 "stops went through the GDB channel, without the fast path: %s",
				 why);
}

/* Narrows the query to the program's probes and the given times, and adds assertions. */
static void query_make(const struct rs_script_replay *replay, struct rs_script *script,
		       bool asserts, struct rs_query *query)
{
	rs_query_init(query);
	rs_script_narrow(script, query);
	if (asserts && query->n_globs == RS_QUERY_GLOBS_MAX)
		query->n_globs = 0; /* all, then */
	else if (asserts && query->n_globs)
		query->globs[query->n_globs++] = "guest:assert::";
	query->from_ns = replay->times.from.ns ? (int64_t)replay->times.from.ns : INT64_MIN;
	query->to_ns = replay->times.to.ns ? (int64_t)replay->times.to.ns : INT64_MAX;
}

void rs_script_replay_distortion(const struct rs_script_replay *replay,
				 char text[RS_DISTORTION_BYTES])
{
	struct rs_distortion d;

	rs_live_source_distortion(replay->source, &d);
	rs_distortion_text(&d, text);
}

void rs_script_replay_report_live(const struct rs_script_replay *replay)
{
	char text[RS_DISTORTION_BYTES];
	struct rs_live_cost cost;

	rs_script_replay_distortion(replay, text);
	rs_script_remark(&replay->remarks, "live: %s", text);
	for (uint32_t i = 0; rs_live_source_cost(replay->source, i, &cost); i++) {
		if (cost.event)
			rs_script_remark(
				&replay->remarks, "guest:%s:%s:%s: fired %llu times, %.1f us each",
				cost.event->class_name, cost.event->function, cost.event->name,
				(unsigned long long)cost.fired,
				cost.fired ? (double)cost.stopped_ns / 1e3 / (double)cost.fired
					   : 0.0);
	}
}

static void write_absent(FILE *to, const struct rs_probed *probed,
			 const struct rs_probed_program *p)
{
	const bool is_followed = probed->changes[RS_CHANGE_PROGRAM];
	const struct rs_program *of = p->of;

	if (!of->n_bases && !is_followed) {
		fprintf(to,
			"%s is a library, and its address is unknown, because the guest's kernel "
			"is unknown: %s. Or give the address: --binary %s@0xBASE",
			of->path,
			probed->guest.why ? rs_error_text(probed->guest.why)
					  : "it lacks start_thread()",
			of->path);
		return;
	}
	if (!of->n_bases) {
		fprintf(to, "no process mapped %s with this content while the probes were set",
			of->path);
		return;
	}
	fprintf(to, "%s did not run: it did not start", of->path);
	for (uint32_t i = 0; of->moves && i < of->n_bases; i++)
		fprintf(to, "%s 0x%llx", i ? " or" : " at", (unsigned long long)of->bases[i]);
	fprintf(to, ", and reached none of its probes");
	if (p->others)
		fprintf(to,
			"; another program, or another build of it, reached its addresses "
			"%llu times",
			(unsigned long long)p->others);
	if (of->moves && !of->given && is_followed)
		fprintf(to,
			". The kernel, which may place it elsewhere, began no program with this "
			"content while the probes were set");
	else if (of->moves && !of->given)
		fprintf(to,
			". A guest without the kernel option norandmaps, or with another loader, "
			"has it at another address: --binary %s@0xBASE",
			of->path);
}

/* Reports, with advice, the programs that never ran in the guest. Returns whether there are any. */
static bool report_absent(struct rs_script_replay *replay)
{
	const struct rs_probed *probed = probed_of(replay);
	bool any = false;

	for (uint32_t i = 0; i < probed->n_programs; i++) {
		const struct rs_probed_program *p = &probed->programs[i];
		char *text = NULL;
		size_t len;
		FILE *to;

		/* A part of a replay may begin after the program's start. */
		if (!p->wanted || p->begun || p->reached || replay->options.like)
			continue;
		any = true;
		to = open_memstream(&text, &len);
		if (to)
			write_absent(to, probed, p);
		if (to && !fclose(to))
			replay->remarks.report(replay->remarks.ctx, text);
		free(text);
	}
	return any;
}

/* Reports probes that lack places: of modules that were not loaded, or lack the function, and of
 * programs at too many addresses. Returns whether there are any. */
static bool report_nowhere(struct rs_script_replay *replay)
{
	const struct rs_probed *probed = probed_of(replay);
	bool any = false;

	for (uint32_t i = 0; i < probed->n_programs; i++) {
		if (!probed->programs[i].unplaced)
			continue;
		any = true;
		rs_script_remark(&replay->remarks,
				 "%s: probes are missing at %llu of its addresses: the limit is %u "
				 "probes of a machine",
				 probed->programs[i].of->path,
				 (unsigned long long)probed->programs[i].unplaced, RS_PROBES_MAX);
	}
	for (const struct rs_module_probe *of = probed->module_probes; of; of = of->next) {
		if (!of->wanted || (of->loads && !of->why))
			continue;
		any = true;
		rs_script_remark(&replay->remarks, "guest:%s:%s:%s was not set: %s",
				 of->event->class_name, of->event->function, of->event->name,
				 of->why ? rs_error_text(of->why)
					 : "the guest did not have this module loaded");
	}
	return any;
}

/* Reports the result of reading the guest's own records. Returns whether some are missing, other
 * than counted losses. */
static bool report_rings(const struct rs_script_replay *replay)
{
	const struct rs_replay_rings_result result = rs_replay_source_rings(replay->source);

	if (result.broken)
		rs_script_remark(&replay->remarks, "the guest's rings: %s", result.broken);
	else if (!result.found)
		rs_script_remark(&replay->remarks,
				 "the guest's rings: none found at the end of the replay");
	if (!result.exact)
		rs_script_remark(&replay->remarks,
				 "the guest's own records have the times of the stops that found "
				 "them, up to %llu ns late: without the fast path, QEMU does not "
				 "provide the guest's TSC",
				 (unsigned long long)result.within_ns);
	return result.broken || !result.found;
}

static int64_t ticks_next(void *ctx)
{
	return rs_script_next_tick(ctx);
}

static void ticks_fire(void *ctx, int64_t now_ns)
{
	rs_script_advance(ctx, now_ns);
}

struct rs_error *rs_script_replay_run(struct rs_script_replay *replay, struct rs_script *script,
				      struct rs_sink *sink, const char *command)
{
	const uint64_t end = replay->times.to.ns
				     ? replay->times.to.ns
				     : replay->recording.icount << replay->recording.shift;
	struct rs_script_asserts *asserts = NULL;
	struct kept kept = { 0 };
	struct rs_query query;
	struct rs_error *err = find_thread(replay, script);

	if (!err)
		err = rs_script_asserts_create(rs_script_replay_stream(replay), &replay->remarks,
					       &asserts);
	if (!err && replay->trace)
		err = keep(replay, sink, command, &kept);
	if (replay->live)
		rs_live_source_set_alarm(replay->source,
					 &(struct rs_live_alarm){ ticks_next, ticks_fire, script });
	if (!replay->live || replay->times.to.ns)
		rs_script_set_end(script, (int64_t)end);
	if (!err) {
		query_make(replay, script, rs_script_asserts_count(asserts), &query);
		/* A live source itself ends at a stop, with its last event: the distortion. */
		err = rs_run(
			replay->source, &query,
			rs_script_asserts_sink(asserts, kept.tee ? rs_tee_sink(kept.tee) : sink),
			replay->live ? NULL : replay->stop);
		err = rs_error_first(err, sink->ops->end(sink));
		replay->failed = rs_script_asserts_report(asserts);
		if (!err && report_absent(replay) && !replay->live)
			replay->failed++;
		if (!err && report_nowhere(replay) && !replay->live)
			replay->failed++;
		if (!err && replay->options.rings && report_rings(replay))
			replay->failed++;
	}
	if (!replay->live)
		rs_script_replay_report_slow(replay, rs_replay_source_slow(replay->source));
	err = rs_error_first(err, keep_close(replay, &kept, err));
	rs_script_asserts_destroy(asserts);
	return err;
}
