/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table with which a Linux kernel for x86-64 unwinds its stacks (CONFIG_UNWINDER_ORC). For each
 * run of instructions, it gives the places of the caller's stack and return address. The formats
 * are those of arch/x86/include/asm/orc_types.h:
 *
 *	until 6.2	type (call, registers, part of them), end
 *	6.3		signal too; also in later releases of 6.1
 *	since 6.4	type (undefined, end, call, registers, part of them), signal
 *
 * The registers' numbers changed between 6.12 and 7.2. BTF shows which members this kernel has, but
 * nothing shows which numbers it uses. Since most rows are relative to SP, the rows decide. The
 * table is accepted if its addresses ascend and it matches the index orc_lookup[], which the kernel
 * built at boot. The table is copied.
 *
 * Each module has such a table, too, without an index. It is accepted if its addresses ascend, and
 * if it is in the module's memory, with the rows next to the addresses.
 */
#ifndef RS_INSIGHT_ORC_H
#define RS_INSIGHT_ORC_H

#include "insight/modules.h"

enum rs_orc_type {
	RS_ORC_UNDEFINED,
	RS_ORC_END, /* the outermost frame */
	RS_ORC_CALL,
	RS_ORC_REGISTERS, /* followed by a struct pt_regs */
	RS_ORC_PARTIAL,	  /* the same, but only the part that the processor pushes is valid */
};

/* The register to which an offset is relative. */
enum rs_orc_base {
	RS_ORC_NONE, /* the register is unchanged */
	RS_ORC_PREVIOUS_SP,
	RS_ORC_DX,
	RS_ORC_DI,
	RS_ORC_BP,
	RS_ORC_SP,
	RS_ORC_R10,
	RS_ORC_R13,
	RS_ORC_AT_BP, /* the value in memory there */
	RS_ORC_AT_SP,
	RS_ORC_AX,
	RS_ORC_UNKNOWN,
};

struct rs_orc_row {
	int64_t sp_offset, bp_offset;
	enum rs_orc_base sp_base, bp_base;
	enum rs_orc_type type;
	bool interrupted; /* the caller was interrupted, and made no call */
	/* of RS_ORC_AT_SP: the offset is added to the address, not to the value */
	bool offset_first;
	bool of_module; /* the row has no index to match */
};

struct rs_orc;

/* Reads the kernel's table. Returns RS_USAGE if the kernel has none, RS_DAMAGED if it is
 * inconsistent. */
struct rs_error *rs_orc_read(struct rs_linux *kernel, struct rs_orc **out);
/* Returns whether the kernel has built its index of the table, as it does at boot. Also returns
 * true if that cannot be read. */
bool rs_orc_is_indexed(struct rs_linux *kernel);
void rs_orc_destroy(struct rs_orc *orc); /* NULL is ignored */

void rs_orc_table_destroy(struct rs_orc_table *table); /* a module's; NULL is ignored */

/* Returns whether an address is in the code of the kernel or of a module. */
bool rs_orc_is_code(const struct rs_orc *orc, uint64_t address);

/* Finds the row of the instruction at an address in that code. Returns false if there is none. */
bool rs_orc_find(const struct rs_orc *orc, uint64_t address, struct rs_orc_row *row);

#endif
