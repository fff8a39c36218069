/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The windows of a xentrace file, read into blocks of records (xen_records.h).
 *
 *	file --> window --> block (checked) --> records by time
 *
 * At the first invalid record nothing more is read. What stands between it and the last
 * record before it that is known is not believed either.
 */
#ifndef RS_IMPORT_XEN_FILE_H
#define RS_IMPORT_XEN_FILE_H

#include "xen/records.h"

#define RS_XEN_SURVEY_BYTES (4u << 20) /* of a trace's beginning, what a survey is made of */

struct rs_xen_file {
	char *path;
	int fd;
	bool regular;
	size_t ahead;	 /* bytes that are read before any is taken; the caller sets it */
	uint8_t *buffer; /* what was read of the file and not put into blocks */
	size_t buffer_at, buffer_end;
	uint64_t offset; /* in the file, of buffer_at */
	/* The window that is being read. */
	struct rs_xen_pcpu *window;
	uint32_t window_left;
	bool window_begun;	    /* its head has been passed */
	struct rs_xen_block *block; /* that is being filled */
	uint32_t piece;		    /* bytes of it that are new */
	uint8_t carry[40];	    /* the half record at the end of the one before */
	uint32_t n_carry;
	struct rs_xen_records of;
	uint64_t records, windows;
	struct rs_error *error; /* told at the end */
};

/* Takes over fd, whether it fails or not; head: what was read of it already. */
struct rs_error *rs_xen_file_init(struct rs_xen_file *file, int fd, const char *path,
				  const void *head, size_t bytes);
void rs_xen_file_deinit(struct rs_xen_file *file);

/*
 * Reads on until there is enough to take something, or the end. False: a signal came first; ask
 * again. Errors of the file are kept in file->error, but for a lack of memory.
 */
struct rs_error *rs_xen_file_fill(struct rs_xen_file *file, bool *enough);

#endif
