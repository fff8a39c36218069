/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates DWARF's expressions, as call frame information uses them: DWARF 5 section 2.5.1. */
#ifndef RS_INTROSPECT_EXPRESSION_H
#define RS_INTROSPECT_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "introspect/memory.h"

/* A frame's registers, by DWARF's numbers. */
struct rs_frame_registers {
	uint64_t value[17];
	uint32_t known; /* bit i: value[i] is known */
};

/*
 * Evaluates an expression. `cfa`, if not NULL, is on the stack at first. Returns false if it is
 * invalid, takes too many steps, or needs a register or memory that is not known. The expression
 * and the memory are untrusted.
 */
bool rs_expression_evaluate(const uint8_t *bytes, size_t n,
			    const struct rs_frame_registers *registers, struct rs_memory *memory,
			    const uint64_t *cfa, uint64_t *value);

#endif
