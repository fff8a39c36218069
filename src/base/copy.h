/* SPDX-License-Identifier: BSD-2-Clause */
/* A file's copy: holes stay holes, and where the file system can, both share their blocks. */
#ifndef RS_BASE_COPY_H
#define RS_BASE_COPY_H

#include <ringside/error.h>

/* Of all of `from` to the start of `to`, which becomes as long; both are open, name is for errors.
 */
struct rs_error *rs_copy_file(int from, int to, const char *name);

#endif
