/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that a user names for reading: another tool's trace, a script, a list of formats. Another
 * user may have created it. So opening it never blocks, and only regular files without large holes
 * are opened: a FIFO without a writer would block, /dev/zero has no end, 50 GB of holes take an
 * hour to read. A file inside a trace directory is opened through base/folder.h.
 *
 * A pipe is an input only if the shell created it for this command: /dev/stdin, or /dev/fd/N of
 * <(command). A named FIFO is refused; "cat FIFO |" reads it.
 */
#ifndef RS_BASE_GIVEN_H
#define RS_BASE_GIVEN_H

#include <stdio.h>
#include <ringside/error.h>

enum rs_given {
	RS_GIVEN_FILE,	       /* a regular file */
	RS_GIVEN_FILE_OR_PIPE, /* or a pipe that is a descriptor of this process */
};

/* Opens a file for reading. Returns RS_USAGE, with the path, if it does not exist or is refused. */
struct rs_error *rs_given_open(const char *path, enum rs_given what, int *fd);
struct rs_error *rs_given_file(const char *path, enum rs_given what, FILE **file);

#endif
