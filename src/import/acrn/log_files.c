/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the numbered files of a log by their names. */
#include "import/acrn/log_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/log_text.h"
#include "base/vector.h"

#define FILES_MAX  65536u
#define DIGITS_MAX 9u
#define HEAD_BYTES 16u

static const char cur[] = "_cur", last_[] = "_last";

/* ---- names ---------------------------------------------------------------------------------- */

/* Returns the length of a file's name before its number, or 0 if the name has no number. */
static size_t stem_of(const char *name)
{
	const char *dot = strrchr(name, '.');
	size_t digits = dot ? strspn(dot + 1, "0123456789") : 0;

	return digits && !dot[1 + digits] && digits <= DIGITS_MAX ? (size_t)(dot - name) : 0;
}

static bool ends_in(const char *name, size_t bytes, const char *end)
{
	size_t n = strlen(end);

	return bytes > n && !memcmp(name + bytes - n, end, n);
}

static uint32_t number_of(const char *name)
{
	return (uint32_t)strtoul(strrchr(name, '.') + 1, NULL, 10);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void provider_set(struct rs_log_names *names, const char *path)
{
	static const char fit[] = "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	const char *base = base_of(path);
	size_t n = stem_of(base);

	n = n ? n : strlen(base);
	if (ends_in(base, n, cur))
		n -= strlen(cur);
	else if (ends_in(base, n, last_))
		n -= strlen(last_);
	else
		n = 0;
	if (!n || n >= sizeof(names->provider) || strspn(base, fit) < n)
		snprintf(names->provider, sizeof(names->provider), "acrnlog");
	else
		snprintf(names->provider, sizeof(names->provider), "%.*s", (int)n, base);
}

void rs_log_names_free(struct rs_log_names *names)
{
	for (uint32_t i = 0; i < names->n; i++)
		free(names->paths[i]);
	free(names->paths);
	*names = (struct rs_log_names){ 0 };
}

static struct rs_error *add(struct rs_log_names *names, char *path)
{
	if (!path || !RS_VECTOR_RESERVE(names->paths, names->room, names->n + 1)) {
		free(path);
		return rs_error_no_memory();
	}
	names->paths[names->n++] = path;
	return NULL;
}

struct rs_error *rs_log_names_one(const char *path, struct rs_log_names *out)
{
	struct rs_log_names names = { 0 };
	struct rs_error *err = add(&names, strdup(path));

	provider_set(&names, path);
	if (err)
		rs_log_names_free(&names);
	else
		*out = names;
	return err;
}

/* ---- in a directory ------------------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
	uint32_t a = number_of(*(char *const *)left), b = number_of(*(char *const *)right);

	return a < b ? -1 : a > b;
}

/* Returns the length of a path's directory with its slash, which may be 0. */
static int folder_bytes(const char *path)
{
	return (int)(base_of(path) - path);
}

static DIR *folder_open(const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s", folder_bytes(path), path);
	return opendir(*folder ? folder : ".");
}

struct rs_error *rs_log_names_of(const char *path, struct rs_log_names *out)
{
	struct rs_log_names names = { 0 };
	struct rs_error *err = NULL;
	struct dirent *entry;
	DIR *dir = folder_open(path);
	const char *base = base_of(path);

	if (!dir)
		return rs_error_create(RS_USAGE, "%s: %s", path, strerror(errno));
	while (!err && names.n < FILES_MAX && (entry = readdir(dir))) {
		size_t n = stem_of(entry->d_name);
		char *full = NULL;

		if (n != strlen(base) || strncmp(entry->d_name, base, n) != 0)
			continue;
		if (asprintf(&full, "%.*s%s", folder_bytes(path), path, entry->d_name) < 0)
			full = NULL;
		err = add(&names, full);
	}
	closedir(dir);
	if (!err && !names.n)
		err = rs_error_create(RS_USAGE, "%s: no files %s.N exist", path, base);
	if (err) {
		rs_log_names_free(&names);
		return err;
	}
	qsort(names.paths, names.n, sizeof(*names.paths), by_number);
	provider_set(&names, path);
	*out = names;
	return NULL;
}

/* Returns whether a file is part of a log, by its name and its first bytes. An empty file is part
 * of a log, because the log may write to it later. */
static bool is_log(const char *directory, const char *name)
{
	size_t n = stem_of(name);
	uint8_t head[HEAD_BYTES];
	ssize_t bytes = -1;
	struct stat st;
	char *full;
	int fd;

	if (!ends_in(name, n, cur) && !ends_in(name, n, last_))
		return false;
	if (asprintf(&full, "%s/%s", directory, name) < 0)
		return false;
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	free(full);
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
		bytes = read(fd, head, sizeof(head));
	if (fd >= 0)
		close(fd);
	return bytes > 0 && rs_log_text_is(head, (size_t)bytes);
}

/* The logs of a directory: the first name of each kind, and the number of names. */
struct found {
	char *name[2]; /* for the current run; for an earlier run that crashed */
	bool several[2];
};

static bool found_add(struct found *found, const char *name)
{
	size_t n = stem_of(name);
	uint32_t kind = ends_in(name, n, last_);

	if (!found->name[kind]) {
		found->name[kind] = strndup(name, n);
		return found->name[kind] != NULL;
	}
	found->several[kind] |=
		strlen(found->name[kind]) != n || memcmp(found->name[kind], name, n) != 0;
	return true;
}

static struct rs_error *list_files(const char *directory, struct found *found)
{
	struct dirent *entry;
	DIR *dir = opendir(directory);
	bool good = true;

	*found = (struct found){ 0 };
	if (!dir)
		return rs_error_create(RS_USAGE, "%s: %s", directory, strerror(errno));
	while (good && (entry = readdir(dir))) {
		if (is_log(directory, entry->d_name))
			good = found_add(found, entry->d_name);
	}
	closedir(dir);
	return good ? NULL : rs_error_no_memory();
}

static void found_free(struct found *found)
{
	free(found->name[0]);
	free(found->name[1]);
}

struct rs_error *rs_log_names_in(const char *directory, char **path, bool *last)
{
	struct found found;
	struct rs_error *err = list_files(directory, &found);
	uint32_t kind = !found.name[0];

	if (!err && !found.name[kind])
		err = rs_error_create(RS_USAGE,
				      "%s: no log in this directory: no files *_cur.N, *_last.N",
				      directory);
	else if (!err && found.several[kind])
		err = rs_error_create(
			RS_USAGE,
			"%s: several logs in this directory, each with its own clock; "
			"give one by its name, as in %s/%s",
			directory, directory, found.name[kind]);
	if (!err && asprintf(path, "%s/%s", directory, found.name[kind]) < 0)
		err = rs_error_no_memory();
	*last = !kind && found.name[1];
	found_free(&found);
	return err;
}

/* Returns whether a directory is a trace directory, which may have a log's files in it too. */
static bool is_trace(const char *directory)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/metadata", directory);
	return !lstat(path, &st);
}

bool rs_log_names_is_directory(const char *directory)
{
	struct found found;
	struct rs_error *err;
	bool is;

	if (is_trace(directory))
		return false;
	err = list_files(directory, &found);
	is = !err && (found.name[0] || found.name[1]);

	rs_error_free(err);
	found_free(&found);
	return is;
}

bool rs_log_names_is_name(const char *path)
{
	struct rs_log_names names;
	struct stat st;
	struct rs_error *err;

	if (!stat(path, &st) || errno != ENOENT)
		return false;
	err = rs_log_names_of(path, &names);
	if (err) {
		rs_error_free(err);
		return false;
	}
	rs_log_names_free(&names);
	return true;
}
