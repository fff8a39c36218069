/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modes of files that this process writes: traces, recordings, snapshots of guest memory, logs,
 * exports. By default, only the user has access: files have mode 0600, directories 0700. A command
 * may share them, once, before it creates the first.
 */
#ifndef RS_BASE_MODES_H
#define RS_BASE_MODES_H

#include <sys/types.h>

#define RS_MODES_NO_GROUP ((gid_t)-1)

/* Sets the mode of new files, and the same mode plus x for each r for directories. Both get the
 * group, unless it is RS_MODES_NO_GROUP. */
void rs_modes_share(mode_t file, gid_t group);

/* For open() and mkdir(). */
mode_t rs_modes_file(void);
mode_t rs_modes_directory(void);

/* Sets the mode and group of an open new file or directory, if they were shared. Returns 0, or -1
 * with errno set. */
int rs_modes_apply(int fd, mode_t mode);

/* Calls open() with O_CREAT for a path that a user gave. Sets the mode and group of a regular file
 * that is empty, as a new file is. */
int rs_modes_open(const char *path, int flags);

#endif
