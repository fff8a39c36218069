/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which files are a log's, by their names: NAME_cur.N, of the run that goes on, and NAME_last.N,
 * of one that crashed; NAME is "acrnlog" for ACRN's.
 */
#ifndef RS_IMPORT_ACRN_LOG_FILES_H
#define RS_IMPORT_ACRN_LOG_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_log_names {
	char **paths; /* by their numbers */
	uint32_t n, room;
	char provider[64]; /* NAME; "acrnlog" of what is called otherwise */
};
void rs_log_names_free(struct rs_log_names *names);

/* A file alone. */
struct rs_error *rs_log_names_one(const char *path, struct rs_log_names *names);

/* All files PATH.N. RS_USAGE: there is none. */
struct rs_error *rs_log_names_of(const char *path, struct rs_log_names *names);

/* PATH of the one log in a directory, by name: of the run that goes on, else of the last; *last:
 * there is one of that beside it. RS_USAGE: none, or several. The path is the caller's to free. */
struct rs_error *rs_log_names_in(const char *directory, char **path, bool *last);

/* Whether there is a log in a directory; whether PATH is a log's name, and no file's. */
bool rs_log_names_is_directory(const char *directory);
bool rs_log_names_is_name(const char *path);

#endif
