/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the windows of a xentrace file into blocks of records (xen/records.h).
 *
 *	file --> window --> block (checked) --> records by time
 *
 * Reading ends at the first invalid record. The records between it and the last record of a known
 * layout before it are discarded, too.
 */
#ifndef RS_IMPORT_XEN_FILE_H
#define RS_IMPORT_XEN_FILE_H

#include "xen/records.h"

#define RS_XEN_SURVEY_BYTES (4u << 20) /* the part of a trace's start that is surveyed */

struct rs_xen_file {
	char *path;
	int fd;
	bool regular;
	size_t ahead;	 /* bytes to read before any is consumed; the caller sets it */
	uint8_t *buffer; /* bytes of the file that are not in a block yet */
	size_t buffer_at, buffer_end;
	uint64_t offset; /* in the file, of buffer_at */
	/* The window that is being read. */
	struct rs_xen_pcpu *window;
	uint32_t window_left;
	bool window_begun;	    /* its head was consumed */
	struct rs_xen_block *block; /* the block that is being filled */
	uint32_t piece;		    /* its new bytes */
	uint8_t carry[40];	    /* the half record at the end of the previous block */
	uint32_t n_carry;
	struct rs_xen_records of;
	uint64_t records, windows;
	struct rs_error *error; /* returned at the end */
};

/* Initializes the file. Takes ownership of fd, also after an error. head: the bytes that were
 * already read from fd. */
struct rs_error *rs_xen_file_init(struct rs_xen_file *file, int fd, const char *path,
				  const void *head, size_t bytes);
void rs_xen_file_deinit(struct rs_xen_file *file);

/*
 * Reads until there is enough to consume, or to the end. Clears *enough if a signal interrupted it;
 * call it again. Returns only lack of memory; errors of the file are stored in file->error.
 */
struct rs_error *rs_xen_file_fill(struct rs_xen_file *file, bool *enough);

#endif
