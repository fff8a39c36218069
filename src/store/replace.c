/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/replace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static struct rs_error *write_and_rename(const char *path, const char *new_path,
					 void (*write)(FILE *file, const void *ctx),
					 const void *ctx)
{
	FILE *file = fopen(new_path, "we");
	bool bad;

	if (!file)
		return rs_error_errno(errno, "%s", new_path);
	write(file, ctx);
	bad = ferror(file);
	bad |= fclose(file) != 0;
	return bad || rename(new_path, path) ? rs_error_errno(errno, "%s", path) : NULL;
}

struct rs_error *rs_store_replace(const char *directory, const char *name,
				  void (*write)(FILE *file, const void *ctx), const void *ctx)
{
	char *path = NULL, *new_path = NULL;
	struct rs_error *err;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return rs_error_no_memory();
	if (asprintf(&new_path, "%s/ringside/new", directory) < 0) {
		free(path);
		return rs_error_no_memory();
	}
	err = write_and_rename(path, new_path, write, ctx);
	free(path);
	free(new_path);
	return err;
}
