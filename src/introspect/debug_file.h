/* SPDX-License-Identifier: BSD-2-Clause */
/* Where binaries and their debug files are on this machine. */
#ifndef RS_INTROSPECT_DEBUG_FILE_H
#define RS_INTROSPECT_DEBUG_FILE_H

#include <limits.h>
#include <stdbool.h>

#include "introspect/elf_file.h"

/* Writes the place of a path under symfs, a folder or NULL. Returns false if it is too long. */
bool rs_symfs_path(const char *symfs, const char *path, char place[PATH_MAX]);

/* Searches the binary that has this build-id. Returns whether it is there, and its place. */
bool rs_binary_by_id(const char *symfs, const char *build_id, char place[PATH_MAX]);

/*
 * Searches and opens the debug file of a binary, whose path is `path`: by its build-id, else by its
 * .gnu_debuglink beside it, in .debug there and in /usr/lib/debug. A file counts if it has the
 * binary's build-id or, if either has none, the check sum that the link has. Leaves *debug as it is
 * if there is none.
 */
void rs_debug_file_open(const char *symfs, const char *path, const struct rs_elf_file *binary,
			struct rs_elf_file *debug);

/* The same of the file that several debug files share, which .gnu_debugaltlink names: by its
 * build-id. */
void rs_debug_other_open(const char *symfs, const struct rs_elf_file *debug,
			 struct rs_elf_file *other);

#endif
