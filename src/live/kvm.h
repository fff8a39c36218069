/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A KVM session as a source. Each round of next() returns
 *
 *	EVENTS		the rings' events, merged over the CPUs by time (with events or than_ns)
 *	COUNTS		a snapshot of the session's counts, if the query asks for RS_COUNTS_KVM
 *			and has no times, CPUs or predicate (kvm/counts.h)
 *	IDLE		the round is over; END once the gate is closed and all was returned
 *
 * Each thread's events have a separate stream, with its VM and vCPU.
 */
#ifndef RS_LIVE_KVM_H
#define RS_LIVE_KVM_H

#include <ringside/source.h>

#include "kvm/kvm.h"

/* Creates the source. The caller keeps the session, which must outlive the source. Stamps are those
 * of the session's events. */
struct rs_error *rs_kvm_source_create(struct rs_kvm_session *session, struct rs_source **source);

/* Sets the clock to CLOCK_MONOTONIC on the timeline of a merge; by default, times count from the
 * gate's opening. Call it before the source is opened. */
void rs_kvm_source_set_clock(struct rs_source *source, const struct rs_clock *clock);

/* Requests records, too, of events whose id has RS_FILTER_DONE. Call it before the session's gate
 * opens. */
struct rs_error *rs_kvm_source_add_done(struct rs_source *source);

/* Returns the stream of the index-th ring's losses, or NULL past the last. */
const struct rs_stream *rs_kvm_source_stream(const struct rs_source *source, uint32_t index);

#endif
