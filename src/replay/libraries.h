/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the shared libraries of a dynamic x86-64 program as ld.so(8) does, by reading the files:
 * neither the program nor its interpreter is executed, as both may be hostile.
 *
 *	PT_INTERP, DT_NEEDED ── RPATH, RUNPATH, /etc/ld.so.cache, default folders ── paths
 *
 * LD_LIBRARY_PATH, LD_PRELOAD, DT_AUDIT and hardware capabilities are ignored.
 */
#ifndef RS_REPLAY_LIBRARIES_H
#define RS_REPLAY_LIBRARIES_H

#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_libraries {
	char **paths; /* absolute, on this host; the interpreter is one of them */
	size_t n;
};

/*
 * Finds the libraries that the program at `path` needs, directly and indirectly. `root` is the real
 * path of a folder that becomes a guest's root: a library in it, at the same path or in the
 * program's folders, is followed but not listed. Returns RS_USAGE if a library is not found, and
 * RS_DAMAGED if an ELF file is malformed. The caller frees *found with rs_libraries_deinit(), also
 * after an error.
 */
struct rs_error *rs_libraries_find(const char *path, const char *root, struct rs_libraries *found);

void rs_libraries_deinit(struct rs_libraries *found);

/*
 * Looks up a library in the bytes of an ld.so.cache ("glibc-ld.so.cache1.1", glibc's
 * sysdeps/generic/dl-cache.h). Returns its path, which points into the cache, or NULL.
 */
const char *rs_libraries_cached(const uint8_t *cache, size_t bytes, const char *name);

#endif
