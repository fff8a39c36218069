/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring as a live source: returns the records that its drain accepts as views, without a recorder.
 */
#ifndef RS_SOURCE_RING_H
#define RS_SOURCE_RING_H

#include "event/drain.h"

struct rs_ring_feed {
	void *ctx;
	/* Returns the drain, or NULL while no ring exists. An error ends the source. */
	struct rs_error *(*drain)(void *ctx, struct rs_drain **drain);
	/* Returns whether the producer has ended, and will write nothing more. */
	bool (*ended)(void *ctx);
};

/* Makes views of records that a drain accepted, at most bytes / RS_SLOT_BYTES. Returns their
 * number. stamp: changes each stamp in the buffer, before its view is made; NULL: stamps are
 * unchanged. */
size_t rs_ring_views(struct rs_layouts *layouts, const struct rs_stream *stream, void *records,
		     uint32_t bytes, uint64_t (*stamp)(void *ctx, uint64_t tsc), void *ctx,
		     struct rs_view *views);

/* Creates the source. stream, its schema and its clock must outlive it. */
struct rs_error *rs_ring_source_create(const struct rs_ring_feed *feed,
				       const struct rs_stream *stream, struct rs_source **source);

#endif
