/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Empties a directory that is to be written again: a trace or a recording that its user discards.
 * The directory may hold anything, and root may empty it, so only files of known names are removed.
 * A directory with any other file, with a link, or without the file that marks its kind stays as it
 * is. A descriptor holds the directory throughout, and no link is followed, the path's last part
 * included.
 */
#ifndef RS_BASE_CLEAR_H
#define RS_BASE_CLEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <ringside/error.h>

/* What a directory of one kind holds. */
struct rs_clear_kind {
	const char *what;  /* "trace" */
	const char *mark;  /* the file that each has; its writer locks the mark, or the
			    * directory */
	const char *names; /* globs of its files, below it or in its folder "ringside", separated
			    * by blanks */
};

/* Allows directories of these kinds to be emptied from now on. The kinds stay the caller's and must
 * stay valid until the process ends. */
void rs_clear_allow(const struct rs_clear_kind *kinds, size_t n);

/*
 * Removes the files of a directory of an allowed kind. Returns NULL also if no kinds are allowed:
 * the caller then finds out whether the directory is empty. RS_USAGE: the directory is of no such
 * kind, has other files too, or is being written; nothing is removed.
 */
struct rs_error *rs_clear_directory(const char *path);

#endif
