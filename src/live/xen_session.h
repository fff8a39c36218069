/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Controls tracing by a running Xen: finds or creates the buffers, maps them, begins and ends
 * tracing, and restores the hypervisor's state.
 *
 *	open -> (buffers do not change) -> begin -> read ... -> end -> read the rest -> close
 *
 * One thread at a time.
 */
#ifndef RS_LIVE_XEN_SESSION_H
#define RS_LIVE_XEN_SESSION_H

#include "event/query.h"
#include "live/xen_ctl.h"
#include "live/xen_tbuf.h"

#define RS_XEN_BUFFER_BYTES (256u << 10) /* for each CPU, by default */

struct rs_xen_session_options {
	uint32_t event_mask;	       /* what to trace (classes.h) */
	const struct rs_cpu_set *cpus; /* physical; NULL: leaves the hypervisor's mask unchanged */
	uint32_t buffer_bytes; /* for each CPU; 0: the present size, or RS_XEN_BUFFER_BYTES */
};

struct rs_xen_session;

/*
 * Opens a session. Returns RS_ABSENT without Xen, libxenctrl or the privilege, and RS_USAGE if the
 * buffers already have a reader. Watches the buffers for 200 ms, to detect readers that do not
 * claim them.
 */
struct rs_error *rs_xen_session_open(const struct rs_xen_session_options *options,
				     struct rs_xen_session **session);

/* Closes a session, and ends tracing first if necessary. NULL is ignored. */
void rs_xen_session_close(struct rs_xen_session *session);

/* Discards the buffers' content, and begins tracing. */
struct rs_error *rs_xen_session_begin(struct rs_xen_session *session);

/* Ends tracing: restores the hypervisor's event mask, and turns tracing off unless records were
 * arriving before the session. */
struct rs_error *rs_xen_session_end(struct rs_xen_session *session);

/* Returns the session's buffers, by number of CPU. */
struct rs_xen_tbuf *rs_xen_session_buffers(struct rs_xen_session *session, uint32_t *n);

struct rs_xen_session_facts {
	uint32_t found_mask;
	bool was_on;	 /* records were arriving before: tracing stays on */
	bool size_found; /* the buffers existed with another size than requested */
	uint32_t buffer_bytes;
	uint32_t n_buffers;
	const char *library;
};
void rs_xen_session_facts(const struct rs_xen_session *session, struct rs_xen_session_facts *facts);

/* Reports the session's remarks for the user, a line each, without a newline. */
void rs_xen_session_remarks(const struct rs_xen_session *session,
			    void (*report)(void *ctx, const char *text), void *ctx);

#endif
