/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers of a stopped virtual processor, as its VMM provides them. */
#ifndef RINGSIDE_REGISTERS_H
#define RINGSIDE_REGISTERS_H

#include <stdint.h>
#include <ringside/language.h>

RS_C_BEGIN

/* The registers of an x86-64 processor, in the order of QEMU's `g` packet. */
struct rs_x86_regs {
	uint64_t gpr[16]; /* rax rbx rcx rdx rsi rdi rbp rsp r8 ... r15 */
	uint64_t rip;
	uint32_t eflags, cs, ss, ds, es, fs, gs;
	uint64_t fs_base, gs_base, k_gs_base;
	uint64_t cr0, cr2, cr3, cr4, cr8, efer;
};

RS_C_END

#endif
