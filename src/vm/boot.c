/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepares what a vCPU needs at its start: page tables and a GDT in low memory, its block, its
 * stack, its ring, and registers that put it in long mode at the image's entry.
 *
 * The tables map the first 4 GiB to themselves in large pages, RAM or not, so that an access
 * outside RAM becomes an exit with its address. Page 0 is not mapped, so that null pointers fault.
 * The page below each stack is not mapped, so that a stack overflow faults.
 */
#include "vm/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

/* SDM vol. 3, chapter 4. */
#define PTE_PRESENT UINT64_C(0x01)
#define PTE_WRITE   UINT64_C(0x02)
#define PTE_LARGE   UINT64_C(0x80)
#define PTE_ADDRESS UINT64_C(0x000ffffffffff000)
#define PTE_COUNT   512u
#define GIB	    (UINT64_C(1) << 30)
#define MAPPED_GIB  4u

#define CR0_PE	       (UINT64_C(1) << 0)
#define CR0_MP	       (UINT64_C(1) << 1)
#define CR0_ET	       (UINT64_C(1) << 4)
#define CR0_NE	       (UINT64_C(1) << 5)
#define CR0_WP	       (UINT64_C(1) << 16)
#define CR0_PG	       (UINT64_C(1) << 31)
#define CR4_PAE	       (UINT64_C(1) << 5)
#define CR4_OSFXSR     (UINT64_C(1) << 9)
#define CR4_OSXMMEXCPT (UINT64_C(1) << 10)
#define EFER_LME       (UINT64_C(1) << 8)
#define EFER_LMA       (UINT64_C(1) << 10)
#define RFLAGS_FIXED   0x2u

enum { GDT_NULL, GDT_CODE, GDT_DATA, GDT_ENTRIES };
static const uint64_t gdt[GDT_ENTRIES] = {
	[GDT_CODE] = UINT64_C(0x00af9b000000ffff),
	[GDT_DATA] = UINT64_C(0x00cf93000000ffff),
};

/* ---- page tables -------------------------------------------------------------------------- */

/* Allocates pages from the host's part of low memory. The kernel has zeroed them. */
struct tables {
	struct rs_vm *vm;
	uint64_t next;
	uint64_t pml4;
};

static struct rs_error *table_create(struct tables *t, uint64_t *gpa)
{
	if (t->next >= RS_VM_IMAGE_GPA)
		return rs_error_create(RS_FAILED, "no low memory left for page tables");
	*gpa = t->next;
	t->next += RS_VM_PAGE_BYTES;
	return NULL;
}

static uint64_t *table_at(const struct tables *t, uint64_t gpa)
{
	return (uint64_t *)(void *)rs_vm_hva(t->vm, gpa & PTE_ADDRESS, RS_VM_PAGE_BYTES);
}

/* Sets *table to the table to which an entry points. Creates the table if there is none. */
static struct rs_error *table_below(struct tables *t, uint64_t *entry, uint64_t **table)
{
	if (!(*entry & PTE_PRESENT)) {
		struct rs_error *err = table_create(t, entry);

		if (err)
			return err;
		*entry |= PTE_PRESENT | PTE_WRITE;
	}
	*table = table_at(t, *entry);
	return NULL;
}

/* Returns the entry of the 2 MiB page that contains gpa. */
static struct rs_error *large_entry(struct tables *t, uint64_t gpa, uint64_t **entry)
{
	uint64_t *pdpt, *pd;
	struct rs_error *err = table_below(t, table_at(t, t->pml4), &pdpt);

	if (!err)
		err = table_below(t, &pdpt[gpa / GIB], &pd);
	if (!err)
		*entry = &pd[gpa / RS_VM_LARGE_PAGE % PTE_COUNT];
	return err;
}

static struct rs_error *map_all(struct tables *t)
{
	struct rs_error *err = table_create(t, &t->pml4);
	uint64_t *entry;

	for (uint64_t gpa = 0; gpa < MAPPED_GIB * GIB && !err; gpa += RS_VM_LARGE_PAGE) {
		err = large_entry(t, gpa, &entry);
		if (!err)
			*entry = gpa | PTE_LARGE | PTE_WRITE | PTE_PRESENT;
	}
	return err;
}

/* Unmaps one small page. Splits the large page around it first if necessary. */
static struct rs_error *unmap_page(struct tables *t, uint64_t gpa)
{
	uint64_t *large, *small;
	struct rs_error *err = large_entry(t, gpa, &large);

	if (!err && (*large & PTE_LARGE)) {
		uint64_t from = *large & PTE_ADDRESS;

		*large = 0;
		err = table_below(t, large, &small);
		for (uint32_t i = 0; i < PTE_COUNT && !err; i++)
			small[i] = (from + i * RS_VM_PAGE_BYTES) | PTE_WRITE | PTE_PRESENT;
	}
	if (!err)
		table_at(t, *large)[gpa / RS_VM_PAGE_BYTES % PTE_COUNT] = 0;
	return err;
}

/* ---- a vCPU's memory ---------------------------------------------------------------------- */

static uint64_t align_up(uint64_t gpa, uint64_t to)
{
	return (gpa + to - 1) / to * to;
}

/*
 *	| guard page | stack, aligned to its size | struct rs_kit_boot | input | output | ring |
 */
static struct rs_error *vcpu_place(struct rs_vm_vcpu *vcpu, struct tables *t, uint64_t *next)
{
	const struct rs_vm_options *options = &vcpu->vm->options;
	/* Another process may read shared rings: `record --guest-memory`. */
	bool traces = vcpu->vm->trace || options->hand_over == RS_KIT_SHARED;
	struct rs_kit_boot boot = {
		.magic = RS_KIT_BOOT_MAGIC,
		.version = RS_KIT_VERSION,
		.bytes = sizeof(boot),
		.vcpu = vcpu->index,
		.vcpus = options->vcpus,
		.hand_over = traces ? options->hand_over : RS_KIT_NO_TRACE,
		.mask = options->mask,
		.stack = align_up(*next + RS_VM_PAGE_BYTES, RS_KIT_STACK_BYTES),
	};
	struct rs_error *err;
	uint64_t end;

	vcpu->boot_gpa = boot.stack + RS_KIT_STACK_BYTES;
	err = rs_vm_log_boot(vcpu, &boot);
	if (err)
		return err;
	boot.input = vcpu->input_gpa = vcpu->boot_gpa + RS_VM_PAGE_BYTES;
	boot.output = vcpu->output_gpa = boot.input + RS_KIT_BUFFER_BYTES;
	end = boot.output + RS_KIT_BUFFER_BYTES;
	if (traces) {
		boot.ring = end;
		boot.ring_bytes = options->ring_bytes;
	}
	end += boot.ring_bytes;
	if (boot.ring_bytes > RS_VM_MEMORY_MAX || end > options->memory_bytes)
		return rs_error_create(
			RS_USAGE,
			"%llu MiB of memory is too little for the image and %u vCPUs "
			"with rings of %llu bytes",
			(unsigned long long)(options->memory_bytes >> 20), options->vcpus,
			(unsigned long long)options->ring_bytes);
	if (!rs_vm_write(vcpu->vm, vcpu->boot_gpa, &boot, sizeof(boot)))
		return rs_error_create(RS_FAILED, "the block of vCPU %u is outside the memory",
				       vcpu->index);
	*next = align_up(end, RS_VM_PAGE_BYTES);
	return unmap_page(t, boot.stack - RS_VM_PAGE_BYTES);
}

/* ---- registers ---------------------------------------------------------------------------- */

static struct kvm_segment segment(uint32_t entry, uint8_t type)
{
	return (struct kvm_segment){
		.limit = 0xffffffff,
		.selector = (uint16_t)(entry * 8),
		.type = type,
		.present = 1,
		.s = 1,
		.g = 1,
	};
}

static struct rs_error *registers_set(struct rs_vm_vcpu *vcpu, const struct tables *t,
				      uint64_t gdt_gpa)
{
	struct kvm_sregs s;
	struct kvm_regs r = {
		.rip = vcpu->vm->image.entry,
		.rsp = vcpu->boot_gpa, /* upper end of the stack */
		.rdi = vcpu->boot_gpa,
		.rflags = RFLAGS_FIXED,
	};

	if (ioctl(vcpu->fd, KVM_GET_SREGS, &s) < 0)
		return rs_error_errno(errno, "KVM_GET_SREGS");
	s.cs = segment(GDT_CODE, 11); /* code, readable, accessed */
	s.cs.l = 1;
	s.ds = segment(GDT_DATA, 3); /* data, writable, accessed */
	s.ds.db = 1;
	s.es = s.ss = s.fs = s.gs = s.ds;
	/* VMX requires a busy 64-bit TSS */
	s.tr = (struct kvm_segment){ .limit = 0x67, .type = 11, .present = 1 };
	s.ldt = (struct kvm_segment){ .unusable = 1 };
	s.gdt.base = gdt_gpa;
	s.gdt.limit = sizeof(gdt) - 1;
	s.idt.base = 0;
	s.idt.limit = 0;
	s.cr0 = CR0_PE | CR0_MP | CR0_ET | CR0_NE | CR0_WP | CR0_PG;
	s.cr3 = t->pml4;
	s.cr4 = CR4_PAE | CR4_OSFXSR | CR4_OSXMMEXCPT;
	s.efer = EFER_LME | EFER_LMA;
	if (ioctl(vcpu->fd, KVM_SET_SREGS, &s) < 0)
		return rs_error_errno(errno, "KVM_SET_SREGS");
	if (ioctl(vcpu->fd, KVM_SET_REGS, &r) < 0)
		return rs_error_errno(errno, "KVM_SET_REGS");
	return NULL;
}

struct rs_error *rs_vm_boot_prepare(struct rs_vm *vm)
{
	struct tables t = { .vm = vm, .next = RS_VM_TABLES_GPA };
	uint64_t gdt_gpa = 0, next = vm->image.end;
	struct rs_error *err = map_all(&t);

	if (!err)
		err = unmap_page(&t, 0);
	for (uint32_t i = 0; i < vm->options.vcpus && !err; i++)
		err = vcpu_place(&vm->vcpus[i], &t, &next);
	if (!err)
		err = table_create(&t, &gdt_gpa);
	if (!err)
		memcpy(rs_vm_hva(vm, gdt_gpa, sizeof(gdt)), gdt, sizeof(gdt));
	for (uint32_t i = 0; i < vm->options.vcpus && !err; i++)
		err = registers_set(&vm->vcpus[i], &t, gdt_gpa);
	return err;
}
