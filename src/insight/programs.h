/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs and libraries that Linux processes have mapped, as sets of symbols (symbols.h), one
 * for each address space. A binary is a file of a folder that is given, if its build-id is that of
 * the guest's, else what the guest's page cache has of it, if that is all of it. The kernel's own
 * code in a process, [vdso], is read from the process.
 *
 * A binary lies where the process has mapped its code. A set is kept, and made anew if the process
 * has mapped other code since.
 */
#ifndef RS_INSIGHT_PROGRAMS_H
#define RS_INSIGHT_PROGRAMS_H

#include "insight/areas.h"
#include "introspect/symbols.h"

#define RS_PROGRAM_SPACES_MAX 64u /* that are kept */
#define RS_PROGRAM_WHY_MAX    192u
#define RS_PROGRAM_BYTES_MAX  (UINT64_C(1) << 30) /* of all binaries that are copied of the guest */

struct rs_programs;

/* Creates it without a process. symfs is a folder in which files are searched as in the guest's /,
 * or NULL. The kernel has to stay open. */
struct rs_error *rs_programs_create(struct rs_linux *kernel, const char *symfs,
				    struct rs_programs **out);
void rs_programs_destroy(struct rs_programs *programs); /* NULL is ignored */

/* Finds the symbols of a task's address space, valid until the next call. Returns an error if its
 * areas cannot be read. */
struct rs_error *rs_programs_of(struct rs_programs *programs, const struct rs_linux_task *task,
				struct rs_symbols **set);

/* Says of an address of the last task, which is in no binary of its set, why it is in none. */
void rs_programs_why(struct rs_programs *programs, uint64_t address, char why[RS_PROGRAM_WHY_MAX]);

#endif
