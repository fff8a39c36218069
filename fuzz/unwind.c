/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stack of a guest whose binary is this program, with the call frame information that the
 * compiler wrote for it. The input makes the registers and the stack: words that are numbers,
 * places in the stack, or places in the code. For any of these, unwinding ends, and reads no byte
 * outside the stack.
 */
#include "fuzz.h"

#include <ringside/record.h>

#include "introspect/unwind.h"

#define LOAD	   UINT64_C(0x10000000)
#define CODE_BYTES (4u << 20) /* of this program, more or less */
#define STACK	   UINT64_C(0x80000000)
#define WORDS_MAX  4096u
#define SET_MAX	   2u

enum kind {
	NUMBER,
	IN_STACK,
	IN_CODE,
	WIDE,
	KINDS,
};

/* Without a binary, and with this one. Made at the first input. */
static struct rs_symbols *set_of(uint32_t which)
{
	static struct rs_symbols *sets[SET_MAX];

	if (!sets[which]) {
		MUST(!rs_symbols_create(NULL, &sets[which]));
		MUST(!which || !rs_symbols_add(sets[which], "/proc/self/exe", NULL, LOAD));
	}
	return sets[which];
}

static uint64_t word(struct fuzz_input *in)
{
	uint8_t kind = fuzz_u8(in);
	uint32_t value = fuzz_u16(in);

	switch ((enum kind)(kind % KINDS)) {
	case IN_STACK:
		return STACK + value % (8 * WORDS_MAX);
	case IN_CODE:
		return LOAD + ((uint64_t)kind << 16 | value) % CODE_BYTES;
	case WIDE:
		return (uint64_t)value << (kind >> 2);
	default:
		return value;
	}
}

static void check_names(struct rs_symbols *set, const uint64_t *stack, uint32_t n)
{
	struct rs_frame frames[4];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t got = rs_symbols_lookup_stack(set, stack, i, frames, 4);

		MUST(got <= 4);
		for (uint32_t j = 0; j < got; j++)
			MUST(frames[j].module && (!frames[j].function || frames[j].function[0]));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t options = fuzz_u8(&in);
	struct rs_symbols *set = set_of(options % SET_MAX);
	uint32_t max = options / SET_MAX % 80 + 1, n, most;
	struct rs_memory *memory = calloc(1, sizeof(*memory));
	uint64_t *stack, frames[80], by_fp = 0;
	struct rs_x86_regs regs = { 0 };
	struct rs_unwound bare = { .no_sp = true };

	for (uint32_t i = 0; i < 16; i++)
		regs.gpr[i] = word(&in);
	regs.rip = word(&in);
	most = (uint32_t)(in.left / 3 < WORDS_MAX ? in.left / 3 : WORDS_MAX);
	stack = malloc(most ? most * 8 : 1); /* a read beyond it is detected */
	MUST(memory && stack);
	for (uint32_t i = 0; i < most; i++)
		stack[i] = word(&in);
	memory->ram[0] = (struct rs_ram){ STACK, most * 8, (const uint8_t *)stack };
	memory->n_ram = 1;
	n = rs_unwind(set, memory, &regs, frames, max, &by_fp);
	MUST(n >= 1 && n <= max && n <= RS_STACK_DEPTH_MAX && frames[0] == regs.rip);
	MUST(!(by_fp & 1) && (n == 64 || !(by_fp >> n)));
	for (uint32_t i = 1; i < n; i++)
		MUST((int64_t)(frames[i] << 16) >> 16 == (int64_t)frames[i]);
	check_names(set, frames, n);
	rs_unwind_read(set, memory, &regs, &bare);
	MUST(bare.n >= 1 && bare.n <= RS_STACK_DEPTH_MAX && bare.frames[0] == regs.rip);
	free(stack);
	free(memory);
	return 0;
}
