/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of a trace directory that are replaced as a whole: a reader never sees half of one. */
#ifndef RS_STORE_REPLACE_H
#define RS_STORE_REPLACE_H

#include <stdio.h>
#include <ringside/error.h>

struct rs_folder;

/* Writes the file of this name by way of a new one, "ringside/new". */
struct rs_error *rs_store_replace(const struct rs_folder *folder, const char *name,
				  void (*write)(FILE *file, const void *ctx), const void *ctx);

#endif
