/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The causes of exits: the programs on KVM's tracepoints between an exit and its entry. Included by
 * exits.bpf.c.
 *
 * Each cause is counted once. A port's input and an MMIO read that the VMM handles are counted
 * after the return to KVM, when the value is known. That is before the entry, so the cause belongs
 * to the same exit.
 */
#ifndef RS_KVM_CAUSES_BPF_H
#define RS_KVM_CAUSES_BPF_H

RS_PROGRAM(kvm_pio, trace_event_raw_kvm_pio)
{
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.causes)
		cause_count(&here, r->rw ? RS_CAUSE_PIO_WRITE : RS_CAUSE_PIO_READ,
			    (uint16_t)r->port);
	if (config.events) {
		RS_RING_RECORD(kvm_pio) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_pio){ here.slot->tid,   (uint16_t)r->port, r->rw != 0,
						   (uint8_t)r->size, r->count,		r->val };
		ring_put(&here, kvm_pio, &e);
	}
	leave(&here);
}

/* KVM_TRACE_MMIO_ of include/trace/events/kvm.h */
#define MMIO_UNSATISFIED 0u /* a read that is sent to the VMM; a READ follows */
#define MMIO_READ	 1u
#define MMIO_WRITE	 2u

static __always_inline void on_mmio(uint32_t type, uint32_t len, uint64_t gpa, uint64_t value)
{
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.causes && type != MMIO_UNSATISFIED)
		cause_count(&here, type == MMIO_READ ? RS_CAUSE_MMIO_READ : RS_CAUSE_MMIO_WRITE,
			    gpa);
	if (config.events) {
		RS_RING_RECORD(kvm_mmio) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_mmio){ here.slot->tid, (uint16_t)type, (uint16_t)len,
						    gpa, value };
		ring_put(&here, kvm_mmio, &e);
	}
	leave(&here);
}

RS_PROGRAM(kvm_mmio, trace_event_raw_kvm_mmio)
{
	on_mmio(r->type, r->len, r->gpa, r->val);
}

/* A write to an eventfd (handle_ept_misconfig). KVM does not decode it, so only the address is
 * known. */
RS_PROGRAM(kvm_fast_mmio, trace_event_raw_kvm_fast_mmio)
{
	on_mmio(MMIO_WRITE, 0, r->gpa, 0);
}

RS_PROGRAM(kvm_msr, trace_event_raw_kvm_msr)
{
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.causes)
		cause_count(&here, r->write ? RS_CAUSE_MSR_WRITE : RS_CAUSE_MSR_READ, r->ecx);
	if (config.events) {
		RS_RING_RECORD(kvm_msr) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_msr){ here.slot->tid, r->ecx, r->data, r->write != 0,
						   r->exception };
		ring_put(&here, kvm_msr, &e);
	}
	leave(&here);
}

RS_PROGRAM(kvm_cpuid, trace_event_raw_kvm_cpuid)
{
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.causes)
		cause_count(&here, RS_CAUSE_CPUID, r->function);
	if (config.events) {
		RS_RING_RECORD(kvm_cpuid) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_cpuid){ here.slot->tid, r->function,
						     RS_FIELD_OR(r->index, 0) };
		ring_put(&here, kvm_cpuid, &e);
	}
	leave(&here);
}

RS_PROGRAM(kvm_hypercall, trace_event_raw_kvm_hypercall)
{
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.causes)
		cause_count(&here, RS_CAUSE_HYPERCALL, r->nr);
	if (config.events) {
		RS_RING_RECORD(kvm_hypercall) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_hypercall){ here.slot->tid, 0,	r->nr, r->a0,
							 r->a1,		 r->a2, r->a3 };
		ring_put(&here, kvm_hypercall, &e);
	}
	leave(&here);
}

/* An interrupt that is injected again, because its delivery was interrupted, is already counted. */
RS_PROGRAM(kvm_inj_virq, trace_event_raw_kvm_inj_virq)
{
	bool again = RS_FIELD_OR(r->reinjected, 0);
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.causes && !again)
		cause_count(&here, RS_CAUSE_INTERRUPT, r->vector);
	if (config.events) {
		RS_RING_RECORD(kvm_interrupt) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_interrupt){ here.slot->tid, r->vector,
							 RS_FIELD_OR(r->soft, 0), again };
		ring_put(&here, kvm_interrupt, &e);
	}
	leave(&here);
}

/* Only an event: an exception comes from the guest, and is not a cause of an exit. */
RS_PROGRAM(kvm_inj_exception, trace_event_raw_kvm_inj_exception)
{
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.events) {
		RS_RING_RECORD(kvm_exception) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_exception){ here.slot->tid, r->exception, r->has_error,
							 RS_FIELD_OR(r->reinjected, 0),
							 r->error_code };
		ring_put(&here, kvm_exception, &e);
	}
	leave(&here);
}

RS_PROGRAM(kvm_page_fault, trace_event_raw_kvm_page_fault)
{
	uint64_t error_code = r->error_code;
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.causes)
		cause_count(&here, RS_CAUSE_PAGE_FAULT, error_code & RS_CAUSE_PAGE_FAULT_BITS);
	if (config.events) {
		RS_RING_RECORD(kvm_page_fault) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_page_fault){ here.slot->tid, 0, error_code,
							  RS_FIELD_OR(r->guest_rip, 0),
							  r->fault_address };
		ring_put(&here, kvm_page_fault, &e);
	}
	leave(&here);
}

/* ---- arm64 ----------------------------------------------------------------------------------- */

/* From perform_access(): fires for each trap of a register that KVM emulates, also of AArch32's
 * coprocessors. */
RS_PROGRAM(kvm_sys_access, trace_event_raw_kvm_sys_access)
{
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.causes)
		cause_count(&here, r->is_write ? RS_CAUSE_SYSREG_WRITE : RS_CAUSE_SYSREG_READ,
			    rs_cause_sysreg(r->Op0, r->Op1, r->CRn, r->CRm, r->Op2));
	if (config.events) {
		RS_RING_RECORD(kvm_sysreg) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_sysreg){ here.slot->tid, r->Op0, r->Op1,
						      r->CRn,	      r->CRm, r->Op2,
						      r->is_write,    0,      r->vcpu_pc };
		ring_put(&here, kvm_sysreg, &e);
	}
	leave(&here);
}

RS_PROGRAM(kvm_hvc_arm64, trace_event_raw_kvm_hvc_arm64)
{
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.causes)
		cause_count(&here, RS_CAUSE_HYPERCALL, r->r0);
	if (config.events) {
		RS_RING_RECORD(kvm_hvc) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_hvc){ here.slot->tid, (uint32_t)r->imm, r->r0,
						   r->vcpu_pc };
		ring_put(&here, kvm_hvc, &e);
	}
	leave(&here);
}

RS_PROGRAM(kvm_wfx_arm64, trace_event_raw_kvm_wfx_arm64)
{
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.causes)
		cause_count(&here, RS_CAUSE_WFX, r->is_wfe != 0);
	if (config.events) {
		RS_RING_RECORD(kvm_wfx) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_wfx){ here.slot->tid, r->is_wfe != 0, r->vcpu_pc };
		ring_put(&here, kvm_wfx, &e);
	}
	leave(&here);
}

/* From kvm_handle_guest_abort(): fires for each abort from a guest, also if KVM handles it as
 * MMIO. */
RS_PROGRAM(kvm_guest_fault, trace_event_raw_kvm_guest_fault)
{
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.causes)
		cause_count(&here, RS_CAUSE_GUEST_FAULT, r->hsr & RS_CAUSE_GUEST_FAULT_BITS);
	if (config.events) {
		RS_RING_RECORD(kvm_guest_fault) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_guest_fault){ here.slot->tid, 0,	     r->hsr,
							   r->vcpu_pc,	   r->hxfar, r->ipa };
		ring_put(&here, kvm_guest_fault, &e);
	}
	leave(&here);
}

#endif
