/* SPDX-License-Identifier: BSD-2-Clause */
/* Sinks that a person or a program reads. Each writes to a file descriptor. */
#ifndef RS_VIEW_VIEW_H
#define RS_VIEW_VIEW_H

#include "base/out.h"
#include <ringside/source.h>

enum rs_time_show {
	RS_TIME_START, /* since the trace's start */
	RS_TIME_WALL,  /* Unix time, UTC */
	RS_TIME_TSC,   /* raw stamps, of the stream's own clock */
};

struct rs_view_options {
	int fd;
	enum rs_time_show time;
	const struct rs_clock *clock; /* the host's, for wall time */
	bool cycles_only;	      /* no frequency is known, so no time in ns */
	bool streams;		      /* tree: say whose line it is */
	uint64_t limit;		      /* events; 0: all */
	volatile bool *stop;	      /* set when the limit is reached */
};

/* One line an event: TIME [CPU] VM/vV PROBE arg=value ... */
struct rs_error *rs_text_sink_create(const struct rs_view_options *options, struct rs_sink **sink);

/* JSON Lines. */
struct rs_error *rs_json_sink_create(const struct rs_view_options *options, struct rs_sink **sink);

/* Spans as a tree, other events as leaves. */
struct rs_error *rs_tree_sink_create(const struct rs_view_options *options, struct rs_sink **sink);

/* The type that a field's values have in JSON, whatever they are: "string" or "number". */
const char *rs_json_type(const struct rs_field *field);

struct rs_aggregate;
struct rs_aggregate_row;

/* The rows of an aggregate as a table, or as JSON Lines. */
struct rs_error *rs_rows_print(int fd, bool json, const struct rs_aggregate *aggregate,
			       const struct rs_aggregate_row *rows, size_t n);

void rs_view_sink_destroy(struct rs_sink *sink);

struct rs_words_form;
#define RS_WORDS_FORMS 256u

/* What the sinks have in common; first member of each. */
struct rs_view_sink {
	struct rs_sink sink;
	struct rs_view_options options;
	struct rs_out out;
	uint64_t shown;
	struct rs_words_form *forms[RS_WORDS_FORMS]; /* of events, by index */
};
/* Makes one of bytes, the rest of which is zero. */
struct rs_error *rs_view_sink_create(size_t bytes, const struct rs_sink_ops *ops,
				     const struct rs_view_options *options, struct rs_sink **sink);

/* How many of n events may still be shown; sets *stop at the limit. */
size_t rs_view_sink_allow(struct rs_view_sink *view_sink, size_t n);

/* Whether the stream is a thread's of the host whose process is known, as tracepoints' are. The
 * idle thread of a CPU, 0, is of process 0. */
static inline bool rs_view_has_process(const struct rs_stream *stream)
{
	return stream->pid > 0 || (!stream->tid && !stream->pid && stream->thread);
}

/* Writes the VM and vCPU, as "hello/v0" or "qemu/v-", else the thread's name and tid, as "bash-71",
 * where its process is known; "-" where nothing is known. */
void rs_words_who(struct rs_out *out, const struct rs_stream *stream);

/* A time as the options have it. tsc: the same moment's raw stamp. */
void rs_words_time(struct rs_out *out, const struct rs_view_options *options, int64_t ns,
		   uint64_t tsc);

/* As rs_field_value(): most are of two types. */
static inline uint64_t rs_view_value(const struct rs_field *field, const uint8_t *payload)
{
	uint64_t value;
	uint32_t word;

	switch (field->type) {
	case RS_TYPE_U32:
		memcpy(&word, payload + field->offset, sizeof(word));
		return word;
	case RS_TYPE_U64:
		memcpy(&value, payload + field->offset, sizeof(value));
		return value;
	default:
		return rs_field_value(field, payload);
	}
}

/* An event's probe, and " name=value" of every field. */
void rs_words_event(struct rs_view_sink *view_sink, const struct rs_view *view);

/* The fields alone. */
void rs_words_args(struct rs_view_sink *view_sink, const struct rs_view *view);

#endif
