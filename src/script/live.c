/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a program on live sources, and writes the trace of --tee. */
#include "script/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/count.h"
#include "confine/calls.h"
#include "kvm/kvm.h"
#include "lang/bpf/push.h"
#include "live/tee.h"
#include "live/kvm.h"
#include "source/threads.h"
#include "store/sink.h"

#define IDLE_NS 2000000 /* the interval of polls of idle sources */

/* ---- kinds -------------------------------------------------------------------------------- */

static bool kvm_wanted(const struct rs_script_live *live)
{
	return live->kvm;
}

static struct rs_error *kvm_open(struct rs_script_live *live, struct rs_source **source)
{
	const struct rs_kvm_options options = {
		.latency = true, .events = true, .ring_bytes = live->buffer_bytes, .later = true
	};
	struct rs_error *err = rs_kvm_open(&options, &live->session);

	if (!err)
		err = rs_kvm_source_create(live->session, source);
	if (!err)
		rs_kvm_source_set_clock(*source, &live->monotonic);
	return err;
}

static void kvm_sum(void *ctx, const struct rs_filter_row *row)
{
	rs_script_receive(ctx, row);
}

/* Reads the sums from BPF. Their epochs follow the clock of the live events. */
static struct rs_error *kvm_sums(void *ctx, struct rs_script *script, int64_t before_ns)
{
	struct rs_script_live *live = ctx;
	uint64_t before =
		before_ns == INT64_MAX ? UINT64_MAX : live->monotonic.origin + (uint64_t)before_ns;

	return rs_kvm_sums(live->session, before, kvm_sum, script);
}

static const char *kvm_sums_vm(void *ctx, uint64_t thread)
{
	const struct rs_script_live *live = ctx;

	return rs_kvm_sums_vm(live->session, thread);
}

/* Pushes parts of the program down to BPF, or none if the kernel rejects the filter. */
static struct rs_error *kvm_push(struct rs_script_live *live, struct rs_source *source,
				 struct rs_script *script, bool load)
{
	const struct rs_push_options options = {
		.schema = rs_kvm_source_stream(source, 0)->schema,
		.provider = RS_IDS_KVM,
		.sums = live->tee ? NULL : kvm_sums,
		.vm = kvm_sums_vm,
		.ctx = live,
		.sums_not = "--tee keeps the events",
	};
	struct rs_filter filter;
	struct rs_error *err = rs_script_push(script, &options, &filter);

	if (err || !load)
		return err;
	filter.from_ns = live->monotonic.origin;
	if (filter.adds)
		err = rs_kvm_source_add_done(source);
	if (!err)
		err = rs_kvm_program(live->session, &filter);
	if (!err || !filter.n)
		return err;
	rs_script_remark(&live->remarks, "nothing is pushed down: %s", rs_error_text(err));
	rs_error_free(err);
	rs_script_push_cancel(script);
	return rs_kvm_program(live->session, NULL);
}

static struct rs_error *kvm_gate(struct rs_script_live *live, bool open)
{
	return rs_kvm_gate(live->session, open);
}

static bool tracepoint_wanted(const struct rs_script_live *live)
{
	return live->n_globs > 0;
}

static struct rs_error *tracepoint_open(struct rs_script_live *live, struct rs_source **source)
{
	const struct rs_tracepoint_options options = { .globs = live->globs,
						       .n_globs = live->n_globs,
						       .reads = live->reads,
						       .n_reads = live->n_reads,
						       .ring_bytes = live->buffer_bytes };
	struct rs_error *err = rs_tracepoints_open(&options, &live->tracepoints);

	return err ? err
		   : rs_tracepoints_source_create(live->tracepoints, &live->monotonic, source);
}

static struct rs_error *tracepoint_gate(struct rs_script_live *live, bool open)
{
	uint64_t at_ns;

	return rs_tracepoints_gate(live->tracepoints, open, &at_ns);
}

static const struct rs_stream *kvm_stream(const struct rs_script_live *live,
					  const struct rs_source *source, uint32_t index)
{
	(void)live;
	return rs_kvm_source_stream(source, index);
}

static const struct rs_stream *tracepoint_stream(const struct rs_script_live *live,
						 const struct rs_source *source, uint32_t index)
{
	(void)live;
	return rs_tracepoints_source_stream(source, index);
}

static void kvm_close(struct rs_script_live *live)
{
	rs_kvm_close(live->session);
}

/* A name that is unknown is shown so: the run is not partial. */
static bool tracepoint_report(const struct rs_script_live *live)
{
	uint64_t lost = rs_tracepoints_names_lost(live->tracepoints);

	if (lost)
		rs_script_remark(&live->remarks,
				 "%" PRIu64 " forks, renames and exits of threads were lost: "
				 "execname is \"\" for some threads (larger: --buffer)",
				 lost);
	return false;
}

static void tracepoint_close(struct rs_script_live *live)
{
	rs_tracepoints_close(live->tracepoints);
}

static const struct rs_script_kind rs_script_kvm = {
	.wanted = kvm_wanted,
	.open = kvm_open,
	.gate = kvm_gate,
	.push = kvm_push,
	.stream = kvm_stream,
	.close = kvm_close,
};

static const struct rs_script_kind rs_script_tracepoint = {
	.wanted = tracepoint_wanted,
	.open = tracepoint_open,
	.gate = tracepoint_gate,
	.stream = tracepoint_stream,
	.report = tracepoint_report,
	.close = tracepoint_close,
};

static const struct rs_script_kind *const kinds[] = { &rs_script_kvm, &rs_script_tracepoint,
						      &rs_script_xen, &rs_script_sbuf };
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))
_Static_assert(N_KINDS <= RS_SCRIPT_LIVE_MAX, "each kind has a place in the array");

bool rs_script_live_wanted(const struct rs_script_live *live)
{
	bool any = false;

	for (size_t i = 0; i < N_KINDS; i++)
		any |= kinds[i]->wanted(live);
	return any;
}

/* ---- tracepoints that the program names --------------------------------------------------- */

struct rs_error *rs_script_live_name(void *ctx, const char *description, bool copies,
				     const struct rs_event **event)
{
	struct rs_script_live *live = ctx;
	const char *fields[4] = { description };
	char *glob;
	int n = 1;

	(void)event;
	if (copies && live->n_reads < RS_TRACEPOINT_GLOBS_MAX) {
		live->reads[live->n_reads] = strdup(description);
		if (!live->reads[live->n_reads])
			return rs_error_no_memory();
		live->n_reads++;
	} else if (copies) {
		return rs_error_create(RS_USAGE, "more than %u probes of clauses with copyinstr()",
				       RS_TRACEPOINT_GLOBS_MAX);
	}
	for (const char *at = description; (at = strchr(at, ':')) && n < 4; at++)
		fields[n++] = at + 1;
	if (n < 4 || strncmp(description, RS_FTRACE_PROVIDER ":", sizeof(RS_FTRACE_PROVIDER)) != 0)
		return NULL;
	/* The thousands of all tracepoints need an explicit glob. Tracepoints have no function
	 * part. */
	if ((fields[1][0] == ':' && !fields[3][0]) || fields[2][0] != ':')
		return NULL;
	if (live->n_globs == RS_TRACEPOINT_GLOBS_MAX)
		return rs_error_create(RS_USAGE, "more than %u tracepoints",
				       RS_TRACEPOINT_GLOBS_MAX);
	if (asprintf(&glob, "%.*s%s:%s", (int)(fields[2] - 1 - fields[1]), fields[1],
		     fields[1][0] == ':' ? "*" : "", fields[3][0] ? fields[3] : "*") < 0)
		return rs_error_no_memory();
	live->globs[live->n_globs++] = glob;
	live->n_own++;
	return NULL;
}

/* ---- opening and closing ------------------------------------------------------------------ */

struct rs_error *rs_script_live_open(struct rs_script_live *live)
{
	struct rs_source *wanted[N_KINDS];
	struct rs_error *err = rs_clock_host(&live->clock);
	size_t n = 0;

	if (!err)
		err = rs_clock_monotonic(&live->clock, &live->monotonic);
	for (size_t i = 0; !err && i < N_KINDS; i++) {
		if (!kinds[i]->wanted(live))
			continue;
		err = kinds[i]->open(live, &live->sources[i]);
		wanted[n++] = live->sources[i];
	}
	if (!err)
		err = rs_merge_create(wanted, n, &live->merge);
	return err;
}

void rs_script_live_close(struct rs_script_live *live)
{
	struct rs_store_summary sum;

	if (live->store) /* the program did not run */
		rs_error_free(rs_store_sink_close(live->store, NULL, &sum));
	for (size_t i = 0; i < N_KINDS && !live->merge; i++)
		rs_source_destroy(live->sources[i]);
	rs_source_destroy(live->merge);
	for (size_t i = 0; i < N_KINDS; i++)
		kinds[i]->close(live);
	while (live->n_own--)
		free((char *)(uintptr_t)live->globs[--live->n_globs]);
	live->n_own = 0;
	while (live->n_reads)
		free((char *)(uintptr_t)live->reads[--live->n_reads]);
}

const struct rs_stream *rs_script_live_stream(const struct rs_script_live *live, uint32_t index)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		const struct rs_stream *stream;

		for (uint32_t j = 0; live->sources[i]; j++) {
			stream = kinds[i]->stream(live, live->sources[i], j);
			if (!stream)
				break;
			if (!index--)
				return stream;
		}
	}
	return NULL;
}

static struct rs_error *gates(struct rs_script_live *live, bool open)
{
	struct rs_error *err = NULL;

	for (size_t i = 0; i < N_KINDS; i++) {
		if (live->sources[i] && (!err || !open))
			err = rs_error_first(err, kinds[i]->gate(live, open));
	}
	return err;
}

struct rs_error *rs_script_live_push(struct rs_script_live *live, struct rs_script *script,
				     bool load)
{
	struct rs_error *err = NULL;

	for (size_t i = 0; i < N_KINDS && !err; i++) {
		if (live->sources[i] && kinds[i]->push)
			err = kinds[i]->push(live, live->sources[i], script, load);
	}
	return err;
}

/* ---- the trace of --tee --------------------------------------------------------------------- */

struct rs_error *rs_script_live_prepare(struct rs_script_live *live, const char *command)
{
	const struct rs_stream *stream;
	struct rs_error *err = NULL;

	if (live->tee)
		err = rs_store_sink_create(live->tee, &live->clock, NULL, command, &live->store);
	for (uint32_t i = 0; live->store && !err && (stream = rs_script_live_stream(live, i));
	     i++) {
		/* the clock of Xen's stream is known only after the first event */
		if (!stream->xen)
			err = rs_store_sink_add(live->store, stream);
	}
	return err;
}

static struct rs_error *tee_close(struct rs_script_live *live, int64_t end_ns,
				  const struct rs_error *failed)
{
	struct rs_store_summary sum = { 0 };
	struct rs_error *err;
	char late[64] = "";

	if (!live->store)
		return NULL;
	rs_store_sink_set_closed(live->store, end_ns);
	err = rs_store_sink_close(live->store, failed, &sum);
	if (live->teed && rs_tee_moved(live->teed))
		snprintf(late, sizeof(late), "; %llu arrived late, and were given a later stamp",
			 (unsigned long long)rs_tee_moved(live->teed));
	rs_script_remark(&live->remarks, "%s: %s, %llu lost%s", live->tee,
			 RS_COUNT_OF(sum.records, "record"), (unsigned long long)sum.lost, late);
	rs_tee_destroy(live->teed);
	live->teed = NULL;
	live->store = NULL;
	return err;
}

/* ---- running ------------------------------------------------------------------------------ */

static int64_t now_ns(const struct rs_script_live *live)
{
	return rs_clock_ns(&live->monotonic, rs_clock_now(&live->monotonic));
}

/* Advances the program's time. No earlier event will arrive. */
static void advance(struct rs_script_live *live, struct rs_script *script, int64_t until_ns)
{
	if (until_ns == INT64_MIN || until_ns == INT64_MAX)
		return;
	rs_script_advance(script, until_ns);
	if (live->teed)
		rs_tee_advance(live->teed, until_ns);
}

/* The state of a run, for its hooks. */
struct feed {
	struct rs_script_live *live;
	struct rs_script *script;
	struct rs_out *out;
	int64_t stop_ns; /* by the live clock; INT64_MAX: no end */
	bool shut;	 /* the gates */
};

/* Shuts the gates at the end of the duration, or at a signal. The sources then end. */
static struct rs_error *feed_tick(void *ctx, bool *stop)
{
	struct feed *feed = ctx;

	(void)stop;
	if (feed->shut || (!*feed->live->stop && now_ns(feed->live) < feed->stop_ns))
		return NULL;
	feed->shut = true;
	return gates(feed->live, false);
}

static struct rs_error *feed_idle(void *ctx, const struct rs_batch *batch, bool *stop)
{
	const struct timespec pause = { .tv_nsec = IDLE_NS };
	const struct feed *feed = ctx;
	struct rs_error *err;

	(void)stop;
	advance(feed->live, feed->script, batch->watermark_ns);
	err = rs_out_flush(feed->out);
	if (!feed->shut)
		nanosleep(&pause, NULL); /* a signal interrupts it */
	return err;
}

static struct rs_error *feed_sink(struct rs_script_live *live, struct rs_script *script,
				  struct rs_sink *sink, struct rs_out *out)
{
	struct feed feed = { live, script, out, INT64_MAX, false };
	const struct rs_feed_hooks hooks = { feed_tick, feed_idle, &feed };
	struct rs_error *err;

	if (live->duration_ns)
		feed.stop_ns = now_ns(live) + (int64_t)live->duration_ns;
	err = rs_source_feed(live->merge, sink, &hooks);
	return feed.shut ? err : rs_error_first(err, gates(live, false));
}

static struct rs_error *confine(void)
{
	const char *failed = rs_confine_process(RS_CONFINE_COLLECTOR);

	return failed ? rs_error_errno(errno, "cannot drop privileges: %s", failed) : NULL;
}

struct rs_error *rs_script_live_run(struct rs_script_live *live, struct rs_script *script,
				    struct rs_sink *sink, struct rs_out *out)
{
	struct rs_error *err = live->store ? rs_tee_create(live->store, sink, &live->teed) : NULL;
	struct rs_query query;
	uint32_t pushed;
	int64_t end_ns;

	rs_query_init(&query);
	rs_script_narrow(script, &query);
	if (!err)
		err = live->merge->ops->open(live->merge, &query, &pushed);
	if (!err)
		err = rs_script_live_push(live, script, true);
	if (!err) /* before this, since programs on a module's types need CAP_SYS_ADMIN */
		err = confine();
	if (!err)
		err = gates(live, true);
	if (!err)
		err = feed_sink(live, script, live->teed ? rs_tee_sink(live->teed) : sink, out);
	end_ns = now_ns(live);
	rs_script_set_end(script, end_ns);
	/* Ctrl-C ended the sources, but the program handles all of their events */
	*live->stop = false;
	err = rs_error_first(err, sink->ops->end(sink));
	return rs_error_first(err, tee_close(live, end_ns, err));
}

bool rs_script_live_report(const struct rs_script_live *live)
{
	bool partial = false;

	for (size_t i = 0; i < N_KINDS; i++) {
		if (live->sources[i] && kinds[i]->report)
			partial |= kinds[i]->report(live);
	}
	return partial;
}
