/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations that the kit's files share. A vCPU's own data is at the top of its stack memory,
 * which is aligned to its size, so that code can find the data from the stack pointer alone. A
 * stack overflow grows away from it.
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
	RS_KIT_GDT_TSS, /* occupies two entries */
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
	uint32_t faults;   /* nesting depth of the exceptions in progress */
	uint32_t returned; /* the type of the text or bytes in the output; RS_KIT_VOID: none */
	uint32_t input_used, output_used; /* bytes (message.c) */
	uint64_t gdt[RS_KIT_GDT_ENTRIES];
	struct rs_kit_tss tss;
	uint8_t fault_stack[RS_KIT_FAULT_STACK_BYTES] __attribute__((aligned(16)));
};
_Static_assert(sizeof(struct rs_kit_vcpu) <= RS_KIT_VCPU_BYTES, "layout.h");
_Static_assert(RS_KIT_VCPU_BYTES < RS_KIT_STACK_BYTES / 4, "most of the memory is for the stack");

static inline struct rs_kit_vcpu *rs_kit_self(void)
{
	uintptr_t at;

	__asm__("movq %%rsp, %0" : "=r"(at));
	return (struct rs_kit_vcpu *)((at | (RS_KIT_STACK_BYTES - 1)) + 1 - RS_KIT_VCPU_BYTES);
}

/* Sends a request (RS_KIT_) to the host with one OUT. */
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

/* message.c. pop reads a message's values; texts and bytes are not copied. push writes a message to
 * the output, and returns NULL if there is no room. return writes a function's result, unless the
 * function has written it. */
bool rs_kit_pop(const struct rs_kit_message *message, uint32_t room, struct rs_kit_value *values,
		uint32_t *n);
const struct rs_kit_message *rs_kit_push(struct rs_kit_vcpu *vcpu,
					 const struct rs_kit_value *values, uint32_t n);
bool rs_kit_return(struct rs_kit_vcpu *vcpu, uint32_t type, uint64_t v);

/* kit.c. start.S calls it on each vCPU, before all other C code. */
__attribute__((noreturn)) void rs_kit_main(struct rs_kit_boot *boot);

/* exception.c. start.S calls it, and resumes with the frame's values on return. */
void rs_kit_exception(struct rs_kit_frame *frame);

#endif
