/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions in an ELF file's symbol tables, by the addresses of the file. */
#ifndef RS_INTROSPECT_FUNCTIONS_H
#define RS_INTROSPECT_FUNCTIONS_H

#include "base/arena.h"
#include "introspect/elf_file.h"
#include "introspect/ranges.h"

struct rs_function {
	const char *symbol; /* name in the file's table */
	const char *name;   /* NULL until its first lookup */
	uint64_t address;
};

struct rs_functions { /* valid and empty if all zero */
	struct rs_function *at;
	size_t n, room;
	struct rs_ranges ranges;
	struct rs_arena names;
};

/* Adds the functions of the file's .symtab or, if it has none, of its .dynsym. The file must stay
 * open. A missing table is no error. Skips invalid entries. */
struct rs_error *rs_functions_read(const struct rs_elf_file *file, struct rs_functions *functions);
void rs_functions_deinit(struct rs_functions *functions);

/* Finds the function at an address. Stores its name and beginning. Returns false if there is
 * none. */
bool rs_functions_find(struct rs_functions *functions, uint64_t address, const char **name,
		       uint64_t *begin);

/* Returns a demangled copy of a name in the arena, or NULL if there is no memory. */
const char *rs_function_name(struct rs_arena *names, const char *symbol);

#endif
