/* SPDX-License-Identifier: BSD-2-Clause */
/* ringside record --tracepoint: records any tracepoints of the host's kernel, through perf's
 * rings. */
#include "base/count.h"
#include "cli/record.h"
#include "cli/shared.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "record/port.h"
#include "live/tracepoint.h"

/* The only session of the process. */
static struct tracepoint {
	const char *globs[RS_TRACEPOINT_GLOBS_MAX];
	uint32_t n_globs;
	struct rs_tracepoints *session;
	struct rs_recorder *recorder;
	struct rs_clock clock;
	pthread_mutex_t lock;
	uint32_t n_threads; /* known to the recorder; under the lock */
} the_tracepoint = { .lock = PTHREAD_MUTEX_INITIALIZER };

#define MANY 50 /* number of tracepoints from which closing takes seconds */

enum { KEY_TRACEPOINT = 768 };

static const struct argp_option options[] = {
	{ "tracepoint", KEY_TRACEPOINT, "SYSTEM:EVENT", 0,
	  "Record tracepoints of the host's kernel, as in sched:sched_switch or 'block:*'; may be "
	  "repeated",
	  1 },
	{ 0 },
};

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct tracepoint *t = state->input;

	if (key != KEY_TRACEPOINT)
		return ARGP_ERR_UNKNOWN;
	rs_cli_append(state, "--tracepoint", text, t->globs, &t->n_globs, RS_TRACEPOINT_GLOBS_MAX);
	return 0;
}

static const struct argp argp = { options, parse, NULL, NULL, NULL, NULL, NULL };

static bool is_selected(const void *state)
{
	const struct tracepoint *t = state;

	return t->n_globs > 0;
}

static struct rs_error *tracepoint_open(void *state, const struct rs_record_common *common)
{
	struct tracepoint *t = state;
	const struct rs_tracepoint_options o = { .globs = t->globs,
						 .n_globs = t->n_globs,
						 .cpus = &common->cpus,
						 .ring_bytes = common->buffer_bytes };

	return rs_tracepoints_open(&o, &t->session);
}

/* Passes the threads that the drains have found to the recorder. */
static struct rs_error *threads_describe(void *ctx)
{
	struct tracepoint *t = ctx;
	struct rs_error *err = NULL;
	struct rs_thread thread;

	pthread_mutex_lock(&t->lock);
	for (; !err && rs_tracepoints_thread(t->session, t->n_threads, &thread); t->n_threads++)
		err = rs_recorder_add_thread(t->recorder, rs_tracepoints_schema(t->session),
					     &thread);
	pthread_mutex_unlock(&t->lock);
	return err;
}

static struct rs_error *tracepoint_attach(void *state, struct rs_recorder *recorder,
					  const struct rs_clock *host)
{
	struct tracepoint *t = state;
	struct rs_error *err = rs_clock_monotonic(host, &t->clock);
	struct rs_stream stream = { .vcpu = RS_UNKNOWN, .tid = RS_UNKNOWN };
	struct rs_recorder_port port = { .schema = rs_tracepoints_schema(t->session),
					 .clock = &t->clock,
					 .stream = &stream,
					 .describe = threads_describe,
					 .ctx = t };

	t->recorder = recorder;
	for (uint32_t i = 0; !err && rs_tracepoints_port(t->session, i, &stream.cpu, &port.port);
	     i++)
		err = rs_recorder_add_port(recorder, &port);
	return err;
}

static struct rs_error *tracepoint_gate(void *state, bool open)
{
	struct tracepoint *t = state;
	uint64_t at_ns;

	return rs_tracepoints_gate(t->session, open, &at_ns);
}

/* Appends the number of lost changes of threads to a summary. */
static void names_lost_add(const struct rs_tracepoints *session, char text[RS_RECORD_WHY_MAX])
{
	uint64_t lost = rs_tracepoints_names_lost(session);
	size_t len = strlen(text);

	if (lost)
		snprintf(text + len, RS_RECORD_WHY_MAX - len,
			 " (%" PRIu64 " forks, renames and exits of threads lost: some names are "
			 "unknown; larger: --buffer)",
			 lost);
}

static void tracepoint_sum(const void *state, char text[RS_RECORD_WHY_MAX])
{
	const struct tracepoint *t = state;
	uint32_t refused, n = rs_tracepoints_count(t->session, &refused);
	int len = snprintf(text, RS_RECORD_WHY_MAX, "%s", RS_COUNT_OF(n, "tracepoint"));

	if (refused)
		snprintf(text + len, RS_RECORD_WHY_MAX - (size_t)len,
			 " (%u other matches are not available to perf)", refused);
	names_lost_add(t->session, text);
}

static void tracepoint_sum_json(const void *state, struct rs_json *json)
{
	const struct tracepoint *t = state;
	uint32_t refused;

	rs_json_unsigned(rs_json_key(json, "tracepoints"),
			 rs_tracepoints_count(t->session, &refused));
	rs_json_unsigned(rs_json_key(json, "tracepoints_refused"), refused);
	rs_json_unsigned(rs_json_key(json, "names_lost"), rs_tracepoints_names_lost(t->session));
}

/* The kernel waits, for each tracepoint in turn, until no CPU executes one of its probes. */
static bool tracepoint_closes_slowly(const void *state, char why[RS_RECORD_WHY_MAX])
{
	const struct tracepoint *t = state;
	uint32_t refused, n = rs_tracepoints_count(t->session, &refused);

	snprintf(why, RS_RECORD_WHY_MAX,
		 "the trace is complete; the kernel releases %s one by one, which can take half a "
		 "minute",
		 RS_COUNT_OF(n, "tracepoint"));
	return n >= MANY;
}

static void tracepoint_close(void *state)
{
	struct tracepoint *t = state;

	rs_tracepoints_close(t->session);
}

const struct rs_record_kind rs_record_tracepoint = {
	.name = "tracepoint",
	.state = &the_tracepoint,
	.argp = &argp,
	.uses = RS_RECORD_BUFFER | RS_RECORD_POLL | RS_RECORD_CPUS,
	.is_selected = is_selected,
	.open = tracepoint_open,
	.attach = tracepoint_attach,
	.gate = tracepoint_gate,
	.sum = tracepoint_sum,
	.sum_json = tracepoint_sum_json,
	.closes_slowly = tracepoint_closes_slowly,
	.close = tracepoint_close,
};
