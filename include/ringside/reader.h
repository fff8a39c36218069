/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading a trace directory: its description, and a source for its events. Memory is one packet
 * per stream, whatever the trace's size. Files are read, never mapped, so that one that shrinks
 * meanwhile is an error and no signal.
 */
#ifndef RINGSIDE_READER_H
#define RINGSIDE_READER_H

#include <ringside/source.h>

struct rs_trace;

/* How the recorder left the trace. */
enum rs_trace_end {
	RS_TRACE_CLOSED,
	RS_TRACE_CUT,	    /* the recorder was killed, or could not write on */
	RS_TRACE_RECORDING, /* it is still at work */
	RS_TRACE_REPAIRED,
};

/* A binary whose events are in a trace. hash is of its file, in hex, by the algorithm hash_name
 * ("blake3", "sha256"); build_id, in hex, is its GNU build-id, or NULL. */
struct rs_trace_binary {
	const char *role, *path, *hash_name, *hash, *build_id;
};

/* RS_USAGE: no such directory, or no trace of Ringside's. RS_DAMAGED: file and line. */
struct rs_error *rs_trace_open(const char *directory, struct rs_trace **trace);
void rs_trace_close(struct rs_trace *trace); /* after the sources made of it */

const char *rs_trace_directory(const struct rs_trace *trace);
/* The host that was recorded, and the command that recorded; NULL if the trace does not say. */
const char *rs_trace_host(const struct rs_trace *trace);
const char *rs_trace_command(const struct rs_trace *trace);
enum rs_trace_end rs_trace_end_state(const struct rs_trace *trace);
const struct rs_clock *rs_trace_clock(const struct rs_trace *trace); /* the host's */
const struct rs_trace_binary *rs_trace_binary(const struct rs_trace *trace, uint32_t index);
/* Those that have files; behind them, a stream for each thread whose events are in files of many.
 */
uint32_t rs_trace_stream_count(const struct rs_trace *trace);
const struct rs_stream *rs_trace_stream(const struct rs_trace *trace, uint32_t index);
/* What the trace calls a domain of Xen's, which its events have for a VM. NULL past the last. */
const char *rs_trace_domain(const struct rs_trace *trace, uint32_t index);

/* What a flight recorder kept. */
struct rs_trace_flight {
	int64_t whole_from_ns; /* what was before it, was dropped in part; INT64_MIN: nothing was */
	int64_t at_ns;	       /* when it was written */
	const char *why;
};

/* NULL: it was recorded as a whole. */
const struct rs_trace_flight *rs_trace_flight(const struct rs_trace *trace);

/* When watching ended, which may be long after the last event. False: the trace does not say. */
bool rs_trace_closed(const struct rs_trace *trace, int64_t *at_ns);

/*
 * A source of all its streams, merged. When a stream is damaged or cut, its valid part comes
 * first; the error (RS_DAMAGED, with file and offset) comes when all streams have ended.
 */
struct rs_error *rs_trace_source(struct rs_trace *trace, struct rs_source **source);

#endif
