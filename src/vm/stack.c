/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unwinds stacks of the guest, for doorbells that request one, by the CFI of the guest's binary,
 * which is opened at the first request. Where the binary has no CFI, follows frame pointers.
 */
#include "vm/internal.h"

#include <sys/ioctl.h>

#include "introspect/memory.h"
#include "introspect/unwind.h"

/* KVM's names in the order of rs_x86_regs. */
static void general_registers(const struct kvm_regs *from, struct rs_x86_regs *to)
{
	const uint64_t gpr[16] = {
		from->rax, from->rbx, from->rcx, from->rdx, from->rsi, from->rdi,
		from->rbp, from->rsp, from->r8,	 from->r9,  from->r10, from->r11,
		from->r12, from->r13, from->r14, from->r15,
	};

	for (uint32_t i = 0; i < 16; i++)
		to->gpr[i] = gpr[i];
	to->rip = from->rip;
	to->eflags = (uint32_t)from->rflags;
}

bool rs_vm_registers(void *ctx, uint32_t vcpu, struct rs_x86_regs *regs)
{
	struct rs_vm *vm = ctx;
	struct kvm_sregs system;
	struct kvm_regs general;

	if (ioctl(vm->vcpus[vcpu].fd, KVM_GET_REGS, &general) < 0 ||
	    ioctl(vm->vcpus[vcpu].fd, KVM_GET_SREGS, &system) < 0)
		return false;
	*regs = (struct rs_x86_regs){
		.cs = system.cs.selector,
		.ss = system.ss.selector,
		.ds = system.ds.selector,
		.es = system.es.selector,
		.fs = system.fs.selector,
		.gs = system.gs.selector,
		.fs_base = system.fs.base,
		.gs_base = system.gs.base,
		.cr0 = system.cr0,
		.cr2 = system.cr2,
		.cr3 = system.cr3,
		.cr4 = system.cr4,
		.cr8 = system.cr8,
		.efer = system.efer,
	};
	general_registers(&general, regs);
	return true;
}

/* Returns the guest's set of symbols, which may be empty, or NULL if there is no memory. The caller
 * holds the lock. */
static struct rs_symbols *symbols(struct rs_vm *vm)
{
	if (!vm->symbols_tried) {
		vm->symbols_tried = true;
		rs_error_free(rs_symbols_create(NULL, &vm->symbols));
		if (vm->symbols)
			rs_error_free(rs_symbols_add(vm->symbols, vm->image.path, NULL, 0));
	}
	return vm->symbols;
}

uint32_t rs_vm_unwind(void *ctx, uint32_t vcpu, uint64_t *frames, uint32_t max, uint64_t *by_fp)
{
	struct rs_vm *vm = ctx;
	const struct rs_guest_memory access = rs_vm_memory(vm);
	struct rs_memory memory;
	struct rs_x86_regs regs;
	struct rs_symbols *set;
	uint32_t n = 0;

	if (!rs_vm_registers(vm, vcpu, &regs))
		return 0;
	rs_memory_of_guest(&access, &memory);
	rs_memory_at(&memory, &regs);
	pthread_mutex_lock(&vm->symbols_lock);
	set = symbols(vm);
	if (set)
		n = rs_unwind(set, &memory, &regs, frames, max, by_fp);
	pthread_mutex_unlock(&vm->symbols_lock);
	return n;
}
