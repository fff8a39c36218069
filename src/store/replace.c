/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/replace.h"

#include <errno.h>
#include <stdbool.h>

#include "store/folder.h"

struct rs_error *rs_store_replace(const struct rs_folder *folder, const char *name,
				  void (*write)(FILE *file, const void *ctx), const void *ctx)
{
	FILE *file;
	struct rs_error *err = rs_folder_new(folder, &file);
	bool bad;

	if (err)
		return err;
	write(file, ctx);
	bad = ferror(file);
	bad |= fclose(file) != 0;
	return bad ? rs_error_errno(errno, "%s/%s", folder->path, name)
		   : rs_folder_put_new(folder, name);
}
