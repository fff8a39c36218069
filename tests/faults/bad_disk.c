/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A failing disk, as a library to preload. After failing_arm(n), each n-th write to a regular file
 * fails as the environment variable BAD_DISK selects, until failing_arm(0):
 *
 *	EIO, ENOSPC   nothing is written
 *	EINTR         nothing is written; the caller may try again
 *	short         the first half is written
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PART_MAX 65536 /* bytes of a vector that a short write writes */

static unsigned int every, writes; /* relaxed */
static int failure;		   /* errno, or 0: short */

void failing_arm(unsigned int n);

__attribute__((visibility("default"))) void failing_arm(unsigned int n)
{
	static const struct {
		const char *name;
		int value;
	} failures[] = { { "EIO", EIO }, { "ENOSPC", ENOSPC }, { "EINTR", EINTR }, { "short", 0 } };
	const char *name = getenv("BAD_DISK");

	for (size_t i = 0; n && i < sizeof(failures) / sizeof(failures[0]); i++)
		if (name && !strcmp(name, failures[i].name))
			failure = failures[i].value;
	__atomic_store_n(&every, n, __ATOMIC_RELAXED);
}

static int fails(int fd)
{
	unsigned int n = __atomic_load_n(&every, __ATOMIC_RELAXED);
	struct stat st;

	return n && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       !(__atomic_add_fetch(&writes, 1, __ATOMIC_RELAXED) % n);
}

/* Returns how many of the bytes are written, or -1 with errno. */
static ssize_t left(size_t bytes)
{
	if (!failure)
		return (ssize_t)(bytes + 1) / 2;
	errno = failure;
	return -1;
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void *from, size_t bytes)
{
	ssize_t n = fails(fd) ? left(bytes) : (ssize_t)bytes;

	return n < 0 ? n : syscall(SYS_write, fd, from, n);
}

__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *from, size_t bytes,
						      off_t at)
{
	ssize_t n = fails(fd) ? left(bytes) : (ssize_t)bytes;

	return n < 0 ? n : syscall(SYS_pwrite64, fd, from, n, at);
}
