/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies and writes bytes, and retries short reads and writes. */
#include "base/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART 65536

size_t rs_write_at(int fd, const void *from, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n =
			pwrite(fd, (const char *)from + done, bytes - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (!n)
			errno = ENOSPC;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return done;
}

/* Copies through memory, which also works from one kind of file system to another. */
static ssize_t copy_part(int from, off_t at, int to, size_t bytes)
{
	char part[PART];
	ssize_t n = pread(from, part, bytes < sizeof(part) ? bytes : sizeof(part), at);

	return n > 0 && rs_write_at(to, part, (size_t)n, (uint64_t)at) < (size_t)n ? -1 : n;
}

static struct rs_error *copy_data(int from, off_t at, off_t end, int to, const char *name)
{
	while (at < end) {
		off_t there = at, here = at;
		ssize_t n = copy_file_range(from, &here, to, &there, (size_t)(end - at), 0);

		if (n <= 0)
			n = copy_part(from, at, to, (size_t)(end - at));
		if (n <= 0)
			return rs_error_errno(n ? errno : EIO, "copying %s", name);
		at += n;
	}
	return NULL;
}

struct rs_error *rs_copy_file(int from, int to, const char *name)
{
	struct rs_error *err = NULL;
	struct stat st;
	off_t at = 0;

	if (fstat(from, &st) || ftruncate(to, st.st_size))
		return rs_error_errno(errno, "copying %s", name);
	while (!err && at < st.st_size) {
		off_t data = lseek(from, at, SEEK_DATA), end;

		if (data < 0)
			return errno == ENXIO ? NULL : rs_error_errno(errno, "copying %s", name);
		end = lseek(from, data, SEEK_HOLE);
		if (end < 0 || end > st.st_size)
			end = st.st_size;
		err = copy_data(from, data, end, to, name);
		at = end;
	}
	return err;
}

struct rs_error *rs_nameless_file(const char *what, int *fd)
{
	int made = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (made < 0)
		made = memfd_create(what, MFD_CLOEXEC);
	if (made < 0)
		return rs_error_errno(errno, "%s: a file in " P_tmpdir, what);
	*fd = made;
	return NULL;
}
