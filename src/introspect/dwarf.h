/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions, inlined functions and source lines from the DWARF of an ELF file, by the addresses of
 * the file. The units are found when it is opened; a unit's functions when an address in it is
 * first looked up.
 *
 * libdw reads the structures. DWARF can refer to itself in ways that no compiler writes, and to
 * other files; so the walk goes forward only, is bounded in depth and in the processor's time, and
 * takes no unit whose content is in another file. What is found so far stays valid.
 */
#ifndef RS_INTROSPECT_DWARF_H
#define RS_INTROSPECT_DWARF_H

#include "introspect/elf_file.h"
#include "introspect/symbols.h"

struct rs_dwarf;

/* Opens the file's DWARF. Stores NULL if it has none that can be read. The file must stay open, as
 * must `other`, the file that its .gnu_debugaltlink names, or NULL. */
struct rs_error *rs_dwarf_open(const struct rs_elf_file *file, const struct rs_elf_file *other,
			       struct rs_dwarf **dwarf);
void rs_dwarf_close(struct rs_dwarf *dwarf); /* NULL is ignored */

/*
 * Looks an address up. Stores function, file, line, inlined flag and offset of each frame,
 * innermost first, and returns how many, at most max. A single one without a function: only its
 * line is known.
 */
uint32_t rs_dwarf_lookup(struct rs_dwarf *dwarf, uint64_t address, struct rs_frame *frames,
			 uint32_t max);

#endif
