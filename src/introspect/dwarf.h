/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds functions, inlined functions and source lines in the DWARF of an ELF file, by the addresses
 * of the file. Opening finds the units; the first lookup of an address in a unit reads its
 * functions.
 *
 * libdw reads the structures. DWARF can refer to itself in ways that no compiler writes, and to
 * other files; so the walk only goes forward, is bounded in depth and CPU time, and skips units
 * whose content is in another file. At a limit, the entries found so far remain valid.
 */
#ifndef RS_INTROSPECT_DWARF_H
#define RS_INTROSPECT_DWARF_H

#include "introspect/elf_file.h"
#include "introspect/symbols.h"

struct rs_dwarf;

/* Opens the file's DWARF. Stores NULL if the file has no readable DWARF. The file must stay open;
 * so must `other`, the file that its .gnu_debugaltlink names, or NULL. */
struct rs_error *rs_dwarf_open(const struct rs_elf_file *file, const struct rs_elf_file *other,
			       struct rs_dwarf **dwarf);
void rs_dwarf_close(struct rs_dwarf *dwarf); /* NULL is ignored */

/*
 * Looks up an address. Stores function, file, line, inlined flag and offset of each frame,
 * innermost first. Returns their number, at most max. If only the line is known, stores one frame
 * without a function.
 */
uint32_t rs_dwarf_lookup(struct rs_dwarf *dwarf, uint64_t address, struct rs_frame *frames,
			 uint32_t max);

/* Stores the offsets of the entries of the function at an address, and of the functions that it is
 * inlined into, innermost first. Returns their number, at most max. */
uint32_t rs_dwarf_functions(struct rs_dwarf *dwarf, uint64_t address, uint64_t *offsets,
			    uint32_t max);
/* Returns libdw's handle, to which those offsets refer. */
struct Dwarf *rs_dwarf_of(struct rs_dwarf *dwarf);

#endif
