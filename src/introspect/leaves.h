/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the places where a function is left: its returns, and its jumps to other functions (tail
 * calls). libcapstone decodes the function's code. A jump can lead out of the function or stay
 * inside, so each place is evaluated when the machine reaches it, by the registers and the
 * instruction in memory at that time, since a kernel patches its own code.
 *
 *	ret			leaves
 *	jmp, jcc ADDRESS	leaves if it is taken, and ADDRESS is in no part of the function,
 *				or is its beginning
 *	jmp *OPERAND		the same, with the address in the register or memory
 *
 * Each call is left once, also in recursion and in any number of threads. A frame that longjmp() or
 * an exception drops is not left. The code is untrusted: libcapstone decodes any bytes.
 */
#ifndef RS_INTROSPECT_LEAVES_H
#define RS_INTROSPECT_LEAVES_H

#include <ringside/error.h>
#include <ringside/registers.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RS_LEAVES_PARTS_MAX  4u
#define RS_LEAVES_CODE_MAX   (1u << 20) /* limit of the size of a part */
#define RS_LEAVES_PLACES_MAX 512u

struct rs_leaves;

struct rs_error *rs_leaves_create(struct rs_leaves **out);
void rs_leaves_destroy(struct rs_leaves *leaves); /* NULL is ignored */

/* Adds a part of the function: first its beginning, then the parts that the compiler moved
 * elsewhere. Returns RS_USAGE if there are too many parts or places. */
struct rs_error *rs_leaves_add(struct rs_leaves *leaves, uint64_t address, const uint8_t *code,
			       size_t bytes);

/* Returns the i-th place at which the function can be left; false past the last. */
bool rs_leaves_place(const struct rs_leaves *leaves, uint32_t i, uint64_t *address);

/* Reads memory like the machine's processor. Returns false unless all of it is present. */
typedef bool rs_leaves_read_fn(void *ctx, uint64_t gva, void *buf, size_t bytes);

/* Returns whether the machine's next instruction leaves the function. `base` is the difference of
 * the function's address to the addresses that were added. */
bool rs_leaves_now(struct rs_leaves *leaves, const struct rs_x86_regs *regs, uint64_t base,
		   rs_leaves_read_fn *read, void *ctx);

#endif
