/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the newest packets in memory for a flight recorder. */
#include "store/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/now.h"

void rs_keep_init(struct rs_keep *keep, const struct rs_store_keep *limits)
{
	*keep = (struct rs_keep){ .limits = *limits,
				  .newest = &keep->oldest,
				  .dropped_to_ns = INT64_MIN,
				  .squeezed_out_ns = INT64_MIN };
	pthread_mutex_init(&keep->lock, NULL);
}

static uint64_t bytes_of(const struct rs_kept_packet *packet)
{
	return sizeof(*packet) + packet->what.bytes;
}

struct rs_kept_owner *rs_kept_owner_create(const struct rs_owner *owner)
{
	struct rs_kept_owner *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return NULL;
	kept->refs = 1;
	kept->owner = *owner;
	snprintf(kept->vm, sizeof(kept->vm), "%s", owner->vm ? owner->vm : "");
	snprintf(kept->thread, sizeof(kept->thread), "%s", owner->thread ? owner->thread : "");
	kept->owner.vm = owner->vm ? kept->vm : NULL;
	kept->owner.thread = owner->thread ? kept->thread : NULL;
	return kept;
}

struct rs_kept_owner *rs_kept_owner_get(struct rs_kept_owner *owner)
{
	if (owner)
		__atomic_fetch_add(&owner->refs, 1, __ATOMIC_RELAXED);
	return owner;
}

void rs_kept_owner_put(struct rs_kept_owner *owner)
{
	/* Pairs with the other holders' release, after which they no longer read it. */
	if (owner && __atomic_fetch_sub(&owner->refs, 1, __ATOMIC_ACQ_REL) == 1)
		free(owner);
}

static void unref(struct rs_kept_packet *packet)
{
	if (--packet->refs)
		return;
	rs_kept_owner_put(packet->owner);
	free(packet);
}

/* Removes the oldest packet, and advances *to_ns to its end. The caller holds the lock. */
static void drop(struct rs_keep *keep, int64_t *to_ns)
{
	struct rs_kept_packet *packet = keep->oldest;

	keep->oldest = packet->next;
	if (!keep->oldest)
		keep->newest = &keep->oldest;
	keep->n--;
	keep->bytes -= bytes_of(packet);
	if (packet->end_ns > *to_ns)
		*to_ns = packet->end_ns;
	unref(packet);
}

static void expire(struct rs_keep *keep, uint64_t now)
{
	while (keep->oldest && now - keep->oldest->at_ns > keep->limits.age_ns)
		drop(keep, &keep->dropped_to_ns);
	/* never removes the newest packet */
	while (keep->n > 1 && keep->bytes > keep->limits.bytes)
		drop(keep, &keep->squeezed_out_ns);
}

void rs_keep_deinit(struct rs_keep *keep)
{
	int64_t ignored = 0;

	while (keep->oldest)
		drop(keep, &ignored);
	pthread_mutex_destroy(&keep->lock);
}

bool rs_keep_add(struct rs_keep *keep, uint32_t stream, struct rs_kept_owner *owner,
		 const struct rs_drained *what, const void *content, int64_t end_ns)
{
	struct rs_kept_packet *packet = malloc(sizeof(*packet) + what->bytes);

	if (!packet)
		return false;
	*packet = (struct rs_kept_packet){
		.refs = 1,
		.stream = stream,
		.end_ns = end_ns,
		.owner = rs_kept_owner_get(owner),
		.what = *what,
	};
	memcpy(packet->content, content, what->bytes);
	pthread_mutex_lock(&keep->lock);
	packet->at_ns = rs_now_ns(CLOCK_MONOTONIC);
	*keep->newest = packet;
	keep->newest = &packet->next;
	keep->n++;
	keep->bytes += bytes_of(packet);
	expire(keep, packet->at_ns);
	pthread_mutex_unlock(&keep->lock);
	return true;
}

bool rs_keep_hold(struct rs_keep *keep, struct rs_kept *kept)
{
	struct rs_kept_packet *packet;

	*kept = (struct rs_kept){ 0 };
	pthread_mutex_lock(&keep->lock);
	expire(keep, rs_now_ns(CLOCK_MONOTONIC));
	kept->packets = calloc(keep->n ? keep->n : 1, sizeof(packet));
	for (packet = keep->oldest; kept->packets && packet; packet = packet->next) {
		packet->refs++;
		kept->packets[kept->n++] = packet;
	}
	kept->dropped_to_ns = keep->dropped_to_ns;
	kept->squeezed_out_ns = keep->squeezed_out_ns;
	pthread_mutex_unlock(&keep->lock);
	return kept->packets != NULL;
}

void rs_keep_release(struct rs_keep *keep, struct rs_kept *kept)
{
	pthread_mutex_lock(&keep->lock);
	for (uint32_t i = 0; i < kept->n; i++)
		unref(kept->packets[i]);
	pthread_mutex_unlock(&keep->lock);
	free(kept->packets);
	*kept = (struct rs_kept){ 0 };
}
