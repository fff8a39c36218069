/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A running Xen into a recorder: a thread of its own takes records out of the hypervisor's buffers,
 * makes events of them (live/xen.h), and puts those into one stream, in their order, each
 * with its context.
 */
#ifndef RS_LIVE_RECORD_XEN_H
#define RS_LIVE_RECORD_XEN_H

#include "import/foreign.h"
#include "live/xen_session.h"
#include <ringside/recorder.h>

struct rs_xen_recording;

/* session, recorder and clock, which is the host's, must outlive it; but the recorder may be closed
 * once the gate is shut. recorder NULL: the caller reads the source itself. poll_ms: 0 for the
 * default. */
struct rs_error *rs_xen_recording_create(struct rs_xen_session *session,
					 struct rs_recorder *recorder, const struct rs_clock *host,
					 uint32_t poll_ms, struct rs_xen_recording **recording);
/* After the recorder: its stream's schema and clock are ours. NULL is nothing. */
void rs_xen_recording_destroy(struct rs_xen_recording *recording);

/* Without a recorder, once: what was traced, while the gate is open and until the source's end. The
 * caller's; goes before the recording. */
struct rs_foreign *rs_xen_recording_source(struct rs_xen_recording *recording);

/* Traces; and ends, when all that was traced is in the recorder. The error is the first that was
 * met since it was opened. */
struct rs_error *rs_xen_recording_gate(struct rs_xen_recording *recording, bool open);

/*
 * The same as a source, without a recorder: tracing begins here, and ends at *stop or after
 * duration_ns (0: never); what was traced until then is given. poll_ms: 0 for the default. Takes
 * over the session.
 */
struct rs_error *rs_xen_reading_create(struct rs_xen_session *session, uint32_t poll_ms,
				       uint64_t duration_ns, const volatile bool *stop,
				       struct rs_foreign **reading);

/* When the gate is shut. */
const struct rs_foreign_tally *rs_xen_recording_tally(const struct rs_xen_recording *recording);
uint32_t rs_xen_recording_domains(const struct rs_xen_recording *recording);

#endif
