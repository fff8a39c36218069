/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache of a trace's open files. A trace may have ten thousand streams, but a process only a
 * thousand descriptors. So only a bounded number of recently used files stay open, and they are
 * closed for others when descriptors run out.
 *
 *	get --> [open, used] --put--> newest ... oldest --closed, for another one or at the end
 *
 * Any thread may call, but only one thread may use a file at a time.
 */
#ifndef RS_STORE_FILES_H
#define RS_STORE_FILES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/folder.h"

/* A file. It must not move in memory. A file of zero bytes is not open. */
struct rs_file {
	struct rs_file *newer, *older;
	int fd; /* valid if is_open */
	bool is_open, is_used;
};

struct rs_files {
	const struct rs_folder *folder;
	pthread_mutex_t lock; /* protects the members below, and all files */
	struct rs_file *newest, *oldest;
	uint32_t n, most;
};

/* The folder must outlive the cache. */
void rs_files_init(struct rs_files *files, const struct rs_folder *folder, uint32_t most);
void rs_files_deinit(struct rs_files *files); /* No file may be in use any more. */

/* Opens a file of the folder by its name, unless it is open, with the flags of rs_folder_fd(). The
 * descriptor is valid until rs_files_put(). */
struct rs_error *rs_files_get(struct rs_files *files, struct rs_file *file, const char *name,
			      int flags, int *fd);
void rs_files_put(struct rs_files *files, struct rs_file *file);

/* Closes a file that is not in use. No-op if it is not open. */
void rs_files_close(struct rs_files *files, struct rs_file *file);

/* Closes the least recently used file, to free a descriptor. Returns false if all open files are in
 * use. */
bool rs_files_spare(struct rs_files *files);

#endif
