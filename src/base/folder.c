/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the files of an untrusted directory by its descriptor, without following links. */
#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clear.h"
#include "base/modes.h"

#define INSIDE "ringside"

/* ---- the directory -------------------------------------------------------------------------- */

static struct rs_error *hold(const char *path, int flags, struct rs_folder *folder)
{
	struct stat st;

	*folder = RS_FOLDER_NONE;
	folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	if (folder->fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return stat(path, &st)
			       ? rs_error_create(RS_USAGE, "%s: there is no such directory", path)
			       : rs_error_create(RS_USAGE, "%s is a file: name a directory", path);
	if (folder->fd < 0)
		return rs_error_errno(errno, "%s", path);
	folder->path = strdup(path);
	if (!folder->path) {
		close(folder->fd);
		*folder = RS_FOLDER_NONE;
		return rs_error_no_memory();
	}
	folder->inside =
		openat(folder->fd, INSIDE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return NULL;
}

struct rs_error *rs_folder_open(const char *path, struct rs_folder *folder)
{
	struct rs_error *err = hold(path, 0, folder);

	if (err)
		rs_folder_close(folder);
	return err;
}

struct rs_error *rs_folder_open_itself(const char *path, struct rs_folder *folder)
{
	struct rs_error *err = hold(path, O_NOFOLLOW, folder);

	if (err)
		rs_folder_close(folder);
	return err;
}

static struct rs_error *make_directory(const char *path)
{
	struct rs_error *err;

	if (!mkdir(path, rs_modes_directory()))
		return NULL;
	if (errno != EEXIST)
		return rs_error_errno(errno, "%s", path);
	err = rs_clear_directory(path);
	if (err)
		return err;
	if (rmdir(path)) /* fails unless it is empty */
		return rs_error_create(
			RS_USAGE, "%s exists already and is not empty: name a new directory", path);
	return mkdir(path, rs_modes_directory()) ? rs_error_errno(errno, "%s", path) : NULL;
}

struct rs_error *rs_folder_make(const char *path, struct rs_folder *folder)
{
	struct rs_error *err = make_directory(path);

	*folder = RS_FOLDER_NONE;
	if (!err)
		err = hold(path, 0, folder);
	if (!err && rs_modes_apply(folder->fd, rs_modes_directory()))
		err = rs_error_errno(errno, "%s: setting its mode and group", path);
	if (err)
		rs_folder_close(folder);
	return err;
}

struct rs_error *rs_folder_open_or_make(const char *path, struct rs_folder *folder)
{
	bool made = !mkdir(path, rs_modes_directory());
	struct rs_error *err;

	*folder = RS_FOLDER_NONE;
	if (!made && errno != EEXIST)
		return rs_error_errno(errno, "%s: cannot create it", path);
	err = rs_folder_open(path, folder);
	if (!err && made && rs_modes_apply(folder->fd, rs_modes_directory())) {
		err = rs_error_errno(errno, "%s: setting its mode and group", path);
		rs_folder_close(folder);
	}
	return err;
}

struct rs_error *rs_folder_make_inside(struct rs_folder *folder)
{
	if (!mkdirat(folder->fd, INSIDE, rs_modes_directory()))
		folder->inside =
			openat(folder->fd, INSIDE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return folder->inside < 0 || rs_modes_apply(folder->inside, rs_modes_directory())
		       ? rs_error_errno(errno, "%s/" INSIDE, folder->path)
		       : NULL;
}

void rs_folder_close(struct rs_folder *folder)
{
	if (!folder->path)
		return;
	close(folder->fd);
	if (folder->inside >= 0)
		close(folder->inside);
	free(folder->path);
	*folder = RS_FOLDER_NONE;
}

/* ---- its files ------------------------------------------------------------------------------ */

/* Returns the descriptor of a name's directory, and sets the rest of the name. */
static int below(const struct rs_folder *folder, const char **name)
{
	const size_t n = strlen(INSIDE "/");

	if (strncmp(*name, INSIDE "/", n))
		return folder->fd;
	*name += n;
	return folder->inside;
}

int rs_folder_open_file(const struct rs_folder *folder, const char *name, int flags)
{
	int at = below(folder, &name), fd, refused;
	struct stat st;

	if (at < 0) {
		errno = ENOENT;
		return -1;
	}
	/* O_NONBLOCK: opening a FIFO must not wait; the flag does not affect regular files. */
	fd = openat(at, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		    rs_modes_file());
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		errno = EINVAL;
	else if ((flags & O_ACCMODE) != O_RDONLY && st.st_nlink > 1)
		errno = EMLINK;
	else if (!(flags & O_CREAT) || !rs_modes_apply(fd, rs_modes_file()))
		return fd;
	refused = errno;
	close(fd);
	errno = refused;
	return -1;
}

struct rs_error *rs_folder_fd(const struct rs_folder *folder, const char *name, int flags, int *fd)
{
	int opened = rs_folder_open_file(folder, name, flags);

	if (opened >= 0) {
		*fd = opened;
		return NULL;
	}
	if (errno == ELOOP)
		return rs_error_create(RS_DAMAGED,
				       "%s/%s is a symbolic link, which is not "
				       "followed",
				       folder->path, name);
	if (errno == EMLINK)
		return rs_error_create(RS_DAMAGED,
				       "%s/%s has another name (a hard link), and is not written",
				       folder->path, name);
	if (errno == EINVAL || errno == ENXIO || errno == EISDIR)
		return rs_error_create(RS_DAMAGED, "%s/%s is not a regular file", folder->path,
				       name);
	return rs_error_errno(errno, "%s/%s", folder->path, name);
}

struct rs_error *rs_folder_file(const struct rs_folder *folder, const char *name, int flags,
				const char *mode, FILE **file)
{
	int fd = -1;
	struct rs_error *err = rs_folder_fd(folder, name, flags, &fd);
	FILE *opened;

	if (err)
		return err;
	opened = fdopen(fd, mode);
	if (!opened) {
		close(fd);
		return rs_error_no_memory();
	}
	*file = opened;
	return NULL;
}

bool rs_folder_bytes(const struct rs_folder *folder, const char *name, uint64_t *bytes)
{
	int at = below(folder, &name);
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return false;
	*bytes = (uint64_t)st.st_size;
	return true;
}

/* ---- a file that is replaced ---------------------------------------------------------------- */

void rs_folder_drop(const struct rs_folder *folder, const char *name)
{
	int at = below(folder, &name);

	unlinkat(at, name, 0);
}

struct rs_error *rs_folder_new(const struct rs_folder *folder, const char *name, FILE **file)
{
	rs_folder_drop(folder, name);
	return rs_folder_file(folder, name, O_WRONLY | O_CREAT | O_EXCL, "w", file);
}

struct rs_error *rs_folder_rename(const struct rs_folder *folder, const char *from, const char *to)
{
	const char *below_from = from, *below_to = to;
	int at = below(folder, &below_from), there = below(folder, &below_to);

	return renameat(at, below_from, there, below_to)
		       ? rs_error_errno(errno, "%s/%s", folder->path, to)
		       : NULL;
}

struct rs_error *rs_folder_replace(const struct rs_folder *folder, const char *name,
				   const char *new_name, void (*write)(FILE *file, const void *ctx),
				   const void *ctx)
{
	FILE *file;
	struct rs_error *err = rs_folder_new(folder, new_name, &file);
	bool bad;

	if (err)
		return err;
	write(file, ctx);
	bad = ferror(file);
	bad |= fclose(file) != 0;
	err = bad ? rs_error_errno(errno, "%s/%s", folder->path, name)
		  : rs_folder_rename(folder, new_name, name);
	if (err)
		rs_folder_drop(folder, new_name);
	return err;
}
