/* SPDX-License-Identifier: BSD-2-Clause */
/* A trace by its path, whatever wrote it: a trace directory, or a file that an importer knows. */
#ifndef RS_SOURCE_OPEN_H
#define RS_SOURCE_OPEN_H

#include "source/foreign.h"
#include <ringside/reader.h>

/* One of trace and foreign is set. */
struct rs_input {
	struct rs_trace *trace;
	struct rs_foreign *foreign;
	const struct rs_importer *importer; /* of foreign */
	struct rs_source *source;
	const struct rs_clock *clock; /* the trace's: its time zero */
};

/*
 * format: an importer's name, or NULL: a directory is a trace directory, a file what its first
 * bytes say. RS_USAGE: there is no such format, or the file is of none that is known.
 */
struct rs_error *rs_open_any(const char *path, const char *format, struct rs_input *input);
/* options: NULL for none. RS_USAGE: some are given, and the input has no use for them. */
struct rs_error *rs_open_with(const char *path, const char *format,
			      const struct rs_foreign_options *options, struct rs_input *input);
void rs_input_close(struct rs_input *input); /* also one of zero bytes */

/* Whether a path is a directory, or a file of a format whose first bytes say so. */
bool rs_input_is(const char *path);

/* Whether its events are of Xen's records. */
bool rs_input_is_xen(const struct rs_input *input);

/* The streams that are known; NULL past the last. */
const struct rs_stream *rs_input_stream(const struct rs_input *input, uint32_t index);

/* The formats there are, for help; NULL past the last. */
const struct rs_importer *rs_importer(uint32_t index);

#endif
