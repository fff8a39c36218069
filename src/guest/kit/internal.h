/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kit's files share. A vCPU's own data stands at the top of its stack memory, which is
 * aligned to its size, so that it is found from the stack pointer, whatever else is broken; a
 * stack that overflows runs away from it.
 *
 *	|     <- stack | struct rs_kit_vcpu, with a stack for double faults |
 *	^ aligned to RS_KIT_STACK_BYTES
 */
#ifndef RS_GUEST_KIT_INTERNAL_H
#define RS_GUEST_KIT_INTERNAL_H

#include <ringside/guest_log.h>
#include <ringside/kit.h>
#include "guest/kit/layout.h"

#define RS_KIT_FAULT_STACK_BYTES 4096u

enum {
	RS_KIT_GDT_NULL,
	RS_KIT_GDT_CODE,
	RS_KIT_GDT_DATA,
	RS_KIT_GDT_TSS, /* takes two */
	RS_KIT_GDT_ENTRIES = 5,
};

/* SDM vol. 3, "64-bit TSS". */
struct rs_kit_tss {
	uint32_t reserved0;
	uint64_t rsp[3];
	uint64_t reserved1;
	uint64_t ist[7];
	uint64_t reserved2;
	uint16_t reserved3;
	uint16_t io_map;
} __attribute__((packed));
_Static_assert(sizeof(struct rs_kit_tss) == 104, "SDM");

struct rs_kit_vcpu {
	struct rs_kit_boot *boot;
	uint32_t faults; /* exceptions that are being handled, one in another */
	uint32_t reserved;
	uint64_t gdt[RS_KIT_GDT_ENTRIES];
	struct rs_kit_tss tss;
	uint8_t fault_stack[RS_KIT_FAULT_STACK_BYTES] __attribute__((aligned(16)));
};
_Static_assert(sizeof(struct rs_kit_vcpu) <= RS_KIT_VCPU_BYTES, "layout.h");
_Static_assert(RS_KIT_VCPU_BYTES < RS_KIT_STACK_BYTES / 4, "leaves most to the stack");

static inline struct rs_kit_vcpu *rs_kit_self(void)
{
	uintptr_t at;

	__asm__("movq %%rsp, %0" : "=r"(at));
	return (struct rs_kit_vcpu *)((at | (RS_KIT_STACK_BYTES - 1)) + 1 - RS_KIT_VCPU_BYTES);
}

/* One OUT to the host; request is RS_KIT_. */
static inline void rs_kit_out(uint32_t request, const void *block)
{
	__asm__ volatile("outl %%eax, %%dx"
			 :
			 : "a"(request), "d"((uint16_t)RS_KIT_PORT), "c"(block)
			 : "memory");
}

/* descriptors.c */
void rs_kit_load_gdt(struct rs_kit_vcpu *vcpu);
void rs_kit_load_idt(bool first);

/* kit.c, called by start.S: from a vCPU's first moment on. */
__attribute__((noreturn)) void rs_kit_main(struct rs_kit_boot *boot);

/* exception.c, called by start.S. On return the frame is where to go on. */
void rs_kit_exception(struct rs_kit_frame *frame);

#endif
