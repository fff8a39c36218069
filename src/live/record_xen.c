/* SPDX-License-Identifier: BSD-2-Clause */
/* Records a running Xen. */
#include "live/record_xen.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/now.h"
#include "record/port.h"
#include "live/xen.h"
#include "xen/layout.h"
#include "live/xen_names.h"

#define DOMAINS	    0x8000u /* numbers are below: DOMID_FIRST_RESERVED is 0x7ff0, idle 0x7fff */
#define UNNAMED_MAX 64
#define SLEEP_NS    2000000 /* between two checks for a due poll */
#define NAMES_EVERY 50	    /* of these sleeps */
#define STREAM_OF_ALL                                                                              \
	{                                                                                          \
		.cpu = RS_CPU_EACH, .vcpu = RS_UNKNOWN, .tid = RS_UNKNOWN, .mixed = true           \
	}

struct rs_xen_recording {
	struct rs_sink sink; /* first member; the thread feeds it */
	struct rs_xen_session *session;
	struct rs_recorder *recorder;
	struct rs_foreign *live;
	bool lent;		    /* the caller reads the source; there is no recorder */
	struct rs_xen_names *names; /* NULL: there are none */
	struct rs_recorder_stream *stream;
	const struct rs_schema *schema;
	uint64_t named[DOMAINS / 64]; /* domains with a name in the trace */
	uint32_t n_domains;
	uint32_t unnamed[UNNAMED_MAX], n_unnamed; /* of them, domains without a name so far */
	uint32_t n_idle;			  /* times that the source had no events */
	pthread_t thread;
	bool running;
	struct rs_error *error; /* the thread's error; valid after it has ended */
};

/* ---- names ---------------------------------------------------------------------------------- */

/* Records a domain's name. A domain can be traced before its toolstack has named it. */
static struct rs_error *domain_add(struct rs_xen_recording *r, const struct rs_stream *stream)
{
	uint32_t dom = (uint32_t)stream->dom;
	uint64_t bit = UINT64_C(1) << dom % 64;
	bool named;

	if (dom >= DOMAINS || r->named[dom / 64] & bit || !stream->vm)
		return NULL;
	r->named[dom / 64] |= bit;
	if (dom == RS_XEN_DOM_IDLE)
		return rs_recorder_add_domain(r->recorder, r->schema, dom, stream->vm);
	r->n_domains++;
	named = r->names && rs_xen_names_find(r->names, dom);
	if (!named && r->names && r->n_unnamed < UNNAMED_MAX)
		r->unnamed[r->n_unnamed++] = dom;
	return rs_recorder_add_domain(r->recorder, r->schema, dom,
				      named ? rs_xen_names_find(r->names, dom) : stream->vm);
}

static struct rs_error *names_poll(struct rs_xen_recording *r)
{
	struct rs_error *err = NULL;
	uint32_t kept = 0;

	for (uint32_t i = 0; !err && i < r->n_unnamed; i++) {
		const char *name = rs_xen_names_find(r->names, r->unnamed[i]);

		if (name)
			err = rs_recorder_add_domain(r->recorder, r->schema, r->unnamed[i], name);
		else
			r->unnamed[kept++] = r->unnamed[i];
	}
	if (!err)
		r->n_unnamed = kept;
	return err;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static struct rs_error *view_put(struct rs_xen_recording *r, const struct rs_view *view)
{
	static const struct rs_stream all = STREAM_OF_ALL;
	const struct rs_stream *stream = view->stream;
	struct rs_error *err = NULL;

	if (!r->stream) {
		r->schema = stream->schema;
		err = rs_recorder_add_stream(r->recorder, (struct rs_schema *)stream->schema,
					     stream->clock, &all, &r->stream);
	}
	if (!err)
		err = domain_add(r, stream);
	return err ? err : rs_recorder_put_view(r->stream, view);
}

static struct rs_error *views_put(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct rs_xen_recording *r = (struct rs_xen_recording *)sink;
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++)
		err = view_put(r, &views[i]);
	return err;
}

static const struct rs_sink_ops recording_ops = { .name = "recording", .events = views_put };

static struct rs_error *wait_idle(void *ctx, const struct rs_batch *batch, bool *stop)
{
	struct rs_xen_recording *r = ctx;
	struct rs_error *err = NULL;

	(void)batch;
	(void)stop;
	if (r->n_unnamed && ++r->n_idle % NAMES_EVERY == 0)
		err = names_poll(r);
	rs_sleep_ns(SLEEP_NS);
	return err;
}

static void *run(void *arg)
{
	struct rs_xen_recording *r = arg;
	const struct rs_feed_hooks hooks = { .idle = wait_idle, .ctx = r };
	struct rs_error *err = rs_source_feed(&r->live->source, &r->sink, &hooks);

	if (!err && r->n_unnamed)
		err = names_poll(r);
	r->error = err;
	return NULL;
}

static struct rs_error *gate_open(struct rs_xen_recording *r)
{
	struct rs_error *err = rs_xen_session_begin(r->session);

	if (err)
		return err;
	r->running = true;
	if (!r->recorder)
		return NULL;
	if (pthread_create(&r->thread, NULL, run, r)) {
		r->running = false;
		rs_error_free(rs_xen_session_end(r->session));
		return rs_error_create(RS_FAILED, "cannot start a thread to read Xen's buffers");
	}
	return NULL;
}

static struct rs_error *gate_shut(struct rs_xen_recording *r)
{
	struct rs_error *err;

	if (!r->running)
		return NULL;
	err = rs_xen_session_end(r->session);
	rs_xen_live_stop(r->live);
	if (r->recorder)
		pthread_join(r->thread, NULL);
	r->running = false;
	if (!err)
		err = r->error;
	else
		rs_error_free(r->error);
	r->error = NULL;
	return err;
}

struct rs_error *rs_xen_recording_gate(struct rs_xen_recording *r, bool open)
{
	return open ? gate_open(r) : gate_shut(r);
}

struct rs_foreign *rs_xen_recording_source(struct rs_xen_recording *r)
{
	r->lent = true;
	return r->live;
}

const struct rs_foreign_tally *rs_xen_recording_tally(const struct rs_xen_recording *r)
{
	return &r->live->tally;
}

uint32_t rs_xen_recording_domains(const struct rs_xen_recording *r)
{
	return r->n_domains;
}

/* ---- creation ------------------------------------------------------------------------------- */

/* Returns whether this machine's exit codes are AMD's. */
static bool is_svm(void)
{
#if defined(__x86_64__)
	unsigned int a, b, c, d;

	/* CPUID 80000001H ECX bit 2 shows SVM, but Xen hides it from a dom0. The vendor stays
	 * visible: AMD's "cAMD" and Hygon's "uine" (leaf 0, ECX). */
	__cpuid(0, a, b, c, d);
	return c == 0x444d4163 || c == 0x656e6975;
#else
	return false;
#endif
}

static struct rs_error *live_create(struct rs_xen_session *session, const struct rs_clock *host,
				    uint32_t poll_ms, struct rs_xen_names **names,
				    struct rs_foreign **out)
{
	struct rs_xen_live_options live = { .clock = host, .poll_ms = poll_ms, .svm = is_svm() };

	rs_error_free(rs_xen_names_open(names)); /* the trace then shows domain numbers */
	live.names = *names;
	live.buffers = rs_xen_session_buffers(session, &live.n);
	return rs_xen_live_create(&live, out);
}

struct rs_error *rs_xen_recording_create(struct rs_xen_session *session,
					 struct rs_recorder *recorder, const struct rs_clock *host,
					 uint32_t poll_ms, struct rs_xen_recording **recording)
{
	struct rs_xen_recording *r = calloc(1, sizeof(*r));
	struct rs_error *err;

	if (!r)
		return rs_error_no_memory();
	r->sink.ops = &recording_ops;
	r->session = session;
	r->recorder = recorder;
	err = live_create(session, host, poll_ms, &r->names, &r->live);
	if (err)
		rs_xen_recording_destroy(r);
	else
		*recording = r;
	return err;
}

void rs_xen_recording_destroy(struct rs_xen_recording *r)
{
	if (!r)
		return;
	if (!r->lent) /* else the source is destroyed, and the session's owner ends it */
		rs_error_free(gate_shut(r));
	if (r->live && !r->lent)
		rs_source_destroy(&r->live->source);
	rs_xen_names_close(r->names);
	free(r);
}

/* ---- as a source ---------------------------------------------------------------------------- */

struct reading {
	struct rs_foreign foreign;
	struct rs_xen_session *session;
	struct rs_xen_names *names;
	struct rs_foreign *live;
	uint64_t end_tsc;
	const volatile bool *stop;
	bool ending;
};

static struct rs_error *reading_next(struct rs_source *source, struct rs_batch *batch)
{
	struct reading *r = (struct reading *)source;
	struct rs_error *err = NULL;

	if (!r->ending && (*r->stop || rs_clock_now(&r->foreign.clock) >= r->end_tsc)) {
		r->ending = true;
		err = rs_xen_session_end(r->session);
		rs_xen_live_stop(r->live);
	}
	if (!err)
		err = r->live->source.ops->next(&r->live->source, batch);
	r->foreign.tally = r->live->tally;
	return err;
}

static void reading_destroy(struct rs_source *source)
{
	struct reading *r = (struct reading *)source;

	if (r->live)
		rs_source_destroy(&r->live->source);
	rs_xen_names_close(r->names);
	rs_xen_session_close(r->session);
	free(r);
}

static const struct rs_source_ops reading_ops = {
	.name = "xen",
	.next = reading_next,
	.destroy = reading_destroy,
};

struct rs_error *rs_xen_reading_create(struct rs_xen_session *session, uint32_t poll_ms,
				       uint64_t duration_ns, const volatile bool *stop,
				       struct rs_foreign **reading)
{
	struct reading *r = calloc(1, sizeof(*r));
	struct rs_clock *clock;
	struct rs_error *err;

	if (!r) {
		rs_xen_session_close(session);
		return rs_error_no_memory();
	}
	r->foreign.source.ops = &reading_ops;
	r->session = session;
	r->stop = stop;
	clock = &r->foreign.clock;
	err = rs_clock_host(clock);
	if (!err)
		err = live_create(session, clock, poll_ms, &r->names, &r->live);
	r->end_tsc = UINT64_MAX;
	if (!err && duration_ns)
		r->end_tsc = clock->origin + (uint64_t)((unsigned __int128)duration_ns *
							clock->freq_hz / 1000000000);
	if (!err)
		err = rs_xen_session_begin(session);
	if (err)
		reading_destroy(&r->foreign.source);
	else
		*reading = &r->foreign;
	return err;
}
