/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tee writes what a sink receives from live sources to a trace directory, so that the same sink
 * later receives the same events from the trace:
 *
 *	live sources --> merge --> tee --> store sink --> trace directory
 *	                            +----> the sink
 *
 * A trace returns records of equal time in the order of its streams, and time never goes back. A
 * live event may arrive late, or before one of equal time that the trace will return first. The tee
 * then advances its stamp by the least amount that keeps its place, and counts it. The store and
 * the sink both get the view with the new stamp.
 */
#ifndef RS_LIVE_TEE_H
#define RS_LIVE_TEE_H

#include <ringside/source.h>

struct rs_tee;

/* Creates a tee. store is that of store/sink.h. The caller owns and ends both sinks, which must
 * outlive the tee. */
struct rs_error *rs_tee_create(struct rs_sink *store, struct rs_sink *to, struct rs_tee **tee);
void rs_tee_destroy(struct rs_tee *tee); /* NULL is ignored */

struct rs_sink *rs_tee_sink(struct rs_tee *tee);

/* Makes later views later than now_ns, up to which the sink's input is complete. */
void rs_tee_advance(struct rs_tee *tee, int64_t now_ns);

/* Returns how many events had their stamp changed. */
uint64_t rs_tee_moved(const struct rs_tee *tee);

#endif
