/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The trace directory as a sink: views of any source become records of a new trace.
 *
 *	view --> the stream it goes to --> record: id, payload, stamp of its clock --> packet
 *
 * A source's stream becomes a stream; a thread's, whose events begin with its `tid`, becomes a line
 * `thread` (describe.h), and its records go to one stream for each class and host CPU. Xen's
 * records go to one stream, each with its context, so that they keep their order. Streams keep
 * their schemas and clocks, so that times and losses do not change. If a stamp is earlier than its
 * predecessor in the file, the predecessor's stamp replaces it, after a clock-back record, as in a
 * drain.
 *
 * Memory: a packet for each output stream. Only one thread may call.
 */
#ifndef RS_STORE_SINK_H
#define RS_STORE_SINK_H

#include "store/writer.h"

/* Creates the directory. clock: the trace's own clock, which defines time zero. host: the name of
 * the recorded host, "" if it is unknown, NULL for this host. Returns RS_USAGE if the directory
 * exists and is not empty. */
struct rs_error *rs_store_sink_create(const char *directory, const struct rs_clock *clock,
				      const char *host, const char *command, struct rs_sink **sink);

/* Adds a stream before its first event, so that streams without events are kept, and all keep their
 * order. Not for threads' streams. */
struct rs_error *rs_store_sink_add(struct rs_sink *sink, const struct rs_stream *stream);

/* The destination of a view's record: the number of its stream, which orders records of equal time,
 * and the stamp of the last record there. */
struct rs_store_place {
	uint32_t stream;
	uint64_t last;
};
struct rs_error *rs_store_sink_place(struct rs_sink *sink, const struct rs_view *view,
				     struct rs_store_place *place);

/* Sets when the recording ended (rs_trace_closed()). Call it before the close. */
void rs_store_sink_set_closed(struct rs_sink *sink, int64_t at_ns);

/*
 * Writes a view as a record into a stream, for callers without a sink. *last_tsc: the stream's last
 * stamp, 0 at first. It replaces an earlier stamp, after a clock-back record.
 */
struct rs_error *rs_store_put_view(struct rs_store_stream *stream, uint64_t *last_tsc,
				   const struct rs_view *view);

/*
 * Closes the trace and destroys the sink. Call it before the source is destroyed, whose schemas are
 * used. damage: why the source was incomplete, or NULL; the trace notes it for its readers. Returns
 * the first error of any write.
 */
struct rs_error *rs_store_sink_close(struct rs_sink *sink, const struct rs_error *damage,
				     struct rs_store_summary *summary);

#endif
