/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a recorder's file of rings. */
#include "store/ring_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/shared.h"
#include <ringside/record.h>
#include <ringside/sbuf.h>

/* An interrupted put may have written beyond the published end. */
#define UNDER_WAY (4 * RS_RECORD_SLOTS_MAX * RS_SLOT_BYTES)

bool rs_ring_file_read(const struct rs_ring_file *f, uint64_t at, void *to, size_t bytes)
{
	return at <= f->bytes && bytes <= f->bytes - at &&
	       pread(f->fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

bool rs_ring_file_open(int fd, struct rs_ring_file *f)
{
	const uint64_t least = sizeof(struct rs_survive_place) + sizeof(struct rs_survive_progress);
	struct rs_survive_head *head = &f->head;
	struct stat st;

	*f = (struct rs_ring_file){ .fd = fd };
	if (fstat(fd, &st))
		return false;
	f->bytes = (uint64_t)st.st_size;
	return rs_ring_file_read(f, 0, head, sizeof(*head)) && head->magic == RS_SURVIVE_MAGIC &&
	       head->definition_bytes <= RS_SHARED_BYTES_MAX && !(head->definition_bytes % 8) &&
	       head->defined_bytes <= head->definition_bytes &&
	       head->places <= RS_SURVIVE_PLACES_MAX && !(head->place_bytes % 64) &&
	       (!head->places ||
		(head->place_bytes >= least && head->place_bytes <= RS_SHARED_BYTES_MAX));
}

void rs_ring_file_close(struct rs_ring_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

bool rs_ring_file_trace(const struct rs_ring_file *f, char path[PATH_MAX])
{
	uint32_t bytes = f->head.path_bytes;

	if (!bytes || bytes >= PATH_MAX || bytes > f->head.definition_bytes ||
	    !rs_ring_file_read(f, sizeof(f->head) + f->head.definition_bytes - bytes, path, bytes))
		return false;
	path[bytes] = 0;
	return strlen(path) == bytes && path[0] == '/';
}

static uint64_t place_at(const struct rs_ring_file *f, uint32_t place)
{
	return sizeof(f->head) + f->head.definition_bytes + (uint64_t)place * f->head.place_bytes;
}

bool rs_ring_file_place(const struct rs_ring_file *f, uint32_t i, struct rs_survive_place *place,
			struct rs_survive_progress *progress)
{
	uint64_t at = place_at(f, i);

	return rs_ring_file_read(f, at, place, sizeof(*place)) && place->used == 1 &&
	       rs_ring_file_read(f, at + sizeof(*place), progress, sizeof(*progress));
}

bool rs_ring_file_copy(const struct rs_ring_file *f, uint32_t i, struct rs_ring_copy *ring,
		       struct rs_error **err)
{
	struct rs_survive_place place;
	uint64_t at = place_at(f, i);
	struct rs_sbuf head;

	*ring = (struct rs_ring_copy){ 0 };
	if (!rs_ring_file_place(f, i, &place, &ring->progress) || place.ring_at % 64 ||
	    place.ring_at < sizeof(place) + sizeof(ring->progress) ||
	    place.ring_at >= f->head.place_bytes || f->head.place_bytes > f->bytes - at)
		return false;
	ring->bytes = f->head.place_bytes - place.ring_at;
	ring->mem = malloc(ring->bytes);
	if (!ring->mem) {
		*err = rs_error_no_memory();
		return false;
	}
	ring->now = ring->progress.now[ring->progress.current & 1];
	if (ring->now.position % RS_SLOT_BYTES ||
	    !rs_ring_file_read(f, at + place.ring_at, ring->mem, ring->bytes) ||
	    !rs_sbuf_header_read((void *)ring->mem, ring->bytes, &head) ||
	    rs_sbuf_check(&head, ring->bytes) != RS_SBUF_OK || head.ele_size != RS_SLOT_BYTES) {
		free(ring->mem);
		ring->mem = NULL;
		return false;
	}
	ring->size = head.size;
	ring->tail = head.tail;
	ring->end = ring->now.position +
		    (ring->tail + ring->size - ring->now.position % ring->size) % ring->size;
	return true;
}

/* Returns whether what follows a mark is still in the ring. */
static bool is_intact(const struct rs_ring_copy *ring, const struct rs_survive_mark *mark)
{
	return mark->position <= ring->now.position && mark->position % RS_SLOT_BYTES == 0 &&
	       ring->end - mark->position + UNDER_WAY <= ring->size;
}

struct rs_survive_mark rs_ring_copy_start(const struct rs_ring_copy *ring, uint64_t accounted)
{
	struct rs_survive_mark best = ring->now;

	for (uint32_t i = 0; i < RS_SURVIVE_MARKS; i++) {
		const struct rs_survive_mark *mark = &ring->progress.mark[i];
		bool before = mark->accounted <= accounted;
		bool best_before = best.accounted <= accounted;

		if (i >= ring->progress.n_marks || !is_intact(ring, mark))
			continue;
		if (before ? !best_before || mark->position > best.position
			   : !best_before && mark->position < best.position)
			best = *mark;
	}
	return best;
}

uint64_t rs_ring_copy_waiting(const struct rs_ring_copy *ring)
{
	const struct rs_survive_progress *progress = &ring->progress;
	const struct rs_survive_mark *last = NULL;
	uint64_t position = ring->now.position, n = 0;
	const uint8_t *data = ring->mem + sizeof(struct rs_sbuf);

	if (progress->n_marks)
		last = &progress->mark[(progress->n_marks - 1) % RS_SURVIVE_MARKS];
	if (last && is_intact(ring, last))
		position = last->position;
	for (uint32_t at = (uint32_t)(position % ring->size); at != ring->tail;) {
		const struct rs_slot *slot = (const void *)(data + at);
		uint32_t slots = rs_slot_count(slot->head);
		uint32_t left = (ring->tail > at ? ring->tail : ring->size) - at;
		uint64_t id = rs_slot_id(slot->head);

		if (!slots || slots * RS_SLOT_BYTES > left) /* not a record */
			break;
		n += id != RS_ID_FILLER && id != RS_ID_LOST;
		at += slots * RS_SLOT_BYTES;
		if (at == ring->size)
			at = 0;
	}
	return n;
}
