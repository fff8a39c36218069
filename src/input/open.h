/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens a trace by its path: a trace directory, or a file that an importer recognizes. */
#ifndef RS_INPUT_OPEN_H
#define RS_INPUT_OPEN_H

#include "source/align.h"
#include "import/foreign.h"
#include <ringside/reader.h>

#define RS_INPUTS_MAX 64u

/* One trace, with `trace` or `foreign` set; or a group of several traces on one timeline, with
 * neither set and each trace as a part. */
struct rs_input {
	struct rs_trace *trace;
	struct rs_foreign *foreign;
	const struct rs_importer *importer; /* of foreign */
	struct rs_source *source;	    /* NULL in a part; the group has the source */
	const struct rs_clock *clock;	    /* the trace's clock, with its time zero */
	struct rs_input *parts;
	uint32_t n_parts;	      /* 0: one trace */
	struct rs_clock *parts_clock; /* of a group: the storage of `clock` */
	/* Of a part: its delay after the begin of the group, and how it was determined. */
	int64_t later_ns;
	bool aligned;
	const struct rs_input *beside; /* the part that it was aligned to; NULL: the first */
	char alignment[RS_ALIGN_TEXT];
};

/*
 * Opens a trace. format: an importer's name, or NULL to detect it: a directory is a trace
 * directory, and a file's first bytes identify its format. options: NULL for none. Returns RS_USAGE
 * if there is no such format, if the file's format is unknown, or if an option does not apply to
 * the input.
 */
struct rs_error *rs_open_with(const char *path, const char *format,
			      const struct rs_foreign_options *options, struct rs_input *input);

/*
 * Opens several traces as one. Their times count from the start of the earliest trace, and their
 * events are merged. Options apply to the traces that can use them. Returns RS_USAGE if a trace
 * shares no clock with the others, or if no trace can use the options.
 */
struct rs_error *rs_open_several(const char *const *paths, uint32_t n, const char *format,
				 const struct rs_foreign_options *options, struct rs_input *input);
void rs_input_close(struct rs_input *input); /* a zeroed one is valid */

/* Returns whether a path is a directory, or a file whose first bytes are those of a known
 * format. */
bool rs_input_is(const char *path);

/* Returns the i-th trace of an input, which may be the input itself, or NULL past the last. */
const struct rs_input *rs_input_part(const struct rs_input *input, uint32_t index);

/* Sets *at_ns to the time when the recording ended, by rs_trace_closed(), or for several traces,
 * when the last one ended. Returns false if the time of a trace is unknown. */
bool rs_input_closed(const struct rs_input *input, int64_t *at_ns);

/* Returns whether neither a trace's file nor an option gives the clock's frequency, so that a
 * "nanosecond" of the timeline is a cycle. */
bool rs_input_cycles_only(const struct rs_input *input);

/* Returns whether the events come from Xen's records, for several traces, in each of them. */
bool rs_input_is_xen(const struct rs_input *input);

/* Returns the i-th known stream, or NULL past the last. The traces of a group follow one
 * another. */
const struct rs_stream *rs_input_stream(const struct rs_input *input, uint32_t index);

/* Appends a stream's schema to the *n schemas at `at`, which has room, unless it is among them. */
void rs_input_schema(const struct rs_stream *stream, const struct rs_schema **at, uint32_t *n);

/* Returns the i-th format, for help, or NULL past the last. */
const struct rs_importer *rs_importer(uint32_t index);

#endif
