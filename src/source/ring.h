/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring as a live source: what its drain lets through, as views, without a recorder between.
 */
#ifndef RS_SOURCE_RING_H
#define RS_SOURCE_RING_H

#include "event/drain.h"

struct rs_ring_feed {
	void *ctx;
	/* The drain, once there is a ring; NULL before. An error ends the source. */
	struct rs_error *(*drain)(void *ctx, struct rs_drain **drain);
	/* Whether the producer has ended: what the next reads give is all there is. */
	bool (*ended)(void *ctx);
};

/* stream: valid, with its schema and clock, as long as the source. */
struct rs_error *rs_ring_source_create(const struct rs_ring_feed *feed,
				       const struct rs_stream *stream, struct rs_source **source);

#endif
