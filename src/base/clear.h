/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Emptying a directory that is to be written anew: a trace or a recording that a user gives up. The
 * directory may hold anything, and root may be asked to do it, so only what is known by its name is
 * removed: a directory that holds any other file, a link, or no file that says what the directory
 * is, stays as it is. The directory is held by a descriptor meanwhile, and no link is followed, the
 * path's last part included.
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

/* Lets directories of these kinds be emptied, from now on; they outlive the process. */
void rs_clear_allow(const struct rs_clear_kind *kinds, size_t n);

/*
 * Removes what is in the directory, where that is allowed. Returns NULL where it is not: the caller
 * finds whether the directory is empty then. RS_USAGE: it is of no such kind, it has other files
 * too, or it is being written; nothing is removed then.
 */
struct rs_error *rs_clear_directory(const char *path);

#endif
