/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Modes of files that this process writes: traces, recordings, snapshots of guest memory, logs,
 * exports. By default its user alone: files have mode 0600, directories 0700. A command may share
 * them, once, before it makes the first.
 */
#ifndef RS_BASE_MODES_H
#define RS_BASE_MODES_H

#include <sys/types.h>

#define RS_MODES_NO_GROUP ((gid_t)-1)

/* Files get this mode, and directories the same with x where it has r. Both belong to the group,
 * unless that is RS_MODES_NO_GROUP. */
void rs_modes_share(mode_t file, gid_t group);

/* For open() and mkdir(). */
mode_t rs_modes_file(void);
mode_t rs_modes_directory(void);

/* Gives a new file or directory, which is open, its mode and group, where they were shared. 0, or
 * -1 and errno. */
int rs_modes_apply(int fd, mode_t mode);

/* open() with O_CREAT of a path that a user gave. A regular file that is empty, as a new one is,
 * gets its mode and group. */
int rs_modes_open(const char *path, int flags);

#endif
