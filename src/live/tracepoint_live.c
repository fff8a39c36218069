/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads tracepoints as a live source: merges the CPUs' rings, and sets the stream of each view to
 * that of its thread. The streams keep their addresses until the source is destroyed.
 */
#include "live/tracepoint.h"

#include <stdlib.h>
#include <string.h>

#include "live/thread_streams.h"
#include "source/ring.h"
#include "source/threads.h"
#include "base/vector.h"

struct cpu_ring {
	struct tracepoint_source *of;
	struct rs_stream stream;
	struct rs_idle idle;
	struct rs_drain drain;
};

struct tracepoint_source {
	struct rs_source source;
	struct rs_tracepoints *session;
	struct cpu_ring *rings;
	uint32_t n_rings;
	struct rs_source *merge;
	struct rs_thread_streams threads;
	struct rs_view *views;
	size_t views_room;
};

/* ---- threads ------------------------------------------------------------------------------ */

/* Adds streams for the new threads. Their names are the session's, which outlives this. */
static struct rs_error *threads_add(struct tracepoint_source *t)
{
	uint32_t before = t->threads.n;
	struct rs_thread thread;

	while (rs_tracepoints_thread(t->session, t->threads.n, &thread)) {
		struct rs_stream stream = t->rings[0].stream;

		stream.index = t->n_rings + t->threads.n;
		stream.cpu = RS_UNKNOWN;
		stream.thread = thread.name;
		stream.tid = thread.tid;
		stream.pid = thread.pid;
		stream.mixed = false;
		if (!rs_thread_streams_add(&t->threads, &stream, thread.from))
			return rs_error_no_memory();
	}
	if (t->threads.n != before)
		rs_thread_streams_sort(&t->threads);
	return NULL;
}

/* Sets the stream of a view. Each event of the schema except losses begins with the thread. */
static void stream_of(struct tracepoint_source *t, struct rs_view *view)
{
	const struct rs_thread_stream *thread;
	uint32_t tid;

	if (RS_ID_PROVIDER(view->event->id) != RS_IDS_USER)
		return;
	memcpy(&tid, view->payload, sizeof(tid));
	if (!tid) {
		view->stream = &t->rings[view->stream->index].idle.stream;
		return;
	}
	thread = rs_thread_streams_find(&t->threads, (int)tid, view->tsc);
	if (thread)
		view->stream = &thread->stream;
}

/* ---- as a source -------------------------------------------------------------------------- */

static struct rs_error *tracepoint_open(struct rs_source *source, const struct rs_query *query,
					uint32_t *pushed)
{
	(void)source;
	(void)query;
	*pushed = 0;
	return NULL;
}

static struct rs_error *tracepoint_next(struct rs_source *source, struct rs_batch *batch)
{
	struct tracepoint_source *t = (struct tracepoint_source *)source;
	struct rs_error *err = t->merge->ops->next(t->merge, batch);

	if (!err && batch->kind == RS_NEXT_EVENTS)
		err = threads_add(t);
	if (err || batch->kind != RS_NEXT_EVENTS)
		return err;
	if (!RS_VECTOR_RESERVE(t->views, t->views_room, batch->n))
		return rs_error_no_memory();
	memcpy(t->views, batch->views, batch->n * sizeof(*t->views));
	for (size_t i = 0; i < batch->n; i++)
		stream_of(t, &t->views[i]);
	batch->views = t->views;
	return NULL;
}

static void tracepoint_destroy(struct rs_source *source)
{
	struct tracepoint_source *t = (struct tracepoint_source *)source;

	rs_source_destroy(t->merge);
	rs_thread_streams_deinit(&t->threads);
	free(t->rings);
	free(t->views);
	free(t);
}

static const struct rs_source_ops ops = {
	.name = "tracepoint",
	.open = tracepoint_open,
	.next = tracepoint_next,
	.destroy = tracepoint_destroy,
};

/* ---- creation ----------------------------------------------------------------------------- */

static struct rs_error *ring_drain(void *ctx, struct rs_drain **drain)
{
	struct cpu_ring *ring = ctx;

	*drain = &ring->drain;
	return NULL;
}

static bool ring_ended(void *ctx)
{
	const struct cpu_ring *ring = ctx;

	return rs_tracepoints_closed(ring->of->session);
}

static struct rs_error *ring_init(struct tracepoint_source *t, uint32_t index,
				  const struct rs_clock *clock, struct rs_source **source)
{
	struct cpu_ring *ring = &t->rings[index];
	const struct rs_ring_feed feed = { ring, ring_drain, ring_ended };
	struct rs_port port;

	ring->of = t;
	ring->stream = (struct rs_stream){ .index = index,
					   .vcpu = RS_UNKNOWN,
					   .tid = RS_UNKNOWN,
					   .mixed = true,
					   .schema = rs_tracepoints_schema(t->session),
					   .clock = clock };
	rs_tracepoints_port(t->session, index, &ring->stream.cpu, &port);
	rs_idle_init(&ring->idle, &ring->stream);
	rs_drain_init(&ring->drain, &port, ring->stream.schema);
	return rs_ring_source_create(&feed, &ring->stream, source);
}

static uint32_t rings_count(struct rs_tracepoints *session)
{
	struct rs_port port;
	uint32_t n = 0;
	int cpu;

	while (rs_tracepoints_port(session, n, &cpu, &port))
		n++;
	return n;
}

struct rs_error *rs_tracepoints_source_create(struct rs_tracepoints *session,
					      const struct rs_clock *clock, struct rs_source **out)
{
	struct tracepoint_source *t = calloc(1, sizeof(*t));
	struct rs_source **sources;
	struct rs_error *err = NULL;
	uint32_t made = 0;

	if (!t)
		return rs_error_no_memory();
	t->source.ops = &ops;
	t->session = session;
	t->n_rings = rings_count(session);
	t->rings = calloc(t->n_rings, sizeof(*t->rings));
	sources = calloc(t->n_rings, sizeof(struct rs_source *));
	if (!t->rings || !sources)
		err = rs_error_no_memory();
	while (!err && made < t->n_rings) {
		err = ring_init(t, made, clock, &sources[made]);
		made += !err;
	}
	if (!err)
		err = rs_merge_create(sources, made, &t->merge);
	for (uint32_t i = 0; err && sources && i < made; i++)
		rs_source_destroy(sources[i]);
	free(sources);
	if (err)
		tracepoint_destroy(&t->source);
	else
		*out = &t->source;
	return err;
}

const struct rs_stream *rs_tracepoints_source_stream(const struct rs_source *source, uint32_t index)
{
	const struct tracepoint_source *t = (const struct tracepoint_source *)source;

	return index < t->n_rings ? &t->rings[index].stream : NULL;
}
