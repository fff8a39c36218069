/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call frame information: .eh_frame and .debug_frame of x86-64 binaries (DWARF 5 section 6.4; LSB
 * 5.0 section 10.6 for .eh_frame). For an address, it describes how the caller's registers are
 * found.
 *
 * The tables are untrusted. They are read through a cursor that does not leave the section; a row
 * is computed in a struct of fixed size, with a stack of fixed depth.
 */
#ifndef RS_INTROSPECT_CFI_H
#define RS_INTROSPECT_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

#include "introspect/elf_file.h"

/* DWARF's numbers of the registers: System V ABI for x86-64, figure 3.36. */
enum rs_cfi_register {
	RS_CFI_RBX = 3,
	RS_CFI_RBP = 6,
	RS_CFI_RSP = 7,
	RS_CFI_R12 = 12,
	RS_CFI_R13,
	RS_CFI_R14,
	RS_CFI_R15,
	RS_CFI_RIP = 16, /* the return address */
	RS_CFI_REGISTERS = 17,
};

enum rs_cfi_how {
	RS_CFI_UNDEFINED,
	RS_CFI_SAME,
	RS_CFI_AT_OFFSET, /* saved in memory, at CFA + offset */
	RS_CFI_OFFSET,	  /* equal to CFA + offset */
	RS_CFI_REGISTER,  /* saved in register `offset` */
	RS_CFI_AT_EXPRESSION,
	RS_CFI_EXPRESSION,
};

struct rs_cfi_rule {
	uint8_t how;
	uint8_t base;	/* in the CFA's rule: the register of OFFSET */
	uint32_t bytes; /* size of the expression */
	int64_t offset; /* offset of an expression: position in the section */
};

/* The rules to find the caller's registers at some address. */
struct rs_cfi_row {
	struct rs_cfi_rule cfa; /* OFFSET or EXPRESSION */
	struct rs_cfi_rule registers[RS_CFI_REGISTERS];
	const uint8_t *section; /* the section that contains expressions */
	bool interrupted;	/* a signal's frame: its caller was interrupted and made no call */
};

struct rs_cfi_entry;

struct rs_cfi { /* valid and empty if all zero */
	const uint8_t *bytes;
	size_t size;
	uint64_t address; /* address of the section */
	bool eh;	  /* .eh_frame, not .debug_frame */
	struct rs_cfi_entry *entries;
	size_t n, room;
};

/* Indexes a file's .eh_frame or .debug_frame, and skips invalid entries. The index is empty if the
 * file has no such section. The file must stay open. */
struct rs_error *rs_cfi_read(const struct rs_elf_file *file, bool eh, struct rs_cfi *cfi);
void rs_cfi_deinit(struct rs_cfi *cfi);

/* Indexes a section's bytes, which must stay valid. */
struct rs_error *rs_cfi_read_bytes(const uint8_t *bytes, size_t size, uint64_t address, bool eh,
				   struct rs_cfi *cfi);

enum rs_cfi_found {
	RS_CFI_NONE,	/* no entry covers the address */
	RS_CFI_INVALID, /* an entry covers the address, but is invalid */
	RS_CFI_FOUND,
};

/* Stores the row for the instruction at an address of the file in *row. */
enum rs_cfi_found rs_cfi_find(const struct rs_cfi *cfi, uint64_t address, struct rs_cfi_row *row);

#endif
