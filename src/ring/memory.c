/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory for rings: anonymous memory, a new file, or an existing file or device. The caller owns
 * the mapping and frees it with rs_ring_unmap(). A new file's blocks are allocated immediately, so
 * that a full disk is an error here and not a SIGBUS at the first put. Only root and the user of
 * this process can truncate a file that is mapped here (ring/shared.h). Any thread may call.
 */
#include <ringside/ring.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/shared.h"

static struct rs_error *map(int fd, size_t bytes, const char *what, void **mem)
{
	int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		return rs_error_errno(errno, "%s: cannot map %zu bytes", what, bytes);
	*mem = at;
	return NULL;
}

struct rs_error *rs_ring_map_anonymous(size_t bytes, struct rs_ring_memory *memory)
{
	struct rs_error *err;
	void *mem = NULL;

	err = map(-1, bytes, "cannot map ring memory", &mem);
	if (err)
		return err;
	*memory = (struct rs_ring_memory){ .mem = mem, .bytes = bytes, .fd = -1 };
	return NULL;
}

/* Allocates an empty file's bytes, also on the disk, and maps them. */
static struct rs_error *fill_and_map(int fd, const char *path, size_t bytes, void **mem)
{
	int failed = posix_fallocate(fd, 0, (off_t)bytes);

	if (failed)
		return rs_error_errno(failed, "%s: cannot allocate %zu bytes for it", path, bytes);
	return map(fd, bytes, path, mem);
}

struct rs_error *rs_ring_map_create(const char *name, size_t bytes, struct rs_ring_memory *memory)
{
	struct rs_error *err;
	char *path;
	void *mem = NULL;
	int fd;

	if (!bytes)
		return rs_error_create(RS_USAGE, "%s: a ring needs more than 0 bytes", name);
	err = rs_shared_path(name, true, &path);
	if (err)
		return err;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | RS_SHARED_FLAGS, 0600);
	if (fd < 0) {
		err = rs_error_errno(errno, "cannot create '%s'", path);
		free(path);
		return err;
	}
	err = fill_and_map(fd, path, bytes, &mem);
	if (err) {
		unlink(path);
		close(fd);
		free(path);
		return err;
	}
	*memory = (struct rs_ring_memory){ .mem = mem, .bytes = bytes, .fd = fd, .path = path };
	return NULL;
}

/* Returns the number of bytes of the open file to map: the requested number, or all; never beyond
 * its end. */
static struct rs_error *bytes_of(int fd, const char *path, size_t asked, size_t *bytes)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return rs_error_errno(errno, "%s", path);
	if (!S_ISREG(st.st_mode) && !asked)
		return rs_error_create(
			RS_USAGE, "%s: not a regular file: give the number of bytes to map", path);
	if (S_ISREG(st.st_mode) && (!st.st_size || asked > (size_t)st.st_size))
		return rs_error_create(RS_USAGE, "%s: it has %lld bytes, but %zu are needed", path,
				       (long long)st.st_size, asked ? asked : 1);
	*bytes = asked ? asked : (size_t)st.st_size;
	return NULL;
}

struct rs_error *rs_ring_map_existing(const char *name, size_t bytes, struct rs_ring_memory *memory)
{
	struct rs_error *err;
	char *path;
	void *mem = NULL;
	int fd = -1;

	err = rs_shared_path(name, false, &path);
	if (err)
		return err;
	err = rs_shared_open(path, O_RDWR, RS_SHARED_ANY, &fd);
	if (!err)
		err = bytes_of(fd, path, bytes, &bytes);
	if (!err)
		err = map(fd, bytes, path, &mem);
	free(path);
	if (err) {
		if (fd >= 0)
			close(fd);
		return err;
	}
	*memory = (struct rs_ring_memory){ .mem = mem, .bytes = bytes, .fd = fd };
	return NULL;
}

void rs_ring_unmap(struct rs_ring_memory *memory)
{
	if (memory->mem)
		munmap(memory->mem, memory->bytes);
	if (memory->path)
		unlink(memory->path);
	if (memory->fd >= 0)
		close(memory->fd);
	free(memory->path);
	*memory = (struct rs_ring_memory){ .fd = -1 };
}
