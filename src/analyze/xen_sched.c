/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accounts time by Xen's scheduler records. A change of runstate has the state before and the state
 * after, so the first change of a vCPU gives its state since the trace began. After a loss, the
 * state of a vCPU is unknown until its next change, unless the vCPU ran on another CPU during the
 * loss: the record of its stop would be in that CPU's buffer.
 *
 * Each vCPU, domain and physical CPU is in one state since since_ns. Leaving a state adds its whole
 * time to one row, so the rows add up.
 */
#include "analyze/xen_parts.h"

/* Xen's own states, and the corresponding states here. */
enum runstate { RUNNING, RUNNABLE, BLOCKED, OFFLINE, RUNSTATES };

static enum rs_xen_state state_of(uint64_t runstate)
{
	static const enum rs_xen_state states[RUNSTATES] = { RS_XEN_RUNNING, RS_XEN_RUNNABLE_OTHER,
							     RS_XEN_BLOCKED, RS_XEN_OFFLINE };

	return states[runstate % RUNSTATES];
}

static bool is_runnable(enum rs_xen_state state)
{
	return state >= RS_XEN_RUNNABLE_WAKE && state <= RS_XEN_RUNNABLE_OTHER;
}

/* Adds the time of a state that ended. Counts the state only if its begin and end are known. */
static void spend(struct xen_sink *x, struct xen_row *row, int64_t since_ns, int64_t now_ns,
		  bool whole)
{
	uint64_t ns = (uint64_t)(now_ns - since_ns);

	if (!row)
		return;
	if (!whole) {
		row->row.edge_ns += ns;
		return;
	}
	row->row.count++;
	rs_xen_row_time(x, row, ns);
}

/* ---- domains -------------------------------------------------------------------------------- */

static enum rs_xen_together together(const struct xen_domain *d)
{
	bool runs = false, wants = false, rests = false;

	for (const struct xen_vcpu *v = d->vcpus; v; v = v->sibling) {
		if (!v->seen)
			continue;
		if (v->state == RS_XEN_LOST)
			return RS_XEN_DOMAIN_LOST;
		runs |= v->state == RS_XEN_RUNNING;
		wants |= is_runnable(v->state);
		rests |= v->state == RS_XEN_BLOCKED || v->state == RS_XEN_OFFLINE;
	}
	if (runs)
		return wants   ? RS_XEN_CONCURRENCY_HAZARD
		       : rests ? RS_XEN_PARTIAL_RUN
			       : RS_XEN_FULL_RUN;
	if (wants)
		return rests ? RS_XEN_PARTIAL_CONTENTION : RS_XEN_FULL_CONTENTION;
	return rests ? RS_XEN_ALL_BLOCKED : RS_XEN_DOMAIN_LOST;
}

static void domain_spend(struct xen_sink *x, struct xen_domain *d, int64_t now_ns, bool whole)
{
	if (!xen_wants(x, RS_XEN_DOMAINS) || d->dom < 0 || !d->seen)
		return;
	if (!d->states[d->state])
		d->states[d->state] =
			rs_xen_row_of(x, RS_XEN_DOMAINS, d->dom, RS_UNKNOWN, 0, d->state);
	spend(x, d->states[d->state], d->since_ns, now_ns, whole);
}

static void domain_update(struct xen_sink *x, struct xen_domain *d, int64_t now_ns)
{
	enum rs_xen_together state = together(d);

	if (state == d->state)
		return;
	if (now_ns < d->since_ns)
		now_ns = d->since_ns;
	/* a lost state did not end at this time */
	domain_spend(x, d, now_ns, d->whole && state != RS_XEN_DOMAIN_LOST);
	d->state = state;
	d->whole = true;
	d->since_ns = now_ns;
}

/* ---- physical CPUs -------------------------------------------------------------------------- */

static void pcpu_spend(struct xen_sink *x, struct xen_pcpu *p, int cpu, int64_t now_ns, bool whole)
{
	if (!xen_wants(x, RS_XEN_PCPUS))
		return;
	if (!p->states[p->state])
		p->states[p->state] = rs_xen_row_of(x, RS_XEN_PCPUS, RS_UNKNOWN, RS_UNKNOWN,
						    (uint32_t)cpu, p->state);
	spend(x, p->states[p->state], p->since_ns, now_ns, whole);
}

static void pcpu_enter(struct xen_sink *x, int cpu, enum rs_xen_pcpu_state state, int64_t now_ns)
{
	struct xen_pcpu *p = xen_pcpu(x, cpu);

	if (!p || (p->state == state && p->seen))
		return;
	if (now_ns < p->since_ns)
		now_ns = p->since_ns;
	pcpu_spend(x, p, cpu, now_ns, p->whole);
	p->seen = p->whole = true;
	p->state = state;
	p->since_ns = now_ns;
}

static enum rs_xen_pcpu_state running_state(const struct xen_vcpu *v)
{
	return v->dom == (int)RS_XEN_DOM_IDLE ? RS_XEN_PCPU_IDLE : RS_XEN_PCPU_BUSY;
}

/* Sets the vCPU that ran on a CPU. The vCPU that has run since the trace's start is known only when
 * it stops. */
static void pcpu_previous(struct xen_sink *x, int cpu, const struct xen_vcpu *v)
{
	struct xen_pcpu *p = xen_pcpu(x, cpu);

	if (!p || p->seen)
		return;
	p->seen = true;
	p->state = running_state(v);
}

/* ---- vCPUs ---------------------------------------------------------------------------------- */

static void vcpu_spend(struct xen_sink *x, struct xen_vcpu *v, int64_t now_ns, bool whole)
{
	struct xen_row *row;

	if (v->dom < 0 || !v->seen) /* stands for unknown vCPUs */
		return;
	if (v->state == RS_XEN_RUNNING && v->pcpu >= 0 && xen_wants(x, RS_XEN_AFFINITY)) {
		row = rs_xen_row_of(x, RS_XEN_AFFINITY, v->dom, v->vcpu, 0, (uint64_t)v->pcpu);
		spend(x, row, v->since_ns, now_ns, whole);
	}
	if (!xen_wants(x, RS_XEN_STATES))
		return;
	if (!v->states[v->state])
		v->states[v->state] = rs_xen_row_of(x, RS_XEN_STATES, v->dom, v->vcpu, 0, v->state);
	spend(x, v->states[v->state], v->since_ns, now_ns, whole);
}

static void vcpu_enter(struct xen_sink *x, struct xen_vcpu *v, enum rs_xen_state state,
		       int64_t now_ns)
{
	if (now_ns < v->since_ns)
		now_ns = v->since_ns;
	if (v->state == RS_XEN_RUNNING)
		rs_xen_guest_stops(x, v, now_ns);
	vcpu_spend(x, v, now_ns, v->whole);
	v->state = state;
	v->whole = true;
	v->since_ns = now_ns;
	domain_update(x, v->domain, now_ns);
}

/* Returns whether a vCPU's state may have changed before its first record. Without losses, the
 * change would have been traced. A running vCPU changes on the CPU on which it runs. */
static bool may_have_changed(struct xen_sink *x, enum rs_xen_state old, int cpu)
{
	const struct xen_pcpu *p = xen_pcpu(x, cpu);

	return x->losses && (old != RS_XEN_RUNNING || !p || p->lost);
}

/* Applies the previous state that a record contains. */
static void vcpu_previous(struct xen_sink *x, struct xen_vcpu *v, enum rs_xen_state old, int cpu)
{
	bool same = v->state == old || (is_runnable(v->state) && is_runnable(old));

	if (!v->seen) {
		v->seen = v->domain->seen = true;
		if (may_have_changed(x, old, cpu))
			return;
		v->state = old;
		v->pcpu = old == RS_XEN_RUNNING ? cpu : RS_UNKNOWN;
		if (!v->domain->whole)
			v->domain->state = together(v->domain);
		return;
	}
	if (same || v->state == RS_XEN_LOST)
		return;
	x->contradictions++;
	if (v->state == RS_XEN_RUNNING)
		rs_xen_guest_stops(x, v, v->since_ns);
	v->state = RS_XEN_LOST; /* since the last change: the time cannot be attributed */
}

static enum rs_xen_state next_state(const struct xen_vcpu *v, enum runstate old, uint64_t new)
{
	if (new != RUNNABLE)
		return state_of(new);
	if (old == RUNNABLE)
		return is_runnable(v->state) ? v->state : RS_XEN_RUNNABLE_OTHER;
	return old == RUNNING ? RS_XEN_RUNNABLE_PREEMPT : RS_XEN_RUNNABLE_WAKE;
}

static void runstate_change(struct xen_sink *x, const struct rs_view *view)
{
	uint64_t old = xen_arg(view, 2) % RUNSTATES, new = xen_arg(view, 3) % RUNSTATES;
	struct xen_vcpu *v = xen_vcpu(x, (int)xen_arg(view, 0), (int)xen_arg(view, 1));
	int64_t now = view->ts_ns;

	if (!v)
		return;
	vcpu_previous(x, v, state_of(old), view->cpu);
	if (new == RUNNABLE)
		rs_xen_guest_exit_ends(x, v, now);
	if (old == BLOCKED && new == RUNNABLE)
		v->waking = true;
	if (old == RUNNING && new == BLOCKED)
		rs_xen_guest_halts(x, v, now);
	if (old == RUNNING) {
		pcpu_previous(x, view->cpu, v);
		if (new != RUNNING)
			pcpu_enter(x, view->cpu, RS_XEN_PCPU_SWITCH, now);
	}
	if (old != new || v->state == RS_XEN_LOST)
		vcpu_enter(x, v, next_state(v, (enum runstate)old, new), now);
	v->pcpu = new == RUNNING ? view->cpu : RS_UNKNOWN;
	if (new == RUNNING) {
		rs_xen_guest_runs(v, now);
		pcpu_enter(x, view->cpu, running_state(v), now);
	}
}

static void continue_running(struct xen_sink *x, const struct rs_view *view)
{
	struct xen_vcpu *v = xen_vcpu(x, (int)xen_arg(view, 0), (int)xen_arg(view, 1));

	if (!v)
		return;
	vcpu_previous(x, v, RS_XEN_RUNNING, view->cpu);
	pcpu_previous(x, view->cpu, v);
	pcpu_enter(x, view->cpu, running_state(v), view->ts_ns);
	if (v->state == RS_XEN_LOST) {
		vcpu_enter(x, v, RS_XEN_RUNNING, view->ts_ns);
		v->whole = false;
		rs_xen_guest_runs(v, view->ts_ns);
	}
	v->pcpu = view->cpu;
	if (xen_wants(x, RS_XEN_STATES)) {
		if (!v->states[RS_XEN_RUNNING])
			v->states[RS_XEN_RUNNING] =
				rs_xen_row_of(x, RS_XEN_STATES, v->dom, v->vcpu, 0, RS_XEN_RUNNING);
		if (v->states[RS_XEN_RUNNING])
			v->states[RS_XEN_RUNNING]->row.continued++;
	}
}

#define XEN_SCHED_KINDS                                                                            \
	(1u << RS_XEN_STATES | 1u << RS_XEN_DOMAINS | 1u << RS_XEN_PCPUS | 1u << RS_XEN_AFFINITY | \
	 1u << RS_XEN_EXITS | 1u << RS_XEN_CALLS | 1u << RS_XEN_INTERRUPTS | 1u << RS_XEN_IO |     \
	 1u << RS_XEN_CR3)

void rs_xen_sched_change(struct xen_sink *x, const struct rs_view *view)
{
	if (!(x->kinds & XEN_SCHED_KINDS))
		return;
	if (view->event->id == RS_XEN_xdt_runstate_change)
		runstate_change(x, view);
	else
		continue_running(x, view);
}

void rs_xen_sched_lost(struct xen_sink *x, const struct rs_view *view, int64_t from_ns)
{
	struct xen_pcpu *p;

	for (struct xen_vcpu *v = x->all_vcpus; v; v = v->all) {
		bool elsewhere = v->state == RS_XEN_RUNNING && v->pcpu >= 0 &&
				 v->pcpu != view->cpu && v->since_ns <= from_ns;

		if (elsewhere || v->state == RS_XEN_LOST)
			continue;
		v->whole = false; /* its end is unknown */
		vcpu_enter(x, v, RS_XEN_LOST, from_ns);
		v->pcpu = RS_UNKNOWN;
		rs_xen_guest_lost(v);
	}
	p = xen_pcpu(x, view->cpu);
	if (!p)
		return;
	p->lost = true;
	p->whole = p->whole && p->state == RS_XEN_PCPU_LOST;
	pcpu_enter(x, view->cpu, RS_XEN_PCPU_LOST, from_ns);
}

void rs_xen_sched_close(struct xen_sink *x, int64_t now_ns)
{
	for (struct xen_vcpu *v = x->all_vcpus; v; v = v->all) {
		if (!v->seen)
			continue;
		if (v->state == RS_XEN_RUNNING) {
			rs_xen_guest_stops(x, v, now_ns);
			rs_xen_guest_runs(v, now_ns);
		}
		vcpu_spend(x, v, now_ns, false);
		v->whole = false;
		v->since_ns = now_ns;
	}
	for (struct xen_domain *d = x->domains; d; d = d->all) {
		if (!d->seen)
			continue;
		domain_spend(x, d, now_ns, false);
		d->whole = false;
		d->since_ns = now_ns;
	}
	for (uint32_t i = 0; i < x->pcpus_end; i++) {
		struct xen_pcpu *p = x->pcpus[i];

		if (!p)
			continue;
		pcpu_spend(x, p, (int)i, now_ns, false);
		p->whole = false;
		p->since_ns = now_ns;
	}
}
