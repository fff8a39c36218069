/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of a running guest's programs. A process's memory areas say which file lies at an
 * address; the file is read on the host, in a folder that has the guest's files.
 *
 *	address -> area of the task's -> file, offset -> binary below symfs -> function, line
 *
 * The guest runs on meanwhile, and its files need not be those of the folder: a function is named
 * only if the guest has the same bytes at the address as the binary has. Everything of the guest's
 * is bounded; a path with ".." is refused.
 */
#ifndef RS_LIVE_GUEST_FUNCTIONS_H
#define RS_LIVE_GUEST_FUNCTIONS_H

#include "insight/areas.h"
#include "introspect/symbols.h"

struct rs_guest_functions;

/* symfs NULL: functions stay unknown, files are known. */
struct rs_error *rs_guest_functions_create(const char *symfs, struct rs_guest_functions **out);
void rs_guest_functions_destroy(struct rs_guest_functions *functions); /* NULL is ignored */

/* Forgets the areas of all processes: the kernel is another. */
void rs_guest_functions_forget(struct rs_guest_functions *functions);

struct rs_guest_place {
	const char *path;   /* of the file, or "[vdso]"; NULL: not known */
	uint64_t offset;    /* of the address, in the file */
	bool is_other_file; /* the file in the folder has other bytes there */
	struct rs_frame frames[RS_SYMBOL_FRAMES_MAX]; /* innermost inlined first */
	uint32_t n;				      /* 0: no function is known */
};

/* Looks up an address of a task's in user mode. now_ns is a time of CLOCK_MONOTONIC: areas are read
 * again after a while. Texts are valid until the next call. */
struct rs_error *rs_guest_functions_lookup(struct rs_guest_functions *functions,
					   struct rs_linux *kernel,
					   const struct rs_linux_task *task, uint64_t address,
					   uint64_t now_ns, struct rs_guest_place *place);

#endif
