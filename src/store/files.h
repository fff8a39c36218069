/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A trace's files, open while they are used. A trace may have ten thousand streams, and a process a
 * thousand descriptors: a bounded number of files used last stay open, and are closed for others
 * when descriptors run out.
 *
 *	get --> [open, used] --put--> newest ... oldest --closed, for another one or at the end
 *
 * Any thread may call; one file is used by one thread at a time.
 */
#ifndef RS_STORE_FILES_H
#define RS_STORE_FILES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/folder.h"

/* A file. It must not move in memory. Zero bytes are a file that is not open. */
struct rs_file {
	struct rs_file *newer, *older;
	int fd; /* where it is open */
	bool is_open, is_used;
};

struct rs_files {
	const struct rs_folder *folder;
	pthread_mutex_t lock; /* of what follows, and of all files */
	struct rs_file *newest, *oldest;
	uint32_t n, most;
};

/* folder must outlive it. */
void rs_files_init(struct rs_files *files, const struct rs_folder *folder, uint32_t most);
void rs_files_deinit(struct rs_files *files); /* no file is in use any more */

/* Opens a file of the folder by its name, if it is not open, with the flags of rs_folder_fd(). The
 * descriptor is valid until rs_files_put(). */
struct rs_error *rs_files_get(struct rs_files *files, struct rs_file *file, const char *name,
			      int flags, int *fd);
void rs_files_put(struct rs_files *files, struct rs_file *file);

/* Closes a file that is not used, if it is open. */
void rs_files_close(struct rs_files *files, struct rs_file *file);

/* Closes the file used longest ago, to free a descriptor. Returns false if each open file is in
 * use. */
bool rs_files_spare(struct rs_files *files);

#endif
