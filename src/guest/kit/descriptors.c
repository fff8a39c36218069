/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets up the guest's GDT and TSS, one of each per vCPU, and its IDT, which all vCPUs share. vCPU 0
 * writes the IDT before the others start. Bit layouts: SDM vol. 3, chapters 3 and 6.
 */
#include "guest/kit/internal.h"

#define DESCRIPTOR_CODE64   UINT64_C(0x00af9b000000ffff) /* present, ring 0, code, long */
#define DESCRIPTOR_DATA	    UINT64_C(0x00cf93000000ffff) /* present, ring 0, data */
#define DESCRIPTOR_TSS	    UINT64_C(0x0000890000000000) /* present, 64-bit TSS, available */
#define GATE_INTERRUPT	    UINT64_C(0x00008e0000000000) /* present, ring 0 */
#define GATE_IST_SHIFT	    32
#define SELECTOR(entry)	    ((uint16_t)((entry)*8))
#define VECTOR_DOUBLE_FAULT 8u
#define STUB_BYTES	    16u /* start.S */

struct gate {
	uint64_t low, high;
};

struct table_register {
	uint16_t limit;
	uint64_t base;
} __attribute__((packed));

extern const uint8_t rs_kit_stubs[] __attribute__((visibility("hidden")));
static struct gate idt[RS_KIT_VECTORS];

/* Loads the segment registers. CS needs a far return, the only far transfer that reaches a 64-bit
 * address on all processors. */
static void segments_load(void)
{
	__asm__ volatile("pushq %0\n\t"
			 "leaq 1f(%%rip), %%rax\n\t"
			 "pushq %%rax\n\t"
			 "lretq\n"
			 "1:\tmovl %1, %%eax\n\t"
			 "movl %%eax, %%ds\n\t"
			 "movl %%eax, %%es\n\t"
			 "movl %%eax, %%ss\n\t" /* %gs is not loaded, which would clear its base */
			 :
			 : "i"(SELECTOR(RS_KIT_GDT_CODE)), "i"(SELECTOR(RS_KIT_GDT_DATA))
			 : "rax", "memory");
}

void rs_kit_load_gdt(struct rs_kit_vcpu *vcpu)
{
	RS_SPAN(boot, "load_gdt");
	uint64_t tss = (uintptr_t)&vcpu->tss;
	struct table_register gdtr = { sizeof(vcpu->gdt) - 1, (uintptr_t)vcpu->gdt };

	vcpu->tss = (struct rs_kit_tss){
		.ist[0] = (uintptr_t)(vcpu->fault_stack + RS_KIT_FAULT_STACK_BYTES),
		.io_map = sizeof(struct rs_kit_tss), /* none */
	};
	vcpu->gdt[RS_KIT_GDT_CODE] = DESCRIPTOR_CODE64;
	vcpu->gdt[RS_KIT_GDT_DATA] = DESCRIPTOR_DATA;
	vcpu->gdt[RS_KIT_GDT_TSS] = DESCRIPTOR_TSS | (sizeof(struct rs_kit_tss) - 1) |
				    (tss & 0xffffff) << 16 | (tss >> 24 & 0xff) << 56;
	vcpu->gdt[RS_KIT_GDT_TSS + 1] = tss >> 32;
	__asm__ volatile("lgdt %0" : : "m"(gdtr), "m"(vcpu->gdt));
	segments_load();
	__asm__ volatile("ltr %w0" : : "r"(SELECTOR(RS_KIT_GDT_TSS)) : "memory");
}

static void init_idt(void)
{
	RS_SPAN(boot, "init_idt");

	for (uint32_t vector = 0; vector < RS_KIT_VECTORS; vector++) {
		uint64_t at = (uintptr_t)rs_kit_stubs + STUB_BYTES * vector;
		uint64_t ist = vector == VECTOR_DOUBLE_FAULT ? 1 : 0;

		idt[vector].low = (at & 0xffff) | (uint64_t)SELECTOR(RS_KIT_GDT_CODE) << 16 |
				  GATE_INTERRUPT | ist << GATE_IST_SHIFT |
				  (at >> 16 & 0xffff) << 48;
		idt[vector].high = at >> 32;
	}
}

void rs_kit_load_idt(bool first)
{
	RS_SPAN(boot, "load_idt");
	struct table_register idtr = { sizeof(idt) - 1, (uintptr_t)idt };

	if (first)
		init_idt();
	__asm__ volatile("lidt %0" : : "m"(idtr), "m"(idt));
}
