/* SPDX-License-Identifier: BSD-2-Clause */
/* One binary of a set of symbols (symbols.h), where it lies: all that is known of it. */
#ifndef RS_INTROSPECT_MODULE_H
#define RS_INTROSPECT_MODULE_H

#include "introspect/cfi.h"
#include "introspect/dwarf.h"
#include "introspect/elf_file.h"
#include "introspect/functions.h"
#include "introspect/symbols.h"

struct rs_module {
	char *name;
	uint64_t load, lo, hi;	 /* [lo, hi) is where its segments lie */
	struct rs_elf_file file; /* of which the others are parts */
	struct rs_elf_file debug, other;
	struct rs_functions functions;
	struct rs_dwarf *dwarf;
	struct rs_cfi eh_frame, debug_frame;
};

struct rs_error *rs_module_create(const char *symfs, const char *path, const char *expected,
				  uint64_t load, struct rs_module **module);
/* Creates one of a binary whose content is in memory, which is copied. Its debug file is searched
 * in the same way. */
struct rs_error *rs_module_create_bytes(const char *symfs, const char *path, const void *bytes,
					uint64_t size, uint64_t load, struct rs_module **module);
void rs_module_destroy(struct rs_module *module); /* NULL is ignored */

/* Whether an address is in a part of the binary that is code. */
bool rs_module_is_code(const struct rs_module *module, uint64_t address);

/* Stores the CFI's row for the instruction at an address. */
enum rs_cfi_found rs_module_cfi(const struct rs_module *module, uint64_t address,
				struct rs_cfi_row *row);

/* The binary of a set that an address is in, or NULL. The set may be NULL, here and below. */
struct rs_module *rs_symbols_module(struct rs_symbols *set, uint64_t address);

/* How many binaries a set has. */
uint32_t rs_symbols_count(const struct rs_symbols *set);

#endif
