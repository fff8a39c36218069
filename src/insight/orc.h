/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table by which a Linux kernel for x86-64 unwinds its stacks (CONFIG_UNWINDER_ORC): for each
 * run of instructions, where the caller's stack and return address are. The formats are those of
 * arch/x86/include/asm/orc_types.h:
 *
 *	until 6.2	type (call, registers, part of them), end
 *	6.3		signal too; also in later releases of 6.1
 *	since 6.4	type (undefined, end, call, registers, part of them), signal
 *
 * The registers' numbers changed between 6.12 and 7.2. BTF says which members the kernel at hand
 * has, and nothing says which numbers; most rows are relative to SP, so the rows decide. The table
 * is believed if its addresses ascend, and if the index orc_lookup[] that the kernel made of it
 * when it booted agrees. It is copied.
 */
#ifndef RS_INSIGHT_ORC_H
#define RS_INSIGHT_ORC_H

#include "insight/linux.h"

enum rs_orc_type {
	RS_ORC_UNDEFINED,
	RS_ORC_END, /* the outermost frame */
	RS_ORC_CALL,
	RS_ORC_REGISTERS, /* there is a struct pt_regs */
	RS_ORC_PARTIAL,	  /* of which only what the processor pushes is valid */
};

/* The register that a place is relative to. */
enum rs_orc_base {
	RS_ORC_NONE, /* the register is not changed */
	RS_ORC_PREVIOUS_SP,
	RS_ORC_DX,
	RS_ORC_DI,
	RS_ORC_BP,
	RS_ORC_SP,
	RS_ORC_R10,
	RS_ORC_R13,
	RS_ORC_AT_BP, /* what is in memory there */
	RS_ORC_AT_SP,
	RS_ORC_AX,
	RS_ORC_UNKNOWN,
};

struct rs_orc_row {
	int64_t sp_offset, bp_offset;
	enum rs_orc_base sp_base, bp_base;
	enum rs_orc_type type;
	bool interrupted;  /* the caller is what was interrupted, and did not call */
	bool offset_first; /* of RS_ORC_AT_SP: it is added to the address, not to the value */
};

struct rs_orc;

/* Reads the kernel's table. Returns RS_USAGE if it has none, RS_DAMAGED if it is not believed. */
struct rs_error *rs_orc_read(struct rs_linux *kernel, struct rs_orc **out);
void rs_orc_destroy(struct rs_orc *orc); /* NULL is ignored */

/* Returns whether an address is in the kernel's own code, modules excluded. */
bool rs_orc_is_code(const struct rs_orc *orc, uint64_t address);

/* Looks up the instruction at an address of the kernel's code; false if it is in none. */
bool rs_orc_find(const struct rs_orc *orc, uint64_t address, struct rs_orc_row *row);

#endif
