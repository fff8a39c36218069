/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inputs of the recorder besides rings in memory: a ring behind a port (event/drain.h), and a
 * source that the caller reads view by view.
 */
#ifndef RS_RECORD_PORT_H
#define RS_RECORD_PORT_H

#include "event/drain.h"
#include <ringside/recorder.h>

struct rs_recorder_port {
	struct rs_port port;
	struct rs_schema *schema;
	const struct rs_clock *clock;
	const struct rs_stream *stream;
	/* Each may be NULL. Several threads may call them concurrently, for several ports. */
	bool (*refresh)(void *ctx, uint64_t head); /* the callback of struct rs_drain */
	/* Called when records were read, before they are written, and at the ring's end: passes the
	 * descriptions of what they name, such as threads, to the recorder. */
	struct rs_error *(*describe)(void *ctx);
	void *ctx;
};

/* Collects a ring behind a port, like rs_recorder_add_ring() a ring in memory. The objects to which
 * the port points must outlive the recorder. */
struct rs_error *rs_recorder_add_port(struct rs_recorder *recorder,
				      const struct rs_recorder_port *port);

/* Replaces the trace's description of a clock, by its id. Has no effect if no stream has that
 * clock. */
struct rs_error *rs_recorder_set_clock(struct rs_recorder *recorder, const struct rs_clock *clock);

/* Writes a source's event to a stream that the caller fills (rs_recorder_add_stream()), like the
 * store's sink. */
struct rs_error *rs_recorder_put_view(struct rs_recorder_stream *stream,
				      const struct rs_view *view);

/* Adds the name of a Xen domain, for records of this schema. Returns RS_USAGE if no stream of this
 * schema is recorded. */
struct rs_error *rs_recorder_add_domain(struct rs_recorder *recorder,
					const struct rs_schema *schema, uint32_t dom,
					const char *vm);

#endif
