/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log files of limited size and number: DIRECTORY/NAME.N, N counting up, the newest the highest. A
 * line that would make a file too long begins the next file; the oldest file is then removed. One
 * thread.
 *
 * The directory is held by its descriptor, and no link in it is followed (base/folder.h): another
 * user may have made it, or may write to it.
 */
#ifndef RS_LOG_FILES_H
#define RS_LOG_FILES_H

#include "base/folder.h"
#include "base/out.h"

#define RS_LOG_FILE_BYTES (UINT64_C(1) << 20)
#define RS_LOG_FILES	  4u

struct rs_log_files {
	struct rs_folder folder;
	char *name;
	uint64_t limit_bytes; /* 0: none */
	uint32_t limit_files; /* 0: none */
	uint32_t number;      /* of the file that is open */
	uint64_t bytes;	      /* in it */
	int fd;
	uint64_t removed; /* file sizes, for the limit */
};

/* Creates the directory if it does not exist. Continues with the number after the highest. */
struct rs_error *rs_log_files_init(struct rs_log_files *files, const char *directory,
				   const char *name, uint64_t limit_bytes, uint32_t limit_files);
void rs_log_files_deinit(struct rs_log_files *files);

/* Writes whole lines, which stay together in one file, without a buffer. */
struct rs_error *rs_log_files_write(struct rs_log_files *files, const char *lines, size_t bytes);

/* Returns 1 + the highest number of files NAME.N in the directory, or 0 if none exists. */
struct rs_error *rs_log_files_next(const struct rs_folder *folder, const char *name,
				   uint32_t *next);

/* Removes NAME.N (and NAME.N.trace, a directory) except the newest `keep` below `next`. */
void rs_log_files_prune(const struct rs_folder *folder, const char *name, uint32_t next,
			uint32_t keep, uint64_t *removed);

/* Removes a trace directory, or one that contains a trace directory "trace", with its files.
 * Follows no link. Keeps other directories in it, and their parents. */
void rs_log_trace_remove(const struct rs_folder *folder, const char *name);

#endif
