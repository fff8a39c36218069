/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A tee: what a sink sees of live sources, kept in a trace directory, so that the same sink sees
 *the same of the trace:
 *
 *	live sources --> merge --> tee --> store sink --> trace directory
 *	                            +----> the sink
 *
 * A trace gives records of equal time in the order of its streams, and time never goes back. Live
 *an event may come late, or before one of equal time that the trace will give first. Its stamp is
 *then moved on, by as little as puts it where it came; how many were, is counted. Both get the view
 *with the stamp that is kept.
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
