/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds a log's files by their names: NAME_cur.N for the current run, and NAME_last.N for an
 * earlier run that crashed. NAME is "acrnlog" for ACRN's log. */
#ifndef RS_IMPORT_ACRN_LOG_FILES_H
#define RS_IMPORT_ACRN_LOG_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_log_names {
	char **paths; /* by their numbers */
	uint32_t n, room;
	char provider[64]; /* NAME, or "acrnlog" for other names */
};
void rs_log_names_free(struct rs_log_names *names);

/* Names a single file. */
struct rs_error *rs_log_names_one(const char *path, struct rs_log_names *names);

/* Finds all files PATH.N. Returns RS_USAGE if none exists. */
struct rs_error *rs_log_names_of(const char *path, struct rs_log_names *names);

/* Finds the PATH of a directory's only log: that of the current run, else that of an earlier one.
 * Sets *last if files of an earlier run exist, too. Returns RS_USAGE if there is no log, or
 * several. The caller frees the path. */
struct rs_error *rs_log_names_in(const char *directory, char **path, bool *last);

/* The first returns whether a directory has a log, the second whether PATH is the name of a log
 * and not of a file. */
bool rs_log_names_is_directory(const char *directory);
bool rs_log_names_is_name(const char *path);

#endif
