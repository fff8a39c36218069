/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that several processes map: logs, rings, boards of lent rings. A process that can write to
 * such a file can truncate it, and the kernel then kills each process that accesses the missing
 * part with SIGBUS. So a process uses only files of its own user or of root, to which no other user
 * can write.
 *
 * The name "shm:NAME" stands for the file NAME in a directory that only its user can enter:
 *
 *	root         /run/ringside
 *	other users  /run/user/UID/ringside, if the system has made /run/user/UID (it is the
 *	             XDG_RUNTIME_DIR of the user's session); else /dev/shm/ringside-UID
 *
 * Files that must be in memory are in /dev/shm/ringside-UID also if the former is not in a tmpfs,
 * as in some containers. An existing file is found in either.
 *
 * Any thread may call.
 */
#ifndef RS_RING_SHARED_H
#define RS_RING_SHARED_H

#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>

#include <ringside/error.h>

/* The largest ring: RS_SBUF_SIZE_MAX and its header, to the end of a large page. */
#define RS_SHARED_BYTES_MAX ((UINT64_C(1) << 30) + (UINT64_C(64) << 10))

/* For open(): follows no links, and does not block on a FIFO. */
#define RS_SHARED_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

enum rs_shared_kind {
	RS_SHARED_FILE, /* a regular file only */
	RS_SHARED_ANY,	/* or a character device, or a FIFO */
};

/* Returns whether a name begins with "shm:". */
bool rs_shared_is_name(const char *name);

/*
 * Returns the path of "shm:NAME", whose file may not exist, or a copy of any other name; the caller
 * frees it. With `make` the directory is created if it is missing. Returns RS_USAGE if NAME is not
 * a file's name, and RS_FAILED if the directory belongs to another user, or others can enter it.
 */
struct rs_error *rs_shared_path(const char *name, bool make, char **path);

/* Returns the path of a new file "shm:NAME" in the first of these directories that is in a tmpfs,
 * or in the first one if none is. Creates the directory. The caller frees the path. */
struct rs_error *rs_shared_memory_path(const char *name, char **path);

/* Adds the files of the directories above whose names match a pattern to *found, which is zeroed or
 * was filled before. The caller calls globfree(). */
struct rs_error *rs_shared_find(const char *pattern, glob_t *found);

/* Writes to its argument, and returns, the directory in which "shm:NAME" is created; for
 * messages. */
#define RS_SHARED_FOLDER_MAX 64
const char *rs_shared_folder(char folder[RS_SHARED_FOLDER_MAX]);

/* Returns an error for an open file to which others can write, that has another name, that is
 * longer than RS_SHARED_BYTES_MAX, or that is not of this kind. */
struct rs_error *rs_shared_check(int fd, const char *path, enum rs_shared_kind kind);

/* Opens an existing file with RS_SHARED_FLAGS, and checks it. */
struct rs_error *rs_shared_open(const char *path, int flags, enum rs_shared_kind kind, int *fd);

/* Returns the error of a failed open() with RS_SHARED_FLAGS. */
struct rs_error *rs_shared_open_error(int errno_value, const char *path);

#endif
