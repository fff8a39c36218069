/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a function is left: the input is registers, the number of parts of the function, and its
 * code, which the parts share. Each place that is found is within a part. The check whether the
 * machine leaves there is made with the code in memory, and again with other code.
 */
#include "fuzz.h"

#include "introspect/leaves.h"

#define BASE	 UINT64_C(0x7f1234560000) /* of the file in memory */
#define FUNCTION UINT64_C(0x1ff0)	  /* in the file: a page boundary is in its code */

struct code {
	const uint8_t *at;
	size_t bytes;
	uint8_t changed; /* xor, of each byte */
};

static bool code_read(void *ctx, uint64_t gva, void *buf, size_t bytes)
{
	const struct code *code = ctx;
	uint64_t at = gva - BASE - FUNCTION;

	if (at > code->bytes || bytes > code->bytes - at)
		return false;
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)buf)[i] = code->at[at + i] ^ code->changed;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rs_x86_regs regs = { .eflags = fuzz_u16(&in) };
	uint32_t n_parts = fuzz_u8(&in) % (RS_LEAVES_PARTS_MAX + 2);
	struct rs_leaves *leaves;
	uint64_t place = 0, part;
	struct code code;

	for (uint32_t i = 0; i < 4; i++)
		regs.gpr[i] = fuzz_u64(&in);
	code = (struct code){ in.at, in.left, 0 };
	part = n_parts ? in.left / n_parts : 0;
	MUST(!rs_leaves_create(&leaves));
	for (uint32_t i = 0; i < n_parts; i++)
		fuzz_drop(rs_leaves_add(leaves, FUNCTION + i * part, code.at + i * part, part));
	for (uint32_t i = 0; rs_leaves_place(leaves, i, &place); i++) {
		MUST(i < RS_LEAVES_PLACES_MAX);
		MUST(place >= FUNCTION && place < FUNCTION + n_parts * part);
		regs.rip = BASE + place;
		code.changed = 0;
		rs_leaves_now(leaves, &regs, BASE, code_read, &code);
		code.changed = (uint8_t)i;
		rs_leaves_now(leaves, &regs, BASE, code_read, &code);
	}
	rs_leaves_destroy(leaves);
	return 0;
}
