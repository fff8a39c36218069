/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a ring as a live source. */
#include "source/ring.h"

#include <stdlib.h>

#include "event/view.h"

#define BUFFER_BYTES (64u << 10)
#define VIEWS	     (BUFFER_BYTES / RS_SLOT_BYTES)

/* How long a put may be stamped but not published before the merge passes its time. A longer put is
 * shown late; in a trace directory it is in its place. */
#define PUT_NS_MAX 5000000

struct ring_source {
	struct rs_source source;
	struct rs_ring_feed feed;
	const struct rs_stream *stream;
	struct rs_layouts layouts;
	bool told_end;
	enum rs_drain_status status; /* not RS_DRAIN_OK: the ring is broken; reported once */
	bool told_broken;
	_Alignas(64) uint8_t buffer[BUFFER_BYTES];
	struct rs_view views[VIEWS];
};

static size_t make_views(struct ring_source *r, uint32_t bytes)
{
	const struct rs_slot *slot = (const struct rs_slot *)(const void *)r->buffer;
	uint32_t left = bytes / RS_SLOT_BYTES;
	size_t n = 0;

	while (left) {
		const struct rs_layout *layout;
		uint32_t slots = rs_layouts_check(&r->layouts, slot, left, &layout);

		if (!slots) /* impossible: the drain has checked it */
			break;
		rs_view_fill(&r->views[n++], r->stream, slot, layout->event, slots);
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
	if (ended && !got->bytes && !r->told_end && r->status == RS_DRAIN_OK) {
		rs_drain_end(drain, r->buffer, sizeof(r->buffer), rs_drain_now(drain->clock), got);
		r->told_end = true;
	}
	return NULL;
}

/* Reports a broken ring once. */
static struct rs_error *broken(struct ring_source *r)
{
	const struct rs_stream *stream = r->stream;
	struct rs_error *err;

	if (r->status == RS_DRAIN_OK || r->told_broken)
		return NULL;
	r->told_broken = true;
	err = rs_error_create(RS_DAMAGED, "%s", rs_drain_status_text(r->status));
	if (!stream->vm)
		return err;
	return rs_error_wrap(err, "guest '%s', vCPU %d", stream->vm, stream->vcpu);
}

static struct rs_error *ring_next(struct rs_source *source, struct rs_batch *batch)
{
	struct ring_source *r = (struct ring_source *)source;
	/* Read before the drain: after a later end, the next call drains again. */
	bool ended = r->feed.ended(r->feed.ctx);
	int64_t now_ns = rs_clock_ns(r->stream->clock, rs_clock_now(r->stream->clock));
	struct rs_drained got = { 0 };
	struct rs_error *err = drain_once(r, ended, &got);
	size_t n;

	n = make_views(r, got.bytes);
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
	r->told_end = r->told_broken = false;
	r->status = RS_DRAIN_OK;
	rs_layouts_init(&r->layouts, stream->schema);
	*out = &r->source;
	return NULL;
}
