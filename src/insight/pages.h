/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The content of files in a Linux guest's page cache: mapping -> xarray (lib/xarray.c) -> folio ->
 * page frame. A page is believed if its folio says that it is this part of this mapping,
 * and each node of the tree if it leads back to the one above.
 */
#ifndef RS_INSIGHT_PAGES_H
#define RS_INSIGHT_PAGES_H

#include "insight/linux.h"

/* Returns where the page of a struct page is. */
struct rs_error *rs_linux_page_gpa(struct rs_linux *kernel, uint64_t page, uint64_t *gpa);

#define RS_FILE_BYTES_MAX (UINT64_C(256) << 20)

/* What a file is, whatever its name. */
struct rs_linux_file {
	uint64_t mapping; /* of its content: the struct address_space */
	uint64_t bytes;
};

/* Reads what the struct file at an address is of. */
struct rs_error *rs_linux_file_read(struct rs_linux *kernel, uint64_t file,
				    struct rs_linux_file *out);

/* Copies the first bytes of the content, which the caller frees. Returns RS_USAGE if a page of them
 * is not in memory, RS_DAMAGED if one is not believed. */
struct rs_error *rs_linux_file_copy(struct rs_linux *kernel, const struct rs_linux_file *file,
				    uint64_t bytes, uint8_t **copy);

#endif
