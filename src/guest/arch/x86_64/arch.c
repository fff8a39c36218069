/* SPDX-License-Identifier: BSD-2-Clause */
/* The x86-64 part of the guest runtime, for ring 0: the doorbell, the %gs base and CPUID. */
#include "guest/arch.h"

#define MSR_GS_BASE UINT32_C(0xc0000101) /* SDM vol. 4, IA32_GS_BASE */

#define CPUID_EXTENDED_MAX   UINT32_C(0x80000000)
#define CPUID_POWER	     UINT32_C(0x80000007)
#define CPUID_POWER_EDX_ITSC (UINT32_C(1) << 8) /* SDM vol. 3, "Invariant TSC" */

/* Writes the MSR, because WRGSBASE requires a CPU that supports it and CR4.FSGSBASE. */
void rs_guest_arch_set_this(struct rs_guest_self *self)
{
	uint64_t base = (uintptr_t)self;

	__asm__ volatile("wrmsr"
			 :
			 : "c"(MSR_GS_BASE), "a"((uint32_t)base), "d"((uint32_t)(base >> 32))
			 : "memory");
}

void rs_guest_arch_doorbell(uint32_t request, uint64_t area_gpa)
{
	/* "memory": the host reads the area and the ring, and writes the ring's head. */
	__asm__ volatile("outl %%eax, %%dx"
			 :
			 : "a"(request), "d"((uint16_t)RS_DOORBELL_PORT), "c"(area_gpa)
			 : "memory");
}

static uint32_t cpuid(uint32_t leaf, uint32_t *edx)
{
	uint32_t eax = leaf, ebx, ecx = 0;

	__asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(*edx));
	return eax;
}

bool rs_guest_tsc_invariant(void)
{
	uint32_t edx;

	if (cpuid(CPUID_EXTENDED_MAX, &edx) < CPUID_POWER)
		return false;
	cpuid(CPUID_POWER, &edx);
	return (edx & CPUID_POWER_EDX_ITSC) != 0;
}
