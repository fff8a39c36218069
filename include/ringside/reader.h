/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a trace directory: its description, and a source of its events. It needs the memory of one
 * packet per stream, whatever the trace's size. Files are read, never mapped, so a file that
 * shrinks meanwhile causes an error and not a signal.
 */
#ifndef RINGSIDE_READER_H
#define RINGSIDE_READER_H

#include <ringside/language.h>
#include <ringside/source.h>

RS_C_BEGIN

struct rs_trace;

/* How the recorder left the trace. */
enum rs_trace_end {
	RS_TRACE_CLOSED,
	RS_TRACE_CUT,	    /* the recorder was killed, or could not continue to write */
	RS_TRACE_RECORDING, /* the recorder is still running */
	RS_TRACE_REPAIRED,
};

/*
 * A binary whose events are in a trace. role is "guest", or "program" for a binary of a program of
 * the host. hash is the hash of its file in hex, by the algorithm hash_name ("blake3", "sha256");
 * both are NULL if it was not computed. build_id is its GNU build-id in hex, or NULL.
 */
struct rs_trace_binary {
	const char *role, *path, *hash_name, *hash, *build_id;
	uint64_t load; /* its addresses in the trace minus those in its file */
};

/* Opens a trace. Returns RS_USAGE if there is no such directory, or it is not a Ringside trace, and
 * RS_DAMAGED with file and line if it is damaged. */
struct rs_error *rs_trace_open(const char *directory, struct rs_trace **trace);
void rs_trace_close(struct rs_trace *trace); /* after all its sources */

const char *rs_trace_directory(const struct rs_trace *trace);
/* Returns the host that was recorded, or the command that recorded; NULL if the trace does not
 * contain it. */
const char *rs_trace_host(const struct rs_trace *trace);
const char *rs_trace_command(const struct rs_trace *trace);
enum rs_trace_end rs_trace_end_state(const struct rs_trace *trace);
const struct rs_clock *rs_trace_clock(const struct rs_trace *trace); /* the host's */
const struct rs_trace_binary *rs_trace_binary(const struct rs_trace *trace, uint32_t index);
/* Returns the number of streams: those with files, then one for each thread whose events are in
 * mixed files. */
uint32_t rs_trace_stream_count(const struct rs_trace *trace);
const struct rs_stream *rs_trace_stream(const struct rs_trace *trace, uint32_t index);
/* Returns the trace's name of a Xen domain, which its events have as the VM. NULL past the last. */
const char *rs_trace_domain(const struct rs_trace *trace, uint32_t index);

/* The extent of what a flight recorder kept. */
struct rs_trace_flight {
	int64_t whole_from_ns; /* the trace is complete from here on; INT64_MIN: from its start */
	int64_t at_ns;	       /* when it was written */
	const char *why;
};

/* Returns NULL if the trace was recorded as a whole. */
const struct rs_trace_flight *rs_trace_flight(const struct rs_trace *trace);

/* Gets the time at which recording ended, which may be long after the last event. Returns false if
 * the trace does not contain it. */
bool rs_trace_closed(const struct rs_trace *trace, int64_t *at_ns);

/*
 * Creates a source of all streams, merged. If a stream is damaged or cut, the source returns its
 * valid part first, and the error (RS_DAMAGED, with file and offset) when all streams have ended.
 */
struct rs_error *rs_trace_source(struct rs_trace *trace, struct rs_source **source);

RS_C_END

#endif
