/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder on a ring by whatever access there is to it: a port (event/drain.h). */
#ifndef RS_RECORD_PORT_H
#define RS_RECORD_PORT_H

#include "event/drain.h"
#include <ringside/recorder.h>

struct rs_recorder_port {
	struct rs_port port;
	struct rs_schema *schema;
	const struct rs_clock *clock;
	const struct rs_stream *stream;
	/* Of struct rs_drain: several threads may call it at once, for several ports. May be NULL.
	 */
	bool (*learn_id)(void *ctx, uint64_t head);
	void *learn_ctx;
};

/* Collects it, as rs_recorder_add_ring() does. What the port points to must outlive the recorder.
 */
struct rs_error *rs_recorder_add_port(struct rs_recorder *recorder,
				      const struct rs_recorder_port *port);

#endif
