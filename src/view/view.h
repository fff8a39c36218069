/* SPDX-License-Identifier: BSD-2-Clause */
/* Sinks that write events to a file descriptor, as text or for programs. */
#ifndef RS_VIEW_VIEW_H
#define RS_VIEW_VIEW_H

#include "base/out.h"
#include <ringside/source.h>

enum rs_time_show {
	RS_TIME_START, /* since the trace's start */
	RS_TIME_WALL,  /* Unix time, UTC */
	RS_TIME_TSC,   /* raw stamps of the stream's clock */
};

struct rs_view_options {
	int fd;
	enum rs_time_show time;
	const struct rs_clock *clock; /* the host's, for wall time */
	bool cycles_only;	      /* the frequency is unknown, so times in ns are too */
	bool streams;		      /* tree: each line names its stream */
	uint64_t limit;		      /* events; 0: all */
	volatile bool *stop;	      /* set when the limit is reached */
};

/* Creates a sink that writes one line per event: TIME [CPU] VM/vV PROBE arg=value ... */
struct rs_error *rs_text_sink_create(const struct rs_view_options *options, struct rs_sink **sink);

/* Creates a sink that writes JSON Lines. */
struct rs_error *rs_json_sink_create(const struct rs_view_options *options, struct rs_sink **sink);

/* Creates a sink that writes spans as a tree, and other events as leaves. */
struct rs_error *rs_tree_sink_create(const struct rs_view_options *options, struct rs_sink **sink);

/* Returns the type of a field's values in JSON: "string" or "number". It does not depend on the
 * value. */
const char *rs_json_type(const struct rs_field *field);

struct rs_aggregate;
struct rs_aggregate_row;

/* Prints the rows of an aggregate as a table, or as JSON Lines. */
struct rs_error *rs_rows_print(int fd, bool json, const struct rs_aggregate *aggregate,
			       const struct rs_aggregate_row *rows, size_t n);

void rs_view_sink_destroy(struct rs_sink *sink);

struct rs_words_form;
#define RS_WORDS_FORMS 256u

/* The common part of the sinks, which is the first member of each. */
struct rs_view_sink {
	struct rs_sink sink;
	struct rs_view_options options;
	struct rs_out out;
	uint64_t shown;
	struct rs_words_form *forms[RS_WORDS_FORMS]; /* by the index of the event */
};
/* Creates a sink of `bytes` bytes. The bytes after the common part are zero. */
struct rs_error *rs_view_sink_create(size_t bytes, const struct rs_sink_ops *ops,
				     const struct rs_view_options *options, struct rs_sink **sink);

/* Returns the number of events that may still be shown, at most n. Sets *stop at the limit. */
size_t rs_view_sink_allow(struct rs_view_sink *view_sink, size_t n);

/* Returns whether the stream is of a host thread with a known process, as for tracepoints. The idle
 * thread of a CPU, 0, belongs to process 0. */
static inline bool rs_view_has_process(const struct rs_stream *stream)
{
	return stream->pid > 0 || (!stream->tid && !stream->pid && stream->thread);
}

/* Writes the VM and vCPU, as "hello/v0" or "qemu/v-"; else the thread's name and tid, as "bash-71",
 * if its process is known; else "-". */
void rs_words_stream(struct rs_out *out, const struct rs_stream *stream);

/* Writes a Unix time as UTC with nine decimals, by ISO 8601. */
void rs_words_wall(struct rs_out *out, int64_t ns);

/* Writes a time in the form that the options select. tsc: the raw stamp of the same moment. */
void rs_words_time(struct rs_out *out, const struct rs_view_options *options, int64_t ns,
		   uint64_t tsc);

/* Writes an event's probe, and " name=value" of each field. */
void rs_words_event(struct rs_view_sink *view_sink, const struct rs_view *view);

/* Writes " name=value" of each field. */
void rs_words_args(struct rs_view_sink *view_sink, const struct rs_view *view);

#endif
