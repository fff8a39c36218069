/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies records out of a ring and validates them against the schema. */
#include "event/drain.h"

#include <string.h>

#define CHUNK_MIN (RS_RECORD_SLOTS_MAX * RS_SLOT_BYTES) /* holds the longest record */
#define CHUNK_MAX (16u << 10) /* half of the L1 data cache: the bytes are read twice */

#define LOST_BYTES  (RS_LOST_SLOTS * RS_SLOT_BYTES)
#define CPU_UNKNOWN ((uint64_t)RS_CPU_UNKNOWN << RS_CPU_SHIFT)

void rs_drain_init(struct rs_drain *drain, const struct rs_port *port,
		   const struct rs_schema *schema)
{
	*drain = (struct rs_drain){ .port = *port, .chunk = CHUNK_MAX };
	rs_layouts_init(&drain->layouts, schema);
	drain->known[0] = UINT64_MAX; /* 0 would match an empty entry */
}

/* ---- scans and output --------------------------------------------------------------------- */

/* Why a scan stopped. */
enum stop {
	STOP_END,     /* all records are good */
	STOP_PARTIAL, /* a record continues after the copied bytes */
	STOP_FILLER,
	STOP_BAD,
	STOP_STAMP,
};

struct scan {
	uint32_t good;	  /* bytes of good records */
	uint32_t records; /* of them, the producer's own records */
	uint64_t lost;
	uint64_t last_tsc;
	enum stop stop;
	uint32_t bytes;	       /* of the record, filler or bad slots at which it stopped */
	uint32_t padding;      /* of the last good record */
	uint32_t stop_padding; /* of a record with a bad stamp */
	bool stop_is_loss;     /* the record with a bad stamp is a loss */
};

/* The output: out->bytes of records at `to`, followed by a copied run. */
struct output {
	uint8_t *to;
	uint32_t room;
	struct rs_drained *out;
};

static void stamp_note(struct rs_drained *out, uint64_t first, uint64_t last)
{
	if (!out->bytes)
		out->first_tsc = first;
	out->last_tsc = last;
}

static void put_lost(struct rs_drain *drain, struct output *o, uint64_t count, enum rs_lost_why why,
		     uint64_t tsc)
{
	struct rs_lost lost = { .count = count,
				.from = drain->last_tsc ? drain->last_tsc : tsc,
				.to = tsc,
				.why = why };

	rs_record_write_lost(o->to + o->out->bytes, CPU_UNKNOWN, &lost, tsc);
	stamp_note(o->out, tsc, tsc);
	o->out->bytes += LOST_BYTES;
	o->out->padding = RS_LOST_PADDING;
	o->out->lost += count;
	drain->last_tsc = tsc;
}

/* Returns the stamp in order that is nearest to one out of order. */
static uint64_t stamp_nearest(const struct rs_drain *drain, uint64_t said, uint64_t now)
{
	return said < drain->last_tsc || drain->last_tsc > now ? drain->last_tsc : now;
}

/* Repairs the record after the output, at which a scan stopped because its stamp is out of order:
 * puts a clock-back record before it, and sets its stamp to the nearest one in order. */
static void mend_stamp(struct rs_drain *drain, struct output *o, const struct scan *s, uint64_t now)
{
	uint32_t bytes = s->bytes;
	struct rs_slot *slot = (struct rs_slot *)(void *)(o->to + o->out->bytes);
	uint64_t said = slot->tsc;
	uint64_t tsc = stamp_nearest(drain, said, now);

	memmove(slot + 1, slot, bytes);
	slot[1].tsc = tsc;
	slot[0] = (struct rs_slot){
		.tsc = tsc,
		.head = rs_record_head(RS_ID_CLOCK_BACK, 1) | CPU_UNKNOWN,
	};
	memcpy(slot[0].payload, &said, sizeof(said));
	stamp_note(o->out, tsc, tsc);
	o->out->bytes += RS_SLOT_BYTES + bytes;
	o->out->padding = s->stop_padding;
	if (s->stop_is_loss) {
		o->out->lost += rs_lost_count(slot + 1);
		drain->reported_lost += rs_lost_count(slot + 1);
	} else {
		o->out->records++;
	}
	drain->last_tsc = tsc;
}

/* ---- checking a run ----------------------------------------------------------------------- */

/* Classifies a slot that does not begin a good record. The copy has `left` more slots of the
 * run. */
static enum stop classify(const struct rs_slot *slot, uint32_t left, bool whole_run,
			  uint32_t *bytes)
{
	uint32_t slots = rs_slot_count(slot->head);

	*bytes = RS_SLOT_BYTES;
	if (slots > left && !whole_run)
		return STOP_PARTIAL;
	if (!slots || slots > left || rs_slot_id(slot->head) != RS_ID_FILLER)
		return STOP_BAD;
	*bytes = slots * RS_SLOT_BYTES;
	return STOP_FILLER;
}

/* Returns whether the slot's event may have been defined since the schema was last refreshed. */
static bool may_refresh(const struct rs_drain *drain, const struct rs_slot *slot)
{
	return drain->refresh && !rs_schema_find(drain->layouts.schema, rs_slot_id(slot->head));
}

/* Returns the number of consecutive slots, from a bad one on, that do not begin a record. They are
 * skipped together. */
static uint32_t bad_slots(struct rs_drain *drain, const struct rs_slot *slot, uint32_t left,
			  bool whole_run)
{
	const struct rs_layout *layout;
	uint32_t n = 1, bytes;

	while (n < left && !rs_layouts_check(&drain->layouts, slot + n, left - n, &layout) &&
	       classify(slot + n, left - n, whole_run, &bytes) == STOP_BAD &&
	       !may_refresh(drain, slot + n))
		n++;
	return n;
}

/* Subtracts from a loss record the count that rs_drain_end() has already reported. Returns the new
 * count. If it is 0, the record is dropped. */
static uint64_t lost_unreported(struct rs_drain *drain, struct rs_slot *slot)
{
	uint64_t count = rs_lost_count(slot);
	uint64_t reported = count < drain->reported_ahead ? count : drain->reported_ahead;

	drain->reported_ahead -= reported;
	count -= reported;
	memcpy(slot->payload + offsetof(struct rs_lost, count), &count, sizeof(count));
	return count;
}

static uint64_t *known_slot(struct rs_drain *drain, uint64_t word)
{
	return &drain->known[(word ^ word >> 11) & (RS_DRAIN_KNOWN - 1)];
}

#define WORD_OF(head) ((head) & ~((uint64_t)UINT8_MAX << RS_CPU_SHIFT))

/* Returns the number of following one-slot records whose header word is known and whose stamps are
 * in order. */
static uint32_t scan_known(struct rs_drain *drain, struct rs_slot *slot, uint32_t left,
			   uint64_t now, uint64_t *last)
{
	const uint64_t shift = drain->shift;
	uint64_t before = *last;
	uint32_t n = 0;

	for (; n < left; n++) {
		uint64_t word = WORD_OF(slot[n].head), tsc = slot[n].tsc + shift;

		if (*known_slot(drain, word) != word || tsc < before || tsc > now)
			break;
		if (shift)
			slot[n].tsc = tsc;
		before = tsc;
	}
	*last = before;
	return n;
}

/* Adds the drain's shift to the stamps of a record. */
static void shift_stamps(const struct rs_drain *drain, struct rs_slot *slot, bool is_loss)
{
	struct rs_lost lost;

	slot->tsc += drain->shift;
	if (!is_loss)
		return;
	memcpy(&lost, slot->payload, sizeof(lost));
	lost.from += drain->shift;
	lost.to += drain->shift;
	memcpy(slot->payload, &lost, sizeof(lost));
}

/* Checks n copied bytes. whole_run: the copy has the run's last byte. */
static void scan(struct rs_drain *drain, uint8_t *run, uint32_t n, bool whole_run, uint64_t now,
		 struct scan *s)
{
	struct rs_slot *slot = (struct rs_slot *)(void *)run;
	uint32_t left = n / RS_SLOT_BYTES;
	const struct rs_layout *layout;
	const struct rs_slot *last_slot = NULL;
	uint64_t last = drain->last_tsc;

	*s = (struct scan){ .stop = STOP_END };
	while (left) {
		uint32_t known = scan_known(drain, slot, left, now, &last), slots;

		if (known) {
			s->records += known;
			last_slot = slot + known - 1;
			slot += known;
			left -= known;
			continue;
		}
		slots = rs_layouts_check(&drain->layouts, slot, left, &layout);
		if (__builtin_expect(!slots, 0)) {
			s->stop = classify(slot, left, whole_run, &s->bytes);
			if (s->stop == STOP_BAD)
				s->bytes = bad_slots(drain, slot, left, whole_run) * RS_SLOT_BYTES;
			break;
		}
		if (drain->shift)
			shift_stamps(drain, slot, layout->event->kind == RS_KIND_LOSS);
		if (__builtin_expect(slot->tsc < last || slot->tsc > now, 0)) {
			s->stop = STOP_STAMP;
			s->bytes = slots * RS_SLOT_BYTES;
			s->stop_padding = rs_layout_padding(layout->event, slot);
			s->stop_is_loss = layout->event->kind == RS_KIND_LOSS;
			break;
		}
		if (__builtin_expect(layout->event->kind == RS_KIND_LOSS, 0)) {
			if (drain->reported_ahead && !lost_unreported(drain, slot)) {
				s->stop = STOP_FILLER;
				s->bytes = slots * RS_SLOT_BYTES;
				break;
			}
			s->lost += rs_lost_count(slot);
		} else {
			s->records++;
			if (layout->slots == 1)
				*known_slot(drain, WORD_OF(slot->head)) = WORD_OF(slot->head);
		}
		last = slot->tsc;
		last_slot = slot;
		slot += slots;
		left -= slots;
	}
	/* The record was good, so its event is in the schema, even if it left the cache. */
	if (last_slot)
		s->padding = rs_layout_padding(
			rs_layouts_find(&drain->layouts, rs_slot_id(last_slot->head))->event,
			last_slot);
	s->good = n - left * RS_SLOT_BYTES;
	s->last_tsc = last;
}

/* Refreshes the schema. Returns whether the slot's id is known. */
static bool refresh_event(struct rs_drain *drain, const struct rs_slot *slot)
{
	return may_refresh(drain, slot) && drain->refresh(drain->refresh_ctx, slot->head) &&
	       rs_schema_find(drain->layouts.schema, rs_slot_id(slot->head));
}

/*
 * Appends a scanned run, which begins `gap` bytes after the output, to the output. The gap is room
 * for the loss record before the run. Returns the number of the ring's bytes that are consumed.
 */
static uint32_t accept(struct rs_drain *drain, struct output *o, const struct scan *s, uint32_t gap,
		       uint64_t now)
{
	uint8_t *run = o->to + o->out->bytes + gap;
	uint64_t first; /* the first record's stamp, corrected if it is out of order */

	memcpy(&first, run, sizeof(first));
	if (!s->good)
		first = stamp_nearest(drain, first, now);
	if (gap && (s->good || s->stop == STOP_STAMP)) {
		put_lost(drain, o, drain->damaged, RS_LOST_DAMAGED, first);
		drain->damaged = 0;
	}
	if (s->good) {
		stamp_note(o->out, first, s->last_tsc);
		o->out->bytes += s->good;
		o->out->padding = s->padding;
		o->out->records += s->records;
		o->out->lost += s->lost;
		drain->reported_lost += s->lost;
		drain->last_tsc = s->last_tsc;
	}
	switch (s->stop) {
	case STOP_END:
		if (drain->chunk < CHUNK_MAX)
			drain->chunk *= 2;
		return s->good;
	case STOP_PARTIAL:
		return s->good;
	case STOP_FILLER:
		return s->good + s->bytes;
	case STOP_BAD:
		if (refresh_event(drain, (const struct rs_slot *)(const void *)(run + s->good)))
			return s->good;
		drain->damaged += s->bytes / RS_SLOT_BYTES;
		drain->damaged_total += s->bytes / RS_SLOT_BYTES;
		break;
	case STOP_STAMP:
		mend_stamp(drain, o, s, now);
		break;
	}
	drain->chunk = CHUNK_MIN;
	return s->good + s->bytes;
}

/* Returns the length of the longest run that can be copied, or 0 if the ring is empty or the room
 * is used up. */
static uint32_t run_bytes(const struct rs_drain *drain, const struct output *o, uint32_t tail,
			  bool *whole_run)
{
	uint32_t head = drain->port.head;
	uint32_t run = (tail >= head ? tail : drain->port.size) - head;
	uint32_t left = o->room - o->out->bytes;
	uint32_t n = run;

	/* A loss record may precede the run, and a clock-back record may follow it. */
	if (left < CHUNK_MIN + LOST_BYTES + RS_SLOT_BYTES)
		return 0;
	left = (left - LOST_BYTES - RS_SLOT_BYTES) & ~(RS_SLOT_BYTES - 1);
	if (n > left)
		n = left;
	if (n > drain->chunk)
		n = drain->chunk;
	*whole_run = n == run;
	return n;
}

enum rs_drain_status rs_drain_read(struct rs_drain *drain, void *to, uint32_t room, uint64_t now,
				   struct rs_drained *out)
{
	struct output o = { to, room, out };
	struct rs_port *port = &drain->port;
	uint64_t refused;
	uint32_t tail, n;
	bool whole_run;

	*out = (struct rs_drained){ 0 };
	if (!port->poll(port->ctx, &tail, &refused))
		return RS_DRAIN_BAD_MEMORY;
	if (tail >= port->size || tail % RS_SLOT_BYTES)
		return RS_DRAIN_BAD_POSITION;
	if (drain->clock) {
		uint64_t present = rs_drain_now(drain->clock);

		now = present > now ? present : now;
	}
	while ((n = run_bytes(drain, &o, tail, &whole_run)) > 0) {
		uint32_t gap = drain->damaged ? LOST_BYTES : 0;
		uint8_t *run = o.to + out->bytes + gap;
		struct scan s;

		if (!port->copy(port->ctx, port->head, run, n))
			return RS_DRAIN_BAD_MEMORY;
		scan(drain, run, n, whole_run, now, &s);
		port->head += accept(drain, &o, &s, gap, now);
		if (port->head >= port->size)
			port->head -= port->size;
		if (!port->release(port->ctx, port->head))
			return RS_DRAIN_BAD_MEMORY;
	}
	return RS_DRAIN_OK;
}

void rs_drain_end(struct rs_drain *drain, void *to, uint32_t room, uint64_t now,
		  struct rs_drained *out)
{
	struct output o = { to, room, out };
	uint64_t refused = 0;
	uint32_t tail;

	*out = (struct rs_drained){ 0 };
	if (now < drain->last_tsc)
		now = drain->last_tsc;
	if (drain->damaged)
		put_lost(drain, &o, drain->damaged, RS_LOST_DAMAGED, now);
	drain->damaged = 0;
	if (!drain->port.poll(drain->port.ctx, &tail, &refused))
		return;
	if (refused <= drain->reported_lost)
		return;
	put_lost(drain, &o, refused - drain->reported_lost, RS_LOST_FULL, now);
	drain->reported_ahead += refused - drain->reported_lost;
	drain->reported_lost = refused;
}

const char *rs_drain_status_text(enum rs_drain_status status)
{
	switch (status) {
	case RS_DRAIN_OK:
		return "sound";
	case RS_DRAIN_BAD_POSITION:
		return "the ring's tail points outside it or into an element; "
		       "nothing more is read from it";
	case RS_DRAIN_BAD_MEMORY:
		return "the ring's memory cannot be reached; nothing more is read from it";
	}
	return "unknown";
}

/* ---- a ring in this process --------------------------------------------------------------- */

static bool local_poll(void *ctx, uint32_t *tail, uint64_t *refused)
{
	struct rs_sbuf_consumer *c = ctx;

	/* Pairs with the producer's release of tail. */
	*tail = __atomic_load_n(&c->ring->tail, __ATOMIC_ACQUIRE);
	*refused = __atomic_load_n(&c->ring->refused, __ATOMIC_RELAXED);
	return true;
}

static bool local_copy(void *ctx, uint32_t offset, void *to, uint32_t bytes)
{
	struct rs_sbuf_consumer *c = ctx;

	memcpy(to, c->data + offset, bytes);
	return true;
}

static bool local_release(void *ctx, uint32_t head)
{
	struct rs_sbuf_consumer *c = ctx;

	c->head = head;
	/* Pairs with the producer's acquire of head. */
	__atomic_store_n(&c->ring->head, head, __ATOMIC_RELEASE);
	return true;
}

struct rs_port rs_port_local(struct rs_sbuf_consumer *consumer)
{
	return (struct rs_port){
		.ctx = consumer,
		.poll = local_poll,
		.copy = local_copy,
		.release = local_release,
		.size = consumer->size,
		.head = consumer->head,
	};
}
