/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracing by a running Xen: buffers found or made, mapped, and tracing begun and ended so that the
 * hypervisor is left as it was found.
 *
 *	open -> (buffers stand still) -> begin -> read buffers ... -> end -> read what is left ->
 *close
 *
 * One thread at a time.
 */
#ifndef RS_LIVE_XEN_SESSION_H
#define RS_LIVE_XEN_SESSION_H

#include "event/query.h"
#include "live/xen_ctl.h"
#include "live/xen_tbuf.h"

#define RS_XEN_BUFFER_BYTES (256u << 10) /* of each CPU, where nothing else is asked for */

struct rs_xen_session_options {
	uint32_t event_mask;	       /* what to trace (classes.h) */
	const struct rs_cpu_set *cpus; /* physical; NULL: the hypervisor's mask is left alone */
	uint32_t buffer_bytes;	       /* of each CPU; 0: as they are, or RS_XEN_BUFFER_BYTES */
};

struct rs_xen_session;

/*
 * RS_ABSENT: no Xen, no libxenctrl, no right. RS_USAGE: the buffers have a reader already. Watches
 * them for a fifth of a second, for readers that don't claim them.
 */
struct rs_error *rs_xen_session_open(const struct rs_xen_session_options *options,
				     struct rs_xen_session **session);

/* Ends tracing first, if it goes on. NULL is nothing. */
void rs_xen_session_close(struct rs_xen_session *session);

/* Throws away what is in the buffers, and traces. */
struct rs_error *rs_xen_session_begin(struct rs_xen_session *session);

/* Nothing more comes, and the hypervisor's event mask is as it was found; tracing is off unless
 * records came before. */
struct rs_error *rs_xen_session_end(struct rs_xen_session *session);

/* The session's, by number of CPU. */
struct rs_xen_tbuf *rs_xen_session_buffers(struct rs_xen_session *session, uint32_t *n);

struct rs_xen_session_facts {
	uint32_t found_mask;
	bool was_on;	 /* records came before: tracing is left on */
	bool size_found; /* the buffers were there, and of another size than was asked for */
	uint32_t buffer_bytes;
	uint32_t n_buffers;
	const char *library;
};
void rs_xen_session_facts(const struct rs_xen_session *session, struct rs_xen_session_facts *facts);

#endif
