/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the callers of a stopped processor from its registers and its stack.
 *
 * A frame's caller is found by the call frame information (CFI) of the frame's binary. Where no CFI
 * covers the code, by frame pointers: a guess, that is recorded as one. Where CFI covers the code
 * and cannot be followed, the stack ends: a guess would contradict what is known.
 *
 * The guest is untrusted: registers, stack, tables. Each step goes up the stack, but for a signal's
 * frame, which may lie on a stack of its own; there are at most as many steps as elements.
 */
#ifndef RS_INTROSPECT_UNWIND_H
#define RS_INTROSPECT_UNWIND_H

#include <stdint.h>
#include <ringside/record.h>
#include <ringside/registers.h>

#include "introspect/memory.h"
#include "introspect/symbols.h"

/* A stack, innermost first: rip, then return addresses. Bit i of by_guess is set if element i was
 * found by a frame pointer, or by another guess, and not by CFI; of exact, if it is what a signal
 * interrupted, or rip. */
struct rs_unwound {
	uint64_t frames[RS_STACK_DEPTH_MAX];
	uint32_t n;
	uint64_t by_guess, exact;
	const char *why; /* it ends before the outermost frame; NULL: it does not, by its CFI */
};

/* Unwinds from registers. The set may be empty, or NULL: then frame pointers alone are followed. */
void rs_unwind_read(struct rs_symbols *set, struct rs_memory *memory,
		    const struct rs_x86_regs *regs, struct rs_unwound *out);

/*
 * Stores the stack in frames, innermost first, at most max elements and at most RS_STACK_DEPTH_MAX:
 * rip, then return addresses. Returns how many. Bit i of *by_fp is set if element i was found by a
 * frame pointer, or by another guess, and not by CFI; the elements behind it depend on that. The
 * set may be empty, or NULL: then frame pointers alone are followed.
 */
uint32_t rs_unwind(struct rs_symbols *set, struct rs_memory *memory, const struct rs_x86_regs *regs,
		   uint64_t *frames, uint32_t max, uint64_t *by_fp);

#endif
