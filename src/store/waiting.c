/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds files of rings.
 *
 * The directories belong to users, so each is opened without following a link, and must be its
 * user's alone; a file in it is opened through the directory, and must be the same user's.
 */
#include "store/waiting.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ring/shared.h"
#include "store/reader.h"
#include "store/ring_file.h"

#define PREFIX	     "rings-"
#define UUID_DIGITS  32u
#define WAITING_MAX  4096u
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct list {
	struct rs_waiting *at;
	size_t n;
	uid_t user;	     /* whose files */
	bool all;	     /* those of other users, too */
	const uint8_t *uuid; /* of the trace; NULL: all */
};

/* ---- a file --------------------------------------------------------------------------------- */

static void uuid_format(const uint8_t uuid[16], char text[37])
{
	char *at = text;

	for (int i = 0; i < 16; i++)
		at += sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      uuid[i]);
}

static struct rs_error *rings_count(const struct rs_ring_file *file, struct rs_waiting *w)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < file->head.places; i++) {
		struct rs_ring_copy ring;

		if (!rs_ring_file_copy(file, i, &ring, &err))
			continue;
		w->rings++;
		w->records += rs_ring_copy_waiting(&ring);
		free(ring.mem);
	}
	return err;
}

/* Reads an open file, and closes it. */
static struct rs_error *file_read(int fd, const uint8_t *uuid, struct rs_waiting *w)
{
	struct rs_ring_file file;
	char path[PATH_MAX];
	struct rs_error *err = NULL;

	w->runs = flock(fd, LOCK_SH | LOCK_NB) != 0;
	flock(fd, LOCK_UN); /* a forked child would keep it */
	w->valid = rs_ring_file_open(fd, &file) &&
		   (!uuid || !memcmp(uuid, file.head.trace, sizeof(file.head.trace)));
	if (w->valid) {
		uuid_format(file.head.trace, w->uuid);
		w->pid = file.head.pid;
		if (rs_ring_file_trace(&file, path))
			w->trace = strdup(path);
		err = rings_count(&file, w);
	}
	rs_ring_file_close(&file);
	return err;
}

/* Adds a file of a directory, if it is the directory's owner's. */
static struct rs_error *file_add(struct list *list, int folder, const char *path, const char *name,
				 uid_t owner)
{
	struct rs_waiting w = { .user = owner }, *at;
	struct rs_error *err;
	struct stat st;
	int fd = openat(folder, name, O_RDONLY | RS_SHARED_FLAGS);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != owner || st.st_mode & 022 ||
	    st.st_nlink > 1 || (uint64_t)st.st_size > RS_SHARED_BYTES_MAX) {
		close(fd);
		return NULL;
	}
	w.bytes = (uint64_t)st.st_blocks * 512;
	err = file_read(fd, list->uuid, &w);
	at = err ? NULL : realloc(list->at, (list->n + 1) * sizeof(*at));
	if (at)
		list->at = at;
	if (!at || asprintf(&w.path, "%s/%s", path, name) < 0) {
		free(w.trace);
		return err ? err : rs_error_no_memory();
	}
	list->at[list->n++] = w;
	return NULL;
}

/* ---- directories ---------------------------------------------------------------------------- */

static bool is_wanted(const struct list *list, const char *name)
{
	char want[RS_SURVIVE_NAME_BYTES];

	if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 ||
	    strlen(name) != strlen(PREFIX) + UUID_DIGITS || list->n >= WAITING_MAX)
		return false;
	if (!list->uuid)
		return true;
	rs_survive_name(list->uuid, want);
	return !strcmp(strchr(want, ':') + 1, name);
}

static struct rs_error *folder_list(struct list *list, const char *path)
{
	int fd = open(path, FOLDER_FLAGS);
	struct rs_error *err = NULL;
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || st.st_mode & 077 || (!list->all && st.st_uid != list->user)) {
		close(fd);
		return NULL;
	}
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return rs_error_no_memory();
	}
	while (!err && (entry = readdir(dir))) {
		if (is_wanted(list, entry->d_name))
			err = file_add(list, fd, path, entry->d_name, st.st_uid);
	}
	closedir(dir);
	return err;
}

/* Lists the directories of all users: those in a directory whose names begin with a prefix. */
static struct rs_error *folders_list(struct list *list, const char *above, const char *prefix,
				     const char *below)
{
	DIR *dir = opendir(above);
	struct rs_error *err = NULL;
	struct dirent *entry;
	char path[512];

	while (dir && !err && (entry = readdir(dir))) {
		const char *number = entry->d_name + strlen(prefix);

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || !*number ||
		    number[strspn(number, "0123456789")])
			continue;
		snprintf(path, sizeof(path), "%s/%s%s", above, entry->d_name, below);
		err = folder_list(list, path);
	}
	if (dir)
		closedir(dir);
	return err;
}

/* Lists the directories of the list's user: ring/shared.h. If root lists all users, those in
 * /dev/shm follow. */
static struct rs_error *own_list(struct list *list)
{
	char path[RS_SHARED_FOLDER_MAX] = "/run/ringside";
	struct rs_error *err;

	if (list->user)
		snprintf(path, sizeof(path), "/run/user/%u/ringside", list->user);
	err = folder_list(list, path);
	if (err || list->all)
		return err;
	snprintf(path, sizeof(path), "/dev/shm/ringside-%u", list->user);
	return folder_list(list, path);
}

/* ---- lists ---------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct rs_waiting *)a)->path, ((const struct rs_waiting *)b)->path);
}

struct rs_error *rs_waiting_list(uid_t user, struct rs_waiting **out, size_t *n)
{
	struct list list = { .user = user, .all = !user };
	struct rs_error *err = own_list(&list);

	if (!err && list.all)
		err = folders_list(&list, "/run/user", "", "/ringside");
	if (!err && list.all)
		err = folders_list(&list, "/dev/shm", "ringside-", "");
	if (err) {
		rs_waiting_free(list.at, list.n);
		return err;
	}
	if (list.n)
		qsort(list.at, list.n, sizeof(*list.at), by_path);
	*out = list.at;
	*n = list.n;
	return NULL;
}

void rs_waiting_deinit(struct rs_waiting *waiting)
{
	free(waiting->path);
	free(waiting->trace);
}

void rs_waiting_free(struct rs_waiting *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rs_waiting_deinit(&list[i]);
	free(list);
}

bool rs_waiting_find(const struct rs_trace *trace, uid_t user, struct rs_waiting *waiting)
{
	uint8_t uuid[16];
	struct list list = { .user = user, .uuid = uuid };
	struct rs_error *err;
	bool certain;

	if (trace->end == RS_TRACE_RECORDING)
		return false;
	rs_describe_uuid(&trace->describe, uuid);
	err = own_list(&list);
	certain = !err && list.n == 1 && list.at[0].valid && !list.at[0].runs && list.at[0].rings;
	rs_error_free(err);
	if (certain) {
		*waiting = list.at[0];
		free(list.at);
	} else {
		rs_waiting_free(list.at, list.n);
	}
	return certain;
}
