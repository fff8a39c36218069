/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Empties a directory that will be overwritten: a trace or a recording that its user discards. The
 * directory may hold any files, and root may empty it, so only files with known names are removed.
 * A directory with any other file, with a link, or without the file that marks its kind is not
 * changed. A descriptor holds the directory throughout, and no link is followed, not even as the
 * last part of the path.
 */
#ifndef RS_BASE_CLEAR_H
#define RS_BASE_CLEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <ringside/error.h>

/* The contents of a directory of one kind. */
struct rs_clear_kind {
	const char *what;  /* "trace" */
	const char *mark;  /* the file that marks the kind; a writer locks it, or the directory */
	const char *names; /* globs of files in it or in its folder "ringside", blank-separated */
};

/* Allows directories of these kinds to be emptied from now on. The caller keeps the kinds, which
 * must stay valid until the process ends. */
void rs_clear_allow(const struct rs_clear_kind *kinds, size_t n);

/*
 * Removes the files of a directory of an allowed kind. Also returns NULL if no kinds are allowed;
 * the caller must then check whether the directory is empty. Returns RS_USAGE, and removes no file,
 * if the directory is of no allowed kind, has other files, or is being written.
 */
struct rs_error *rs_clear_directory(const char *path);

#endif
