/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens a file that the user named, without blocking on it. */
#include "base/given.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger than the holes that tools leave when they seek ahead, and fast to read. */
#define HOLES_BYTES_MAX (64 << 20)

static bool is_own_descriptor(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return true;
	}
	return !strcmp(path, "/dev/stdin");
}

/* Returns the kind of a refused file and the remedy, or NULL if the file is accepted. */
static const char *refused(const char *path, enum rs_given what, mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return NULL;
	case S_IFIFO:
		if (what == RS_GIVEN_FILE)
			return "a pipe, and a regular file is required: write its bytes to a file "
			       "first";
		return is_own_descriptor(path)
			       ? NULL
			       : "a FIFO, which could block: use 'cat FIFO |' and /dev/stdin";
	case S_IFCHR:
	case S_IFBLK:
		return "a device, and a regular file is required";
	case S_IFDIR:
		return "a directory, and a regular file is required";
	default:
		return "not a regular file";
	}
}

/* Returns whether the file's holes exceed the limit. The search ends at the hole that exceeds
 * it. */
static bool has_holes(int fd, off_t size)
{
	off_t holes = 0, data = 0;

	while (data < size && holes <= HOLES_BYTES_MAX) {
		off_t hole = lseek(fd, data, SEEK_HOLE);

		if (hole < 0 || hole >= size)
			break;
		data = lseek(fd, hole, SEEK_DATA);
		if (data < 0) /* ENXIO: no data up to the end */
			data = size;
		holes += data - hole;
	}
	return holes > HOLES_BYTES_MAX;
}

static struct rs_error *refuse(const char *path, const char *why)
{
	return rs_error_create(RS_USAGE, "%s is %s", path, why);
}

static struct rs_error *check(const char *path, enum rs_given what, int fd)
{
	const char *why;
	struct stat st;

	if (fstat(fd, &st))
		return rs_error_errno(errno, "%s", path);
	why = refused(path, what, st.st_mode);
	if (why)
		return refuse(path, why);
	if (!S_ISREG(st.st_mode)) /* a pipe is read sequentially */
		return fcntl(fd, F_SETFL, 0) ? rs_error_errno(errno, "%s", path) : NULL;
	if (has_holes(fd, st.st_size))
		return rs_error_create(
			RS_USAGE, "%s has holes of more than %d MiB, which no tool's trace has",
			path, HOLES_BYTES_MAX >> 20);
	return lseek(fd, 0, SEEK_SET) ? rs_error_errno(errno, "%s", path) : NULL;
}

struct rs_error *rs_given_open(const char *path, enum rs_given what, int *fd)
{
	const char *why;
	struct rs_error *err;
	struct stat st;
	int opened;

	/* First checks without opening, because opening some devices has effects. */
	if (stat(path, &st))
		return rs_error_create(RS_USAGE, "%s: %s", path, strerror(errno));
	why = refused(path, what, st.st_mode);
	if (why)
		return refuse(path, why);
	opened = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (opened < 0)
		return rs_error_create(RS_USAGE, "%s: %s", path, strerror(errno));
	err = check(path, what, opened);
	if (err)
		close(opened);
	else
		*fd = opened;
	return err;
}

struct rs_error *rs_given_file(const char *path, enum rs_given what, FILE **file)
{
	int fd = -1;
	struct rs_error *err = rs_given_open(path, what, &fd);
	FILE *opened;

	if (err)
		return err;
	opened = fdopen(fd, "r");
	if (!opened) {
		close(fd);
		return rs_error_no_memory();
	}
	*file = opened;
	return NULL;
}
