/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring as a live source: gives the records that its drain accepts as views, without a recorder.
 */
#ifndef RS_SOURCE_RING_H
#define RS_SOURCE_RING_H

#include "event/drain.h"

struct rs_ring_feed {
	void *ctx;
	/* Returns the drain, or NULL while there is no ring. An error ends the source. */
	struct rs_error *(*drain)(void *ctx, struct rs_drain **drain);
	/* Returns whether the producer has ended: nothing more will be put. */
	bool (*ended)(void *ctx);
};

/* Creates the source. stream, its schema and its clock must outlive it. */
struct rs_error *rs_ring_source_create(const struct rs_ring_feed *feed,
				       const struct rs_stream *stream, struct rs_source **source);

#endif
