/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arm64 part of the guest runtime, for EL1. NOT TESTED: it compiles, but has not run on any
 * machine.
 *
 * The doorbell is an HVC that follows the SMC Calling Convention (Arm DEN0028): a fast 64-bit call
 * in the vendor-specific hypervisor range.
 *	X0  RS_ARM64_DOORBELL	X1  request (RS_DOORBELL_)	X2  gpa of the area
 * A VMM on KVM enables the call with KVM_ARM_VM_SMCCC_FILTER, action KVM_SMCCC_FILTER_FWD_TO_USER
 * (Linux 6.4), and then gets KVM_EXIT_HYPERCALL. The call may change X0 to X17.
 */
#include "guest/arch.h"

#define RS_ARM64_DOORBELL UINT64_C(0xc6005253) /* fast | 64-bit | owner 6 | "RS" */

void rs_guest_arch_set_this(struct rs_guest_self *self)
{
	__asm__ volatile("msr tpidr_el1, %0\n\tisb" : : "r"(self->self) : "memory");
}

void rs_guest_arch_doorbell(uint32_t request, uint64_t area_gpa)
{
	register uint64_t x0 __asm__("x0") = RS_ARM64_DOORBELL;
	register uint64_t x1 __asm__("x1") = request;
	register uint64_t x2 __asm__("x2") = area_gpa;

	__asm__ volatile("hvc #0"
			 : "+r"(x0), "+r"(x1), "+r"(x2)
			 :
			 : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
			   "x14", "x15", "x16", "x17", "memory");
}

/* Returns true: the architecture guarantees a constant rate for the generic timer's counter (Arm
 * ARM D11.1.2). */
bool rs_guest_tsc_invariant(void)
{
	return true;
}
