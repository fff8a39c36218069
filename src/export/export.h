/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces in other tools' formats, written: an exporter is a sink that makes a file (or a directory)
 * of the events that its format can hold. Adding one is a file with a create function, and a row in
 * cli/cmd_export.c.
 *
 * One thread uses it.
 */
#ifndef RS_EXPORT_EXPORT_H
#define RS_EXPORT_EXPORT_H

#include "input/open.h"

/* What came of it; whole once the sink's end() has been called. */
struct rs_export_tally {
	uint64_t records;  /* written */
	uint64_t left_out; /* events that the format has no place for */
	uint64_t lost;	   /* records, by losses that the format can't tell of */
};

/* First member of each exporter's own. */
struct rs_export {
	struct rs_sink sink;
	struct rs_export_tally tally;
	void (*destroy)(struct rs_export *);
};

struct rs_exporter {
	const char *name, *help;
	/* Whether an input has what the format is for. */
	bool (*suits)(const struct rs_input *input);
	/* path: what to make. RS_USAGE: it is there already. The input outlives the export. */
	struct rs_error *(*create)(const char *path, const struct rs_input *input,
				   struct rs_export **export);
};

/* NULL is nothing. */
void rs_export_destroy(struct rs_export *export);

/* Opens a file to be made: one that is there and has something in it is left alone (RS_USAGE). A
 * pipe or a device is as good. */
struct rs_error *rs_export_open(const char *path, int *fd);

/* All of it. RS_FAILED where that can't be. */
struct rs_error *rs_export_write(int fd, const char *path, const void *bytes, size_t n);

/* xentrace's files (xentrace.c). */
bool rs_export_xentrace_suits(const struct rs_input *input);
struct rs_error *rs_export_xentrace(const char *path, const struct rs_input *input,
				    struct rs_export **export);

/* A directory of ACRN's raw files (acrn.c). */
bool rs_export_acrn_suits(const struct rs_input *input);
struct rs_error *rs_export_acrn(const char *path, const struct rs_input *input,
				struct rs_export **export);

#endif
