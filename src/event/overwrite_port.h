/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port (drain.h) on a positioned overwrite ring of slots, in this process's memory or in that of
 * a writer of the last boot. The port copies what is still valid into a buffer of its own, which
 * the drain reads, so that no writer can overwrite it. Where the writer was faster, a records-lost
 * (full) with the exact number precedes the next record.
 */
#ifndef RS_EVENT_OVERWRITE_PORT_H
#define RS_EVENT_OVERWRITE_PORT_H

#include "event/drain.h"
#include <ringside/overwrite.h>

#define RS_OVERWRITE_PORT_SLOTS 1024u /* of the buffer */

/* Stays the caller's, and must outlive the port. */
struct rs_overwrite_port {
	struct rs_overwrite_reader reader;
	uint32_t head, tail; /* of the buffer; as a ring's */
	uint64_t last_tsc;   /* of the last record copied; 0: none yet */
	uint64_t unreported; /* lost records to report before the next record */
	struct rs_slot buffer[RS_OVERWRITE_PORT_SLOTS];
};

/* Attaches as rs_overwrite_attach() does. RS_SBUF_BAD_GEOMETRY: the elements are no slots. */
enum rs_sbuf_status rs_overwrite_port_init(struct rs_overwrite_port *port, void *mem, size_t bytes,
					   uint64_t magic);

struct rs_port rs_port_overwrite(struct rs_overwrite_port *port);

#endif
