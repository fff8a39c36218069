/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes from memory, and from file to file. */
#ifndef RS_BASE_COPY_H
#define RS_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

/* Writes the bytes at this offset of a file, also where the kernel takes them in pieces or a signal
 * interrupts it. Returns how many are written; fewer than all: errno says why. */
size_t rs_write_at(int fd, const void *from, size_t bytes, uint64_t offset);

/* Copies all of `from` to the start of `to`, which becomes as long; both are open, name is for
 * errors. Holes stay holes, and where the file system can, both share their blocks. */
struct rs_error *rs_copy_file(int from, int to, const char *name);

/* Makes an empty file without a name, for reading and writing, close-on-exec: in P_tmpdir, or in
 * memory where no file there can be without a name. It goes with the last that has it open. */
struct rs_error *rs_nameless_file(const char *what, int *fd);

#endif
