/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens files that several processes map, and checks their owner and mode. */
#include "ring/shared.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PREFIX	    "shm:"
#define FOLDERS_MAX 2
#define FOLDER_MODE 0700
#define PATTERN_MAX 256

/* ---- the directory --------------------------------------------------------------------------- */

struct folders {
	char path[FOLDERS_MAX][RS_SHARED_FOLDER_MAX];
	uint32_t n;
};

/* Returns whether the system has made a directory for this user's sessions. */
static bool has_session(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

/* The directories of this user; new files are made in the first. The second is where files were
 * made while the user had no session, and files that must be in memory if the first is on a
 * disk. */
static void folders_list(struct folders *f)
{
	unsigned int user = geteuid();

	*f = (struct folders){ 0 };
	snprintf(f->path[f->n], RS_SHARED_FOLDER_MAX, "/run/user/%u", user);
	if (!user)
		snprintf(f->path[f->n++], RS_SHARED_FOLDER_MAX, "/run/ringside");
	else if (has_session(f->path[f->n]))
		snprintf(f->path[f->n++], RS_SHARED_FOLDER_MAX, "/run/user/%u/ringside", user);
	snprintf(f->path[f->n++], RS_SHARED_FOLDER_MAX, "/dev/shm/ringside-%u", user);
}

/* Checks that only this user can enter a directory, if it exists. No other user can replace it
 * later, because the directories above belong to root or to this user, or are sticky. */
static struct rs_error *folder_check(const char *path, bool *there)
{
	struct stat st;

	*there = !lstat(path, &st);
	if (!*there)
		return errno == ENOENT ? NULL : rs_error_errno(errno, "%s", path);
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077))
		return NULL;
	return rs_error_create(RS_FAILED,
			       "%s%s belongs to user %u and has mode %04o: it must be a directory "
			       "of user %u with mode 0700; remove it, or name a file by its path",
			       path, S_ISLNK(st.st_mode) ? " is a symbolic link that" : "",
			       st.st_uid, st.st_mode & 07777, geteuid());
}

static struct rs_error *folder_make(const char *path)
{
	bool there;
	struct rs_error *err = folder_check(path, &there);

	if (err || there)
		return err;
	if (mkdir(path, FOLDER_MODE) && errno != EEXIST)
		return rs_error_errno(
			errno, "%s: cannot create this directory; name a file by its path", path);
	return folder_check(path, &there);
}

/* ---- names ----------------------------------------------------------------------------------- */

bool rs_shared_is_name(const char *name)
{
	return !strncmp(name, PREFIX, strlen(PREFIX));
}

/* Returns whether one of the later directories is safe and has this file. */
static bool has_file(const char *folder, const char *path)
{
	bool there = false;
	struct rs_error *err = folder_check(folder, &there);
	struct stat st;

	rs_error_free(err);
	return !err && there && !lstat(path, &st);
}

/* Returns the path of a file: in the first directory, unless only a later one has it. */
static struct rs_error *path_find(const struct folders *f, const char *file, char **path)
{
	struct stat st;
	char *first, *other;

	if (asprintf(&first, "%s/%s", f->path[0], file) < 0)
		return rs_error_no_memory();
	*path = first;
	for (uint32_t i = 1; i < f->n && lstat(first, &st); i++) {
		if (asprintf(&other, "%s/%s", f->path[i], file) < 0) {
			free(first);
			return rs_error_no_memory();
		}
		if (has_file(f->path[i], other)) {
			free(first);
			*path = other;
			return NULL;
		}
		free(other);
	}
	return NULL;
}

struct rs_error *rs_shared_path(const char *name, bool make, char **path)
{
	const char *file = name + strlen(PREFIX);
	struct rs_error *err = NULL;
	struct folders f;
	bool there;

	if (!rs_shared_is_name(name)) {
		*path = strdup(name);
		return *path ? NULL : rs_error_no_memory();
	}
	folders_list(&f);
	if (!*file || strchr(file, '/') || !strcmp(file, ".") || !strcmp(file, ".."))
		return rs_error_create(RS_USAGE, "%s: expected the name of a file in %s", name,
				       f.path[0]);
	err = make ? folder_make(f.path[0]) : folder_check(f.path[0], &there);
	if (err)
		return rs_error_wrap(err, "%s", name);
	return path_find(&f, file, path);
}

static bool is_in_memory(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && fs.f_type == TMPFS_MAGIC;
}

struct rs_error *rs_shared_memory_path(const char *name, char **path)
{
	const char *file = name + strlen(PREFIX);
	struct folders f;

	folders_list(&f);
	for (uint32_t i = 0; i < f.n; i++) {
		struct rs_error *err = folder_make(f.path[i]);

		if (!err && is_in_memory(f.path[i]))
			return asprintf(path, "%s/%s", f.path[i], file) < 0 ? rs_error_no_memory()
									    : NULL;
		rs_error_free(err);
	}
	return rs_shared_path(name, true, path);
}

struct rs_error *rs_shared_find(const char *pattern, glob_t *found)
{
	char full[RS_SHARED_FOLDER_MAX + PATTERN_MAX];
	struct rs_error *err = NULL;
	struct folders f;
	bool there;

	folders_list(&f);
	for (uint32_t i = 0; i < f.n && !err; i++) {
		err = folder_check(f.path[i], &there);
		if (err && i) { /* this user has no file in it */
			rs_error_free(err);
			err = NULL;
			continue;
		}
		snprintf(full, sizeof(full), "%s/%s", f.path[i], pattern);
		if (!err && there &&
		    glob(full, found->gl_pathc ? GLOB_APPEND : 0, NULL, found) == GLOB_NOSPACE)
			err = rs_error_no_memory();
	}
	return err;
}

const char *rs_shared_folder(char folder[RS_SHARED_FOLDER_MAX])
{
	struct folders f;

	folders_list(&f);
	return strcpy(folder, f.path[0]);
}

/* ---- files ----------------------------------------------------------------------------------- */

struct rs_error *rs_shared_open_error(int errno_value, const char *path)
{
	if (errno_value == ELOOP)
		return rs_error_create(
			RS_FAILED,
			"%s is a symbolic link, which is not followed; name the file "
			"itself",
			path);
	if (errno_value == EBUSY)
		return rs_error_create(RS_FAILED, "%s: another program reads it", path);
	return rs_error_errno(errno_value, "cannot open '%s'", path);
}

/* Checks the owner and mode of a file of a permitted kind. */
static struct rs_error *trust_check(const struct stat *st, const char *path)
{
	unsigned int mode = st->st_mode & 07777;

	if (st->st_uid != 0 && st->st_uid != geteuid())
		return rs_error_create(
			RS_FAILED,
			"%s belongs to user %u (mode %04o), who could truncate it "
			"while it is used: only files of root or of user %u are used; "
			"run this as user %u, or remove the file",
			path, st->st_uid, mode, geteuid(), st->st_uid);
	/* A device's driver controls the effects of its users on each other. */
	if (!S_ISCHR(st->st_mode) && mode & 022)
		return rs_error_create(
			RS_FAILED,
			"%s has mode %04o: others than its owner, user %u, can write "
			"to it; remove it, or run 'chmod go-w' on it if its content "
			"can be trusted",
			path, mode, st->st_uid);
	if (S_ISREG(st->st_mode) && st->st_nlink > 1)
		return rs_error_create(RS_FAILED,
				       "%s has other names (hard links), and is not used; remove "
				       "those, or name another file",
				       path);
	return NULL;
}

struct rs_error *rs_shared_check(int fd, const char *path, enum rs_shared_kind kind)
{
	struct rs_error *err;
	struct stat st;

	if (fstat(fd, &st))
		return rs_error_errno(errno, "%s", path);
	if (!S_ISREG(st.st_mode) &&
	    (kind == RS_SHARED_FILE || (!S_ISCHR(st.st_mode) && !S_ISFIFO(st.st_mode))))
		return rs_error_create(RS_USAGE, "%s: not a regular file%s", path,
				       kind == RS_SHARED_FILE ? "" : ", a device or a FIFO");
	err = trust_check(&st, path);
	if (!err && S_ISREG(st.st_mode) && (uint64_t)st.st_size > RS_SHARED_BYTES_MAX)
		err = rs_error_create(RS_USAGE,
				      "%s: it has %lld bytes, but a ring or log has at most "
				      "%llu",
				      path, (long long)st.st_size,
				      (unsigned long long)RS_SHARED_BYTES_MAX);
	return err;
}

struct rs_error *rs_shared_open(const char *path, int flags, enum rs_shared_kind kind, int *fd)
{
	int opened = open(path, flags | RS_SHARED_FLAGS);
	struct rs_error *err;

	if (opened < 0)
		return rs_shared_open_error(errno, path);
	err = rs_shared_check(opened, path, kind);
	if (err)
		close(opened);
	else
		*fd = opened;
	return err;
}
