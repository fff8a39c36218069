/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens a trace by its path: a trace directory, or a file that an importer knows. */
#ifndef RS_INPUT_OPEN_H
#define RS_INPUT_OPEN_H

#include "source/align.h"
#include "import/foreign.h"
#include <ringside/reader.h>

#define RS_INPUTS_MAX 64u

/* One trace, of which `trace` or `foreign` is set; or several on one timeline, of which each is a
 * part, and neither is set. */
struct rs_input {
	struct rs_trace *trace;
	struct rs_foreign *foreign;
	const struct rs_importer *importer; /* of foreign */
	struct rs_source *source;	    /* NULL in a part: the group has it */
	const struct rs_clock *clock;	    /* the trace's, with its time zero */
	struct rs_input *parts;
	uint32_t n_parts;	      /* 0: it is one trace */
	struct rs_clock *parts_clock; /* of a group: where `clock` points */
	/* Of a part: how much later it begins than the group, and how that is known. */
	int64_t later_ns;
	bool aligned;
	const struct rs_input *beside; /* the part that it was aligned to; NULL: the first */
	char alignment[RS_ALIGN_TEXT];
};

/*
 * format: an importer's name, or NULL: a directory is a trace directory, a file what its first
 * bytes say. options: NULL for none. RS_USAGE: there is no such format, or the file is of none that
 * is known; or some options are given, and the input has no use for them.
 */
struct rs_error *rs_open_with(const char *path, const char *format,
			      const struct rs_foreign_options *options, struct rs_input *input);

/*
 * Opens several as one: each trace's times are moved to count from the start of the earliest, and
 * their events are merged. Options are for those that can use them. RS_USAGE: a trace has no clock
 * in common with the others, or none can use the options.
 */
struct rs_error *rs_open_several(const char *const *paths, uint32_t n, const char *format,
				 const struct rs_foreign_options *options, struct rs_input *input);
void rs_input_close(struct rs_input *input); /* a zeroed one is valid */

/* Returns whether a path is a directory, or a file whose first bytes are those of a known
 * format. */
bool rs_input_is(const char *path);

/* Returns the i-th trace of an input, which may be the input itself, or NULL past the last. */
const struct rs_input *rs_input_part(const struct rs_input *input, uint32_t index);

/* Sets *at_ns to the time when recording ended, by rs_trace_closed(): of several traces, the last
 * one's. Returns false if a trace does not say. */
bool rs_input_closed(const struct rs_input *input, int64_t *at_ns);

/* Returns whether the events come from Xen's records: of several traces, those of each. */
bool rs_input_is_xen(const struct rs_input *input);

/* Returns the i-th known stream, or NULL past the last. The traces of a group follow one
 * another. */
const struct rs_stream *rs_input_stream(const struct rs_input *input, uint32_t index);

/* Appends a stream's schema to the *n schemas at `at`, which has room, unless it is among them. */
void rs_input_schema(const struct rs_stream *stream, const struct rs_schema **at, uint32_t *n);

/* Returns the i-th format, for help, or NULL past the last. */
const struct rs_importer *rs_importer(uint32_t index);

#endif
