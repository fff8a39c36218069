/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port (drain.h) on a positioned overwrite ring of slots, in this process's memory or in that of
 * a writer of the last boot. The port copies the records that are still valid into its buffer,
 * which the drain reads, so that no writer can overwrite them. If the writer was faster, a
 * records-lost (full) with the exact number precedes the next record.
 */
#ifndef RS_EVENT_OVERWRITE_PORT_H
#define RS_EVENT_OVERWRITE_PORT_H

#include "event/drain.h"
#include <ringside/overwrite.h>

#define RS_OVERWRITE_PORT_SLOTS 1024u /* of the buffer */

/* The caller keeps it. It must outlive the port. */
struct rs_overwrite_port {
	struct rs_overwrite_reader reader;
	uint32_t head, tail; /* of the buffer, like a ring's */
	uint64_t last_tsc;   /* of the last copied record; 0: none yet */
	uint64_t unreported; /* lost records to report before the next record */
	struct rs_slot buffer[RS_OVERWRITE_PORT_SLOTS];
};

/* Attaches like rs_overwrite_attach(). Returns also RS_SBUF_BAD_GEOMETRY if the elements are not
 * slots. */
enum rs_sbuf_status rs_overwrite_port_init(struct rs_overwrite_port *port, void *mem, size_t bytes,
					   uint64_t magic);

struct rs_port rs_port_overwrite(struct rs_overwrite_port *port);

#endif
