/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records a running Xen: a thread reads records from the hypervisor's buffers, converts them to
 * events (live/xen.h), and writes these to one stream, in their order, each with its context.
 */
#ifndef RS_LIVE_RECORD_XEN_H
#define RS_LIVE_RECORD_XEN_H

#include "import/foreign.h"
#include "live/xen_session.h"
#include <ringside/recorder.h>

struct rs_xen_recording;

/* Creates a recording. session, recorder and clock, which is the host's, must outlive it, except
 * that the recorder may be closed once the gate is closed. If recorder is NULL, the caller reads
 * the source. A poll_ms of 0 is the default. */
struct rs_error *rs_xen_recording_create(struct rs_xen_session *session,
					 struct rs_recorder *recorder, const struct rs_clock *host,
					 uint32_t poll_ms, struct rs_xen_recording **recording);
/* Call it after the recorder is closed, which uses the schema and clock of this recording. NULL is
 * ignored. */
void rs_xen_recording_destroy(struct rs_xen_recording *recording);

/* Returns the source of a recording without a recorder, once: the events from the gate's opening
 * until the source's end. The caller destroys it before the recording. */
struct rs_foreign *rs_xen_recording_source(struct rs_xen_recording *recording);

/* Starts tracing, or stops it and returns when all traced events are in the recorder. Returns the
 * first error since the start. */
struct rs_error *rs_xen_recording_gate(struct rs_xen_recording *recording, bool open);

/*
 * Creates a source without a recorder. Tracing begins with this call, and ends at *stop or after
 * duration_ns (0: never); events until then are returned. A poll_ms of 0 is the default. Takes
 * ownership of the session.
 */
struct rs_error *rs_xen_reading_create(struct rs_xen_session *session, uint32_t poll_ms,
				       uint64_t duration_ns, const volatile bool *stop,
				       struct rs_foreign **reading);

/* Returns the tally, which is valid once the gate is closed. */
const struct rs_foreign_tally *rs_xen_recording_tally(const struct rs_xen_recording *recording);
uint32_t rs_xen_recording_domains(const struct rs_xen_recording *recording);

#endif
