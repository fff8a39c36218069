/* SPDX-License-Identifier: BSD-2-Clause */
/* The port of a ring in the memory of a guest whose VMM does not support Ringside, and the guest's
 * clock. */
#include "host/foreign.h"

#include <string.h>

#include <ringside/arch.h>

/* ---- the guest's clock -------------------------------------------------------------------- */

/* A clock that moves more than 1/100 of the time does not run at the host's rate. */
#define MOVES_LESS_THAN 100

void rs_foreign_init(struct rs_foreign *guest, uint64_t since)
{
	*guest = (struct rs_foreign){ .since = since,
				      .least = INT64_MIN,
				      .most = INT64_MAX,
				      .old_least = INT64_MAX,
				      .old_most = INT64_MIN };
	pthread_mutex_init(&guest->lock, NULL);
}

void rs_foreign_deinit(struct rs_foreign *guest)
{
	pthread_mutex_destroy(&guest->lock);
}

bool rs_foreign_has_left(const struct rs_foreign *guest)
{
	/* Pairs with the release in leave(). */
	return __atomic_load_n(&guest->left, __ATOMIC_ACQUIRE);
}

static void leave(struct rs_foreign *guest)
{
	/* Pairs with the acquire in rs_foreign_has_left(). */
	__atomic_store_n(&guest->left, true, __ATOMIC_RELEASE);
}

static void clock_set(const struct rs_foreign *guest, struct rs_clock *clock)
{
	uint64_t width = (uint64_t)guest->highest - (uint64_t)guest->lowest;

	if (!guest->any)
		return;
	clock->offset = guest->lowest + (int64_t)(width / 2);
	clock->error_cycles = guest->moved > (guest->last - guest->begin) / MOVES_LESS_THAN ||
					      width >= RS_CLOCK_ERROR_UNKNOWN
				      ? RS_CLOCK_ERROR_UNKNOWN
				      : width / 2 + 1;
}

void rs_foreign_clock(struct rs_foreign *guest, struct rs_clock *clock)
{
	pthread_mutex_lock(&guest->lock);
	clock_set(guest, clock);
	pthread_mutex_unlock(&guest->lock);
}

static int64_t lower(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t higher(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Begins new bounds of an offset that has moved by some cycles, and keeps the range of the old. */
static void offset_moves(struct rs_foreign *guest, uint64_t moved)
{
	guest->old_least = lower(guest->old_least, guest->least);
	guest->old_most = higher(guest->old_most, guest->most);
	if (__builtin_add_overflow(guest->moved, moved, &guest->moved))
		guest->moved = UINT64_MAX;
	guest->least = INT64_MIN;
	guest->most = INT64_MAX;
}

/* Adds bounds: a stamp is later than the host's `after`, and earlier than its `before`. */
static void stamp_note(struct rs_foreign_ring *ring, uint64_t stamp, uint64_t after,
		       uint64_t before)
{
	struct rs_foreign *guest = ring->guest;
	int64_t least = (int64_t)(stamp - before), most = (int64_t)(stamp - after);

	pthread_mutex_lock(&guest->lock);
	if (!guest->any)
		guest->begin = guest->last = before;
	guest->any = true;
	if (before > guest->last)
		guest->last = before;
	if (least > guest->most)
		offset_moves(guest, (uint64_t)least - (uint64_t)guest->most);
	else if (most < guest->least)
		offset_moves(guest, (uint64_t)guest->least - (uint64_t)most);
	guest->least = higher(guest->least, least);
	guest->most = lower(guest->most, most);
	guest->lowest = lower(guest->old_least, guest->least);
	guest->highest = higher(guest->old_most, guest->most);
	clock_set(guest, ring->clock);
	pthread_mutex_unlock(&guest->lock);
}

/* ---- the port ----------------------------------------------------------------------------- */

static bool ring_read(const struct rs_foreign_ring *ring, uint64_t offset, void *to, size_t bytes)
{
	return ring->memory->read(ring->memory->ctx, ring->gpa + offset, to, bytes);
}

/* Returns how far an offset is ahead of another one in the ring's order. */
static uint32_t ahead(const struct rs_foreign_ring *ring, uint32_t offset, uint32_t of)
{
	return offset >= of ? offset - of : offset + ring->header.size - of;
}

/* Adds the bounds of the stamp of the record at an offset, if a record begins there. */
static void record_note(struct rs_foreign_ring *ring, uint32_t at, uint64_t after, uint64_t before)
{
	uint64_t words[2]; /* tsc, head */

	if (ring_read(ring, sizeof(struct rs_sbuf) + at, words, sizeof(words)) && words[1] &&
	    rs_slot_id(words[1]) != RS_ID_FILLER && rs_slot_id(words[1]) != RS_ID_LOST)
		stamp_note(ring, words[0], after, before);
}

/* Bounds the guest's clock by a poll that found a tail between two host stamps. */
static void poll_note(struct rs_foreign_ring *ring, uint32_t tail, uint64_t before, uint64_t after)
{
	if (ring->waits && tail != ring->waits_at) {
		record_note(ring, ring->waits_at, ring->waits_after, after);
		ring->waits = false;
	}
	if (ring->first && tail != ring->read) {
		record_note(ring, ring->read, ring->guest->since, after);
		ring->first = false;
	}
	if (tail != ring->tail && ring->polled) {
		ring->waits = true;
		ring->waits_at = tail;
		ring->waits_after = ring->polled;
	}
	ring->tail = tail;
	ring->polled = before;
}

/* Returns whether a header is unchanged since the last write. */
static bool is_same(const struct rs_foreign_ring *ring, const struct rs_sbuf *header)
{
	const struct rs_sbuf *was = &ring->header;

	return header->magic == was->magic && header->ele_num == was->ele_num &&
	       header->ele_size == was->ele_size && header->size == was->size &&
	       header->head == was->head && header->refused >= was->refused &&
	       (header->tail >= was->size ||
		ahead(ring, header->tail, header->head) >= ahead(ring, ring->read, header->head));
}

static bool foreign_poll(void *ctx, uint32_t *tail, uint64_t *refused)
{
	struct rs_foreign_ring *ring = ctx;
	uint64_t before = rs_tsc();
	struct rs_sbuf header, again;

	*tail = ring->read;
	*refused = ring->header.refused;
	if (rs_foreign_has_left(ring->guest))
		return true;
	if (!ring_read(ring, 0, &header, sizeof(header)) || !is_same(ring, &header) ||
	    !ring_read(ring, 0, &again, sizeof(again)) || !is_same(ring, &again)) {
		leave(ring->guest);
		return true;
	}
	/* Pairs with the guest's release of tail: the slots are read after it. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* A tail with some old bytes may be too large. Of two reads, the smaller one is used. */
	*tail = header.tail;
	if (again.tail < ring->header.size &&
	    ahead(ring, again.tail, ring->read) < ahead(ring, header.tail, ring->read))
		*tail = again.tail;
	*refused = ring->header.refused = header.refused;
	if (*tail < ring->header.size)
		poll_note(ring, *tail, before, rs_tsc());
	return true;
}

/* Memory that can no longer be read becomes slots without a record, which the drain counts as
 * lost. */
static bool foreign_copy(void *ctx, uint32_t offset, void *to, uint32_t bytes)
{
	struct rs_foreign_ring *ring = ctx;

	if (rs_foreign_has_left(ring->guest) ||
	    !ring_read(ring, sizeof(struct rs_sbuf) + offset, to, bytes)) {
		leave(ring->guest);
		memset(to, 0, bytes);
	}
	return true;
}

static bool foreign_release(void *ctx, uint32_t head)
{
	struct rs_foreign_ring *ring = ctx;
	const uint32_t shift = 8 * ring->byte, step = UINT32_C(1) << shift;
	const uint32_t rest = ring->header.head & (step - 1);
	/* The last offset that differs from the guest's head in only one byte. */
	uint32_t to = (head >= rest ? head : ring->header.size - 1) - rest;
	struct rs_sbuf header;
	uint8_t byte;

	ring->read = head;
	to = to / step * step + rest;
	if (to == ring->header.head || rs_foreign_has_left(ring->guest))
		return true;
	/* Write nothing to a ring that was restarted, or to memory that is no longer a ring. */
	byte = (uint8_t)(to >> shift);
	if (!ring_read(ring, 0, &header, sizeof(header)) || !is_same(ring, &header) ||
	    !ring->memory->write(ring->memory->ctx,
				 ring->gpa + offsetof(struct rs_sbuf, head) + ring->byte, &byte,
				 sizeof(byte)))
		leave(ring->guest);
	else
		ring->header.head = to;
	return true;
}

bool rs_foreign_ring_init(struct rs_foreign_ring *ring, struct rs_foreign *guest,
			  const struct rs_guest_memory *memory, uint64_t gpa,
			  const struct rs_sbuf *header, struct rs_clock *clock,
			  struct rs_port *port)
{
	uint32_t byte = 1, step;

	/* All heads that are a step apart differ in one byte. */
	while (header->size > UINT64_C(256) << 8 * byte)
		byte++;
	step = UINT32_C(1) << 8 * byte;
	if ((header->head & (step - 1)) + (uint64_t)step >= header->size)
		return false;
	*ring = (struct rs_foreign_ring){ .guest = guest,
					  .memory = memory,
					  .clock = clock,
					  .gpa = gpa,
					  .header = *header,
					  .byte = byte,
					  .read = header->head,
					  .first = true,
					  .tail = header->head };
	*port = (struct rs_port){ .ctx = ring,
				  .poll = foreign_poll,
				  .copy = foreign_copy,
				  .release = foreign_release,
				  .size = header->size,
				  .head = header->head };
	return true;
}
