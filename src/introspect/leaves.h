/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a function is left: its returns, and its jumps to other functions (tail calls), found by
 * libcapstone in the function's code. A jump can lead elsewhere or within the function, so each
 * place is judged when the machine is there, by the instruction that is in memory then and by the
 * registers: a kernel patches its own code.
 *
 *	ret			leaves
 *	jmp, jcc ADDRESS	leaves if it is taken, and ADDRESS is in no part of the function,
 *				or is its beginning
 *	jmp *OPERAND		the same, of the address that the register or memory has
 *
 * Each call is left once, in recursion and in any number of threads; a frame that
 * longjmp() or an exception drops has none. The code is untrusted: libcapstone decodes any bytes.
 */
#ifndef RS_INTROSPECT_LEAVES_H
#define RS_INTROSPECT_LEAVES_H

#include <ringside/error.h>
#include <ringside/registers.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RS_LEAVES_PARTS_MAX  4u
#define RS_LEAVES_CODE_MAX   (1u << 20) /* bytes of a part */
#define RS_LEAVES_PLACES_MAX 512u

struct rs_leaves;

struct rs_error *rs_leaves_create(struct rs_leaves **out);
void rs_leaves_destroy(struct rs_leaves *leaves); /* NULL is ignored */

/* Adds a part of the function: its beginning first, then what the compiler moved elsewhere. Returns
 * RS_USAGE if there are too many parts or places. */
struct rs_error *rs_leaves_add(struct rs_leaves *leaves, uint64_t address, const uint8_t *code,
			       size_t bytes);

/* Returns the i-th place at which the function can be left; false past the last. */
bool rs_leaves_place(const struct rs_leaves *leaves, uint32_t i, uint64_t *address);

/* Reads memory as the machine sees it. Returns false unless all of it is present. */
typedef bool rs_leaves_read_fn(void *ctx, uint64_t gva, void *buf, size_t bytes);

/* Returns whether the instruction that the machine executes next leaves the function, which is
 * `base` above the addresses that were added. */
bool rs_leaves_now(struct rs_leaves *leaves, const struct rs_x86_regs *regs, uint64_t base,
		   rs_leaves_read_fn *read, void *ctx);

#endif
