/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exit reasons by architecture: the numbers that kvm_exit, Xen and ACRN give, and their names. The
 * tables are include/ringside/event/exits.def, a line a reason. The number spaces overlap, so a
 * reason is always a pair (isa, code).
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

/* 1 and 2 are the kernel's own (KVM_ISA_VMX, KVM_ISA_SVM in arch/x86/kvm/trace.h). */
enum rs_isa {
	RS_ISA_UNKNOWN = 0,
	RS_ISA_VMX = 1,
	RS_ISA_SVM = 2,
	RS_ISA_ARM64 = 3,
	RS_ISA_RISCV = 4,
	RS_ISA_USER = 5,
	RS_ISA_COUNT,
};

#define RS_EXIT_VMX_FAILED  0x80000000u
#define RS_EXIT_ARM64_OTHER 0x100u

#ifndef __bpf__

#define RS_EXIT_TEXT_MAX 64

/* "vmx", "svm", "arm64", "riscv", "user"; "-" for what is none of these. And back. */
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

#endif
#endif
