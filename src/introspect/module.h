/* SPDX-License-Identifier: BSD-2-Clause */
/* One loaded binary of a set of symbols (symbols.h), with its tables. */
#ifndef RS_INTROSPECT_MODULE_H
#define RS_INTROSPECT_MODULE_H

#include "introspect/cfi.h"
#include "introspect/dwarf.h"
#include "introspect/elf_file.h"
#include "introspect/functions.h"
#include "introspect/symbols.h"

#define RS_MODULE_SYMBOLS_KEPT 8u

/* A symbol that is not a function, and its address in the file. */
struct rs_module_symbol {
	char *name;
	uint64_t address;
};

struct rs_module {
	char *name;
	uint64_t load, lo, hi;	 /* [lo, hi) contains its segments */
	struct rs_elf_file file; /* the tables below refer to it */
	struct rs_elf_file debug, other;
	struct rs_functions functions;
	struct rs_dwarf *dwarf;
	struct rs_cfi eh_frame, debug_frame;
	struct rs_module_symbol symbols[RS_MODULE_SYMBOLS_KEPT]; /* the most recent lookups */
	uint32_t n_symbols;
};

struct rs_error *rs_module_create(const char *symfs, const char *path, const char *expected,
				  uint64_t load, struct rs_module **module);
/* Creates the module of a binary whose content is in memory, and is copied. Finds its debug file
 * by the build-id only. */
struct rs_error *rs_module_create_bytes(const char *symfs, const char *path, const void *bytes,
					uint64_t size, uint64_t load, struct rs_module **module);
void rs_module_destroy(struct rs_module *module); /* NULL is ignored */

/* Returns whether an address is in an executable part of the binary. */
bool rs_module_is_code(const struct rs_module *module, uint64_t address);

/* Stores the CFI's row for the instruction at an address. */
enum rs_cfi_found rs_module_cfi(const struct rs_module *module, uint64_t address,
				struct rs_cfi_row *row);

/* Finds a variable by its name in the symbol tables of the binary and its debug file. Stores its
 * address. Returns false if there is none. */
bool rs_module_symbol(struct rs_module *module, const char *name, uint64_t *address);

/* Returns the set's binary that contains an address, or NULL. The set may be NULL, here and
 * below. */
struct rs_module *rs_symbols_module(struct rs_symbols *set, uint64_t address);

/* Returns the number of binaries in a set. */
uint32_t rs_symbols_count(const struct rs_symbols *set);

#endif
