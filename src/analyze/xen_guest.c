/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What guests leave for, call, access and are interrupted by. An exit lasts until its vCPU goes on
 * (vmentry), or wants to run again after it had slept or was preempted: waiting for a physical CPU
 * is the scheduler's, not the exit's. What an exit was about is told between the two, and takes
 * its time.
 */
#include "analyze/xen_parts.h"

#include <stdlib.h>

#include "event/exit_reason.h"
#include "kvm/kvm.h"

/* ---- exits ---------------------------------------------------------------------------------- */

void xen_guest_exit_ends(struct xen_sink *x, struct xen_vcpu *v, int64_t now_ns)
{
	struct xen_exit *e = &v->exit;
	uint64_t ns;

	if (!e->open)
		return;
	e->open = false;
	ns = now_ns > e->since_ns ? (uint64_t)(now_ns - e->since_ns) : 0;
	xen_time(x, e->row, ns);
	xen_time(x, e->call, ns);
	xen_time(x, e->io, ns);
}

static void vmexit(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view, uint32_t isa)
{
	struct xen_row *row = NULL;

	if (xen_wants(x, RS_XEN_EXITS))
		row = xen_vcpu_row(x, v, RS_XEN_EXITS, isa, xen_arg(view, 0));
	xen_count(row);
	if (isa & RS_XEN_IS_NESTED || v->dom < 0) /* of whom nothing is known, that may be many */
		return;
	v->exit = (struct xen_exit){ .open = true, .since_ns = view->ts_ns, .row = row };
}

static void vmentry(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view)
{
	xen_guest_exit_ends(x, v, view->ts_ns);
	if (v->inject)
		xen_time(x, v->inject, (uint64_t)(view->ts_ns - v->inject_ns));
	v->inject = NULL;
}

static void call(struct xen_sink *x, struct xen_vcpu *v, enum rs_xen_call which, uint64_t number)
{
	struct xen_row *row;

	if (!xen_wants(x, RS_XEN_CALLS))
		return;
	row = xen_vcpu_row(x, v, RS_XEN_CALLS, which, number);
	xen_count(row);
	if (which == RS_XEN_CALL_HVM && v->exit.open)
		v->exit.call = row;
}

static void io(struct xen_sink *x, struct xen_vcpu *v, enum rs_cause_kind kind, uint64_t address)
{
	struct xen_row *row;

	if (!xen_wants(x, RS_XEN_IO))
		return;
	row = xen_vcpu_row(x, v, RS_XEN_IO, kind, address);
	xen_count(row);
	if (v->exit.open)
		v->exit.io = row;
}

/* ---- interrupts ----------------------------------------------------------------------------- */

static void inject(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view)
{
	uint64_t vector = xen_arg(view, 0);
	struct xen_injected *injected;
	struct xen_row *row;

	if (!xen_wants(x, RS_XEN_INTERRUPTS))
		return;
	row = xen_vcpu_row(x, v, RS_XEN_INTERRUPTS, RS_XEN_VIRQ, vector);
	xen_count(row);
	if (v->dom < 0)
		return;
	v->inject = row;
	v->inject_ns = view->ts_ns;
	if (!v->injected)
		v->injected = calloc(XEN_INJECTED_MAX, sizeof(*v->injected));
	if (!v->injected) {
		x->no_memory = true;
		return;
	}
	injected = &v->injected[vector % XEN_INJECTED_MAX];
	if (injected->open) /* once more before it halted: the time runs from the first */
		return;
	*injected =
		(struct xen_injected){ .open = true, .woke = v->waking, .since_ns = view->ts_ns };
	v->waking = false;
	v->n_injected++;
}

void xen_guest_halts(struct xen_sink *x, struct xen_vcpu *v, int64_t now_ns)
{
	v->waking = false;
	for (uint32_t i = 0; v->n_injected && i < XEN_INJECTED_MAX; i++) {
		struct xen_injected *injected = &v->injected[i];
		struct xen_row *row;

		if (!injected->open)
			continue;
		injected->open = false;
		v->n_injected--;
		row = xen_vcpu_row(x, v, RS_XEN_INTERRUPTS,
				   injected->woke ? RS_XEN_VIRQ_WAKE_HALT : RS_XEN_VIRQ_HALT, i);
		xen_count(row);
		xen_time(x, row, (uint64_t)(now_ns - injected->since_ns));
	}
}

static void physical(struct xen_sink *x, const struct rs_view *view)
{
	struct xen_row *row;

	if (!xen_wants(x, RS_XEN_INTERRUPTS))
		return;
	row = xen_row(x, RS_XEN_INTERRUPTS, RS_UNKNOWN, RS_UNKNOWN, RS_XEN_IRQ, xen_arg(view, 0));
	xen_count(row);
	xen_time(x, row, xen_arg(view, 1));
}

/* ---- address spaces ------------------------------------------------------------------------- */

void xen_guest_runs(struct xen_vcpu *v, int64_t now_ns)
{
	v->cr3_ns = now_ns;
}

void xen_guest_stops(struct xen_sink *x, struct xen_vcpu *v, int64_t now_ns)
{
	if (v->cr3 && now_ns > v->cr3_ns)
		xen_time(x, v->cr3, (uint64_t)(now_ns - v->cr3_ns));
	v->cr3_ns = now_ns;
}

static void cr_write(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view)
{
	struct xen_row *row;

	if (xen_arg(view, 0) != 3 || !xen_wants(x, RS_XEN_CR3))
		return;
	xen_guest_stops(x, v, view->ts_ns);
	row = xen_vcpu_row(x, v, RS_XEN_CR3, 0, xen_arg(view, 1));
	xen_count(row);
	if (v->dom >= 0)
		v->cr3 = row;
}

/* What was going on has no end that can be told. */
void xen_guest_lost(struct xen_vcpu *v)
{
	v->exit.open = false;
	v->inject = NULL;
	v->waking = false;
	v->cr3 = NULL;
	for (uint32_t i = 0; v->n_injected && i < XEN_INJECTED_MAX; i++)
		v->injected[i].open = false;
	v->n_injected = 0;
}

/* ---- power ---------------------------------------------------------------------------------- */

static void power(struct xen_sink *x, const struct rs_view *view)
{
	struct xen_pcpu *p = xen_pcpu(x, view->cpu);
	bool changes = view->event->id == RS_XEN_xdt_freq_change;
	bool enters = view->event->id == RS_XEN_xdt_idle_entry ||
		      view->event->id == RS_XEN_xdt_idle_entry_expected;
	uint64_t key =
		changes ? RS_XEN_PM_FREQUENCY | (uint32_t)xen_arg(view, 1) : xen_arg(view, 0);
	struct xen_row *row;

	if (!p || !xen_wants(x, RS_XEN_PM))
		return;
	row = xen_row(x, RS_XEN_PM, RS_UNKNOWN, RS_UNKNOWN, (uint32_t)view->cpu, key);
	if (changes || enters)
		xen_count(row);
	if (changes)
		return;
	if (!enters && p->cstate && p->cstate == row)
		xen_time(x, row, (uint64_t)(view->ts_ns - p->cstate_ns));
	p->cstate = enters ? row : NULL;
	p->cstate_ns = view->ts_ns;
}

/* ---- events --------------------------------------------------------------------------------- */

static void pv(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view)
{
	if (xen_wants(x, RS_XEN_PV))
		xen_count(xen_vcpu_row(x, v, RS_XEN_PV, 0, view->event->id));
}

/* Events of a vCPU: the one whose context they came in. It is longer than others because it is a
 * switch over events. */
static void of_vcpu(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view)
{
	switch (view->event->id) {
	case RS_XEN_xdt_vmexit_vmx:
		vmexit(x, v, view, RS_ISA_VMX);
		break;
	case RS_XEN_xdt_vmexit_svm:
		vmexit(x, v, view, RS_ISA_SVM);
		break;
	case RS_XEN_xen_hvm_nested_vmexit_vmx:
		vmexit(x, v, view, RS_ISA_VMX | RS_XEN_IS_NESTED);
		break;
	case RS_XEN_xen_hvm_nested_vmexit_svm:
		vmexit(x, v, view, RS_ISA_SVM | RS_XEN_IS_NESTED);
		break;
	case RS_XEN_xdt_vmentry:
		vmentry(x, v, view);
		break;
	case RS_XEN_xdt_vmmcall:
		call(x, v, RS_XEN_CALL_HVM, xen_arg(view, 0));
		break;
	case RS_XEN_xdt_hypercall:
	case RS_XEN_xdt_hypercall_rip:
	case RS_XEN_xdt_hypercall_nr:
		call(x, v, RS_XEN_CALL_PV, xen_arg(view, 0));
		break;
	case RS_XEN_xen_pv_subcall:
	case RS_XEN_xen_pv_subcall_nr:
		call(x, v, RS_XEN_CALL_SUBCALL, xen_arg(view, 0));
		break;
	case RS_XEN_xdt_dt_mapping_fault:
	case RS_XEN_xdt_emulate_priv_op:
	case RS_XEN_xdt_forced_invalid_op:
	case RS_XEN_xdt_math_state_restore:
	case RS_XEN_xdt_page_fault:
	case RS_XEN_xdt_paging_fixup:
	case RS_XEN_xdt_pte_write_emul:
	case RS_XEN_xdt_trap:
	case RS_XEN_xen_pv_emulate_4gb:
		pv(x, v, view);
		break;
	case RS_XEN_xdt_virq_inject:
	case RS_XEN_xdt_virq_inject_fake:
		inject(x, v, view);
		break;
	case RS_XEN_xdt_mmio_read:
	case RS_XEN_xdt_mmio_read_data:
		io(x, v, RS_CAUSE_MMIO_READ, xen_arg(view, 0));
		break;
	case RS_XEN_xdt_mmio_write:
	case RS_XEN_xdt_mmio_write_data:
		io(x, v, RS_CAUSE_MMIO_WRITE, xen_arg(view, 0));
		break;
	case RS_XEN_xdt_pio_read:
	case RS_XEN_xdt_pio_read_data:
	case RS_XEN_xen_hvm_io_read:
		io(x, v, RS_CAUSE_PIO_READ, xen_arg(view, 0));
		break;
	case RS_XEN_xdt_pio_write:
	case RS_XEN_xdt_pio_write_data:
	case RS_XEN_xen_hvm_io_write:
		io(x, v, RS_CAUSE_PIO_WRITE, xen_arg(view, 0));
		break;
	case RS_XEN_xdt_cr_write:
		cr_write(x, v, view);
		break;
	default:
		break;
	}
}

static bool is_of_vcpu(uint64_t id)
{
	return (id >= RS_XEN_xdt_dt_mapping_fault && id <= RS_XEN_xdt_pagefault_xen) ||
	       (id >= RS_XEN_xen_hvm_nested_vmentry && id <= RS_XEN_xen_hvm_io_write) ||
	       (id >= RS_XEN_xen_pv_emulate_4gb && id <= RS_XEN_xen_pv_subcall_nr);
}

#define XEN_GUEST_KINDS                                                                            \
	(1u << RS_XEN_EXITS | 1u << RS_XEN_CALLS | 1u << RS_XEN_PV | 1u << RS_XEN_INTERRUPTS |     \
	 1u << RS_XEN_IO | 1u << RS_XEN_CR3)

void xen_guest_event(struct xen_sink *x, const struct rs_view *view)
{
	uint64_t id = view->event->id;
	struct xen_vcpu *v;

	if (is_of_vcpu(id)) {
		v = x->kinds & XEN_GUEST_KINDS ? xen_vcpu(x, view->stream->dom, view->stream->vcpu)
					       : NULL;
		if (v)
			of_vcpu(x, v, view);
	} else if (id == RS_XEN_xen_irq_handled) {
		physical(x, view);
	} else if (id >= RS_XEN_xdt_freq_change && id <= RS_XEN_xdt_idle_exit_irqs) {
		power(x, view);
	}
}
