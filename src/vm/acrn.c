/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces the exit loop in the events of ACRN's hypervisor (acrn.def): vm_enter just before KVM_RUN,
 * vm_exit just after it, then the handler's event, if ACRN has one. Each vCPU appears as a physical
 * CPU. Its number identifies its ring, which a recorder lends (lend.h), and is the CPU in its
 * records. An exit from KVM to user space appears with the corresponding VMX exit reason. Exits
 * that KVM handles in the kernel are not visible here.
 */
#include "vm/internal.h"

#include <ringside/lend.h>

enum { VM_EXIT = 0x10, VM_ENTER = 0x11, UNHANDLED = 0x20000, HANDLER = 0x10000 };
enum { TRACE_2L = 2, TRACE_4I = 4 };

/* VMX basic exit reasons: Intel SDM, volume 3, appendix C. */
enum {
	VMX_INTERRUPT = 1,
	VMX_TRIPLE_FAULT = 2,
	VMX_HLT = 12,
	VMX_IO = 30,
	VMX_INVALID_STATE = 33,
	VMX_EPT_VIOLATION = 48,
	VMX_NONE = 0xffff,
};

struct rs_error *rs_vm_acrn_open(struct rs_vm *vm)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; vm->options.sbuf && !err && i < vm->options.vcpus; i++)
		err = rs_lent_open(vm->options.sbuf, i, &vm->vcpus[i].lent);
	return err;
}

void rs_vm_acrn_close(struct rs_vm *vm)
{
	for (uint32_t i = 0; i < RS_VM_VCPUS_MAX; i++) {
		rs_lent_close(vm->vcpus[i].lent);
		vm->vcpus[i].lent = NULL;
	}
}

static void put(struct rs_vm_vcpu *vcpu, uint64_t id, uint64_t n_data, uint64_t a, uint64_t b)
{
	struct rs_slot slot = { .tsc = rs_tsc(),
				.head = id | n_data << RS_N_DATA_SHIFT |
					(uint64_t)vcpu->index << RS_CPU_SHIFT };

	__builtin_memcpy(slot.payload, &a, sizeof(a));
	__builtin_memcpy(slot.payload + sizeof(a), &b, sizeof(b));
	rs_lent_put(vcpu->lent, &slot);
}

static uint64_t vmx_reason(uint32_t reason)
{
	switch (reason) {
	case KVM_EXIT_IO:
		return VMX_IO;
	case KVM_EXIT_HLT:
		return VMX_HLT;
	case KVM_EXIT_MMIO:
		return VMX_EPT_VIOLATION;
	case KVM_EXIT_SHUTDOWN:
		return VMX_TRIPLE_FAULT;
	case KVM_EXIT_INTR:
		return VMX_INTERRUPT;
	case KVM_EXIT_FAIL_ENTRY:
		return VMX_INVALID_STATE;
	default:
		return VMX_NONE;
	}
}

static uint64_t two(uint32_t low, uint32_t high)
{
	return low | (uint64_t)high << 32;
}

/* Records the handler's event of an exit. ACRN has no event for HLT, and an event for an interrupt
 * would lack the vector. */
static void put_handler(struct rs_vm_vcpu *vcpu, uint32_t reason)
{
	const struct kvm_run *run = vcpu->run;

	switch (reason) {
	case KVM_EXIT_IO:
		put(vcpu, HANDLER + VMX_IO, TRACE_4I,
		    two(run->io.port, run->io.direction == KVM_EXIT_IO_OUT), two(run->io.size, 0));
		break;
	case KVM_EXIT_MMIO: /* bits of the exit qualification: read, write */
		put(vcpu, HANDLER + VMX_EPT_VIOLATION, TRACE_2L, run->mmio.is_write ? 2 : 1,
		    run->mmio.phys_addr);
		break;
	case KVM_EXIT_HLT:
	case KVM_EXIT_SHUTDOWN:
	case KVM_EXIT_INTR:
	case KVM_EXIT_FAIL_ENTRY:
		break;
	default:
		put(vcpu, UNHANDLED, TRACE_2L, VMX_NONE, 0);
		break;
	}
}

void rs_vm_acrn_enter(struct rs_vm_vcpu *vcpu)
{
	if (vcpu->lent)
		put(vcpu, VM_ENTER, TRACE_2L, 0, 0);
}

void rs_vm_acrn_exit(struct rs_vm_vcpu *vcpu, uint32_t reason)
{
	struct kvm_regs regs = { 0 };

	if (!vcpu->lent)
		return;
	if (vcpu->lent->producer.ring)
		rs_error_free(rs_vm_vcpu_registers(vcpu, &regs));
	put(vcpu, VM_EXIT, TRACE_2L, vmx_reason(reason), regs.rip);
	put_handler(vcpu, reason);
}
