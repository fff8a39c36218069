/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that all exporters share: opening and writing files. */
#include "export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/modes.h"

void rs_export_destroy(struct rs_export *export)
{
	if (export)
		export->destroy(export);
}

struct rs_error *rs_export_open(const char *path, int *fd)
{
	int made = rs_modes_open(path, O_WRONLY);
	struct stat st;

	if (made < 0)
		return rs_error_create(RS_USAGE, "%s: %s", path, strerror(errno));
	if (!fstat(made, &st) && S_ISREG(st.st_mode) && st.st_size) {
		close(made);
		return rs_error_create(RS_USAGE, "%s: it already exists and is not empty", path);
	}
	*fd = made;
	return NULL;
}

struct rs_error *rs_export_write(int fd, const char *path, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	while (n) {
		ssize_t put = write(fd, at, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return rs_error_errno(errno, "%s", path);
		at += put;
		n -= (size_t)put;
	}
	return NULL;
}
