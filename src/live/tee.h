/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tee writes what a sink receives from live sources to a trace directory, so that the same sink
 * later receives the same events from the trace:
 *
 *	live sources --> merge --> tee --> store sink --> trace directory
 *	                            +----> the sink
 *
 * A trace gives records of equal time in the order of its streams, and time never goes back. A live
 * event may arrive late, or before one of equal time that the trace will give first. The tee then
 * advances its stamp by the least amount that keeps its place, and counts it. The store and the
 * sink both get the view with the new stamp.
 */
#ifndef RS_LIVE_TEE_H
#define RS_LIVE_TEE_H

#include <ringside/source.h>

struct rs_tee;

/* store: of store/sink.h. Both stay the caller's, who ends them, and outlive the tee. */
struct rs_error *rs_tee_create(struct rs_sink *store, struct rs_sink *to, struct rs_tee **tee);
void rs_tee_destroy(struct rs_tee *tee); /* NULL is nothing */

struct rs_sink *rs_tee_sink(struct rs_tee *tee);

/* The sink has been told that nothing before this time will come: a later view has a later time. */
void rs_tee_advance(struct rs_tee *tee, int64_t now_ns);

/* How many events have another stamp than they came with. */
uint64_t rs_tee_moved(const struct rs_tee *tee);

#endif
