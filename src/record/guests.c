/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's part for guests: finds the rings of a guest's vCPUs (host/guest.h) and makes a
 * feed for each. For a guest that is polled, a recorder's thread does this; for a guest that is
 * drained at its exits, the VMM's own threads do.
 */
#include <stdio.h>
#include <stdlib.h>

#include "host/guest.h"
#include "record/inside.h"

struct guest_vcpu {
	/* NULL until there is a ring. Stored with release under the guest's lock */
	struct rs_feed *feed;
	uint32_t class_index;
	bool failed; /* no feed could be made for its ring; under the lock */
};

/* A guest whose rings are collected. */
struct rs_guest {
	struct rs_guest *next;
	struct rs_host_guest *host;
	bool poll;
	pthread_mutex_t lock; /* held while feeds are made */
	struct guest_vcpu vcpus[RS_GUEST_VCPUS_MAX];
};

/* Finds or adds the class of a vCPU's stream. Each clock of the guest has one class. */
static struct rs_error *class_of(struct rs_recorder *r, struct rs_guest *g, uint32_t vcpu,
				 const struct rs_stream *stream, struct rs_schema *schema)
{
	uint32_t *class_index = &g->vcpus[vcpu].class_index;

	for (uint32_t i = 0; i < RS_GUEST_VCPUS_MAX; i++) {
		const struct rs_feed *feed = g->vcpus[i].feed;

		if (feed && feed->drain->clock->id == stream->clock->id) {
			*class_index = g->vcpus[i].class_index;
			return NULL;
		}
	}
	return rs_store_add_class(r->store, schema, stream->clock, class_index);
}

/* Makes the feed of a ring. Under the guest's lock. */
static struct rs_error *feed_add(struct rs_recorder *r, struct rs_guest *g, uint32_t vcpu,
				 const struct rs_host_ring *ring)
{
	struct rs_error *err = class_of(r, g, vcpu, ring->stream, ring->schema);
	struct rs_feed *feed = NULL;

	if (!err)
		err = rs_feed_create(r, sizeof(*feed), g->vcpus[vcpu].class_index, ring->stream,
				     &feed);
	if (err)
		return err;
	if (asprintf(&feed->name, "guest '%s', vCPU %u", ring->stream->vm, vcpu) < 0)
		feed->name = NULL;
	feed->drain = ring->drain;
	feed->poll = g->poll;
	rs_feed_publish(feed);
	/* Pairs with the acquire in feed_find(). */
	__atomic_store_n(&g->vcpus[vcpu].feed, feed, __ATOMIC_RELEASE);
	return NULL;
}

/* Returns a vCPU's feed in *feed, or NULL if there is no ring. Makes the feed when the ring has
 * just been found. Returns each error once. */
static struct rs_error *feed_find(struct rs_recorder *r, struct rs_guest *g, uint32_t vcpu,
				  struct rs_feed **feed)
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
	pthread_mutex_lock(&g->lock);
	if (!v->feed && !v->failed) {
		err = rs_error_wrap(feed_add(r, g, vcpu, &ring), "vCPU %u", vcpu);
		v->failed = err != NULL;
	}
	*feed = v->feed;
	pthread_mutex_unlock(&g->lock);
	return err;
}

static struct rs_guest *guest_find(struct rs_recorder *r, const struct rs_host_guest *host)
{
	/* Pairs with the release in rs_recorder_add_guest(). */
	struct rs_guest *g = __atomic_load_n(&r->guests, __ATOMIC_ACQUIRE);

	while (g && g->host != host)
		g = g->next;
	return g;
}

struct rs_error *rs_recorder_drain_guest(struct rs_recorder *r, const struct rs_host_guest *host,
					 uint32_t vcpu)
{
	struct rs_guest *g = guest_find(r, host);
	struct rs_feed *feed;
	struct rs_error *err;
	uint64_t drained;

	if (!g)
		return rs_error_create(RS_USAGE,
				       "vCPU %u: this recorder does not collect its guest", vcpu);
	err = feed_find(r, g, vcpu, &feed);
	if (err || !feed)
		return err;
	pthread_mutex_lock(&feed->lock);
	err = rs_feed_drain(feed, NULL, &drained);
	pthread_mutex_unlock(&feed->lock);
	rs_store_write(feed->out);
	if (err)
		rs_store_note(r->store, err);
	return err;
}

struct rs_error *rs_recorder_add_guest(struct rs_recorder *r, struct rs_host_guest *host, bool poll)
{
	struct rs_guest *g = calloc(1, sizeof(*g));
	struct rs_error *err;

	if (!g)
		return rs_error_no_memory();
	err = rs_host_guest_claim(host);
	if (err) {
		free(g);
		return err;
	}
	g->host = host;
	g->poll = poll;
	pthread_mutex_init(&g->lock, NULL);
	pthread_mutex_lock(&r->lock);
	g->next = r->guests;
	/* Pairs with the acquires in guest_find() and rs_guests_poll(). */
	__atomic_store_n(&r->guests, g, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

void rs_guests_poll(struct rs_recorder *r)
{
	for (struct rs_guest *g = __atomic_load_n(&r->guests, __ATOMIC_ACQUIRE); g; g = g->next) {
		uint32_t n = g->poll ? rs_host_guest_vcpus(g->host) : 0;
		struct rs_feed *feed;

		for (uint32_t i = 0; i < n; i++)
			rs_recorder_keep_error(r, feed_find(r, g, i, &feed));
	}
}

void rs_guests_free(struct rs_recorder *r)
{
	struct rs_guest *g, *next;

	for (g = r->guests; g; g = next) {
		next = g->next;
		pthread_mutex_destroy(&g->lock);
		free(g);
	}
}
