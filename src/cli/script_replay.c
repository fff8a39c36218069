/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a D program on a replay, and writes its --trace. */
#include "cli/script_replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/count.h"
#include "cli/cli.h"
#include "cli/numbers.h"
#include "cli/shared.h"
#include "live/tee.h"
#include "replay/probed.h"
#include "store/sink.h"

#define NS_PER_SEC UINT64_C(1000000000)

/* ---- arguments ---------------------------------------------------------------------------- */

enum { KEY_NO_JITTER = 896, KEY_SEED, KEY_BINARY, KEY_FROM, KEY_TO, KEY_LIVE, KEY_NO_FAST };

static const struct argp_option probes[] = {
	{ "no-jitter", KEY_NO_JITTER, NULL, 0,
	  "In a replay: timers at the end of each period, not at a pseudo-random place in it", 3 },
	{ "seed", KEY_SEED, "N", 0,
	  "In a replay: the seed of the pseudo-random places of timers (0)", 3 },
	{ "no-fast", KEY_NO_FAST, NULL, 0,
	  "In a replay: stop it through QEMU's GDB channel alone, which is slower", 3 },
	{ "binary", KEY_BINARY, "PROGRAM[@0xBASE]", 0,
	  "In a replay: the static probes and assertions of this program of the guest's; BASE is "
	  "where a position independent one is, if not where it is without randomization",
	  3 },
	{ "live", KEY_LIVE, "GDB", OPTION_ARG_OPTIONAL,
	  "Instead of a replay: a QEMU that runs, by its GDB stub, unix:PATH or HOST:PORT; without "
	  "GDB the recording's machine, booted anew. What that does to it is measured",
	  3 },
	{ 0 },
};

static error_t parse_probes(int key, char *text, struct argp_state *state)
{
	struct rs_script_replay *replay = state->input;

	switch (key) {
	case KEY_NO_JITTER:
		replay->options.steady = true;
		break;
	case KEY_SEED:
		replay->options.seed = rs_cli_number(state, "--seed", text, 0, UINT64_MAX);
		break;
	case KEY_NO_FAST:
		replay->options.slow = true;
		break;
	case KEY_BINARY:
		if (replay->binary)
			argp_error(state, "only one --binary is allowed");
		replay->binary = text;
		break;
	case KEY_LIVE:
		replay->live = text ? text : "";
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	replay->given = true;
	return 0;
}

const struct argp rs_script_replay_probes_argp = { probes, parse_probes, NULL, NULL,
						   NULL,   NULL,	 NULL };

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct rs_script_replay *replay = state->input;

	(void)text;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = replay;
	state->child_inputs[1] = &replay->times;
	return 0;
}

static const struct argp_child children[] = { { &rs_script_replay_probes_argp, 0, NULL, 0 },
					      { &rs_cli_moments_argp, 0, NULL, 0 },
					      { 0 } };

const struct argp rs_script_replay_argp = { NULL, parse, NULL, NULL, children, NULL, NULL };

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
		fprintf(stderr, "ringside: %s: %u static probes are invalid, and are left out\n",
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
							.stop = &rs_cli_stop };
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
	replay->options.stop = &rs_cli_stop;
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

static struct rs_error *keep_close(struct rs_script_replay *replay, const char *verb,
				   struct kept *kept, const struct rs_error *failed)
{
	struct rs_store_summary sum = { 0 };
	struct rs_error *err = NULL;

	if (kept->store) {
		rs_store_sink_set_closed(kept->store, ended_ns(replay));
		err = rs_store_sink_close(kept->store, failed, &sum);
		fprintf(stderr, "ringside %s: %s: %s\n", verb, replay->trace,
			RS_COUNT_OF(sum.records, "record"));
	}
	rs_tee_destroy(kept->tee);
	return err;
}

void rs_script_replay_report_slow(const struct rs_script_replay *replay, const char *verb,
				  const char *why)
{
	if (why && !replay->options.slow)
		fprintf(stderr,
			"ringside %s: stops went through the GDB channel, without the fast path: "
			"%s\n",
			verb, why);
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

void rs_script_replay_report_live(const struct rs_script_replay *replay, const char *verb)
{
	char text[RS_DISTORTION_BYTES];
	struct rs_live_cost cost;

	rs_script_replay_distortion(replay, text);
	fprintf(stderr, "ringside %s: live: %s\n", verb, text);
	for (uint32_t i = 0; rs_live_source_cost(replay->source, i, &cost); i++) {
		if (cost.event)
			fprintf(stderr,
				"ringside %s: guest:%s:%s:%s: fired %llu times, %.1f us each\n",
				verb, cost.event->class_name, cost.event->function,
				cost.event->name, (unsigned long long)cost.fired,
				cost.fired ? (double)cost.stopped_ns / 1e3 / (double)cost.fired
					   : 0.0);
	}
}

/* Reports, with advice, a program that never ran in the guest. Returns whether that is so. */
static bool report_absent(const struct rs_script_replay *replay, const char *verb)
{
	const struct rs_probed_program *p = replay->live ? rs_live_source_program(replay->source)
							 : rs_replay_source_program(replay->source);
	const struct rs_program *of = p->of;

	/* In a segment of a replay it may have begun before. */
	if (!p->wanted || p->begun || p->reached || replay->options.like)
		return false;
	fprintf(stderr, "ringside %s: %s was not there: it did not begin", verb, of->path);
	for (uint32_t i = 0; of->moves && i < of->n_bases; i++)
		fprintf(stderr, "%s 0x%llx", i ? " or" : " at", (unsigned long long)of->bases[i]);
	fprintf(stderr, ", and came to none of its probes");
	if (p->others)
		fprintf(stderr,
			"; another program, or another build of it, came to its addresses "
			"%llu times",
			(unsigned long long)p->others);
	if (of->moves && !of->given)
		fprintf(stderr,
			". A guest without the kernel's norandmaps, or one that loads it "
			"otherwise, has it elsewhere: --binary %s@0xBASE",
			of->path);
	fprintf(stderr, "\n");
	return true;
}

struct rs_error *rs_script_replay_run(struct rs_script_replay *replay, const char *verb,
				      struct rs_script *script, struct rs_sink *sink,
				      const char *command)
{
	const uint64_t end = replay->times.to.ns
				     ? replay->times.to.ns
				     : replay->recording.icount << replay->recording.shift;
	struct rs_replay_asserts *asserts = NULL;
	struct kept kept = { 0 };
	struct rs_query query;
	struct rs_error *err =
		rs_replay_asserts_create(rs_script_replay_stream(replay), verb, &asserts);

	if (!err && replay->trace)
		err = keep(replay, sink, command, &kept);
	if (!replay->live || replay->times.to.ns)
		rs_script_set_end(script, (int64_t)end);
	if (!err) {
		ask(replay, script, rs_replay_asserts_count(asserts), &query);
		err = rs_run(
			replay->source, &query,
			rs_replay_asserts_sink(asserts, kept.tee ? rs_tee_sink(kept.tee) : sink),
			&rs_cli_stop);
		err = rs_error_first(err, sink->ops->end(sink));
		replay->failed = rs_replay_asserts_report(asserts);
		if (!err && report_absent(replay, verb) && !replay->live)
			replay->failed++;
	}
	if (!replay->live)
		rs_script_replay_report_slow(replay, verb, rs_replay_source_slow(replay->source));
	err = rs_error_first(err, keep_close(replay, verb, &kept, err));
	rs_replay_asserts_destroy(asserts);
	return err;
}
