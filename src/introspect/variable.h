/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the value of a function's variable in a frame of a stack. DWARF describes the variable's
 * location at this instruction (DWARF 5 sections 2.6 and 3.3.5). There is no value if the compiler
 * does not keep the variable, or if a callee has overwritten its register.
 *
 * The DWARF, the registers and the memory are untrusted.
 */
#ifndef RS_INTROSPECT_VARIABLE_H
#define RS_INTROSPECT_VARIABLE_H

#include "introspect/dwarf.h"
#include "introspect/expression.h"

/* A frame, and the base of its addresses. */
struct rs_variable_frame {
	uint64_t address; /* address in the file of an instruction in it */
	uint64_t load;	  /* the file's load address */
	struct rs_frame_registers registers;
	uint64_t cfa;
	bool has_cfa;
	struct rs_memory *memory;
	/* The frame of the caller, and its file; NULL: unknown. If the compiler does not keep a
	 * parameter, the caller's call site may describe its value at the call. */
	const struct rs_variable_frame *caller;
	struct rs_dwarf *dwarf;
};

/*
 * Reads a variable or parameter of a function that contains the frame's address. The function may
 * be inlined, or have inlined functions there. The value is zero-extended. The value of a variable
 * of more than 8 bytes, or of an array, is its address.
 *
 * Returns NULL, or the reason why there is no value.
 */
const char *rs_variable_read(const struct rs_variable_frame *frame, const char *function,
			     const char *name, uint64_t *value);

#endif
