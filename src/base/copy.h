/* SPDX-License-Identifier: BSD-2-Clause */
/* A file's copy: holes stay holes, and where the file system can, both share their blocks. */
#ifndef RS_BASE_COPY_H
#define RS_BASE_COPY_H

#include <ringside/error.h>

/* Of all of `from` to the start of `to`, which becomes as long; both are open, name is for errors.
 */
struct rs_error *rs_copy_file(int from, int to, const char *name);

/* Makes an empty file without a name, for reading and writing, close-on-exec: in P_tmpdir, or in
 * memory where no file there can be without a name. It goes with the last that has it open. */
struct rs_error *rs_nameless_file(const char *what, int *fd);

#endif
