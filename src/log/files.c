/* SPDX-License-Identifier: BSD-2-Clause */
#include "log/files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define NUMBER_MAX 1000000000ul

/* The number of a file's name, NAME.N; UINT32_MAX: it is no such file. */
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

struct rs_error *rs_log_files_next(const char *directory, const char *name, uint32_t *next)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	if (!dir)
		return rs_error_errno(errno, "%s", directory);
	*next = 0;
	while ((entry = readdir(dir))) {
		uint32_t number = number_of(entry->d_name, name);

		if (number != UINT32_MAX && number + 1 > *next)
			*next = number + 1;
	}
	closedir(dir);
	return NULL;
}

/* A trace directory of ours: files, and one folder of files. Nothing else is removed. */
void rs_log_trace_remove(const char *path)
{
	char inner[PATH_BYTES];
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
		if (!strcmp(entry->d_name, "ringside"))
			rs_log_trace_remove(inner);
		else
			unlink(inner);
	}
	closedir(dir);
	rmdir(path);
}

void rs_log_files_prune(const char *directory, const char *name, uint32_t next, uint32_t keep,
			uint64_t *removed)
{
	char path[PATH_BYTES];
	DIR *dir = opendir(directory);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		uint32_t number = number_of(entry->d_name, name);

		if (number == UINT32_MAX || number + keep >= next)
			continue;
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (!unlink(path))
			(*removed)++;
		snprintf(path, sizeof(path), "%s/%s.trace", directory, entry->d_name);
		rs_log_trace_remove(path);
	}
	closedir(dir);
}

/* The next file; it is there before the oldest goes, and before a line is taken for it. */
static struct rs_error *rotate(struct rs_log_files *f)
{
	char path[PATH_BYTES];
	int fd;

	snprintf(path, sizeof(path), "%s/%s.%u", f->directory, f->name,
		 f->fd >= 0 ? f->number + 1 : f->number);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return rs_error_errno(errno, "%s: can't create it", path);
	if (f->fd >= 0) {
		close(f->fd);
		f->number++;
	}
	f->fd = fd;
	f->bytes = 0;
	if (f->limit_files)
		rs_log_files_prune(f->directory, f->name, f->number + 1, f->limit_files,
				   &f->removed);
	return NULL;
}

struct rs_error *rs_log_files_init(struct rs_log_files *files, const char *directory,
				   const char *name, uint64_t limit_bytes, uint32_t limit_files)
{
	struct rs_error *err;

	*files = (struct rs_log_files){ .limit_bytes = limit_bytes,
					.limit_files = limit_files,
					.fd = -1 };
	if (mkdir(directory, 0755) && errno != EEXIST)
		return rs_error_errno(errno, "%s: can't make it", directory);
	err = rs_log_files_next(directory, name, &files->number);
	if (err)
		return err;
	files->directory = strdup(directory);
	files->name = strdup(name);
	if (files->directory && files->name)
		return NULL;
	rs_log_files_deinit(files);
	return rs_error_no_memory();
}

void rs_log_files_deinit(struct rs_log_files *files)
{
	if (files->fd >= 0)
		close(files->fd);
	free(files->directory);
	free(files->name);
	*files = (struct rs_log_files){ .fd = -1 };
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
			return rs_error_errno(errno, "%s/%s.%u", f->directory, f->name, f->number);
		done += (size_t)n;
	}
	f->bytes += bytes;
	return NULL;
}
