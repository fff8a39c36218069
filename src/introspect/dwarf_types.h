/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The types and variables of a program in its DWARF: those outside functions and namespaces. The
 * first lookup of a name walks the units.
 *
 * libdw reads the structures; what dwarf.h states about them applies here. The walk is bounded in
 * entries and CPU time. Chains of types and members are bounded, too.
 */
#ifndef RS_INTROSPECT_DWARF_TYPES_H
#define RS_INTROSPECT_DWARF_TYPES_H

#include "introspect/types.h"

/* Opens the DWARF of the ELF file at path, or of its debug file, which is searched for in the
 * folder symfs (debug_file.h), or in / if that is NULL. `name`, which must outlive the types, is
 * their name in messages. Returns RS_ABSENT if there is no DWARF. */
struct rs_error *rs_dwarf_types_open(const char *symfs, const char *path, const char *name,
				     struct rs_types **types);

#endif
