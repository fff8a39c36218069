/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the content of files in a Linux guest's page cache: mapping -> xarray (lib/xarray.c) ->
 * folio -> page frame. A page is accepted if its folio refers to this mapping and index. A node of
 * the tree is accepted if it refers to its parent.
 */
#ifndef RS_INSIGHT_PAGES_H
#define RS_INSIGHT_PAGES_H

#include "insight/linux.h"

/* Returns the guest-physical address of the page of a struct page. */
struct rs_error *rs_linux_page_gpa(struct rs_linux *kernel, uint64_t page, uint64_t *gpa);

#define RS_FILE_BYTES_MAX (UINT64_C(256) << 20)

/* A file, independent of its name. */
struct rs_linux_file {
	uint64_t mapping; /* its content: address of the struct address_space */
	uint64_t bytes;
};

/* Reads the file of the struct file at an address. */
struct rs_error *rs_linux_file_read(struct rs_linux *kernel, uint64_t file,
				    struct rs_linux_file *out);

/* Copies the first bytes of the content; the caller frees the copy. Returns RS_USAGE if one of
 * their pages is not in memory, RS_DAMAGED if one is inconsistent. */
struct rs_error *rs_linux_file_copy(struct rs_linux *kernel, const struct rs_linux_file *file,
				    uint64_t bytes, uint8_t **copy);

#endif
