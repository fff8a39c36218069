/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/perf_ring.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_MAX   (1u << 16) /* perf_event_header.size has 16 bits */
#define SAMPLE_AT    sizeof(struct perf_event_header)
#define SAMPLE_BYTES (SAMPLE_AT + sizeof(struct identity) + sizeof(uint32_t))
#define LOST_BYTES   (SAMPLE_AT + sizeof(struct loss) + sizeof(struct identity))

/* PERF_SAMPLE_TID and PERF_SAMPLE_TIME: at a sample's beginning, at another record's end. */
struct identity {
	uint32_t pid, tid;
	uint64_t time;
};
_Static_assert(sizeof(struct identity) == 16, "perf_event_open(2)");

/* PERF_RECORD_LOST */
struct loss {
	uint64_t id, lost;
};

bool rs_perf_ring_init(struct rs_perf_ring *ring, void *page, const uint8_t *data, uint64_t size)
{
	*ring = (struct rs_perf_ring){ .page = page, .data = data, .size = size };
	ring->places = calloc(RS_PERF_IN_HAND, sizeof(*ring->places));
	ring->record = malloc(RECORD_MAX);
	return ring->places && ring->record;
}

void rs_perf_ring_deinit(struct rs_perf_ring *ring)
{
	free(ring->places);
	free(ring->record);
	*ring = (struct rs_perf_ring){ .page = NULL };
}

/* Bytes of the ring, which may come round its end. */
static void copy(const struct rs_perf_ring *ring, uint64_t at, void *to, size_t bytes)
{
	uint64_t offset = at & (ring->size - 1);
	size_t first = bytes < ring->size - offset ? bytes : (size_t)(ring->size - offset);

	memcpy(to, ring->data + offset, first);
	memcpy((uint8_t *)to + first, ring->data, bytes - first);
}

/* ---- listing ------------------------------------------------------------------------------ */

static void place_add(struct rs_perf_ring *ring, const struct rs_perf_place *place)
{
	uint32_t i = ring->n++;

	for (; i && ring->places[i - 1].time > place->time; i--)
		ring->places[i] = ring->places[i - 1];
	ring->places[i] = *place;
}

/* What is done with before all that is in hand, to the kernel. */
static void give_back(struct rs_perf_ring *ring)
{
	struct perf_event_mmap_page *page = ring->page;
	uint64_t tail = ring->seen;

	for (uint32_t i = ring->first; i < ring->n; i++) {
		if (ring->places[i].at < tail)
			tail = ring->places[i].at;
	}
	/* Pairs with the kernel's control dependency on data_tail, perf_output_begin(). */
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	ring->n -= ring->first;
	memmove(ring->places, ring->places + ring->first, ring->n * sizeof(*ring->places));
	ring->first = 0;
}

/* Of a record that begins at `at`, of which so many bytes are in the ring: where its time is, and
 * whether it is one that is given. False: it makes no sense. */
static bool is_sound(const struct perf_event_header *header, uint64_t left, uint64_t *time_at,
		     bool *given)
{
	*given = header->type == PERF_RECORD_SAMPLE || header->type == PERF_RECORD_LOST;
	if (header->size < sizeof(*header) || header->size % 8 || header->size > left)
		return false;
	if (header->type == PERF_RECORD_SAMPLE) {
		*time_at = SAMPLE_AT + offsetof(struct identity, time);
		return header->size >= SAMPLE_BYTES;
	}
	*time_at = header->size - sizeof(uint64_t);
	return header->type != PERF_RECORD_LOST || header->size >= LOST_BYTES;
}

bool rs_perf_ring_look(struct rs_perf_ring *ring)
{
	struct perf_event_mmap_page *page = ring->page;
	uint64_t head;

	give_back(ring);
	/* Pairs with the kernel's store of data_head, perf_output_put_handle(). */
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	if (head - ring->seen > ring->size) { /* it never is */
		ring->seen = head;
		ring->damaged++;
	}
	while (ring->seen != head && ring->n < RS_PERF_IN_HAND) {
		struct perf_event_header header;
		struct rs_perf_place place = { .at = ring->seen };
		uint64_t time_at;
		bool given;

		copy(ring, ring->seen, &header, sizeof(header));
		if (head - ring->seen < sizeof(header) ||
		    !is_sound(&header, head - ring->seen, &time_at, &given)) {
			ring->seen = head; /* nobody knows where the next one begins */
			ring->damaged++;
			break;
		}
		place.bytes = header.size;
		copy(ring, ring->seen + time_at, &place.time, sizeof(place.time));
		if (given)
			place_add(ring, &place);
		ring->seen += header.size;
	}
	return ring->seen == head;
}

/* ---- giving ------------------------------------------------------------------------------- */

/* A record's bytes in one piece. */
static const uint8_t *whole(struct rs_perf_ring *ring, const struct rs_perf_place *place)
{
	uint64_t offset = place->at & (ring->size - 1);

	if (place->bytes <= ring->size - offset)
		return ring->data + offset;
	copy(ring, place->at, ring->record, place->bytes);
	return ring->record;
}

bool rs_perf_ring_next(struct rs_perf_ring *ring, uint64_t until, struct rs_perf_record *record)
{
	const struct rs_perf_place *place = &ring->places[ring->first];
	struct perf_event_header header;
	struct identity identity;
	struct loss loss;
	const uint8_t *at;
	uint32_t bytes;

	if (ring->first == ring->n || place->time > until)
		return false;
	ring->first++;
	at = whole(ring, place);
	memcpy(&header, at, sizeof(header));
	*record = (struct rs_perf_record){ .time = place->time };
	if (header.type == PERF_RECORD_LOST) {
		memcpy(&loss, at + SAMPLE_AT, sizeof(loss));
		record->lost = loss.lost ? loss.lost : 1;
		return true;
	}
	memcpy(&identity, at + SAMPLE_AT, sizeof(identity));
	memcpy(&bytes, at + SAMPLE_AT + sizeof(identity), sizeof(bytes));
	record->pid = identity.pid;
	record->tid = identity.tid;
	record->raw = at + SAMPLE_BYTES;
	/* One that says more than it has is as long as it is: its fields are then not there. */
	record->bytes = bytes < place->bytes - (uint32_t)SAMPLE_BYTES
				? bytes
				: place->bytes - (uint32_t)SAMPLE_BYTES;
	return true;
}
