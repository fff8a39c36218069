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

#define RS_XEN_SURVEY_BYTES (4u << 20) /* a trace's start, which is surveyed */

struct rs_xen_file {
	char *path;
	int fd;
	bool regular;
	size_t ahead;	 /* bytes read before any is consumed; the caller sets it */
	uint8_t *buffer; /* bytes of the file that are in no block yet */
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

/* Owns fd from here on, after an error too. head: the bytes that were read from fd already. */
struct rs_error *rs_xen_file_init(struct rs_xen_file *file, int fd, const char *path,
				  const void *head, size_t bytes);
void rs_xen_file_deinit(struct rs_xen_file *file);

/*
 * Reads on until there is enough to take something, or the end. False: a signal came first; ask
 * again. Errors of the file are kept in file->error, but for a lack of memory.
 */
struct rs_error *rs_xen_file_fill(struct rs_xen_file *file, bool *enough);

#endif
