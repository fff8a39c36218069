/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that an ELF file's symbol tables have, by the addresses of the file. */
#ifndef RS_INTROSPECT_FUNCTIONS_H
#define RS_INTROSPECT_FUNCTIONS_H

#include "base/arena.h"
#include "introspect/elf_file.h"
#include "introspect/ranges.h"

struct rs_function {
	const char *symbol; /* in the file's table */
	const char *name;   /* demangled when it is first asked for */
	uint64_t address;
};

struct rs_functions { /* zeroed, it is empty and valid */
	struct rs_function *at;
	size_t n, room;
	struct rs_ranges ranges;
	struct rs_arena names;
};

/* Adds the functions of the file's .symtab or, if it has none, of its .dynsym. The file must stay
 * open. Having none is no error, and invalid entries are left out. */
struct rs_error *rs_functions_read(const struct rs_elf_file *file, struct rs_functions *functions);
void rs_functions_deinit(struct rs_functions *functions);

/* Finds the function at an address. Stores its name and beginning. Returns false if there is
 * none. */
bool rs_functions_find(struct rs_functions *functions, uint64_t address, const char **name,
		       uint64_t *begin);

/* Returns a text's demangled copy in the arena, NULL without memory. */
const char *rs_function_name(struct rs_arena *names, const char *symbol);

#endif
