/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a ring as a live source. */
#include "source/ring.h"

#include <stdlib.h>
#include <string.h>

#include "event/view.h"

#define BUFFER_BYTES (64u << 10)
#define VIEWS	     (BUFFER_BYTES / RS_SLOT_BYTES)

/* The time for which a put may be stamped but not published before the merge passes its stamp. A
 * longer put is shown late; in a trace directory, it is at its place. */
#define PUT_NS_MAX 5000000

struct ring_source {
	struct rs_source source;
	struct rs_ring_feed feed;
	const struct rs_stream *stream;
	struct rs_layouts layouts;
	bool end_reported;
	enum rs_drain_status status; /* not RS_DRAIN_OK: the ring is broken; reported once */
	bool damage_reported;
	_Alignas(64) uint8_t buffer[BUFFER_BYTES];
	struct rs_view views[VIEWS];
};

/* Changes a record's stamps: its own, and those that bound a loss. */
static void stamps_change(struct rs_slot *slot, bool is_loss,
			  uint64_t (*stamp)(void *ctx, uint64_t tsc), void *ctx)
{
	struct rs_lost lost;

	if (is_loss) {
		memcpy(&lost, slot->payload, sizeof(lost));
		lost.from = stamp(ctx, lost.from);
		lost.to = stamp(ctx, lost.to);
		memcpy(slot->payload, &lost, sizeof(lost));
	}
	slot->tsc = stamp(ctx, slot->tsc);
}

size_t rs_ring_views(struct rs_layouts *layouts, const struct rs_stream *stream, void *records,
		     uint32_t bytes, uint64_t (*stamp)(void *ctx, uint64_t tsc), void *ctx,
		     struct rs_view *views)
{
	struct rs_slot *slot = records;
	uint32_t left = bytes / RS_SLOT_BYTES;
	size_t n = 0;

	while (left) {
		const struct rs_layout *layout;
		uint32_t slots = rs_layouts_check(layouts, slot, left, &layout);

		if (!slots) /* impossible: the drain has checked it */
			break;
		if (stamp)
			stamps_change(slot, layout->event->kind == RS_KIND_LOSS, stamp, ctx);
		rs_view_fill(&views[n++], stream, slot, layout->event, slots);
		slot += slots;
		left -= slots;
	}
	return n;
}

/* Drains once. After the producer's end, also writes the losses that no record reports. */
static struct rs_error *drain_once(struct ring_source *r, bool ended, struct rs_drained *got)
{
	struct rs_drain *drain = NULL;
	struct rs_error *err = r->feed.drain(r->feed.ctx, &drain);

	if (err || !drain || r->status != RS_DRAIN_OK)
		return err;
	drain->clock = r->stream->clock;
	r->status = rs_drain_read(drain, r->buffer, sizeof(r->buffer), 0, got);
	if (ended && !got->bytes && !r->end_reported && r->status == RS_DRAIN_OK) {
		rs_drain_end(drain, r->buffer, sizeof(r->buffer), rs_drain_now(drain->clock), got);
		r->end_reported = true;
	}
	return NULL;
}

/* Reports a broken ring once. */
static struct rs_error *broken(struct ring_source *r)
{
	const struct rs_stream *stream = r->stream;
	struct rs_error *err;

	if (r->status == RS_DRAIN_OK || r->damage_reported)
		return NULL;
	r->damage_reported = true;
	err = rs_error_create(RS_DAMAGED, "%s", rs_drain_status_text(r->status));
	if (!stream->vm)
		return err;
	return rs_error_wrap(err, "guest '%s', vCPU %d", stream->vm, stream->vcpu);
}

static struct rs_error *ring_next(struct rs_source *source, struct rs_batch *batch)
{
	struct ring_source *r = (struct ring_source *)source;
	/* Read before the drain: if the producer ends later, the next call drains again. */
	bool ended = r->feed.ended(r->feed.ctx);
	int64_t now_ns = rs_clock_ns(r->stream->clock, rs_clock_now(r->stream->clock));
	struct rs_drained got = { 0 };
	struct rs_error *err = drain_once(r, ended, &got);
	size_t n;

	n = rs_ring_views(&r->layouts, r->stream, r->buffer, got.bytes, NULL, NULL, r->views);
	if (!err && !n)
		err = broken(r);
	if (err)
		return err;
	*batch = (struct rs_batch){
		.kind = n	? RS_NEXT_EVENTS
			: ended ? RS_NEXT_END
				: RS_NEXT_IDLE,
		.views = r->views,
		.n = n,
		.watermark_ns = now_ns - PUT_NS_MAX,
	};
	return NULL;
}

static void ring_destroy(struct rs_source *source)
{
	free(source);
}

static const struct rs_source_ops ring_ops = {
	.name = "ring",
	.next = ring_next,
	.destroy = ring_destroy,
};

struct rs_error *rs_ring_source_create(const struct rs_ring_feed *feed,
				       const struct rs_stream *stream, struct rs_source **out)
{
	struct ring_source *r = aligned_alloc(64, (sizeof(*r) + 63) & ~(size_t)63);

	if (!r)
		return rs_error_no_memory();
	r->source.ops = &ring_ops;
	r->feed = *feed;
	r->stream = stream;
	r->end_reported = r->damage_reported = false;
	r->status = RS_DRAIN_OK;
	rs_layouts_init(&r->layouts, stream->schema);
	*out = &r->source;
	return NULL;
}
