/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exit reasons by instruction set: the numbers that kvm_exit, Xen and ACRN give, and their names.
 * The tables are those of include/ringside/event/isa.def. The number spaces overlap, so a reason is
 * always a pair (isa, code).
 *
 *	RS_ISA_VMX	the whole 32-bit field of kvm_exit: low 16 bits the basic reason, bit 31 a
 *			failed entry
 *	RS_ISA_SVM	the low 32 bits of the exit code: 0..0x403, 0x8000xxxx, 0xffffffff for -1
 *	RS_ISA_ARM64	the exception class where the guest trapped; else RS_EXIT_ARM64_OTHER | ret
 *	RS_ISA_RISCV	scause, its interrupt bit moved to bit 31
 *	RS_ISA_USER	KVM_EXIT_* of linux/kvm.h: what KVM_RUN returned to the VMM with; its
 *			negative errno where it failed
 */
#ifndef RS_EVENT_EXIT_REASON_H
#define RS_EVENT_EXIT_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rs_isa {
	RS_ISA_UNKNOWN = 0,
	RS_ISA_USER = 5,
#define RS_ISA(name, NAME, number, mask, base, module) RS_ISA_##NAME = number,
#include <ringside/event/isa.def>
	RS_ISA_COUNT = 16, /* numbers are below */
};

#define RS_EXIT_VMX_FAILED  0x80000000u
#define RS_EXIT_ARM64_OTHER 0x100u

#define RS_ARM64_TRAP 2u /* ARM_EXCEPTION_TRAP, arch/arm64/include/asm/kvm_asm.h */

/* The codes of isa.def's RS_ISA_RECORD(), from the fields a and b, and the bytes of a. */
static inline uint32_t rs_isa_code_plain(uint64_t a, uint64_t b, uint32_t bytes)
{
	(void)b;
	(void)bytes;
	return (uint32_t)a;
}

/* ret is an ARM_EXCEPTION_ number, small but for HYP_GONE; the bit of a pending SError is not in it
 * (trace_arm.h). */
static inline uint32_t rs_isa_code_arm64(uint64_t ret, uint64_t esr_ec, uint32_t bytes)
{
	(void)bytes;
	return (uint32_t)ret == RS_ARM64_TRAP ? (uint32_t)esr_ec
					      : RS_EXIT_ARM64_OTHER | (uint32_t)ret;
}

/* scause's interrupt bit is its uppermost (RISC-V privileged architecture, 4.1.8); here it is bit
 * 31. */
static inline uint32_t rs_isa_code_riscv(uint64_t scause, uint64_t same, uint32_t bytes)
{
	uint32_t interrupt = bytes ? (uint32_t)(scause >> (bytes * 8 - 1)) & 1 : 0;

	(void)same;
	return ((uint32_t)scause & 0x7fffffff) | interrupt << 31;
}

#ifndef __bpf__

#define RS_EXIT_TEXT_MAX 64

/* "vmx", "svm", "user" and so on; "-" for an unknown one. And back. */
const char *rs_isa_name(uint32_t isa);
uint32_t rs_isa_find(const char *name);

/* "HLT"; NULL where the table has none. For VMX the basic reason's, whatever the upper bits. */
const char *rs_exit_name(uint32_t isa, uint32_t code);

/* The name, or the number ("0x8000fffe" from SVM, "86" from the others); a failed VMX entry has
 * "(failed entry)" behind it. Returns text. */
const char *rs_exit_text(uint32_t isa, uint32_t code, char text[RS_EXIT_TEXT_MAX]);

/* The number that a name has, in either case, with kvmexit's EXIT_REASON_ before it or not, or by
 * the kernel's own name; false where it is none. For filters and conditions. */
bool rs_exit_find(uint32_t isa, const char *name, uint32_t *code);

/* The tables' rows, one instruction set after the other. kernel: as isa.def has it. */
struct rs_exit_row {
	uint32_t isa, code;
	const char *name, *kernel;
};
/* Returns whether there is an i-th row. */
bool rs_exit_row(size_t i, struct rs_exit_row *row);

#endif
#endif
