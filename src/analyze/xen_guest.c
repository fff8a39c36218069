/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts guests' exits, hypercalls, accesses and interrupts. An exit lasts until the vCPU's next
 * vmentry, or until the vCPU is runnable again after it slept or was preempted: the wait for a
 * physical CPU is the scheduler's time, not the exit's. Records between the two name the exit's
 * cause, which gets the exit's time.
 */
#include "analyze/xen_parts.h"

#include <stdlib.h>

#include "event/exit_reason.h"
#include "kvm/kvm.h"

/* ---- exits ---------------------------------------------------------------------------------- */

void rs_xen_guest_exit_ends(struct xen_sink *x, struct xen_vcpu *v, int64_t now_ns)
{
	struct xen_exit *e = &v->exit;
	uint64_t ns;

	if (!e->open)
		return;
	e->open = false;
	ns = now_ns > e->since_ns ? (uint64_t)(now_ns - e->since_ns) : 0;
	rs_xen_row_time(x, e->row, ns);
	rs_xen_row_time(x, e->call, ns);
	rs_xen_row_time(x, e->io, ns);
}

/* isa: with RS_XEN_IS_NESTED for a nested guest's exit */
static void vmexit(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view, uint32_t isa)
{
	struct xen_row *row = NULL;

	if (xen_wants(x, RS_XEN_EXITS))
		row = xen_vcpu_row(x, v, RS_XEN_EXITS, isa, xen_arg(view, 0));
	xen_count(row);
	if (isa & RS_XEN_IS_NESTED || v->dom < 0) /* the unknown vCPU may represent several */
		return;
	v->exit = (struct xen_exit){ .open = true, .since_ns = view->ts_ns, .row = row };
}

static void vmentry(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view,
		    uint32_t none)
{
	(void)none;
	rs_xen_guest_exit_ends(x, v, view->ts_ns);
	if (v->inject)
		rs_xen_row_time(x, v->inject, (uint64_t)(view->ts_ns - v->inject_ns));
	v->inject = NULL;
}

/* which: an enum rs_xen_call */
static void call(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view, uint32_t which)
{
	struct xen_row *row;

	if (!xen_wants(x, RS_XEN_CALLS))
		return;
	row = xen_vcpu_row(x, v, RS_XEN_CALLS, which, xen_arg(view, 0));
	xen_count(row);
	if (which == RS_XEN_CALL_HVM && v->exit.open)
		v->exit.call = row;
}

/* kind: an enum rs_cause_kind */
static void io(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view, uint32_t kind)
{
	struct xen_row *row;

	if (!xen_wants(x, RS_XEN_IO))
		return;
	row = xen_vcpu_row(x, v, RS_XEN_IO, kind, xen_arg(view, 0));
	xen_count(row);
	if (v->exit.open)
		v->exit.io = row;
}

/* ---- interrupts ----------------------------------------------------------------------------- */

static void inject(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view,
		   uint32_t none)
{
	uint64_t vector = xen_arg(view, 0);
	struct xen_injected *injected;
	struct xen_row *row;

	(void)none;
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
	if (injected->open) /* injected again before the halt: time from the first */
		return;
	*injected =
		(struct xen_injected){ .open = true, .woke = v->waking, .since_ns = view->ts_ns };
	v->waking = false;
	v->n_injected++;
}

void rs_xen_guest_halts(struct xen_sink *x, struct xen_vcpu *v, int64_t now_ns)
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
		rs_xen_row_time(x, row, (uint64_t)(now_ns - injected->since_ns));
	}
}

static void physical(struct xen_sink *x, const struct rs_view *view)
{
	struct xen_row *row;

	if (!xen_wants(x, RS_XEN_INTERRUPTS))
		return;
	row = rs_xen_row_of(x, RS_XEN_INTERRUPTS, RS_UNKNOWN, RS_UNKNOWN, RS_XEN_IRQ,
			    xen_arg(view, 0));
	xen_count(row);
	rs_xen_row_time(x, row, xen_arg(view, 1));
}

/* ---- address spaces ------------------------------------------------------------------------- */

void rs_xen_guest_runs(struct xen_vcpu *v, int64_t now_ns)
{
	v->cr3_ns = now_ns;
}

void rs_xen_guest_stops(struct xen_sink *x, struct xen_vcpu *v, int64_t now_ns)
{
	if (v->cr3 && now_ns > v->cr3_ns)
		rs_xen_row_time(x, v->cr3, (uint64_t)(now_ns - v->cr3_ns));
	v->cr3_ns = now_ns;
}

static void cr_write(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view,
		     uint32_t none)
{
	struct xen_row *row;

	(void)none;
	if (xen_arg(view, 0) != 3 || !xen_wants(x, RS_XEN_CR3))
		return;
	rs_xen_guest_stops(x, v, view->ts_ns);
	row = xen_vcpu_row(x, v, RS_XEN_CR3, 0, xen_arg(view, 1));
	xen_count(row);
	if (v->dom >= 0)
		v->cr3 = row;
}

/* Discards the vCPU's open states, whose ends are unknown. */
void rs_xen_guest_lost(struct xen_vcpu *v)
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
	row = rs_xen_row_of(x, RS_XEN_PM, RS_UNKNOWN, RS_UNKNOWN, (uint32_t)view->cpu, key);
	if (changes || enters)
		xen_count(row);
	if (changes)
		return;
	if (!enters && p->cstate && p->cstate == row)
		rs_xen_row_time(x, row, (uint64_t)(view->ts_ns - p->cstate_ns));
	p->cstate = enters ? row : NULL;
	p->cstate_ns = view->ts_ns;
}

/* ---- events --------------------------------------------------------------------------------- */

static void pv(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view, uint32_t none)
{
	(void)none;
	if (xen_wants(x, RS_XEN_PV))
		xen_count(xen_vcpu_row(x, v, RS_XEN_PV, 0, view->event->id));
}

#define N(symbol) ((symbol)&RS_ID_N_MAX)
const uint8_t rs_xen_handlers[8][XEN_HANDLERS] = {
	[RS_IDS_XDT] = {
		[N(RS_XEN_xdt_vmexit_vmx)] = XEN_VMEXIT_VMX,
		[N(RS_XEN_xdt_vmexit_svm)] = XEN_VMEXIT_SVM,
		[N(RS_XEN_xdt_vmentry)] = XEN_VMENTRY,
		[N(RS_XEN_xdt_vmmcall)] = XEN_VMMCALL,
		[N(RS_XEN_xdt_hypercall)] = XEN_HYPERCALL,
		[N(RS_XEN_xdt_hypercall_rip)] = XEN_HYPERCALL,
		[N(RS_XEN_xdt_hypercall_nr)] = XEN_HYPERCALL,
		[N(RS_XEN_xdt_dt_mapping_fault)] = XEN_PV_EVENT,
		[N(RS_XEN_xdt_emulate_priv_op)] = XEN_PV_EVENT,
		[N(RS_XEN_xdt_forced_invalid_op)] = XEN_PV_EVENT,
		[N(RS_XEN_xdt_math_state_restore)] = XEN_PV_EVENT,
		[N(RS_XEN_xdt_page_fault)] = XEN_PV_EVENT,
		[N(RS_XEN_xdt_paging_fixup)] = XEN_PV_EVENT,
		[N(RS_XEN_xdt_pte_write_emul)] = XEN_PV_EVENT,
		[N(RS_XEN_xdt_trap)] = XEN_PV_EVENT,
		[N(RS_XEN_xdt_virq_inject)] = XEN_INJECT,
		[N(RS_XEN_xdt_virq_inject_fake)] = XEN_INJECT,
		[N(RS_XEN_xdt_mmio_read)] = XEN_MMIO_READ,
		[N(RS_XEN_xdt_mmio_read_data)] = XEN_MMIO_READ,
		[N(RS_XEN_xdt_mmio_write)] = XEN_MMIO_WRITE,
		[N(RS_XEN_xdt_mmio_write_data)] = XEN_MMIO_WRITE,
		[N(RS_XEN_xdt_pio_read)] = XEN_PIO_READ,
		[N(RS_XEN_xdt_pio_read_data)] = XEN_PIO_READ,
		[N(RS_XEN_xdt_pio_write)] = XEN_PIO_WRITE,
		[N(RS_XEN_xdt_pio_write_data)] = XEN_PIO_WRITE,
		[N(RS_XEN_xdt_cr_write)] = XEN_CR_WRITE,
		[N(RS_XEN_xdt_runstate_change)] = XEN_RUNSTATE,
		[N(RS_XEN_xdt_continue_running)] = XEN_RUNSTATE,
		[N(RS_XEN_xdt_freq_change)... N(RS_XEN_xdt_idle_exit_irqs)] = XEN_POWER,
	},
	[RS_IDS_XEN] = {
		[N(RS_XEN_xen_hvm_nested_vmexit_vmx)] = XEN_NESTED_VMX,
		[N(RS_XEN_xen_hvm_nested_vmexit_svm)] = XEN_NESTED_SVM,
		[N(RS_XEN_xen_pv_subcall)] = XEN_SUBCALL,
		[N(RS_XEN_xen_pv_subcall_nr)] = XEN_SUBCALL,
		[N(RS_XEN_xen_pv_emulate_4gb)] = XEN_PV_EVENT,
		[N(RS_XEN_xen_hvm_io_read)] = XEN_PIO_READ,
		[N(RS_XEN_xen_hvm_io_write)] = XEN_PIO_WRITE,
		[N(RS_XEN_xen_irq_handled)] = XEN_PHYSICAL,
	},
};
#undef N

#define XEN_GUEST_KINDS                                                                            \
	(1u << RS_XEN_EXITS | 1u << RS_XEN_CALLS | 1u << RS_XEN_PV | 1u << RS_XEN_INTERRUPTS |     \
	 1u << RS_XEN_IO | 1u << RS_XEN_CR3)

/* The handlers of a vCPU's events, each with its last argument. */
static const struct {
	void (*run)(struct xen_sink *x, struct xen_vcpu *v, const struct rs_view *view,
		    uint32_t which);
	uint32_t which;
} vcpu_handlers[] = {
	[XEN_VMEXIT_VMX] = { vmexit, RS_ISA_VMX },
	[XEN_VMEXIT_SVM] = { vmexit, RS_ISA_SVM },
	[XEN_NESTED_VMX] = { vmexit, RS_ISA_VMX | RS_XEN_IS_NESTED },
	[XEN_NESTED_SVM] = { vmexit, RS_ISA_SVM | RS_XEN_IS_NESTED },
	[XEN_VMENTRY] = { vmentry, 0 },
	[XEN_VMMCALL] = { call, RS_XEN_CALL_HVM },
	[XEN_HYPERCALL] = { call, RS_XEN_CALL_PV },
	[XEN_SUBCALL] = { call, RS_XEN_CALL_SUBCALL },
	[XEN_PV_EVENT] = { pv, 0 },
	[XEN_INJECT] = { inject, 0 },
	[XEN_MMIO_READ] = { io, RS_CAUSE_MMIO_READ },
	[XEN_MMIO_WRITE] = { io, RS_CAUSE_MMIO_WRITE },
	[XEN_PIO_READ] = { io, RS_CAUSE_PIO_READ },
	[XEN_PIO_WRITE] = { io, RS_CAUSE_PIO_WRITE },
	[XEN_CR_WRITE] = { cr_write, 0 },
};

/* Handles an event of the vCPU in whose context it occurred. */
void rs_xen_guest_event(struct xen_sink *x, const struct rs_view *view, enum xen_handler handler)
{
	struct xen_vcpu *v = x->kinds & XEN_GUEST_KINDS
				     ? xen_vcpu(x, view->stream->dom, view->stream->vcpu)
				     : NULL;

	if (v)
		vcpu_handlers[handler].run(x, v, view, vcpu_handlers[handler].which);
}

void rs_xen_pcpu_event(struct xen_sink *x, const struct rs_view *view, enum xen_handler handler)
{
	if (handler == XEN_PHYSICAL)
		physical(x, view);
	else
		power(x, view);
}
