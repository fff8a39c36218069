/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds binaries and their debug files on this machine. */
#ifndef RS_INTROSPECT_DEBUG_FILE_H
#define RS_INTROSPECT_DEBUG_FILE_H

#include <limits.h>
#include <stdbool.h>

#include "introspect/elf_file.h"

/* Prepends symfs, a folder or NULL, to a path. Returns false if the result is too long. */
bool rs_symfs_path(const char *symfs, const char *path, char place[PATH_MAX]);

/* Finds the binary that has this build-id. Writes its path. Returns false if there is none. */
bool rs_binary_by_id(const char *symfs, const char *build_id, char place[PATH_MAX]);

/*
 * Finds and opens the debug file of the binary at `path`: by the build-id, else by its
 * .gnu_debuglink in the binary's folder, in .debug there and in /usr/lib/debug. Accepts a file that
 * has the binary's build-id or, if either has none, the check sum in the link. Leaves *debug
 * unchanged if there is none. Without a path, searches by the build-id only: a guest must not
 * choose which files of the host are opened.
 */
void rs_debug_file_open(const char *symfs, const char *path, const struct rs_elf_file *binary,
			struct rs_elf_file *debug);

/* Finds and opens the file that several debug files share and .gnu_debugaltlink names, by its
 * build-id. */
void rs_debug_other_open(const char *symfs, const struct rs_elf_file *debug,
			 struct rs_elf_file *other);

#endif
