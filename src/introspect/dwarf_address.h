/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads addresses in location descriptions of DWARF. clang puts them into a table, .debug_addr. */
#ifndef RS_INTROSPECT_DWARF_ADDRESS_H
#define RS_INTROSPECT_DWARF_ADDRESS_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

/* Stores the address that an operation of a location description pushes. Returns false if it is
 * another operation. */
static inline bool rs_dwarf_address(Dwarf_Attribute *location, const Dwarf_Op *op,
				    uint64_t *address)
{
	Dwarf_Attribute entry;
	Dwarf_Addr value;

	if (op->atom == DW_OP_addr) {
		*address = op->number;
		return true;
	}
	if (op->atom != DW_OP_addrx || dwarf_getlocation_attr(location, op, &entry) ||
	    dwarf_formaddr(&entry, &value))
		return false;
	*address = value;
	return true;
}

#endif
