/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a KVM session: its events, and its counts. */
#include "live/kvm.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/now.h"
#include "event/filter.h"
#include "kvm/counts.h"
#include "live/thread_streams.h"
#include "source/ring.h"
#include "base/arena.h"
#include "base/vector.h"

#define CLOCK_HZ UINT64_C(1000000000)

/* A CPU's ring. */
struct cpu_ring {
	struct kvm_source *of;
	struct rs_stream stream;
	struct rs_sbuf_consumer consumer;
	struct rs_drain drain;
};

enum stage { KVM_BEGIN, KVM_EVENTS, KVM_COUNTS, KVM_OVER };

struct kvm_source {
	struct rs_source source;
	struct rs_kvm_session *session;
	struct rs_schema *schema;
	struct rs_clock clock;
	struct rs_query query;
	bool merged; /* the caller has set the clock, whose origin is kept */
	bool opened; /* the gate was open at the last snapshot */
	bool shut;   /* the gate is closed again: this round is the last */
	bool asked;  /* the query asks for counts */
	enum stage stage;

	struct rs_kvm_snapshot snapshot; /* of the last counts */
	struct rs_kvm_counts counts;
	bool *wanted;
	uint32_t wanted_room;

	struct cpu_ring *rings;
	uint32_t n_rings;
	struct rs_source *merge; /* of the rings; NULL: none */
	struct rs_error *error;	 /* of a ring; returned at the end */
	struct rs_view *views;
	size_t views_room;
	int64_t watermark_ns;

	struct rs_thread_streams threads; /* in the order of the snapshot */
	struct rs_arena names;		  /* of VMs */
	struct rs_stream unknown;	  /* for a thread that is in no snapshot */
	uint64_t snapshot_ns; /* time of the last snapshot, which has all earlier threads */
};

/* ---- threads and their streams -------------------------------------------------------------- */

/* Adds streams for new threads, and sets vCPU numbers that have become known. */
static struct rs_error *streams_update(struct kvm_source *k, const struct rs_kvm_snapshot *snapshot)
{
	uint32_t before = k->threads.n;

	for (uint32_t i = before; i < snapshot->n_threads; i++) {
		const struct rs_kvm_thread *thread = &snapshot->threads[i];
		const char *vm = thread->vm[0]
					 ? rs_arena_text(&k->names, thread->vm,
							 strnlen(thread->vm, sizeof(thread->vm)))
					 : NULL;
		const struct rs_stream stream = {
			.index = k->n_rings + i,
			.vm = vm,
			.cpu = RS_UNKNOWN,
			.pid = thread->pid,
			.tid = thread->tid,
			.schema = k->schema,
			.clock = &k->clock,
		};

		if ((thread->vm[0] && !vm) ||
		    !rs_thread_streams_add(&k->threads, &stream, thread->time.since))
			return rs_error_no_memory();
	}
	for (uint32_t i = 0; i < k->threads.n; i++)
		k->threads.all[i]->stream.vcpu = snapshot->threads[i].vcpu;
	if (k->threads.n != before)
		rs_thread_streams_sort(&k->threads);
	return NULL;
}

/* ---- snapshots ------------------------------------------------------------------------------ */

/* Updates the threads and the state of the gate from a snapshot. */
static struct rs_error *threads_observe(struct kvm_source *k)
{
	uint64_t before = rs_now_ns(CLOCK_MONOTONIC);
	struct rs_kvm_snapshot snapshot;
	struct rs_error *err = rs_kvm_threads(k->session, &snapshot);

	if (err)
		return err;
	if (snapshot.opened_ns && !k->opened) {
		k->opened = true;
		if (!k->merged) {
			k->clock.origin = snapshot.opened_ns;
			k->clock.wall_ns =
				(int64_t)(rs_now_ns(CLOCK_REALTIME) - before + snapshot.opened_ns);
		}
	}
	k->snapshot_ns = snapshot.now_ns;
	/* While the gate is open, a snapshot's time is within the call. */
	k->shut = k->opened && snapshot.now_ns < before;
	return streams_update(k, &snapshot);
}

static bool is_wanted(const struct kvm_source *k, const struct rs_kvm_thread *thread)
{
	static const struct rs_event event;
	const struct rs_stream stream = { .vm = thread->vm, .vcpu = thread->vcpu };
	const struct rs_view view = { .event = &event, .stream = &stream };

	return rs_query_match(&k->query, &view,
			      RS_PUSHED_PROBES | RS_PUSHED_TIME | RS_PUSHED_CPUS |
				      RS_PUSHED_PREDICATE);
}

static struct rs_error *counts_read(struct kvm_source *k)
{
	struct rs_error *err = rs_kvm_snapshot(k->session, &k->snapshot);

	if (!err && !RS_VECTOR_RESERVE(k->wanted, k->wanted_room, k->snapshot.n_threads))
		err = rs_error_no_memory();
	if (err)
		return err;
	for (uint32_t i = 0; i < k->snapshot.n_threads; i++)
		k->wanted[i] = is_wanted(k, &k->snapshot.threads[i]);
	k->counts = (struct rs_kvm_counts){ .counts.kind = RS_COUNTS_KVM,
					    .snapshot = &k->snapshot,
					    .wanted = k->wanted,
					    .last = k->shut };
	return NULL;
}

/* ---- events --------------------------------------------------------------------------------- */

static struct rs_error *ring_drain(void *ctx, struct rs_drain **drain)
{
	struct cpu_ring *ring = ctx;

	*drain = &ring->drain;
	return NULL;
}

static bool ring_ended(void *ctx)
{
	const struct cpu_ring *ring = ctx;

	return ring->of->shut;
}

/* Sets the stream of an event. A loss keeps its CPU's stream. Takes a snapshot to find a thread
 * that appeared since the last one. */
static struct rs_error *stream_of(struct kvm_source *k, const struct rs_view *view,
				  const struct rs_stream **stream)
{
	const struct rs_event *event = view->event;
	const struct rs_thread_stream *thread;
	struct rs_error *err;
	uint32_t tid;

	*stream = view->stream;
	if (!event->n_fields || event->fields->type != RS_TYPE_U32 ||
	    strcmp(event->fields->name, "tid") != 0)
		return NULL;
	memcpy(&tid, view->payload, sizeof(tid));
	thread = rs_thread_streams_find(&k->threads, (int)tid, view->tsc);
	if (!thread && view->tsc > k->snapshot_ns) {
		err = threads_observe(k);
		if (err)
			return err;
		thread = rs_thread_streams_find(&k->threads, (int)tid, view->tsc);
	}
	*stream = thread ? &thread->stream : &k->unknown;
	return NULL;
}

/* Sets the stream of each view to its thread's. Keeps the views that match the query. */
static struct rs_error *views_filter(struct kvm_source *k, const struct rs_batch *from, size_t *n)
{
	struct rs_error *err = NULL;

	if (!RS_VECTOR_RESERVE(k->views, k->views_room, from->n))
		return rs_error_no_memory();
	*n = 0;
	for (size_t i = 0; !err && i < from->n; i++) {
		struct rs_view *view = &k->views[*n];

		*view = from->views[i];
		err = stream_of(k, view, &view->stream);
		*n += !err && rs_query_match(&k->query, view, 0);
	}
	return err;
}

/* Reads the next events. Sets *n to 0 if there are none at present. */
static struct rs_error *events(struct kvm_source *k, size_t *n)
{
	*n = 0;
	while (!*n) {
		struct rs_batch batch;
		struct rs_error *err = k->merge->ops->next(k->merge, &batch);

		if (err) { /* after all events of the rings have been returned */
			k->error = err;
			return NULL;
		}
		k->watermark_ns = batch.watermark_ns;
		if (batch.kind != RS_NEXT_EVENTS)
			return NULL;
		err = views_filter(k, &batch, n);
		if (err)
			return err;
	}
	return NULL;
}

/* ---- as a source ---------------------------------------------------------------------------- */

static struct rs_error *kvm_source_open(struct rs_source *source, const struct rs_query *query,
					uint32_t *pushed)
{
	struct kvm_source *k = (struct kvm_source *)source;
	struct rs_query all;

	k->query = *query;
	/* Counts have neither a time nor an event, so a predicate or a set of CPUs cannot apply to
	 * them. */
	rs_query_init(&all);
	k->asked = query->counts & RS_COUNTS_KVM && query->from_ns == all.from_ns &&
		   query->to_ns == all.to_ns && !query->cpus.some && !query->predicate;
	*pushed = RS_PUSHED_PROBES | RS_PUSHED_TIME | RS_PUSHED_CPUS | RS_PUSHED_VCPUS |
		  RS_PUSHED_PREDICATE;
	if (k->asked)
		*pushed |= RS_PUSHED_COUNTS;
	return NULL;
}

static struct rs_error *round_begin(struct kvm_source *k)
{
	struct rs_error *err = threads_observe(k);

	if (err)
		return err;
	if (!k->opened)
		k->stage = KVM_OVER;
	else
		k->stage = k->merge ? KVM_EVENTS : KVM_COUNTS;
	return NULL;
}

/* Ends the round, or the source. */
static struct rs_error *round_over(struct kvm_source *k, struct rs_batch *batch)
{
	struct rs_error *err = k->error;

	k->error = NULL;
	batch->kind = k->shut ? RS_NEXT_END : RS_NEXT_IDLE;
	if (!k->shut)
		k->stage = KVM_BEGIN;
	return err;
}

static struct rs_error *kvm_source_next(struct rs_source *source, struct rs_batch *batch)
{
	struct kvm_source *k = (struct kvm_source *)source;
	struct rs_error *err = NULL;
	size_t n = 0;

	if (k->stage == KVM_BEGIN)
		err = round_begin(k);
	if (!err && k->stage == KVM_EVENTS) {
		err = events(k, &n);
		if (!n)
			k->stage = KVM_COUNTS;
	}
	if (err)
		return err;
	*batch = (struct rs_batch){
		.kind = RS_NEXT_EVENTS, .views = k->views, .n = n, .watermark_ns = k->watermark_ns
	};
	if (n)
		return NULL;
	if (k->stage == KVM_COUNTS) {
		k->stage = KVM_OVER;
		if (k->asked) {
			batch->kind = RS_NEXT_COUNTS;
			batch->counts = &k->counts.counts;
			return counts_read(k);
		}
	}
	return round_over(k, batch);
}

static void kvm_source_destroy(struct rs_source *source)
{
	struct kvm_source *k = (struct kvm_source *)source;

	rs_source_destroy(k->merge);
	rs_thread_streams_deinit(&k->threads);
	rs_arena_deinit(&k->names);
	free(k->views);
	free(k->rings);
	free(k->wanted);
	rs_error_free(k->error);
	rs_schema_destroy(k->schema);
	free(k);
}

static const struct rs_source_ops kvm_source_ops = {
	.name = "kvm",
	.open = kvm_source_open,
	.next = kvm_source_next,
	.destroy = kvm_source_destroy,
};

/* ---- creation ------------------------------------------------------------------------------- */

static struct rs_error *ring_init(struct kvm_source *k, uint32_t cpu, struct rs_source **source)
{
	struct cpu_ring *ring = &k->rings[cpu];
	const struct rs_ring_feed feed = { ring, ring_drain, ring_ended };
	enum rs_sbuf_status status;
	struct rs_port port;
	size_t bytes;
	void *mem;

	rs_kvm_ring(k->session, cpu, &mem, &bytes);
	status = rs_sbuf_attach(&ring->consumer, mem, bytes);
	if (status != RS_SBUF_OK)
		return rs_error_create(RS_FAILED, "cannot read the ring of CPU %u: %s", cpu,
				       rs_sbuf_status_text(status));
	ring->of = k;
	ring->stream = (struct rs_stream){
		.index = cpu,
		.vcpu = RS_UNKNOWN,
		.cpu = (int)cpu,
		.tid = RS_UNKNOWN,
		.mixed = true,
		.schema = k->schema,
		.clock = &k->clock,
	};
	port = rs_port_local(&ring->consumer);
	rs_drain_init(&ring->drain, &port, k->schema);
	return rs_ring_source_create(&feed, &ring->stream, source);
}

static struct rs_error *rings_init(struct kvm_source *k)
{
	uint32_t n = rs_kvm_ring_count(k->session), made = 0;
	struct rs_error *err = NULL;
	struct rs_source **sources;

	if (!n)
		return NULL;
	k->rings = calloc(n, sizeof(*k->rings));
	sources = calloc(n, sizeof(struct rs_source *));
	if (!k->rings || !sources)
		err = rs_error_no_memory();
	while (!err && made < n) {
		err = ring_init(k, made, &sources[made]);
		made += !err;
	}
	if (!err)
		err = rs_merge_create(sources, made, &k->merge);
	if (err) {
		for (uint32_t i = 0; i < made; i++)
			rs_source_destroy(sources[i]);
	}
	free(sources);
	k->n_rings = n;
	k->watermark_ns = INT64_MIN;
	return err;
}

struct rs_error *rs_kvm_source_create(struct rs_kvm_session *session, struct rs_source **source)
{
	struct kvm_source *k = calloc(1, sizeof(*k));
	struct rs_error *err;

	if (!k)
		return rs_error_no_memory();
	k->source.ops = &kvm_source_ops;
	k->session = session;
	k->clock = (struct rs_clock){ .name = "monotonic",
				      .freq_hz = CLOCK_HZ,
				      .invariant = true,
				      .monotonic = true,
				      .freq_from = "monotonic" };
	/* Without rings there are no events, so the watermark is unlimited. */
	k->watermark_ns = INT64_MAX;
	rs_query_init(&k->query);
	err = rs_clock_init(&k->clock);
	if (!err)
		err = rs_schema_create("kvm", &k->schema);
	if (!err)
		err = rs_schema_add_catalogue(k->schema, "kvm");
	if (!err)
		err = rings_init(k);
	if (err) {
		kvm_source_destroy(&k->source);
		return err;
	}
	k->unknown = (struct rs_stream){ .index = UINT32_MAX,
					 .vcpu = RS_UNKNOWN,
					 .cpu = RS_UNKNOWN,
					 .tid = RS_UNKNOWN,
					 .schema = k->schema,
					 .clock = &k->clock };
	*source = &k->source;
	return NULL;
}

void rs_kvm_source_set_clock(struct rs_source *source, const struct rs_clock *clock)
{
	struct kvm_source *k = (struct kvm_source *)source;

	k->clock = *clock;
	k->merged = true;
}

struct rs_error *rs_kvm_source_add_done(struct rs_source *source)
{
	struct kvm_source *k = (struct kvm_source *)source;
	uint32_t n = rs_schema_count(k->schema);
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < n && !err; i++) {
		struct rs_event event = *rs_schema_event(k->schema, i);

		if (RS_ID_PROVIDER(event.id) != RS_IDS_KVM)
			continue;
		event.id |= RS_FILTER_DONE;
		err = rs_schema_add(k->schema, &event);
	}
	return err;
}

const struct rs_stream *rs_kvm_source_stream(const struct rs_source *source, uint32_t index)
{
	const struct kvm_source *k = (const struct kvm_source *)source;

	return index < k->n_rings ? &k->rings[index].stream : NULL;
}
