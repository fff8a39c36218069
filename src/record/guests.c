/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's part for guests: finds the rings of a guest's vCPUs (host/guest.h) and makes a
 * feed for each. For a guest that is polled, a recorder's thread does this; for a guest that is
 * drained at its exits, the VMM's own threads do.
 *
 *	guest --vCPU's ring--> feed --> stream of a class: a schema and a clock
 *
 * Guests of one program have equal schemas, and those with exact TSC offsets are recorded in the
 * host's clock. They share a class. When a guest is removed, its feeds rest, and a later guest of
 * the class resumes their streams, as threads do (program.c).
 *
 * Locks, in this order: guests_lock (the list of guests, classes, resting feeds), a guest's lock
 * (held while its feeds are made), the recorder's.
 */
#include <stdio.h>
#include <stdlib.h>

#include "event/same.h"
#include "host/guest.h"
#include "record/inside.h"

#define RESTING_TRIED 64 /* resting feeds to try for a new ring */

struct guest_feed {
	struct rs_feed feed;
	struct guest_feed *next; /* the next resting feed */
	struct rs_guest_class *class;
	uint64_t last_tsc; /* the last stamp of its records, while it rests */
};

/* The schema and the clock that streams share. Under guests_lock. */
struct rs_guest_class {
	struct rs_guest_class *next;
	struct rs_schema *schema; /* a guest's */
	bool own_schema;	  /* the schema of a guest that was removed */
	uint64_t clock_id;
	uint32_t class_index;
	struct guest_feed *resting, **last_resting;
};

struct guest_vcpu {
	/* NULL until the ring is found. Stored with release under the guest's lock */
	struct guest_feed *feed;
	bool failed; /* no feed could be made for its ring; under the lock */
};

/* A guest whose rings are collected. */
struct rs_guest {
	struct rs_guest *next;
	struct rs_recorder *recorder;
	struct rs_host_guest *host;
	bool poll;
	uint64_t from;	      /* host's stamp at which it was added */
	pthread_mutex_t lock; /* held while feeds are made */
	struct guest_vcpu vcpus[RS_GUEST_VCPUS_MAX];
};

/* ---- classes ------------------------------------------------------------------------------ */

/* Finds or adds the class of a guest's streams. Under guests_lock. */
static struct rs_error *class_of(struct rs_recorder *r, const struct rs_clock *clock,
				 struct rs_schema *schema, struct rs_guest_class **class)
{
	struct rs_guest_class *c;
	struct rs_error *err;

	for (c = r->guest_classes; c; c = c->next) {
		if (c->clock_id == clock->id &&
		    (c->schema == schema || rs_schema_same(c->schema, schema))) {
			*class = c;
			return NULL;
		}
	}
	c = calloc(1, sizeof(*c));
	if (!c)
		return rs_error_no_memory();
	*c = (struct rs_guest_class){ .next = r->guest_classes,
				      .schema = schema,
				      .clock_id = clock->id };
	c->last_resting = &c->resting;
	err = rs_store_add_class(r->store, schema, clock, &c->class_index);
	if (err) {
		free(c);
		return err;
	}
	r->guest_classes = c;
	*class = c;
	return NULL;
}

/* Takes ownership of the schema of a guest that is removed, if a class uses it. */
static void classes_keep_schema(struct rs_recorder *r, struct rs_host_guest *host)
{
	struct rs_schema *schema = rs_host_guest_take_schema(host);
	bool kept = false;

	for (struct rs_guest_class *c = r->guest_classes; c; c = c->next) {
		if (c->schema != schema)
			continue;
		c->own_schema = !kept;
		kept = true;
	}
	if (!kept)
		rs_schema_destroy(schema);
}

/* ---- feeds -------------------------------------------------------------------------------- */

/* Removes and returns a resting feed all of whose records precede the guest's addition, or NULL. */
static struct guest_feed *feed_resting(struct rs_guest_class *class, uint64_t from)
{
	struct guest_feed **at = &class->resting, *f;

	for (uint32_t i = 0; i < RESTING_TRIED && *at; i++, at = &(*at)->next) {
		f = *at;
		if (f->last_tsc >= from)
			continue;
		*at = f->next;
		if (!*at)
			class->last_resting = at;
		return f;
	}
	return NULL;
}

static void feed_rest(struct guest_feed *f)
{
	f->next = NULL;
	*f->class->last_resting = f;
	f->class->last_resting = &f->next;
}

/* Attaches a feed to a guest's ring. Under the feed's lock, or before it is published. */
static void feed_begin(struct guest_feed *f, const struct rs_guest *g, uint32_t vcpu,
		       const struct rs_host_ring *ring)
{
	free(f->feed.name);
	if (asprintf(&f->feed.name, "guest '%s', vCPU %u", ring->stream->vm, vcpu) < 0)
		f->feed.name = NULL;
	f->feed.drain = ring->drain;
	f->feed.poll = g->poll;
	f->feed.done = false;
}

/* Resumes a stream of the class for a vCPU. *feed stays NULL if no stream can be resumed. */
static struct rs_error *feed_resume(struct rs_guest *g, uint32_t vcpu,
				    const struct rs_host_ring *ring, struct rs_guest_class *class,
				    struct guest_feed **feed)
{
	const struct rs_owner owner = { .vm = ring->stream->vm,
					.vcpu = ring->stream->vcpu,
					.tid = ring->stream->tid,
					.from = g->from };
	struct guest_feed *f = feed_resting(class, g->from);
	struct rs_error *err;

	if (!f)
		return NULL;
	pthread_mutex_lock(&f->feed.lock);
	err = rs_store_resume_stream(f->feed.out, &owner);
	if (!err) {
		ring->drain->last_tsc = g->from;
		feed_begin(f, g, vcpu, ring);
		*feed = f;
	}
	pthread_mutex_unlock(&f->feed.lock);
	if (err)
		feed_rest(f);
	return err;
}

/* Makes the feed of a ring. Under guests_lock and the guest's lock. */
static struct rs_error *feed_add(struct rs_recorder *r, struct rs_guest *g, uint32_t vcpu,
				 const struct rs_host_ring *ring)
{
	struct rs_stream stream = *ring->stream;
	struct guest_feed *f = NULL;
	struct rs_guest_class *class;
	struct rs_error *err;

	/* An exact offset converts the guest's stamps to the host's. */
	if (!stream.clock->error_cycles && stream.clock->invariant == r->clock.invariant) {
		ring->drain->shift = 0 - (uint64_t)stream.clock->offset;
		ring->drain->clock = stream.clock = &r->clock;
	}
	err = class_of(r, stream.clock, ring->schema, &class);
	if (!err && stream.clock == &r->clock)
		err = feed_resume(g, vcpu, ring, class, &f);
	if (!err && !f) {
		err = rs_feed_create(r, sizeof(*f), class->class_index, &stream, &f);
		if (!err) {
			f->class = class;
			feed_begin(f, g, vcpu, ring);
			rs_feed_publish(&f->feed);
		}
	}
	if (err)
		return err;
	/* Pairs with the acquire in feed_find(). */
	__atomic_store_n(&g->vcpus[vcpu].feed, f, __ATOMIC_RELEASE);
	return NULL;
}

/* Sets *feed to a vCPU's feed, or to NULL if the vCPU has no ring. Creates the feed when the ring
 * has just been found. Returns each error once. */
static struct rs_error *feed_find(struct rs_recorder *r, struct rs_guest *g, uint32_t vcpu,
				  bool locked, struct guest_feed **feed)
{
	struct guest_vcpu *v = &g->vcpus[vcpu];
	struct rs_host_ring ring;
	struct rs_error *err;

	/* Pairs with the release in feed_add(). */
	*feed = __atomic_load_n(&v->feed, __ATOMIC_ACQUIRE);
	if (*feed)
		return NULL;
	err = rs_host_ring_poll(g->host, vcpu, &ring);
	if (err || !ring.drain)
		return err;
	if (!locked)
		pthread_mutex_lock(&r->guests_lock);
	pthread_mutex_lock(&g->lock);
	if (!v->feed && !v->failed) {
		err = rs_error_wrap(feed_add(r, g, vcpu, &ring), "vCPU %u", vcpu);
		v->failed = err != NULL;
	}
	*feed = v->feed;
	pthread_mutex_unlock(&g->lock);
	if (!locked)
		pthread_mutex_unlock(&r->guests_lock);
	return err;
}

struct rs_error *rs_recorder_drain_guest(struct rs_recorder *r, const struct rs_host_guest *host,
					 uint32_t vcpu)
{
	struct rs_guest *g = rs_host_guest_owner(host);
	struct guest_feed *f;
	struct rs_error *err;
	uint64_t drained;

	if (!g || g->recorder != r)
		return rs_error_create(RS_USAGE,
				       "vCPU %u: this recorder does not collect its guest", vcpu);
	err = feed_find(r, g, vcpu, false, &f);
	if (err || !f)
		return err;
	pthread_mutex_lock(&f->feed.lock);
	err = rs_feed_drain(&f->feed, NULL, &drained);
	pthread_mutex_unlock(&f->feed.lock);
	rs_store_write(f->feed.out);
	if (err)
		rs_store_note(r->store, err);
	return err;
}

/* ---- guests ------------------------------------------------------------------------------- */

static void guest_free(struct rs_guest *g)
{
	pthread_mutex_destroy(&g->lock);
	free(g);
}

struct rs_error *rs_recorder_add_guest(struct rs_recorder *r, struct rs_host_guest *host, bool poll)
{
	struct rs_guest *g = calloc(1, sizeof(*g));
	struct rs_error *err;

	if (!g)
		return rs_error_no_memory();
	*g = (struct rs_guest){
		.recorder = r, .host = host, .poll = poll, .from = rs_clock_now(&r->clock)
	};
	pthread_mutex_init(&g->lock, NULL);
	pthread_mutex_lock(&r->guests_lock);
	err = rs_host_guest_claim(host, g);
	if (!err) {
		g->next = r->guests;
		r->guests = g;
	}
	pthread_mutex_unlock(&r->guests_lock);
	if (err)
		guest_free(g);
	return err;
}

/* Drains a vCPU's ring for the last time. Under guests_lock. */
static struct rs_error *vcpu_end(struct rs_recorder *r, struct rs_guest *g, uint32_t vcpu)
{
	struct guest_feed *f;
	struct rs_error *err = feed_find(r, g, vcpu, true, &f);

	if (err || !f)
		return err;
	pthread_mutex_lock(&f->feed.lock);
	err = rs_feed_finish(&f->feed);
	f->last_tsc = f->feed.drain->last_tsc;
	f->feed.drain = NULL;
	f->feed.poll = false;
	pthread_mutex_unlock(&f->feed.lock);
	rs_store_write(f->feed.out);
	feed_rest(f);
	return err;
}

/* Counts a guest that never had a ring. Returns an error if its area was announced. */
static struct rs_error *guest_silent(struct rs_recorder *r, struct rs_guest *g)
{
	if (!rs_host_guest_found(g->host))
		r->silent_guests++;
	return rs_host_guest_check(g->host);
}

struct rs_error *rs_recorder_remove_guest(struct rs_recorder *r, struct rs_host_guest *host)
{
	struct rs_guest *g = rs_host_guest_owner(host), **at = &r->guests;
	struct rs_error *err = NULL;

	if (!g || g->recorder != r)
		return rs_error_create(RS_USAGE, "this recorder does not collect this guest");
	pthread_mutex_lock(&r->guests_lock);
	for (uint32_t i = 0; i < rs_host_guest_vcpus(host); i++)
		err = rs_error_first(err, vcpu_end(r, g, i));
	err = rs_error_first(err, guest_silent(r, g));
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	rs_host_guest_set_owner(host, NULL);
	classes_keep_schema(r, host);
	pthread_mutex_unlock(&r->guests_lock);
	guest_free(g);
	if (err)
		rs_store_note(r->store, err);
	return err;
}

void rs_guests_poll(struct rs_recorder *r)
{
	pthread_mutex_lock(&r->guests_lock);
	for (struct rs_guest *g = r->guests; g; g = g->next) {
		uint32_t n = g->poll ? rs_host_guest_vcpus(g->host) : 0;
		struct guest_feed *f;

		for (uint32_t i = 0; i < n; i++)
			rs_recorder_keep_error(r, feed_find(r, g, i, true, &f));
	}
	pthread_mutex_unlock(&r->guests_lock);
}

uint64_t rs_guests_end(struct rs_recorder *r)
{
	pthread_mutex_lock(&r->guests_lock);
	for (struct rs_guest *g = r->guests; g; g = g->next)
		rs_recorder_keep_error(r, guest_silent(r, g));
	pthread_mutex_unlock(&r->guests_lock);
	return r->silent_guests;
}

void rs_guests_free(struct rs_recorder *r)
{
	struct rs_guest_class *c, *next_class;
	struct rs_guest *g, *next;

	for (g = r->guests; g; g = next) {
		next = g->next;
		rs_host_guest_set_owner(g->host, NULL);
		guest_free(g);
	}
	for (c = r->guest_classes; c; c = next_class) {
		next_class = c->next;
		if (c->own_schema)
			rs_schema_destroy(c->schema);
		free(c);
	}
	pthread_mutex_destroy(&r->guests_lock);
}
