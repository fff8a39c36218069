/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the formats of tracepoints from tracefs. */
#include "live/tracefs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vector.h"

#define FORMAT_MAX (256u << 10) /* bytes; the longest of Linux 6.18 has 40 thousand */
#define PATH_ROOM  768

static const char *const folders[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
#define N_FOLDERS (sizeof(folders) / sizeof(folders[0]))

/* The system of the ring's own records, which are not tracepoints. */
static const char no_system[] = "ftrace";

struct rs_error *rs_tracefs_find(const char **folder)
{
	int error = ENOENT;

	for (size_t i = 0; i < N_FOLDERS; i++) {
		char path[PATH_ROOM];

		snprintf(path, sizeof(path), "%s/events", folders[i]);
		if (!access(path, R_OK | X_OK)) {
			*folder = folders[i];
			return NULL;
		}
		if (errno == EACCES)
			error = EACCES;
	}
	if (error == EACCES)
		return rs_error_create(RS_ABSENT,
				       "%s is not readable for user %u: run it as root (sudo)",
				       folders[0], (unsigned int)geteuid());
	return rs_error_create(RS_ABSENT,
			       "tracefs is not mounted: mount -t tracefs tracefs %s (as root)",
			       folders[0]);
}

/* ---- matching ----------------------------------------------------------------------------- */

static bool is_listed(const struct rs_tracefs_list *list, const char *system, const char *name,
		      bool named)
{
	for (uint32_t i = 0; i < list->n; i++) {
		struct rs_tracefs_event *event = &list->events[i];

		if (strcmp(event->system, system) != 0 || strcmp(event->name, name) != 0)
			continue;
		event->named |= named;
		return true;
	}
	return false;
}

static struct rs_error *list_add(struct rs_tracefs_list *list, const char *system, const char *name,
				 bool named)
{
	struct rs_tracefs_event *event;

	if (!RS_VECTOR_RESERVE(list->events, list->room, list->n + 1))
		return rs_error_no_memory();
	event = &list->events[list->n];
	event->system = rs_arena_text(&list->arena, system, strlen(system));
	event->name = rs_arena_text(&list->arena, name, strlen(name));
	event->named = named;
	if (!event->system || !event->name)
		return rs_error_no_memory();
	list->n++;
	return NULL;
}

/* The two halves of a glob. */
struct glob {
	char system[256];
	const char *name;
	bool named; /* the glob has no wildcards */
};

static struct rs_error *glob_read(const char *text, struct glob *glob)
{
	const char *colon = strchr(text, ':');

	if (!colon || colon == text || !colon[1] || strchr(colon + 1, ':') ||
	    (size_t)(colon - text) >= sizeof(glob->system) || strchr(text, '/'))
		return rs_error_create(RS_USAGE,
				       "'%s' is not a tracepoint: expected SYSTEM:EVENT, as in "
				       "sched:sched_switch or 'block:*'",
				       text);
	memcpy(glob->system, text, (size_t)(colon - text));
	glob->system[colon - text] = '\0';
	glob->name = colon + 1;
	glob->named = !strpbrk(text, "*?[");
	return NULL;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Reads a folder's entries, each of which the caller frees. Returns their number, or 0 if the
 * folder cannot be read. */
static int entries_of(const char *path, struct dirent ***entries)
{
	int n = scandir(path, entries, is_visible, alphasort);

	return n < 0 ? 0 : n;
}

static void entries_free(struct dirent **entries, int n)
{
	for (int i = 0; i < n; i++)
		free(entries[i]);
	if (n)
		free(entries);
}

static struct rs_error *match_in(const char *folder, const char *system, const struct glob *glob,
				 struct rs_tracefs_list *list, bool *any)
{
	struct dirent **entries = NULL;
	struct rs_error *err = NULL;
	char path[PATH_ROOM];
	int n;

	snprintf(path, sizeof(path), "%s/events/%s", folder, system);
	n = entries_of(path, &entries);
	for (int i = 0; !err && i < n; i++) {
		const char *name = entries[i]->d_name;

		if (fnmatch(glob->name, name, 0))
			continue;
		snprintf(path, sizeof(path), "%s/events/%s/%s/format", folder, system, name);
		if (access(path, R_OK)) /* "enable", "filter" */
			continue;
		*any = true;
		if (!is_listed(list, system, name, glob->named))
			err = list_add(list, system, name, glob->named);
	}
	entries_free(entries, n);
	return err;
}

struct rs_error *rs_tracefs_match(const char *text, struct rs_tracefs_list *list)
{
	struct dirent **systems = NULL;
	const char *folder = NULL;
	char path[PATH_ROOM];
	struct glob glob;
	bool any = false;
	struct rs_error *err = glob_read(text, &glob);
	int n = 0;

	if (!err)
		err = rs_tracefs_find(&folder);
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/events", folder);
	n = entries_of(path, &systems);
	for (int i = 0; !err && i < n; i++) {
		const char *system = systems[i]->d_name;

		if (!fnmatch(glob.system, system, 0) && strcmp(system, no_system) != 0)
			err = match_in(folder, system, &glob, list, &any);
	}
	entries_free(systems, n);
	if (!err && !any)
		err = rs_error_create(RS_ABSENT,
				      "this kernel has no tracepoint '%s': see %s/available_events",
				      text, folder);
	return err;
}

void rs_tracefs_list_deinit(struct rs_tracefs_list *list)
{
	free(list->events);
	rs_arena_deinit(&list->arena);
	*list = (struct rs_tracefs_list){ .n = 0 };
}

/* ---- formats ------------------------------------------------------------------------------ */

struct rs_error *rs_tracefs_format(const struct rs_tracefs_event *event, char **text, size_t *len)
{
	const char *folder = NULL;
	struct rs_error *err = rs_tracefs_find(&folder);
	char path[PATH_ROOM], *at;
	ssize_t n = 1;
	int fd;

	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/events/%s/%s/format", folder, event->system, event->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return rs_error_errno(errno, "%s", path);
	at = malloc(FORMAT_MAX + 1);
	if (!at)
		err = rs_error_no_memory();
	for (*len = 0; !err && n && *len < FORMAT_MAX; *len += (size_t)n) {
		n = read(fd, at + *len, FORMAT_MAX - *len);
		if (n < 0)
			err = rs_error_errno(errno, "%s", path);
		if (n < 0)
			break;
	}
	close(fd);
	if (!err && *len == FORMAT_MAX)
		err = rs_error_create(RS_FAILED, "%s is longer than %u bytes", path, FORMAT_MAX);
	if (err) {
		free(at);
		return err;
	}
	at[*len] = '\0';
	*text = at;
	return NULL;
}
