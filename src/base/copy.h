/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes bytes from memory, and copies files. */
#ifndef RS_BASE_COPY_H
#define RS_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

/* Writes the bytes at this offset of a file, and retries short and interrupted writes. Returns the
 * number of bytes written. If it is less than the requested number, errno is set. */
size_t rs_write_at(int fd, const void *from, size_t bytes, uint64_t offset);

/* Copies all of `from` to the start of `to`, and sets the length of `to`. Both are open; errors
 * contain name. Holes stay holes, and the files share their blocks if the file system supports
 * it. */
struct rs_error *rs_copy_file(int from, int to, const char *name);

/* Creates an empty file without a name, for reading and writing, close-on-exec: in P_tmpdir, or in
 * memory if P_tmpdir's file system has no such files. The file is removed at its last close. */
struct rs_error *rs_nameless_file(const char *what, int *fd);

#endif
