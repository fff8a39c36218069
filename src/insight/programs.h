/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs and libraries that Linux processes have mapped, as sets of symbols (symbols.h), one
 * for each address space. A binary is read from a given folder if the file there has the build-id
 * of the guest's file, else from the guest's page cache if that has the whole file. [vdso], the
 * kernel's code in a process, is read from the process.
 *
 * The load address of a binary is that of its mapped code. A set is cached, and built again after
 * the process has mapped other code.
 */
#ifndef RS_INSIGHT_PROGRAMS_H
#define RS_INSIGHT_PROGRAMS_H

#include "insight/areas.h"
#include "introspect/symbols.h"

#define RS_PROGRAM_SPACES_MAX 64u /* limit of the cached sets */
#define RS_PROGRAM_WHY_MAX    192u
/* limit of all binaries that are copied from the guest */
#define RS_PROGRAM_BYTES_MAX (UINT64_C(1) << 30)

struct rs_programs;

/* Creates an empty cache. symfs is a folder that is searched for files like the guest's /, or NULL.
 * The kernel must stay open. */
struct rs_error *rs_programs_create(struct rs_linux *kernel, const char *symfs,
				    struct rs_programs **out);
void rs_programs_destroy(struct rs_programs *programs); /* NULL is ignored */

/* Finds the symbols of a task's address space, valid until the next call. Returns an error if its
 * areas cannot be read. */
struct rs_error *rs_programs_of(struct rs_programs *programs, const struct rs_linux_task *task,
				struct rs_symbols **set);

/* Writes why an address of the last task is in no binary of its set. */
void rs_programs_why(struct rs_programs *programs, uint64_t address, char why[RS_PROGRAM_WHY_MAX]);

#endif
