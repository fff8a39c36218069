/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the frames of a kernel without ORC by its frame pointers (CONFIG_UNWINDER_FRAME_POINTER).
 *
 *	rbp -> the caller's rbp
 *	       return address
 *
 * A function has that from its second instruction on, push %rbp; mov %rsp,%rbp, until it restores
 * rbp. What executes may be elsewhere, so the innermost frame, and each that was interrupted, is
 * looked at: before its frame there is, and at its return, the return address is at rsp. Where the
 * kernel is entered, it puts the address of the saved registers plus 1 into rbp, or 0
 * (ENCODE_FRAME_POINTER and PUSH_AND_CLEAR_REGS of arch/x86/entry/calling.h).
 *
 * A return address is believed if it is in the kernel's code, behind a call; and if the function
 * has no frame, if that call is of it.
 */
#include <string.h>

#include "insight/stack_kernel.h"
#include "insight/stack_walk.h"

#define WORD RS_WALK_WORD
/* Intel SDM volume 2. */
#define PUSH_BP	   0x55
#define POP_BP	   0x5d
#define LEAVE	   0xc9
#define RETURN	   0xc3
#define CALL	   0xe8
#define JUMP	   0xe9
#define NEAR_BYTES 5u /* of CALL and JUMP */
static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 }; /* in place of call __fentry__ */
static const uint8_t mov_sp_bp[] = { 0x48, 0x89, 0xe5 };
#define BEFORE_BYTES 3u
#define BEGIN_BYTES  (sizeof(endbr) + sizeof(nop5) + BEFORE_BYTES + 1 + sizeof(mov_sp_bp))

#define RETURN_THUNK "__x86_return_thunk"

/* Instructions of a BPF program before its frame: emit_prologue() of arch/x86/net/bpf_jit_comp.c.
 * The count of its tail calls is cleared, or there is a nop of the same length. */
static const struct {
	uint8_t code[3], bytes;
} befores[] = { { { 0x31, 0xc0 }, 2 },
		{ { 0x66, 0x90 }, 2 },
		{ { 0x48, 0x31, 0xc0 }, 3 },
		{ { 0x0f, 0x1f, 0x00 }, 3 } };

/* Finds where a function whose code is given pushes rbp. Returns false if it does not begin with
 * that. */
static bool push_find(const uint8_t code[BEGIN_BYTES], uint32_t *at)
{
	*at = memcmp(code, endbr, sizeof(endbr)) ? 0 : sizeof(endbr);
	if (code[*at] == CALL || !memcmp(code + *at, nop5, sizeof(nop5)))
		*at += NEAR_BYTES;
	for (uint32_t i = 0; i < sizeof(befores) / sizeof(befores[0]); i++) {
		if (!memcmp(code + *at, befores[i].code, befores[i].bytes)) {
			*at += befores[i].bytes;
			break;
		}
	}
	return code[*at] == PUSH_BP && !memcmp(code + *at + 1, mov_sp_bp, sizeof(mov_sp_bp));
}

bool rs_linux_has_frame_pointers(struct rs_linux *kernel)
{
	static const char *const functions[] = { "schedule", "do_syscall_64", "vfs_read",
						 "wake_up_process", "kthread" };
	uint8_t code[BEGIN_BYTES];
	uint32_t found = 0, at;
	struct rs_ksym sym;

	for (uint32_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (!rs_kallsyms_by_name(kernel->symbols, functions[i], &sym))
			continue;
		if (rs_memory_read(&kernel->memory, sym.address, code, sizeof(code), NULL) ||
		    !push_find(code, &at))
			return false;
		found++;
	}
	return found > 1;
}

/* Goes to a caller whose return address is on the stack at `at`. rbp is the caller's already. */
static bool return_from(struct rs_walk *w, uint64_t at)
{
	uint64_t ip;

	if (!rs_walk_load(w, at, &ip))
		return rs_walk_end_at(w, "has a caller that is on no stack");
	if (!rs_walk_is_behind_call(w, ip))
		return rs_walk_end_at(w, "has a caller that is behind no call");
	w->ip = ip;
	w->sp = at + WORD;
	w->is_exact = w->has_regs = false;
	return true;
}

/* Goes to what the kernel was entered from, whose registers are at `at`. */
static bool entered_from(struct rs_walk *w, uint64_t at)
{
	if (!rs_walk_registers(w, at, false))
		return rs_walk_end_at(w, "has no registers of what it interrupted");
	w->is_exact = true;
	return true;
}

/* Steps from a function that has its frame, or from where the kernel is entered. */
static bool frame_step(struct rs_walk *w)
{
	uint64_t frame = w->bp, registers = frame & 1 ? frame - 1 : frame ? 0 : w->sp;

	if (registers) {
		if (!rs_linux_pt_regs_is_top(w->kernel, w->stacks[0].to, registers))
			return frame ? entered_from(w, registers)
				     : rs_walk_end_at(w, "has no frame pointer");
		/* A thread of the kernel's never was in user mode. */
		return w->task->is_kernel ? false : entered_from(w, registers);
	}
	if (frame % WORD || (frame >= w->stacks[w->on].from && frame < w->sp))
		return rs_walk_end_at(w, "has a frame pointer that leads back");
	if (!rs_walk_load(w, frame, &w->bp))
		return rs_walk_end_at(w, "has a frame pointer to no stack");
	return return_from(w, frame + WORD);
}

/* Returns whether a return is at an address, or a jump to the function that returns. */
static bool is_return(struct rs_walk *w, uint64_t address)
{
	uint8_t code[NEAR_BYTES] = { 0 };
	struct rs_ksym thunk;
	int32_t distance;

	if (rs_memory_read(&w->kernel->memory, address, code, sizeof(code), NULL))
		return false;
	memcpy(&distance, code + 1, sizeof(distance));
	return code[0] == RETURN ||
	       (code[0] == JUMP && rs_kallsyms_by_name(w->kernel->symbols, RETURN_THUNK, &thunk) &&
		address + NEAR_BYTES + (uint64_t)(int64_t)distance == thunk.address);
}

/* Returns whether the call before a return address is of this function. */
static bool is_called_from(struct rs_walk *w, uint64_t function, uint64_t address)
{
	uint8_t code[NEAR_BYTES];
	int32_t distance;

	if (rs_memory_read(&w->kernel->memory, address - NEAR_BYTES, code, sizeof(code), NULL))
		return false;
	memcpy(&distance, code + 1, sizeof(distance));
	return code[0] == CALL && address + (uint64_t)(int64_t)distance == function;
}

/* Steps from an instruction that executes, or was interrupted. A BPF program restores rbp only
 * before it returns. */
static bool exact_step(struct rs_walk *w, bool is_bpf)
{
	uint8_t code[BEGIN_BYTES], before = 0;
	uint64_t size, offset, ip = 0;
	const char *module;
	struct rs_ksym sym;
	uint32_t push;

	if (!rs_linux_symbol(w->kernel, w->ip, &sym, &size, &module) ||
	    rs_memory_read(&w->kernel->memory, sym.address, code, sizeof(code), NULL))
		return rs_walk_end_at(w, "is in no function that is known");
	offset = w->ip - sym.address;
	if (!push_find(code, &push)) {
		if (rs_walk_load(w, w->sp, &ip) && is_called_from(w, sym.address, ip))
			return return_from(w, w->sp);
		return rs_walk_end_at(w, "is in a function without a frame");
	}
	if (offset <= push || is_return(w, w->ip))
		return return_from(w, w->sp);
	if (offset == push + 1)
		return return_from(w, w->sp + WORD);
	/* A jump to another function may be next, with rbp restored; or the byte is another's. */
	if (!is_bpf && (rs_memory_read(&w->kernel->memory, w->ip - 1, &before, 1, NULL) ||
			before == POP_BP || before == LEAVE))
		return rs_walk_end_at(w, "may be behind the end of its frame");
	return frame_step(w);
}

bool rs_walk_pointer_step(struct rs_walk *w)
{
	return w->is_exact ? exact_step(w, false) : frame_step(w);
}

bool rs_walk_bpf_step(struct rs_walk *w)
{
	if (w->is_exact)
		return exact_step(w, true);
	/* The marks of registers (frame_step()) are those of kernels that keep frame pointers. */
	if (!w->bp || w->bp % WORD)
		return rs_walk_end_at(w, "has no frame pointer");
	return frame_step(w);
}
