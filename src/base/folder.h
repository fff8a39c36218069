/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A directory that is held by descriptors: a trace, a recording, logs. It may be another user's,
 * and root may write in it. So its files are opened relative to the open directory, links are not
 * followed, only regular files are opened, and a file that is written in place must not have
 * another name. The path that a user gives may be a link.
 *
 * A trace has a folder "ringside" inside, which is also held:
 *
 *	path ── fd ──┬── stream_N, metadata
 *	             └── inside ── describe, index, state, new
 */
#ifndef RS_BASE_FOLDER_H
#define RS_BASE_FOLDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <ringside/error.h>

struct rs_folder {
	char *path; /* as given by the user, for messages */
	int fd;
	int inside; /* of its folder "ringside"; -1: none */
};
#define RS_FOLDER_NONE ((struct rs_folder){ .fd = -1, .inside = -1 })

/* Opens a directory. Returns RS_USAGE if it does not exist, or is a file. */
struct rs_error *rs_folder_open(const char *path, struct rs_folder *folder);
/* Opens a directory whose path must not be a link. */
struct rs_error *rs_folder_open_itself(const char *path, struct rs_folder *folder);
/* Creates a directory. Returns RS_USAGE if it exists, is not empty, and may not be emptied
 * (clear.h). */
struct rs_error *rs_folder_make(const char *path, struct rs_folder *folder);
/* Opens a directory, or creates it if it does not exist. */
struct rs_error *rs_folder_open_or_make(const char *path, struct rs_folder *folder);
/* Creates the directory's folder "ringside". */
struct rs_error *rs_folder_make_inside(struct rs_folder *folder);
void rs_folder_close(struct rs_folder *folder); /* a zeroed folder is valid */

/*
 * Opens a regular file of the directory, by a name such as "stream_3" or "ringside/index". `flags`
 * are those of open(); O_CREAT requires O_EXCL. Returns the descriptor, or -1 with errno set: ELOOP
 * for a link, EINVAL if the file is not a regular file, EMLINK for a file opened for writing that
 * has other names.
 */
int rs_folder_open_file(const struct rs_folder *folder, const char *name, int flags);

/* Open a file as rs_folder_open_file() does. Errors name the file. `mode` is that of fdopen(). */
struct rs_error *rs_folder_fd(const struct rs_folder *folder, const char *name, int flags, int *fd);
struct rs_error *rs_folder_file(const struct rs_folder *folder, const char *name, int flags,
				const char *mode, FILE **file);

/* Sets *bytes to the size of a regular file. Returns false if there is no such file. */
bool rs_folder_bytes(const struct rs_folder *folder, const char *name, uint64_t *bytes);

/* Create a file that will replace another, even over one that a killed process left, and rename
 * it. */
struct rs_error *rs_folder_new(const struct rs_folder *folder, const char *name, FILE **file);
struct rs_error *rs_folder_rename(const struct rs_folder *folder, const char *from, const char *to);
/* Replaces a file by the output of `write`. On failure, the file is unchanged. */
struct rs_error *rs_folder_replace(const struct rs_folder *folder, const char *name,
				   const char *new_name, void (*write)(FILE *file, const void *ctx),
				   const void *ctx);
/* Removes a file if it exists. */
void rs_folder_drop(const struct rs_folder *folder, const char *name);

#endif
