/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exit reasons by instruction set: the numbers that kvm_exit, Xen and ACRN record, and their names.
 * The tables are those of include/ringside/event/isa.def. The number spaces overlap, so a reason is
 * always a pair (isa, code).
 *
 *	RS_ISA_VMX	the whole 32-bit field of kvm_exit: low 16 bits the basic reason, bit 31 a
 *			failed entry
 *	RS_ISA_SVM	the low 32 bits of the exit code: 0..0x403, 0x8000xxxx, 0xffffffff for -1
 *	RS_ISA_ARM64	the exception class if the guest trapped; else RS_EXIT_ARM64_OTHER | ret
 *	RS_ISA_RISCV	scause, its interrupt bit moved to bit 31
 *	RS_ISA_USER	KVM_EXIT_* of linux/kvm.h: the reason that KVM_RUN returned to the VMM; its
 *			negative errno if it failed
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
	RS_ISA_COUNT = 16, /* upper bound of the numbers */
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

/* ret is an ARM_EXCEPTION_ number, which is small except for HYP_GONE. It lacks the bit of a
 * pending SError (trace_arm.h). */
static inline uint32_t rs_isa_code_arm64(uint64_t ret, uint64_t esr_ec, uint32_t bytes)
{
	(void)bytes;
	return (uint32_t)ret == RS_ARM64_TRAP ? (uint32_t)esr_ec
					      : RS_EXIT_ARM64_OTHER | (uint32_t)ret;
}

/* scause's interrupt bit is its highest bit (RISC-V privileged architecture, 4.1.8); here it is bit
 * 31. */
static inline uint32_t rs_isa_code_riscv(uint64_t scause, uint64_t same, uint32_t bytes)
{
	uint32_t interrupt = bytes ? (uint32_t)(scause >> (bytes * 8 - 1)) & 1 : 0;

	(void)same;
	return ((uint32_t)scause & 0x7fffffff) | interrupt << 31;
}

#ifndef __bpf__

#define RS_EXIT_TEXT_MAX 64

/* Convert an instruction set to its name, "vmx", "svm", "user" and so on, or "-" if it is unknown;
 * and a name to the instruction set. */
const char *rs_isa_name(uint32_t isa);
uint32_t rs_isa_find(const char *name);

/* Returns a reason's name, such as "HLT", or NULL if the table has none. For VMX, the upper bits
 * are ignored. */
const char *rs_exit_name(uint32_t isa, uint32_t code);

/* Writes the name, or the number ("0x8000fffe" for SVM, "86" for others), followed by "(failed
 * entry)" for a failed VMX entry. Returns text. */
const char *rs_exit_text(uint32_t isa, uint32_t code, char text[RS_EXIT_TEXT_MAX]);

/* Finds the number of a name, ignoring case, with or without kvmexit's prefix EXIT_REASON_, or of
 * the kernel's own name. Returns false if the name is unknown. For filters and conditions. */
bool rs_exit_find(uint32_t isa, const char *name, uint32_t *code);

/* A row of the tables, one instruction set after the other. kernel: the kernel's name, as in
 * isa.def. */
struct rs_exit_row {
	uint32_t isa, code;
	const char *name, *kernel;
};
/* Returns the i-th row in *row, or false past the last. */
bool rs_exit_row(size_t i, struct rs_exit_row *row);

#endif
#endif
