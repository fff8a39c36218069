/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of a kernel that has frame pointers and no ORC: Debian has no such kernel for x86-64, so
 * code and a stack are made here, as arch/x86/entry and GCC lay them out.
 *
 *	entry:	call outer		asm, with the registers of user mode on the stack, rbp 0
 *	outer:	call middle		push %rbp; mov %rsp,%rbp
 *	middle:	call *%rax
 *	inner:	call leaf
 *	leaf:	no frame
 *	handler: where the kernel is entered again by an interrupt, at inner
 */
#include "../test.h"

#include "insight/stack_kernel.h"
#include "insight/stack_walk.h"

#include "../../fuzz/kernel_made.h"

#define BASE	  (MADE_BASE + 0x100000)
#define BYTES	  0x10000u
#define STACK_TOP 0x4000u
#define TASK	  0x4000u
#define CODE	  0x5000u
#define FUNCTION  0x100u /* bytes of each */
#define AT(n)	  (BASE + CODE + (n)*FUNCTION)
enum { ENTRY, OUTER, MIDDLE, INNER, LEAF, HANDLER, N_FUNCTIONS };

/* In each function with a frame. */
#define PUSH	   9u /* behind endbr64 and a nop of 5 bytes */
#define BODY	   0x30u
#define BEHIND	   0x45u /* a call of the next function */
#define RESTORED   0x60u /* behind pop %rbp */
#define RETURN	   0x70u
#define USER_IP	   0x401234u
#define REGS	   168u /* bytes of struct pt_regs */
#define REGS_BP	   32u
#define REGS_IP	   128u
#define REGS_CS	   136u
#define REGS_FLAGS 144u
#define REGS_SP	   152u
#define REGS_SS	   160u
#define FRAMES	   16u

static const struct made_symbol symbols[] = {
	{ "__start_init_stack", BASE },
	{ "__end_init_stack", BASE + STACK_TOP },
	{ "_stext", BASE + CODE },
	{ "entry_SYSCALL_64", AT(ENTRY) },
	{ "do_syscall_64", AT(OUTER) },
	{ "vfs_read", AT(MIDDLE) },
	{ "schedule", AT(INNER) },
	{ "memcpy", AT(LEAF) },
	{ "sysvec_apic_timer_interrupt", AT(HANDLER) },
	{ "_etext", AT(N_FUNCTIONS) },
	{ "_sinittext", AT(N_FUNCTIONS) },
	{ "_einittext", AT(N_FUNCTIONS) },
};

static uint8_t memory[BYTES];
static struct rs_linux *kernel;
static uint64_t sp; /* of the stack that is made */

static void put(uint64_t address, uint64_t value)
{
	memcpy(memory + (address - BASE), &value, sizeof(value));
}

static void push(uint64_t value)
{
	sp -= 8;
	put(sp, value);
}

static void code_put(void)
{
	static const uint8_t begin[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44,
					 0x00, 0x00, 0x55, 0x48, 0x89, 0xe5 };

	memset(memory + CODE, 0x90, N_FUNCTIONS * FUNCTION);
	for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
		uint8_t *at = memory + CODE + i * FUNCTION;
		int32_t distance = (int32_t)(FUNCTION - BEHIND);

		if (i != ENTRY && i != LEAF)
			memcpy(at, begin, sizeof(begin));
		at[BEHIND - 5] = 0xe8;
		memcpy(at + BEHIND - 4, &distance, sizeof(distance));
		at[RESTORED - 1] = 0x5d;
		at[RETURN] = 0xc3;
	}
	memcpy(memory + CODE + MIDDLE * FUNCTION + BEHIND - 5, "\x90\x90\x90\xff\xd0", 5);
}

/* Puts the registers of what the kernel was entered from below sp. */
static uint64_t registers_put(uint64_t ip, uint64_t of_sp, uint64_t bp, bool user)
{
	sp -= REGS;
	put(sp + REGS_BP, bp);
	put(sp + REGS_IP, ip);
	put(sp + REGS_CS, user ? 0x33 : 0x10);
	put(sp + REGS_FLAGS, 0x202);
	put(sp + REGS_SP, of_sp);
	put(sp + REGS_SS, user ? 0x2b : 0x18);
	return sp;
}

/* Puts the frame of a function that was called, and room for what it has there. Returns its rbp. */
static uint64_t frame_put(uint64_t return_to, uint64_t bp)
{
	uint64_t frame;

	push(return_to);
	push(bp);
	frame = sp;
	sp -= 0x28;
	return frame;
}

static const struct {
	enum rs_field_id id;
	struct rs_btf_member member;
} fields[] = {
	{ RS_FIELD_TASK_STACK, { 0, 8 } },    { RS_FIELD_REGS_R15, { 0, 8 } },
	{ RS_FIELD_REGS_R14, { 8, 8 } },      { RS_FIELD_REGS_R13, { 16, 8 } },
	{ RS_FIELD_REGS_R12, { 24, 8 } },     { RS_FIELD_REGS_BP, { REGS_BP, 8 } },
	{ RS_FIELD_REGS_BX, { 40, 8 } },      { RS_FIELD_REGS_R11, { 48, 8 } },
	{ RS_FIELD_REGS_R10, { 56, 8 } },     { RS_FIELD_REGS_R9, { 64, 8 } },
	{ RS_FIELD_REGS_R8, { 72, 8 } },      { RS_FIELD_REGS_AX, { 80, 8 } },
	{ RS_FIELD_REGS_CX, { 88, 8 } },      { RS_FIELD_REGS_DX, { 96, 8 } },
	{ RS_FIELD_REGS_SI, { 104, 8 } },     { RS_FIELD_REGS_DI, { 112, 8 } },
	{ RS_FIELD_REGS_NR, { 120, 8 } },     { RS_FIELD_REGS_IP, { REGS_IP, 8 } },
	{ RS_FIELD_REGS_CS, { REGS_CS, 8 } }, { RS_FIELD_REGS_FLAGS, { REGS_FLAGS, 8 } },
	{ RS_FIELD_REGS_SP, { REGS_SP, 8 } }, { RS_FIELD_REGS_SS, { REGS_SS, 8 } },
};

/* Makes the kernel, and a stack that goes up to middle. Returns middle's rbp. */
static uint64_t begin(void)
{
	if (!kernel) {
		uint32_t from, to;
		struct rs_image image = made_image_own(
			MADE_NEW, false, symbols, sizeof(symbols) / sizeof(symbols[0]), &from, &to);

		kernel = calloc(1, sizeof(*kernel));
		if (!kernel)
			abort();
		rs_error_free(rs_kallsyms_find(&image, &kernel->symbols));
		rs_image_deinit(&image);
		for (uint32_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
			kernel->fields.fields[fields[i].id].found = true;
			kernel->fields.fields[fields[i].id].member = fields[i].member;
		}
		kernel->fields.struct_bytes[RS_STRUCT_REGS] = REGS;
	}
	kernel->memory =
		(struct rs_memory){ .n_ram = 1, .ram = { { (uint32_t)BASE, BYTES, memory } } };
	memset(memory, 0, sizeof(memory));
	put(BASE + TASK, BASE);
	code_put();
	sp = BASE + STACK_TOP;
	registers_put(USER_IP, 0x7ffffff0, 0x7ffffff8, true);
	return frame_put(AT(OUTER) + BEHIND, frame_put(AT(ENTRY) + BEHIND, 0));
}

/* Checks the frames from here on: the first, which is exact if a processor is there, and callers up
 * to 0; and that they lead to user mode, or why not. */
static void frames_check(uint64_t ip, uint64_t of_sp, uint64_t bp, bool runs,
			 const uint64_t *callers, const char *why)
{
	const struct rs_linux_task task = { .address = BASE + TASK, .mm = 1 };
	struct rs_linux_vcpu vcpu = { .regs = { .rip = ip, .cs = 0x10 } };
	static struct rs_linux_stack stack;
	struct rs_x86_regs user;
	uint32_t n = 0;

	vcpu.regs.gpr[6] = bp;
	vcpu.regs.gpr[7] = of_sp;
	stack.n = stack.n_kernel = 0;
	*stack.kernel_why = *stack.user_why = '\0';
	rs_linux_kernel_frames(kernel, NULL, &task, runs ? &vcpu : NULL, &vcpu.regs, &stack, &user);
	CHECK_EQ_U64(stack.frames[0].address, ip);
	CHECK_EQ_U64(stack.frames[0].origin, RS_FRAME_REGISTERS);
	for (; callers[n]; n++) {
		CHECK_EQ_U64(stack.frames[n + 1].address, callers[n]);
		CHECK_EQ_U64(stack.frames[n + 1].origin, RS_FRAME_LINK);
	}
	CHECK_EQ_U64(stack.n_kernel, n + 1);
	CHECK_EQ_U64(user.rip, why ? 0 : USER_IP);
	if (why)
		CHECK(strstr(stack.kernel_why, why));
	else
		CHECK_STR(stack.kernel_why, "");
}

static const uint64_t of_middle[] = { AT(OUTER) + BEHIND, AT(ENTRY) + BEHIND, 0 };
static const uint64_t of_inner[] = { AT(MIDDLE) + BEHIND, AT(OUTER) + BEHIND, AT(ENTRY) + BEHIND,
				     0 };
static const uint64_t none[] = { 0 };

TEST(a_kernel_with_frame_pointers_is_told_by_its_functions)
{
	begin();
	CHECK(rs_linux_has_frame_pointers(kernel));
	memory[CODE + MIDDLE * FUNCTION + PUSH] = 0x53; /* push %rbx */
	CHECK(!rs_linux_has_frame_pointers(kernel));
}

TEST(a_task_that_waits)
{
	uint64_t inner = frame_put(AT(MIDDLE) + BEHIND, begin());

	frames_check(AT(INNER) + BODY, sp, inner, false, of_inner, NULL);
}

TEST(each_place_in_a_function)
{
	uint64_t middle = begin(), inner;

	push(AT(MIDDLE) + BEHIND);
	frames_check(AT(INNER), sp, middle, true, of_inner, NULL);
	frames_check(AT(INNER) + PUSH, sp, middle, true, of_inner, NULL);
	frames_check(AT(INNER) + RETURN, sp, middle, true, of_inner, NULL);
	push(middle);
	frames_check(AT(INNER) + PUSH + 1, sp, middle, true, of_inner, NULL);
	inner = sp;
	frames_check(AT(INNER) + PUSH + 4, sp, inner, true, of_inner, NULL);
	sp -= 0x18;
	frames_check(AT(INNER) + BODY, sp, inner, true, of_inner, NULL);
	/* The frame may be there, or restored. */
	frames_check(AT(INNER) + RESTORED, sp, inner, true, none, "behind the end of its frame");
}

TEST(a_function_without_a_frame)
{
	const uint64_t callers[] = { AT(INNER) + BEHIND, AT(MIDDLE) + BEHIND, AT(OUTER) + BEHIND,
				     AT(ENTRY) + BEHIND, 0 };
	uint64_t inner = frame_put(AT(MIDDLE) + BEHIND, begin());

	push(AT(INNER) + BEHIND);
	frames_check(AT(LEAF) + BODY, sp, inner, true, callers, NULL);
	put(sp, AT(OUTER) + BEHIND); /* a call of middle */
	frames_check(AT(LEAF) + BODY, sp, inner, true, none, "without a frame");
	put(sp, AT(MIDDLE) + BEHIND); /* through a register */
	frames_check(AT(LEAF) + BODY, sp, inner, true, none, "without a frame");
}

TEST(an_interrupt_in_the_kernel)
{
	const uint64_t callers[] = { AT(LEAF) + BEHIND,	 AT(INNER) + BODY,   AT(MIDDLE) + BEHIND,
				     AT(OUTER) + BEHIND, AT(ENTRY) + BEHIND, 0 };
	uint64_t inner = frame_put(AT(MIDDLE) + BEHIND, begin()), of_sp = sp, regs, handler;

	regs = registers_put(AT(INNER) + BODY, of_sp, inner, false);
	handler = frame_put(AT(LEAF) + BEHIND, regs + 1);
	frames_check(AT(HANDLER) + BODY, sp, handler, true, callers, NULL);
	put(regs + REGS_CS, 0x23); /* of user mode, with the kernel's stack segment */
	frames_check(AT(HANDLER) + BODY, sp, handler, true, (uint64_t[]){ AT(LEAF) + BEHIND, 0 },
		     "no registers of what it interrupted");
}

TEST(what_is_no_frame_is_refused)
{
	uint64_t middle = begin(), inner = frame_put(AT(MIDDLE) + BEHIND, middle);
	const uint64_t first[] = { AT(MIDDLE) + BEHIND, 0 };

	put(inner + 8, AT(MIDDLE) + BODY);
	frames_check(AT(INNER) + BODY, sp, inner, true, none, "behind no call");
	put(inner + 8, 0x401000);
	frames_check(AT(INNER) + BODY, sp, inner, true, none, "behind no call");
	put(inner + 8, AT(MIDDLE) + BEHIND);
	put(inner, inner - 0x10);
	frames_check(AT(INNER) + BODY, sp, inner, true, first, "leads back");
	put(inner, middle + 4);
	frames_check(AT(INNER) + BODY, sp, inner, true, first, "leads back");
	put(inner, BASE + TASK);
	frames_check(AT(INNER) + BODY, sp, inner, true, first, "to no stack");
	put(inner, 0); /* as where the kernel is entered, which is not here */
	frames_check(AT(INNER) + BODY, sp, inner, true, first, "no frame pointer");
	put(inner, middle);
	frames_check(AT(INNER) + BODY, BASE + TASK, inner, true, none, "no stack");
}

TEST(a_stack_of_one_frame_less)
{
	uint64_t middle = begin();

	frames_check(AT(MIDDLE) + BODY, sp, middle, true, of_middle, NULL);
}
