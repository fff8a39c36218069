/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the callers of a stopped processor from its registers and its stack.
 *
 * A frame's caller is found by the call frame information (CFI) of the frame's binary. Where no CFI
 * covers the code, frame pointers are followed. This is a guess, and is recorded as one. Where CFI
 * covers the code but cannot be followed, the stack ends, since a guess would contradict the CFI.
 *
 * The guest is untrusted: registers, stack, tables. Each step goes up the stack, except from a
 * signal's frame, which may be on a separate stack. The number of steps is bounded by that of the
 * elements.
 */
#ifndef RS_INTROSPECT_UNWIND_H
#define RS_INTROSPECT_UNWIND_H

#include <stdint.h>
#include <ringside/record.h>
#include <ringside/registers.h>

#include "introspect/expression.h"
#include "introspect/memory.h"
#include "introspect/symbols.h"

/* A stack, innermost first: rip, then return addresses. Bit i of by_guess is set if element i was
 * found by a frame pointer, or by another guess, not by CFI. Bit i of exact is set if element i is
 * no return address: it is rip, the frame of a signal, or was interrupted by the signal. */
struct rs_unwound {
	uint64_t frames[RS_STACK_DEPTH_MAX];
	uint32_t n;
	uint64_t by_guess, exact;
	/* Receives the registers of each element, in an array of the same length. The caller sets
	 * it; NULL: not needed. The address of a frame (CFA) is the rsp of the next element. */
	struct rs_frame_registers *registers;
	bool no_sp;	 /* the caller sets it if the first frame's rsp is unknown */
	const char *why; /* why the stack ends before the outermost frame; NULL: it does not */
};

/* Unwinds from registers. The set may be empty or NULL. Then only frame pointers are followed. */
void rs_unwind_read(struct rs_symbols *set, struct rs_memory *memory,
		    const struct rs_x86_regs *regs, struct rs_unwound *out);

/*
 * Stores the stack in frames, innermost first, at most max elements and at most RS_STACK_DEPTH_MAX:
 * rip, then return addresses. Returns their number. Bit i of *by_fp is set if element i was found
 * by a frame pointer, or by another guess, not by CFI; later elements depend on that guess. The set
 * may be empty or NULL. Then only frame pointers are followed.
 */
uint32_t rs_unwind(struct rs_symbols *set, struct rs_memory *memory, const struct rs_x86_regs *regs,
		   uint64_t *frames, uint32_t max, uint64_t *by_fp);

#endif
