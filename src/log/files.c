/* SPDX-License-Identifier: BSD-2-Clause */
/* Rotates log files, limited in size and number. */
#include "log/files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 512 /* a directory entry, and a suffix */
#define NUMBER_MAX 1000000000ul

/* Returns N of a file's name NAME.N, or UINT32_MAX if the name has another form. */
static uint32_t number_of(const char *file, const char *name)
{
	size_t n = strlen(name);
	unsigned long value;
	char *end;

	if (strncmp(file, name, n) != 0 || file[n] != '.' || !isdigit((unsigned char)file[n + 1]))
		return UINT32_MAX;
	value = strtoul(file + n + 1, &end, 10);
	return *end || value >= NUMBER_MAX ? UINT32_MAX : (uint32_t)value;
}

/* Opens a stream over the entries of a directory. Returns NULL and errno on failure. Follows no
 * links. */
static DIR *entries_open(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (fd >= 0 && !dir)
		close(fd);
	return dir;
}

struct rs_error *rs_log_files_next(const struct rs_folder *folder, const char *name, uint32_t *next)
{
	DIR *dir = entries_open(folder->fd, ".");
	struct dirent *entry;

	if (!dir)
		return rs_error_errno(errno, "%s", folder->path);
	*next = 0;
	while ((entry = readdir(dir))) {
		uint32_t number = number_of(entry->d_name, name);

		if (number != UINT32_MAX && number + 1 > *next)
			*next = number + 1;
	}
	closedir(dir);
	return NULL;
}

/* The folders that a directory to be removed may contain, from the outermost on. */
static const char *const inner_folders[] = { "trace", "ringside" };

static void remove_below(int at, const char *name)
{
	DIR *dir = entries_open(at, name);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
	closedir(dir);
	unlinkat(at, name, AT_REMOVEDIR);
}

void rs_log_trace_remove(const struct rs_folder *folder, const char *name)
{
	const size_t n = sizeof(inner_folders) / sizeof(inner_folders[0]);
	int fd = openat(folder->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		int inner = openat(fd, inner_folders[i],
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (inner < 0)
			continue;
		for (size_t j = i + 1; j < n; j++)
			remove_below(inner, inner_folders[j]);
		close(inner);
		remove_below(fd, inner_folders[i]);
	}
	close(fd);
	remove_below(folder->fd, name);
}

void rs_log_files_prune(const struct rs_folder *folder, const char *name, uint32_t next,
			uint32_t keep, uint64_t *removed)
{
	DIR *dir = entries_open(folder->fd, ".");
	char trace[NAME_BYTES];
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		uint32_t number = number_of(entry->d_name, name);

		if (number == UINT32_MAX || number + keep >= next)
			continue;
		if (!unlinkat(folder->fd, entry->d_name, 0))
			(*removed)++;
		snprintf(trace, sizeof(trace), "%s.trace", entry->d_name);
		rs_log_trace_remove(folder, trace);
	}
	closedir(dir);
}

/* Begins the next file: creates it before the oldest file is removed, and before a line is
 * accepted. */
static struct rs_error *rotate(struct rs_log_files *f)
{
	char name[NAME_BYTES];
	struct rs_error *err;
	int fd = -1;

	snprintf(name, sizeof(name), "%s.%u", f->name, f->fd >= 0 ? f->number + 1 : f->number);
	err = rs_folder_fd(&f->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, &fd);
	if (err)
		return rs_error_wrap(err, "cannot create a log file");
	if (f->fd >= 0) {
		close(f->fd);
		f->number++;
	}
	f->fd = fd;
	f->bytes = 0;
	if (f->limit_files)
		rs_log_files_prune(&f->folder, f->name, f->number + 1, f->limit_files, &f->removed);
	return NULL;
}

struct rs_error *rs_log_files_init(struct rs_log_files *files, const char *directory,
				   const char *name, uint64_t limit_bytes, uint32_t limit_files)
{
	struct rs_error *err;

	*files = (struct rs_log_files){ .folder = RS_FOLDER_NONE,
					.limit_bytes = limit_bytes,
					.limit_files = limit_files,
					.fd = -1 };
	err = rs_folder_open_or_make(directory, &files->folder);
	if (!err)
		err = rs_log_files_next(&files->folder, name, &files->number);
	files->name = strdup(name);
	if (!err && !files->name)
		err = rs_error_no_memory();
	if (err)
		rs_log_files_deinit(files);
	return err;
}

void rs_log_files_deinit(struct rs_log_files *files)
{
	if (files->fd >= 0)
		close(files->fd);
	rs_folder_close(&files->folder);
	free(files->name);
	*files = (struct rs_log_files){ .folder = RS_FOLDER_NONE, .fd = -1 };
}

struct rs_error *rs_log_files_write(struct rs_log_files *f, const char *lines, size_t bytes)
{
	size_t done = 0;

	if (f->fd < 0 || (f->limit_bytes && f->bytes && f->bytes + bytes > f->limit_bytes)) {
		struct rs_error *err = rotate(f);

		if (err)
			return err;
	}
	while (done < bytes) {
		ssize_t n = write(f->fd, lines + done, bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rs_error_errno(errno, "%s/%s.%u", f->folder.path, f->name,
					      f->number);
		done += (size_t)n;
	}
	f->bytes += bytes;
	return NULL;
}
