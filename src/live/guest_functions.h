/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looks up the functions of a running guest's programs. A process's memory areas give the file at
 * an address. The file is read on the host, in a folder with the guest's files.
 *
 *	address -> area of the task's -> file, offset -> binary below symfs -> function, line
 *
 * The guest continues to run, and its files may differ from the folder's: a function is named only
 * if the guest's memory has the same bytes at the address as the binary. All data of the guest is
 * bounded; a path with ".." is refused.
 */
#ifndef RS_LIVE_GUEST_FUNCTIONS_H
#define RS_LIVE_GUEST_FUNCTIONS_H

#include "insight/areas.h"
#include "introspect/symbols.h"

struct rs_guest_functions;

/* If symfs is NULL, functions are unknown, but files are known. */
struct rs_error *rs_guest_functions_create(const char *symfs, struct rs_guest_functions **out);
void rs_guest_functions_destroy(struct rs_guest_functions *functions); /* NULL is ignored */

/* Removes the areas of all processes, for a new kernel. */
void rs_guest_functions_forget(struct rs_guest_functions *functions);

struct rs_guest_place {
	const char *path;   /* the file's path, or "[vdso]"; NULL: unknown */
	uint64_t offset;    /* the address's offset in the file */
	bool is_other_file; /* the file in the folder has other bytes there */
	struct rs_frame frames[RS_SYMBOL_FRAMES_MAX]; /* innermost inlined first */
	uint32_t n;				      /* 0: the function is unknown */
};

/* Looks up an address of a task in user mode. now_ns is the time of CLOCK_MONOTONIC, by which old
 * areas are read again. Strings are valid until the next call. */
struct rs_error *rs_guest_functions_lookup(struct rs_guest_functions *functions,
					   struct rs_linux *kernel,
					   const struct rs_linux_task *task, uint64_t address,
					   uint64_t now_ns, struct rs_guest_place *place);

#endif
