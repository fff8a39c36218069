/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a D program on a replay or on a running machine, and writes the trace of what fired. */
#include "script/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/count.h"
#include "live/tee.h"
#include "replay/probed.h"
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

static struct rs_error *open_binary(struct rs_script_replay *replay)
{
	struct rs_error *err = rs_program_read(replay->binary, &replay->program);

	if (!err)
		err = rs_notes_read(replay->program.path, &replay->notes);
	if (!err && replay->notes.left_out)
		rs_script_remark(&replay->remarks,
				 "%s: %u static probes are invalid, and are left out",
				 replay->program.path, replay->notes.left_out);
	if (err)
		return err;
	return replay->live
		       ? rs_live_source_add_notes(replay->source, &replay->notes, &replay->program)
		       : rs_replay_source_add_notes(replay->source, &replay->notes,
						    &replay->program);
}

bool rs_script_replay_attaches(const struct rs_script_replay *replay)
{
	return replay->live && replay->live[0];
}

static struct rs_error *open_live(struct rs_script_replay *replay)
{
	const struct rs_live_source_options options = { .steady = replay->options.steady,
							.seed = replay->options.seed,
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

struct rs_error *rs_script_replay_make(void *of, const char *description, bool copies,
				       const struct rs_event **event)
{
	struct rs_script_replay *replay = of;

	(void)copies;
	return replay->live ? rs_live_source_make(replay->source, description, event)
			    : rs_replay_source_make(replay->source, description, event);
}

struct rs_error *rs_script_replay_look(struct rs_script_replay *replay, struct rs_linux **kernel,
				       const struct rs_error **why)
{
	return (replay->live ? rs_live_source_look : rs_replay_source_look)(replay->source, kernel,
									    why);
}

/* Looks for the guest's kernel if the program uses the guest's thread. */
static struct rs_error *find_thread(struct rs_script_replay *replay, const struct rs_script *script)
{
	const struct rs_error *why = NULL;
	struct rs_linux *kernel = NULL;
	struct rs_error *err;

	if (!rs_script_uses_thread(script))
		return NULL;
	err = rs_script_replay_look(replay, &kernel, &why);
	if (!err && why)
		rs_script_remark(
			&replay->remarks,
			"the guest's thread is unknown (pid, tid, execname, curthread): %s",
			rs_error_text(why));
	return err;
}

/* Makes stamps of the guest's clock its time, which the recording knows. */
static struct rs_error *find_times(struct rs_script_replay *replay)
{
	struct rs_error *err;

	if (!replay->times.from.is_stamp && !replay->times.to.is_stamp)
		return NULL;
	if (replay->live)
		return rs_error_create(RS_USAGE,
				       "--from and --to: a guest that runs takes another way, in "
				       "which a stamp (dmesg:) is not known before");
	err = rs_moment_find(&replay->recording, &replay->times.from);
	if (!err)
		err = rs_moment_find(&replay->recording, &replay->times.to);
	return err || !replay->times.to.ns ? err
					   : rs_moment_span(&replay->times.from, &replay->times.to);
}

struct rs_error *rs_script_replay_open(struct rs_script_replay *replay, const char *directory)
{
	struct rs_error *err = NULL;

	if (directory && rs_script_replay_attaches(replay))
		err = rs_error_create(RS_USAGE, "--live=GDB takes no recording");
	else if (directory)
		err = rs_recording_read(directory, &replay->recording);
	if (!err && directory)
		err = rs_recording_check(&replay->recording);
	if (!err)
		err = find_times(replay);
	replay->options.stop = replay->stop;
	if (!err && replay->live)
		err = open_live(replay);
	else if (!err)
		err = rs_replay_source_create(&replay->recording, &replay->options,
					      &replay->source);
	if (!err && replay->binary)
		err = open_binary(replay);
	return err;
}

void rs_script_replay_close(struct rs_script_replay *replay)
{
	rs_source_destroy(replay->source);
	rs_notes_deinit(&replay->notes);
	rs_program_deinit(&replay->program);
	rs_recording_deinit(&replay->recording);
}

/* ---- running ------------------------------------------------------------------------------ */

/* The trace of what fired: a store, and a tee before the program. */
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
static void ask(const struct rs_script_replay *replay, struct rs_script *script, bool asserts,
		struct rs_query *query)
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

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

void rs_script_replay_distortion(const struct rs_script_replay *replay,
				 char text[RS_DISTORTION_BYTES])
{
	struct rs_distortion d;

	rs_live_source_distortion(replay->source, &d);
	snprintf(text, RS_DISTORTION_BYTES,
		 "the guest's clock went %.6f s in %.6f s of the host's: %.6f s behind, all took "
		 "%.3f times as long (without probes it went %.6f s a second%s); %s, "
		 "%.6f s in all%s",
		 seconds(d.guest_ns), seconds(d.host_ns), (double)d.behind_ns / 1e9, d.factor,
		 d.rate, d.clock ? "" : ", supposedly: it has no clock that can be read",
		 RS_COUNT_OF(d.stops, "stop"), seconds(d.stopped_ns),
		 d.ended ? "; then its QEMU ended" : "");
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

static void write_absent(FILE *to, const struct rs_probed_program *p)
{
	const struct rs_program *of = p->of;

	fprintf(to, "%s was not there: it did not begin", of->path);
	for (uint32_t i = 0; of->moves && i < of->n_bases; i++)
		fprintf(to, "%s 0x%llx", i ? " or" : " at", (unsigned long long)of->bases[i]);
	fprintf(to, ", and came to none of its probes");
	if (p->others)
		fprintf(to,
			"; another program, or another build of it, came to its addresses "
			"%llu times",
			(unsigned long long)p->others);
	if (of->moves && !of->given)
		fprintf(to,
			". A guest without the kernel's norandmaps, or one that loads it "
			"otherwise, has it elsewhere: --binary %s@0xBASE",
			of->path);
}

/* Reports, with advice, a program that never ran in the guest. Returns whether that is so. */
static bool report_absent(const struct rs_script_replay *replay)
{
	const struct rs_probed_program *p = replay->live ? rs_live_source_program(replay->source)
							 : rs_replay_source_program(replay->source);
	char *text = NULL;
	size_t len;
	FILE *to;

	/* In a segment of a replay it may have begun before. */
	if (!p->wanted || p->begun || p->reached || replay->options.like)
		return false;
	to = open_memstream(&text, &len);
	if (to)
		write_absent(to, p);
	if (to && !fclose(to))
		replay->remarks.report(replay->remarks.ctx, text);
	free(text);
	return true;
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
	if (!replay->live || replay->times.to.ns)
		rs_script_set_end(script, (int64_t)end);
	if (!err) {
		ask(replay, script, rs_script_asserts_count(asserts), &query);
		err = rs_run(
			replay->source, &query,
			rs_script_asserts_sink(asserts, kept.tee ? rs_tee_sink(kept.tee) : sink),
			replay->stop);
		err = rs_error_first(err, sink->ops->end(sink));
		replay->failed = rs_script_asserts_report(asserts);
		if (!err && report_absent(replay) && !replay->live)
			replay->failed++;
	}
	if (!replay->live)
		rs_script_replay_report_slow(replay, rs_replay_source_slow(replay->source));
	err = rs_error_first(err, keep_close(replay, &kept, err));
	rs_script_asserts_destroy(asserts);
	return err;
}
