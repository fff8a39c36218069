/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes finished packets from a queue, behind the drain. */
#include "store/behind.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Spare packets to keep when no filler waits, unless all packets were allocated ahead. */
#define SPARES_MAX 4

struct rs_behind {
	uint32_t packets, spares_max;
	void (*write)(struct rs_store_packet *packet);
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t written;
	struct rs_store_packet *oldest, **newest;
	struct rs_store_packet *spare;
	uint32_t n_spare;
	uint32_t n;	   /* all packets: waiting, being written, spare */
	uint32_t n_oldest; /* waiting */
	uint32_t fillers;  /* number of fillers that wait for an empty packet */
	bool writing;	   /* a thread is writing */
};

static struct rs_store_packet *empty(struct rs_store_packet *packet, struct rs_store_stream *stream)
{
	packet->next = NULL;
	packet->stream = stream;
	packet->what = (struct rs_drained){ 0 };
	packet->last = false;
	return packet;
}

struct rs_store_packet *rs_store_packet_create(struct rs_store_stream *stream)
{
	struct rs_store_packet *packet = malloc(sizeof(*packet));

	return packet ? empty(packet, stream) : NULL;
}

/* ---- under the lock ----------------------------------------------------------------------- */

static void hand_over(struct rs_behind *b, struct rs_store_packet *packet)
{
	packet->next = NULL;
	*b->newest = packet;
	b->newest = &packet->next;
	b->n_oldest++;
	b->n++;
}

static void put_spare(struct rs_behind *b, struct rs_store_packet *packet)
{
	if (b->n_spare >= b->spares_max && !b->fillers) {
		b->n--;
		free(packet);
		return;
	}
	packet->next = b->spare;
	b->spare = packet;
	b->n_spare++;
}

/* Writes the oldest packet, without the lock. Fillers that wait then find a spare packet; if no
 * other thread writes, they write packets themselves. */
static void write_one(struct rs_behind *b)
{
	struct rs_store_packet *packet = b->oldest;

	b->oldest = packet->next;
	if (!b->oldest)
		b->newest = &b->oldest;
	b->n_oldest--;
	b->writing = true;
	pthread_mutex_unlock(&b->lock);
	b->write(packet);
	pthread_mutex_lock(&b->lock);
	b->writing = false;
	put_spare(b, packet);
	if (b->fillers)
		pthread_cond_broadcast(&b->written);
}

/*
 * Returns an empty packet. At the limit, or without memory, waits until a queued packet is written.
 * The queue has one, because the caller has just added its own packet.
 */
static struct rs_store_packet *get_empty(struct rs_behind *b, struct rs_store_stream *stream)
{
	struct rs_store_packet *packet;

	if (!b->spare && b->n < b->packets) {
		packet = rs_store_packet_create(stream);
		if (packet)
			return packet;
	}
	b->fillers++;
	while (!b->spare) {
		if (b->writing || !b->oldest)
			pthread_cond_wait(&b->written, &b->lock);
		else
			write_one(b);
	}
	b->fillers--;
	packet = b->spare;
	b->spare = packet->next;
	b->n_spare--;
	b->n--;
	return empty(packet, stream);
}

/* ------------------------------------------------------------------------------------------- */

static bool make_ahead(struct rs_behind *b)
{
	while (b->n < b->packets) {
		struct rs_store_packet *packet = rs_store_packet_create(NULL);

		if (!packet)
			return false;
		/* touches each page, so that the kernel maps it now */
		memset(packet->content, 0, sizeof(packet->content));
		b->n++;
		put_spare(b, packet);
	}
	return true;
}

struct rs_behind *rs_behind_create(uint32_t packets, bool ahead,
				   void (*write)(struct rs_store_packet *packet))
{
	struct rs_behind *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->packets = packets;
	b->spares_max = ahead ? packets : SPARES_MAX;
	b->write = write;
	b->newest = &b->oldest;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->written, NULL);
	if (!ahead || make_ahead(b))
		return b;
	rs_behind_destroy(b);
	return NULL;
}

struct rs_store_packet *rs_behind_swap(struct rs_behind *b, struct rs_store_packet *packet)
{
	struct rs_store_stream *stream = packet->stream;

	pthread_mutex_lock(&b->lock);
	hand_over(b, packet);
	packet = get_empty(b, stream);
	pthread_mutex_unlock(&b->lock);
	return packet;
}

void rs_behind_end(struct rs_behind *b, struct rs_store_packet *packet)
{
	packet->last = true;
	pthread_mutex_lock(&b->lock);
	hand_over(b, packet);
	pthread_mutex_unlock(&b->lock);
}

bool rs_behind_waits(struct rs_behind *b)
{
	bool waits;

	pthread_mutex_lock(&b->lock);
	waits = b->oldest && !b->writing;
	pthread_mutex_unlock(&b->lock);
	return waits;
}

/* Writes only the packets that wait now, not those added meanwhile, because a filler that writes
 * must get back to its ring. */
void rs_behind_write(struct rs_behind *b)
{
	pthread_mutex_lock(&b->lock);
	for (uint32_t n = b->n_oldest; n && b->oldest && !b->writing; n--)
		write_one(b);
	pthread_mutex_unlock(&b->lock);
}

void rs_behind_destroy(struct rs_behind *b)
{
	if (!b)
		return;
	rs_behind_write(b);
	while (b->spare) {
		struct rs_store_packet *packet = b->spare;

		b->spare = packet->next;
		free(packet);
	}
	pthread_cond_destroy(&b->written);
	pthread_mutex_destroy(&b->lock);
	free(b);
}
