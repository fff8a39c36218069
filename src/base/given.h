/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A file that a user names to be read: another tool's trace, a script, a list of formats. Another
 * user may have made it. So opening it never blocks, and only regular files without large holes are
 * opened: a FIFO without a writer would block, /dev/zero has no end, 50 GB of holes take an hour
 * to read. A file inside a trace directory is opened through base/folder.h.
 *
 * A pipe is an input only where the shell made it for this command: /dev/stdin, and /dev/fd/N as of
 * <(command). A FIFO with a name of its own is refused: "cat FIFO |" reads it.
 */
#ifndef RS_BASE_GIVEN_H
#define RS_BASE_GIVEN_H

#include <stdio.h>
#include <ringside/error.h>

enum rs_given {
	RS_GIVEN_FILE,	       /* a regular file */
	RS_GIVEN_FILE_OR_PIPE, /* or a pipe that is a descriptor of this process */
};

/* Opens a file for reading. RS_USAGE, with the path: it does not exist, or is refused. */
struct rs_error *rs_given_open(const char *path, enum rs_given what, int *fd);
struct rs_error *rs_given_file(const char *path, enum rs_given what, FILE **file);

#endif
