/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder and this program's own threads: a feed for each ring. What is in no feed, for lack
 * of memory or of anything else that it takes to make one, is counted as lost: events of threads
 * that have no ring, and what is in rings that were never taken.
 */
#include <string.h>

#include "record/inside.h"

#define RESTING_LOOK 64 /* feeds without a thread that a new ring is tried on */

/* As much as is defined; an error: there is no memory for more. */
static struct rs_error *learn_all(struct rs_recorder *r)
{
	struct rs_program *program = &r->program;
	struct rs_error *err;

	pthread_mutex_lock(&program->learn_lock);
	err = rs_trace_learn(program->schema, &program->learnt);
	pthread_mutex_unlock(&program->learn_lock);
	return err;
}

static bool learn(void *ctx)
{
	struct rs_recorder *r = ctx;
	bool any;

	rs_error_free(learn_all(r));
	pthread_mutex_lock(&r->program.learn_lock);
	any = r->program.learnt > 0; /* another worker may have learnt what this one lacks */
	pthread_mutex_unlock(&r->program.learn_lock);
	return any;
}

/* A feed begins to drain a ring. Under its lock, or before it is published. */
static void feed_begin(struct rs_recorder *r, struct rs_feed *feed, struct rs_trace_ring *ring)
{
	struct rs_port port;

	ring->taken = true;
	rs_sbuf_attach(&feed->consumer, ring->memory.mem, ring->memory.bytes);
	port = rs_port_local(&feed->consumer);
	rs_drain_init(&feed->own_drain, &port, r->program.schema);
	feed->own_drain.told_lost = ring->told_lost;
	feed->own_drain.told_ahead = ring->told_ahead;
	feed->own_drain.learn = learn;
	feed->own_drain.learn_ctx = r;
	feed->drain = &feed->own_drain;
	feed->clock = &r->clock;
	feed->ring = ring;
	feed->poll = true;
	feed->done = false;
}

/* Finds a feed whose thread has ended, and all of whose records came before the stamp. */
static struct rs_feed **resting_before(struct rs_program *program, uint64_t stamp)
{
	struct rs_feed **at = &program->resting;

	/* They are about in the order of their stamps. */
	for (uint32_t i = 0; i < RESTING_LOOK && *at; i++, at = &(*at)->rest) {
		if ((*at)->last_stamp < stamp)
			return at;
	}
	return NULL;
}

/*
 * Goes on with the stream of a thread that has ended, if there is one all of whose records came
 * before the ring was made: so a trace has about as many streams as there were threads at once.
 * *resumed: NULL if there is none.
 */
static struct rs_error *ring_resume(struct rs_recorder *r, struct rs_trace_ring *ring,
				    struct rs_feed **resumed)
{
	struct rs_program *program = &r->program;
	struct rs_feed **at = resting_before(program, ring->from), *feed;
	struct rs_owner owner = { .thread = ring->thread,
				  .vm = ring->vm[0] ? ring->vm : NULL,
				  .vcpu = ring->vcpu,
				  .tid = ring->tid,
				  .from = ring->from };
	struct rs_error *err;

	*resumed = NULL;
	if (!at)
		return NULL;
	feed = *at;
	err = rs_store_resume_stream(feed->out, &owner);
	if (err)
		return err;
	*at = feed->rest;
	if (!*at)
		program->last_resting = at;
	pthread_mutex_lock(&feed->lock);
	feed_begin(r, feed, ring);
	feed->own_drain.last_tsc = ring->from;
	pthread_mutex_unlock(&feed->lock);
	*resumed = feed;
	return NULL;
}

static struct rs_error *ring_add(struct rs_recorder *r, struct rs_trace_ring *ring,
				 struct rs_feed **out)
{
	struct rs_stream stream = { .thread = ring->thread,
				    .vm = ring->vm[0] ? ring->vm : NULL,
				    .vcpu = ring->vcpu,
				    .cpu = RS_UNKNOWN,
				    .tid = ring->tid,
				    .schema = r->program.schema,
				    .clock = &r->clock };
	struct rs_error *err = learn_all(r); /* names and events of the sites known so far */
	struct rs_feed *feed;

	if (!err)
		err = ring_resume(r, ring, out);
	if (err || *out)
		return err;
	err = rs_feed_create(r, r->program.class_index, &stream, &feed);
	if (err)
		return err;
	feed_begin(r, feed, ring);
	rs_feed_publish(r, feed);
	*out = feed;
	return NULL;
}

/* ---- what is in no feed -------------------------------------------------------------------- */

/* Empties a ring, which is this program's own: what it says is believed. Returns its records. */
static uint64_t ring_empty(struct rs_trace_ring *ring)
{
	struct rs_sbuf_consumer consumer;
	struct rs_port port;
	uint64_t records = 0, refused;
	uint32_t tail;

	if (rs_sbuf_attach(&consumer, ring->memory.mem, ring->memory.bytes) != RS_SBUF_OK)
		return 0;
	port = rs_port_local(&consumer);
	port.poll(port.ctx, &tail, &refused);
	for (uint32_t at = port.head; at != tail;) {
		const struct rs_slot *slot = (const void *)(consumer.data + at);
		uint32_t slots = rs_slot_count(slot->head);
		uint64_t id = rs_slot_id(slot->head);

		records += id != RS_ID_FILLER && id != RS_ID_LOST;
		at += (slots ? slots : 1) * RS_SLOT_BYTES;
		if (at >= port.size)
			at = 0;
	}
	port.release(port.ctx, tail);
	refused -= ring->told_lost;
	ring->told_lost += refused;
	ring->told_ahead += refused;
	return records + refused;
}

/* A ring that no feed could be made for. */
static void ring_discard(struct rs_recorder *r, struct rs_trace_ring *ring)
{
	uint64_t lost = ring_empty(ring);

	if (lost)
		rs_store_add_unsaid(r->store, lost,
				    "a thread's events could not be recorded for lack of memory");
}

/* Reports the events of threads without a ring that were lost since the last report, as one
 * records-lost record in a stream of its own. */
static void ringless_tell(struct rs_recorder *r)
{
	static const struct rs_stream nobody = { .thread = "threads without a ring",
						 .vcpu = RS_UNKNOWN,
						 .cpu = RS_UNKNOWN,
						 .tid = RS_UNKNOWN };
	struct rs_program *program = &r->program;
	uint64_t now = rs_clock_now(&r->clock), before = program->ringless_tsc;
	uint64_t n = rs_trace_ringless() - program->ringless_told;
	struct rs_drained put = { .bytes = RS_LOST_SLOTS * RS_SLOT_BYTES,
				  .lost = n,
				  .padding = RS_LOST_PADDING };
	struct rs_error *err = NULL;
	uint32_t room;
	uint8_t *at;

	if (!n) {
		program->ringless_tsc = now;
		return;
	}
	if (!program->ringless)
		err = rs_store_add_stream(r->store, program->class_index, &nobody,
					  &program->ringless);
	if (err) { /* told later */
		rs_recorder_keep_error(r, err);
		return;
	}
	rs_recorder_keep_error(r, rs_store_room(program->ringless, &at, &room));
	rs_record_write_lost(at, (uint64_t)RS_CPU_UNKNOWN << RS_CPU_SHIFT,
			     &(struct rs_lost){ n, before, now, RS_LOST_FULL }, now);
	put.first_tsc = put.last_tsc = now;
	rs_store_take(program->ringless, &put);
	rs_recorder_keep_error(r, rs_store_flush(program->ringless, 0, 0));
	program->ringless_told += n;
	program->ringless_tsc = now;
	rs_recorder_keep_error(r, rs_error_create(RS_NO_MEMORY,
						  "events of threads are lost: there was no memory "
						  "for the threads' rings"));
}

/* ---- looking ------------------------------------------------------------------------------- */

/* A feed whose ring's thread has ended: the ring is drained to its end, and freed. */
static void feed_retire(struct rs_recorder *r, struct rs_feed *feed)
{
	pthread_mutex_lock(&feed->lock);
	rs_recorder_keep_error(r, rs_feed_finish(feed));
	pthread_mutex_unlock(&feed->lock);
	rs_trace_ring_free(feed->ring);
	feed->ring = NULL;
	feed->rest = NULL;
	*r->program.last_resting = feed;
	r->program.last_resting = &feed->rest;
}

/*
 * Takes a new ring. Where threads end faster than the recorder looks, they have ended by now: their
 * streams are free at once for the rings behind them. A ring that cannot be taken stays for the
 * next time, unless its thread has ended: its memory may be what is needed.
 */
static void ring_take(struct rs_recorder *r, struct rs_trace_ring *ring)
{
	/* Pairs with the thread's release at its end. */
	bool ended = __atomic_load_n(&ring->ended, __ATOMIC_ACQUIRE);
	struct rs_feed *feed = NULL;
	struct rs_error *err = ring_add(r, ring, &feed);

	if (!err && ended) {
		feed_retire(r, feed);
	} else if (err && ended) {
		ring_discard(r, ring);
		rs_trace_ring_free(ring);
	}
	rs_recorder_keep_error(r, err);
}

/* New rings, the oldest first: the streams of those that ended first are for them. */
static void rings_look(struct rs_recorder *r)
{
	struct rs_trace_ring *fresh = NULL, *next;

	for (struct rs_trace_ring *ring = rs_trace_rings(); ring; ring = ring->next) {
		if (ring->next) /* so that it is taken off the list without a walk */
			ring->next->before = ring;
		if (ring->taken)
			continue;
		ring->newer = fresh;
		fresh = ring;
	}
	for (; fresh; fresh = next) {
		next = fresh->newer;
		ring_take(r, fresh);
	}
}

/* Rings whose threads have ended. */
static void rings_retire(struct rs_recorder *r)
{
	for (struct rs_feed *feed = __atomic_load_n(&r->feeds, __ATOMIC_ACQUIRE); feed;
	     feed = feed->next) {
		/* Pairs with the thread's release at its end. */
		if (feed->ring && __atomic_load_n(&feed->ring->ended, __ATOMIC_ACQUIRE))
			feed_retire(r, feed);
	}
}

void rs_program_look(struct rs_recorder *r)
{
	/* Pairs with the release in rs_recorder_add_trace(). */
	if (!__atomic_load_n(&r->program.on, __ATOMIC_ACQUIRE))
		return;
	ringless_tell(r);
	rings_look(r);
	rings_retire(r);
}

void rs_program_end(struct rs_recorder *r)
{
	struct rs_program *program = &r->program;
	uint64_t ringless;

	if (!program->on)
		return;
	for (struct rs_trace_ring *ring = rs_trace_rings(); ring; ring = ring->next) {
		if (!ring->taken)
			ring_discard(r, ring);
	}
	ringless = rs_trace_ringless() - program->ringless_told;
	if (ringless)
		rs_store_add_unsaid(r->store, ringless,
				    "there was no memory for the rings of threads");
	rs_trace_collect(false);
}

struct rs_error *rs_recorder_add_trace(struct rs_recorder *r)
{
	struct rs_program *program = &r->program;
	struct rs_error *err;

	if (!rs_trace_collect(true))
		return rs_error_create(RS_USAGE, "this program's trace is recorded already");
	err = rs_schema_create(rs_trace_provider(), &program->schema);
	/* A provider that the catalogue does not know has only events of its own. */
	if (!err && !strcmp(rs_trace_provider(), "vmm"))
		err = rs_schema_add_catalogue(program->schema, "vmm");
	if (!err)
		err = rs_store_add_class(r->store, program->schema, &r->clock,
					 &program->class_index);
	if (err) {
		rs_trace_collect(false);
		return err;
	}
	program->last_resting = &program->resting;
	program->ringless_told = rs_trace_ringless();
	program->ringless_tsc = rs_clock_now(&r->clock);
	/* Pairs with the acquire in rs_program_look(). */
	__atomic_store_n(&program->on, true, __ATOMIC_RELEASE);
	return NULL;
}
