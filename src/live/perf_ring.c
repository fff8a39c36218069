/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the samples of one perf ring buffer in time order. */
#include "live/perf_ring.h"

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

/* PERF_RECORD_COMM, before the name */
struct naming {
	uint32_t pid, tid;
};

/* PERF_RECORD_FORK, PERF_RECORD_EXIT */
struct task {
	uint32_t pid, parent_pid, tid, parent_tid;
	uint64_t time;
};
_Static_assert(sizeof(struct task) == 24, "perf_event_open(2)");

/* The records that rs_perf_ring_next() returns, with the least bytes of each. Linux's
 * include/uapi/linux/perf_event.h, enum perf_event_type, has their layouts. */
static const struct kind {
	uint32_t type, bytes_min;
	enum rs_perf_kind kind;
} kinds[] = {
	{ PERF_RECORD_SAMPLE, SAMPLE_BYTES, RS_PERF_SAMPLE },
	{ PERF_RECORD_LOST, LOST_BYTES, RS_PERF_LOST },
	{ PERF_RECORD_COMM, SAMPLE_AT + sizeof(struct naming) + 8 + sizeof(struct identity),
	  RS_PERF_RENAMED },
	{ PERF_RECORD_FORK, SAMPLE_AT + sizeof(struct task) + sizeof(struct identity),
	  RS_PERF_FORKED },
	{ PERF_RECORD_EXIT, SAMPLE_AT + sizeof(struct task) + sizeof(struct identity),
	  RS_PERF_EXITED },
};

/* Returns a type's kind, or NULL if records of the type are skipped. */
static const struct kind *kind_of(uint32_t type)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].type == type)
			return &kinds[i];
	}
	return NULL;
}

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

/* Copies bytes of the ring, which may wrap around its end. */
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

/* Releases the records before all pending ones to the kernel. */
static void room_release(struct rs_perf_ring *ring)
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

/* Checks the header of a record, of which `left` bytes are in the ring. Sets *kind, to NULL for a
 * record that is skipped, and *time_at, the place of its time. Returns false if the header
 * contradicts these. */
static bool is_sound(const struct perf_event_header *header, uint64_t left, uint64_t *time_at,
		     const struct kind **of_type)
{
	const struct kind *kind = kind_of(header->type);

	*of_type = kind;
	if (header->size < sizeof(*header) || header->size % 8 || header->size > left)
		return false;
	*time_at = header->type == PERF_RECORD_SAMPLE ? SAMPLE_AT + offsetof(struct identity, time)
						      : header->size - sizeof(uint64_t);
	return !kind || header->size >= kind->bytes_min;
}

bool rs_perf_ring_poll(struct rs_perf_ring *ring)
{
	struct perf_event_mmap_page *page = ring->page;
	uint64_t head;

	room_release(ring);
	/* Pairs with the kernel's store of data_head, perf_output_put_handle(). */
	head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	if (head - ring->seen > ring->size) { /* a kernel never does this */
		ring->seen = head;
		ring->damaged++;
	}
	while (ring->seen != head && ring->n < RS_PERF_IN_HAND) {
		struct perf_event_header header;
		struct rs_perf_place place = { .at = ring->seen };
		const struct kind *kind;
		uint64_t time_at;

		copy(ring, ring->seen, &header, sizeof(header));
		if (head - ring->seen < sizeof(header) ||
		    !is_sound(&header, head - ring->seen, &time_at, &kind)) {
			ring->seen = head; /* the start of the next record is unknown */
			ring->damaged++;
			break;
		}
		place.bytes = header.size;
		copy(ring, ring->seen + time_at, &place.time, sizeof(place.time));
		place.kind = kind ? kind->kind : RS_PERF_SAMPLE;
		if (kind)
			place_add(ring, &place);
		ring->seen += header.size;
	}
	return ring->seen == head;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Returns a record's bytes in one piece. */
static const uint8_t *whole(struct rs_perf_ring *ring, const struct rs_perf_place *place)
{
	uint64_t offset = place->at & (ring->size - 1);

	if (place->bytes <= ring->size - offset)
		return ring->data + offset;
	copy(ring, place->at, ring->record, place->bytes);
	return ring->record;
}

static void sample_read(const uint8_t *at, uint32_t size, struct rs_perf_record *record)
{
	struct identity identity;
	uint32_t bytes, room = size - (uint32_t)SAMPLE_BYTES;

	memcpy(&identity, at + SAMPLE_AT, sizeof(identity));
	memcpy(&bytes, at + SAMPLE_AT + sizeof(identity), sizeof(bytes));
	record->pid = identity.pid;
	record->tid = identity.tid;
	record->raw = at + SAMPLE_BYTES;
	/* A record that claims more bytes than it has is cut to its size; the missing fields are
	 * absent. */
	record->bytes = bytes < room ? bytes : room;
}

static void lost_read(const uint8_t *at, uint32_t size, struct rs_perf_record *record)
{
	struct loss loss;

	(void)size;
	memcpy(&loss, at + SAMPLE_AT, sizeof(loss));
	record->lost = loss.lost ? loss.lost : 1;
}

static void naming_read(const uint8_t *at, uint32_t size, struct rs_perf_record *record)
{
	struct naming naming;

	memcpy(&naming, at + SAMPLE_AT, sizeof(naming));
	record->pid = naming.pid;
	record->tid = naming.tid;
	record->raw = at + SAMPLE_AT + sizeof(naming);
	record->bytes = size - (uint32_t)(SAMPLE_AT + sizeof(naming) + sizeof(struct identity));
}

static void task_read(const uint8_t *at, uint32_t size, struct rs_perf_record *record)
{
	struct task task;

	(void)size;
	memcpy(&task, at + SAMPLE_AT, sizeof(task));
	record->pid = task.pid;
	record->tid = task.tid;
	record->parent_tid = task.parent_tid;
}

bool rs_perf_ring_next(struct rs_perf_ring *ring, uint64_t until, struct rs_perf_record *record)
{
	static void (*const read[])(const uint8_t *at, uint32_t size,
				    struct rs_perf_record *record) = {
		[RS_PERF_SAMPLE] = sample_read,	 [RS_PERF_LOST] = lost_read,
		[RS_PERF_RENAMED] = naming_read, [RS_PERF_FORKED] = task_read,
		[RS_PERF_EXITED] = task_read,
	};
	const struct rs_perf_place *place = &ring->places[ring->first];

	if (ring->first == ring->n || place->time > until)
		return false;
	ring->first++;
	*record = (struct rs_perf_record){ .kind = place->kind, .time = place->time };
	read[place->kind](whole(ring, place), place->bytes, record);
	return true;
}
