/* SPDX-License-Identifier: BSD-2-Clause */
/* Empties a directory before a new trace or recording is written to it. */
#include "base/clear.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"

#define INSIDE "ringside"

static const struct rs_clear_kind *allowed;
static size_t n_allowed;

void rs_clear_allow(const struct rs_clear_kind *kinds, size_t n)
{
	allowed = kinds;
	n_allowed = n;
}

static bool is_named(const struct rs_clear_kind *kind, const char *name)
{
	char glob[64];

	for (const char *at = kind->names; *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");

		snprintf(glob, sizeof(glob), "%.*s", (int)len, at);
		if (!fnmatch(glob, name, FNM_PATHNAME))
			return true;
		at += len;
	}
	return false;
}

static struct rs_error *is_foreign(const struct rs_folder *folder, const struct rs_clear_kind *kind,
				   const char *name)
{
	return rs_error_create(RS_USAGE,
			       "%s holds '%s', which does not belong to a %s: no file is replaced",
			       folder->path, name, kind->what);
}

/* Called for each file. `at` is its directory, `name` its name there, and `full` its name in the
 * folder. */
typedef struct rs_error *visit_fn(const struct rs_folder *folder, const struct rs_clear_kind *kind,
				  int at, const char *name, const char *full);

static struct rs_error *check_file(const struct rs_folder *folder, const struct rs_clear_kind *kind,
				   int at, const char *name, const char *full)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
		return rs_error_errno(errno, "%s/%s", folder->path, full);
	return S_ISREG(st.st_mode) && is_named(kind, full) ? NULL : is_foreign(folder, kind, full);
}

/* The mark is removed last, so that a partly emptied directory keeps its kind. */
static struct rs_error *remove_file(const struct rs_folder *folder,
				    const struct rs_clear_kind *kind, int at, const char *name,
				    const char *full)
{
	if (strcmp(full, kind->mark) && unlinkat(at, name, 0))
		return rs_error_errno(errno, "%s/%s: cannot remove it", folder->path, full);
	return NULL;
}

/* Visits each file of one directory; `prefix` is "" or "ringside/". */
static struct rs_error *visit_each(const struct rs_folder *folder, const struct rs_clear_kind *kind,
				   int fd, const char *prefix, visit_fn *visit)
{
	char full[sizeof(INSIDE "/") + NAME_MAX];
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = again < 0 ? NULL : fdopendir(again);
	struct rs_error *err = NULL;
	struct dirent *entry;

	if (!dir) {
		err = rs_error_errno(errno, "%s", folder->path);
		if (again >= 0)
			close(again);
		return err;
	}
	while (!err && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		bool is_inside = !*prefix && folder->inside >= 0 && !strcmp(name, INSIDE);

		if (!strcmp(name, ".") || !strcmp(name, "..") || is_inside)
			continue;
		snprintf(full, sizeof(full), "%s%s", prefix, name);
		err = visit(folder, kind, fd, name, full);
	}
	closedir(dir);
	return err;
}

static struct rs_error *visit_all(const struct rs_folder *folder, const struct rs_clear_kind *kind,
				  visit_fn *visit)
{
	struct rs_error *err = visit_each(folder, kind, folder->fd, "", visit);

	if (!err && folder->inside >= 0)
		err = visit_each(folder, kind, folder->inside, INSIDE "/", visit);
	return err;
}

/* Locks the mark and the directory. A writer holds the lock of one of them. Closing the descriptors
 * releases the locks. */
static struct rs_error *lock(const struct rs_folder *folder, int mark)
{
	if (!flock(mark, LOCK_EX | LOCK_NB) && !flock(folder->fd, LOCK_EX | LOCK_NB))
		return NULL;
	return errno == EWOULDBLOCK
		       ? rs_error_create(RS_USAGE, "%s is being recorded, and is not replaced",
					 folder->path)
		       : rs_error_errno(errno, "locking %s", folder->path);
}

static struct rs_error *clear(const struct rs_folder *folder, const struct rs_clear_kind *kind,
			      int mark)
{
	struct rs_error *err = visit_all(folder, kind, check_file);

	if (!err)
		err = lock(folder, mark);
	if (!err)
		err = visit_all(folder, kind, remove_file);
	if (err)
		return err;
	rs_folder_drop(folder, kind->mark);
	if (folder->inside >= 0 && unlinkat(folder->fd, INSIDE, AT_REMOVEDIR))
		return rs_error_errno(errno, "%s/" INSIDE ": cannot remove it", folder->path);
	return NULL;
}

static bool is_empty(const struct rs_folder *folder)
{
	static const struct rs_clear_kind none = { "", "", "" };
	struct rs_error *err = visit_all(folder, &none, check_file);
	bool empty = !err && folder->inside < 0;

	rs_error_free(err);
	return empty;
}

struct rs_error *rs_clear_directory(const char *path)
{
	struct rs_folder folder = RS_FOLDER_NONE;
	struct rs_error *err;
	struct stat st;
	int mark = -1;
	size_t i = 0;

	if (!n_allowed || lstat(path, &st))
		return NULL;
	if (!S_ISDIR(st.st_mode))
		return rs_error_create(RS_USAGE, "%s is no directory, and is not replaced", path);
	err = rs_folder_open_itself(path, &folder);
	if (err)
		return err;
	while (i < n_allowed && mark < 0) {
		mark = rs_folder_open_file(&folder, allowed[i].mark, O_RDONLY);
		i += mark < 0;
	}
	if (mark >= 0)
		err = clear(&folder, &allowed[i], mark);
	else if (!is_empty(&folder))
		err = rs_error_create(RS_USAGE,
				      "%s is neither empty nor a trace or a recording: it is not "
				      "replaced",
				      path);
	if (mark >= 0)
		close(mark);
	rs_folder_close(&folder);
	return err;
}
