/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Maps each hypervisor's events to changes of the tally. A trace has its own schema, so fields are
 * looked up by name, once for each event.
 *
 *	ACRN	A record belongs to a physical CPU. Its vCPUs stay on it, and their only name
 *		is the four letters of sched::next. Before the first switch the vCPU has no
 *		name.
 *	KVM	A thread is a vCPU, and moves between CPUs.
 *	Xen	Events name the domain, the vCPU and the CPU.
 *	vmm	Events of the VMM itself; they do not say when a vCPU's thread has no CPU.
 */
#include "analyze/tally_parts.h"

#include <stdio.h>
#include <string.h>

#include "event/exit_reason.h"

#define NS_PER_SEC	1000000000u
#define ROUNDED_NS	2	    /* by which the rounded times of one stamp differ */
#define XEN_IDLE	32767u	    /* DOMID_IDLE */
#define XEN_RUNNING	0u	    /* RUNSTATE_running */
#define ACRN_IDLE	0x656c6469u /* "idle" */
#define INTR_INFO_VALID 0x80000000u /* Intel SDM, volume 3, 25.9.2 */
#define NAMELESS	(UINT64_C(1) << 32)

/* The fields of an event, in the order of its row in the table below. */
struct seen {
	const struct rs_view *view;
	const struct tally_known *known;
	uint64_t now;
	uint64_t arg[TALLY_FIELDS_MAX]; /* 0 where the event has no such field */
};

typedef void handler(struct tally_sink *s, const struct seen *seen);

struct tally_kind {
	const char *provider, *class_name, *name;
	handler *run;
	uint32_t isa;
	const char *fields[TALLY_FIELDS_MAX];
};

static void interrupt(struct tally_sink *s, struct tally_vcpu *v, int cpu,
		      enum rs_tally_interrupt what, uint64_t vector)
{
	struct tally_row *row = rs_tally_row_of(s, RS_TALLY_INTERRUPTS, cpu, v, what, vector);

	if (row)
		row->row.count++;
	if (v && v->pending && what == RS_TALLY_EXTERNAL)
		v->interrupt = row;
}

/* ---- ACRN ----------------------------------------------------------------------------------- */

/* Returns the CPU of a loss: that of the last event before it in the same stream. */
static struct tally_cpu *acrn_cpu_of_loss(struct tally_sink *s, const struct seen *seen)
{
	struct tally_cpu *c;

	for (c = s->all_cpus; c && c->stream != seen->view->stream; c = c->all)
		continue;
	return c;
}

/* Ends the states of one CPU, and of the vCPU that ran on it. */
static void acrn_cpu_lost(struct tally_sink *s, struct tally_cpu *c, uint64_t now)
{
	if (c->owner) {
		rs_tally_vcpu_lost(s, c->owner, now);
		rs_vcpu_off(&c->owner->time, now, true);
	}
	rs_tally_cpu_lost(s, c, now);
}

/* A new stream of the same CPU means that its ring was restarted: the time between is unknown. */
static struct tally_cpu *acrn_cpu(struct tally_sink *s, const struct seen *seen)
{
	const struct rs_stream *stream = seen->view->stream;
	const bool known = seen->view->cpu >= 0;
	const struct tally_id id = { known ? (uint64_t)(uint32_t)seen->view->cpu
					   : (uint64_t)(uintptr_t)stream,
				     known ? 5 : 1 };
	struct tally_cpu *c = rs_tally_cpu_of(s, id, seen->view->cpu);

	if (c && c->stream && c->stream != stream)
		acrn_cpu_lost(s, c, seen->now);
	if (c)
		c->stream = stream;
	return c;
}

/* Creates a vCPU without a name, identified by its CPU alone. */
static struct tally_vcpu *acrn_unnamed(struct tally_sink *s, struct tally_cpu *c, uint64_t since)
{
	const struct tally_id id = { (uint64_t)(uintptr_t)c, NAMELESS | s->n_unnamed++ };
	struct tally_vcpu *v = rs_tally_vcpu_of(s, id, since);

	if (v)
		v->home = c;
	return v;
}

/* Returns the vCPU of an exit or entry. If the CPU was idle, a switch is missing. */
static struct tally_vcpu *acrn_current(struct tally_sink *s, struct tally_cpu *c, uint64_t now)
{
	struct tally_vcpu *v;

	if (c->known && c->owner)
		return c->owner;
	if (c->known) {
		s->contradictions++;
		rs_tally_cpu_lost(s, c, now);
	}
	v = acrn_unnamed(s, c, c->since);
	if (v)
		rs_tally_assign(c, RS_TALLY_VCPU, v);
	return v;
}

static void acrn_exit(struct tally_sink *s, const struct seen *seen)
{
	struct tally_cpu *c = acrn_cpu(s, seen);
	struct tally_vcpu *v = c ? acrn_current(s, c, seen->now) : NULL;

	if (!v)
		return;
	rs_tally_exit(s, v, c->cpu, RS_ISA_VMX, (uint32_t)seen->arg[0], seen->now);
	c->last = seen->now;
}

static void acrn_enter(struct tally_sink *s, const struct seen *seen)
{
	struct tally_cpu *c = acrn_cpu(s, seen);
	struct tally_vcpu *v = c ? acrn_current(s, c, seen->now) : NULL;

	if (!v)
		return;
	rs_tally_entry(s, v, c->cpu, seen->now);
	c->last = seen->now;
}

static void acrn_interrupt(struct tally_sink *s, const struct seen *seen)
{
	struct tally_cpu *c = acrn_cpu(s, seen);

	if (!c)
		return;
	interrupt(s, c->owner, c->cpu, RS_TALLY_EXTERNAL, seen->arg[0]);
	c->last = seen->now;
}

/* Returns the four letters of a thread's name, without the colon that ends a VM's number. */
static const char *acrn_name(struct tally_sink *s, uint32_t letters)
{
	char text[5] = "";
	size_t len;

	memcpy(text, &letters, sizeof(letters));
	for (len = 0; len < 4 && text[len] && text[len] != ':'; len++) {
		if (text[len] < ' ' || text[len] > '~')
			text[len] = '?';
	}
	return rs_tally_name_copy(s, text, len);
}

static struct tally_vcpu *acrn_named(struct tally_sink *s, struct tally_cpu *c, uint32_t letters,
				     uint64_t now)
{
	const struct tally_id id = { (uint64_t)(uintptr_t)c, letters };
	struct tally_vcpu *v = rs_tally_vcpu_of(s, id, now);

	if (v && !v->home) {
		v->home = c;
		v->vm = acrn_name(s, letters);
	}
	return v;
}

static bool is_named(const struct tally_vcpu *v, uint32_t letters)
{
	return v->id.b == letters;
}

/* Compares the CPU's owner with the thread that a switch says was running before it. */
static void acrn_before(struct tally_sink *s, struct tally_cpu *c, uint32_t prev, uint64_t now)
{
	struct tally_vcpu *owner = c->owner;

	if (c->known && owner && owner->id.b & NAMELESS && prev != ACRN_IDLE) {
		/* The vCPU that had no name is this one. */
		owner->vm = acrn_name(s, prev);
		rs_tally_vcpu_identify(s, owner, (struct tally_id){ owner->id.a, prev });
		return;
	}
	if (c->known &&
	    (prev == ACRN_IDLE ? c->use == RS_TALLY_IDLE : owner && is_named(owner, prev)))
		return;
	if (c->known) {
		s->contradictions++;
		if (owner) {
			rs_tally_vcpu_lost(s, owner, now);
			rs_vcpu_off(&owner->time, now, true);
		}
		rs_tally_cpu_lost(s, c, now);
	}
	rs_tally_assign(c, prev == ACRN_IDLE ? RS_TALLY_IDLE : RS_TALLY_VCPU,
			prev == ACRN_IDLE ? NULL : acrn_named(s, c, prev, c->since));
}

static void acrn_switch(struct tally_sink *s, const struct seen *seen)
{
	struct tally_cpu *c = acrn_cpu(s, seen);
	uint32_t next = (uint32_t)seen->arg[1];
	struct tally_vcpu *v;

	if (!c)
		return;
	acrn_before(s, c, (uint32_t)seen->arg[0], seen->now);
	if (c->owner)
		rs_tally_off(c->owner, seen->now, true);
	if (next == ACRN_IDLE) {
		rs_tally_turn(s, c, RS_TALLY_IDLE, NULL, seen->now);
	} else {
		v = acrn_named(s, c, next, seen->now);
		if (v)
			rs_vcpu_on(&v->time, seen->now);
		if (v && v->time.state == RS_VCPU_UNKNOWN)
			v->time.state = RS_VCPU_KERNEL; /* the hypervisor makes the switch */
		rs_tally_turn(s, c, RS_TALLY_VCPU, v, seen->now);
	}
	c->last = seen->now;
}

static void acrn_lost(struct tally_sink *s, const struct seen *seen)
{
	struct tally_cpu *c = acrn_cpu_of_loss(s, seen);

	if (c)
		acrn_cpu_lost(s, c, seen->now);
}

/* ---- KVM ------------------------------------------------------------------------------------ */

static struct tally_cpu *by_number(struct tally_sink *s, const struct seen *seen)
{
	const struct tally_id id = { (uint64_t)(uint32_t)seen->view->cpu, 0 };

	return seen->view->cpu < 0 ? NULL : rs_tally_cpu_of(s, id, seen->view->cpu);
}

static struct tally_vcpu *of_stream(struct tally_sink *s, const struct seen *seen, uint64_t number)
{
	const struct rs_stream *stream = seen->view->stream;
	const struct tally_id id = { stream->mixed ? 0 : (uint64_t)(uintptr_t)stream,
				     number | UINT64_C(2) << 32 };
	struct tally_vcpu *v = rs_tally_vcpu_of(s, id, seen->now);

	if (v && !stream->mixed) {
		if (!v->vm && stream->vm)
			v->vm = rs_tally_name_copy(s, stream->vm, strlen(stream->vm));
		if (v->vcpu < 0)
			v->vcpu = stream->vcpu;
	}
	return v;
}

/* Returns the event's vCPU thread, and gives it the event's CPU. */
static struct tally_vcpu *kvm_vcpu(struct tally_sink *s, const struct seen *seen)
{
	struct tally_vcpu *v = seen->arg[0] ? of_stream(s, seen, seen->arg[0]) : NULL;
	struct tally_cpu *c = by_number(s, seen);

	s->kvm = true;
	if (v)
		v->ended = false; /* another thread may get the tid */
	if (!v || !c)
		return v;
	rs_tally_assign(c, RS_TALLY_VCPU, v);
	rs_tally_turn(s, c, RS_TALLY_VCPU, v, seen->now);
	c->last = seen->now;
	return v;
}

/* tid, reason, its upper bits, and VMX's interruption information */
static void kvm_exit(struct tally_sink *s, const struct seen *seen)
{
	struct tally_vcpu *v = kvm_vcpu(s, seen);
	uint32_t code = (uint32_t)seen->arg[1] | (uint32_t)seen->arg[2] << 16;
	uint32_t info = (uint32_t)seen->arg[3], isa = seen->known->kind->isa;

	if (!v)
		return;
	rs_tally_exit(s, v, seen->view->cpu, isa, code, seen->now);
	if (isa == RS_ISA_VMX && code == 1 && info & INTR_INFO_VALID)
		interrupt(s, v, seen->view->cpu, RS_TALLY_EXTERNAL, info & 0xff);
}

/* tid, vcpu_id */
static void kvm_entry(struct tally_sink *s, const struct seen *seen)
{
	struct tally_vcpu *v = kvm_vcpu(s, seen);

	if (!v)
		return;
	if (seen->known->fields[1] && (int32_t)seen->arg[1] >= 0)
		v->vcpu = (int32_t)seen->arg[1];
	rs_tally_entry(s, v, seen->view->cpu, seen->now);
}

/* tid, vector, again: the earlier delivery was interrupted, and the interrupt is already counted */
static void kvm_interrupt(struct tally_sink *s, const struct seen *seen)
{
	struct tally_vcpu *v = kvm_vcpu(s, seen);

	if (v && !seen->arg[2])
		interrupt(s, v, seen->view->cpu, RS_TALLY_INJECTED, seen->arg[1]);
}

static void kvm_off(struct tally_sink *s, const struct seen *seen)
{
	struct tally_vcpu *v = kvm_vcpu(s, seen);
	struct tally_cpu *c = by_number(s, seen);

	s->kvm_switches = true;
	if (v)
		rs_tally_off(v, seen->now, !seen->arg[1]);
	if (c)
		rs_tally_turn(s, c, RS_TALLY_OTHERS, NULL, seen->now);
}

static void kvm_on(struct tally_sink *s, const struct seen *seen)
{
	struct tally_cpu *c = by_number(s, seen);
	struct tally_vcpu *v;

	s->kvm_switches = true;
	if (c) /* another thread ran on it */
		rs_tally_assign(c, RS_TALLY_OTHERS, NULL);
	v = kvm_vcpu(s, seen);
	if (v)
		rs_vcpu_on(&v->time, seen->now);
}

/* The thread of a vCPU ends on its CPU. No switch from it follows. */
static void kvm_end(struct tally_sink *s, const struct seen *seen)
{
	struct tally_vcpu *v = kvm_vcpu(s, seen);
	struct tally_cpu *c = by_number(s, seen);

	if (v) {
		rs_tally_settle_exit(s, v);
		rs_tally_off(v, seen->now, false);
		v->ended = true;
	}
	if (c && s->kvm_switches)
		rs_tally_turn(s, c, RS_TALLY_OTHERS, NULL, seen->now);
}

static void all_lost(struct tally_sink *s, uint64_t now)
{
	for (struct tally_vcpu *v = s->all_vcpus; v; v = v->all) {
		if (!v->ended)
			rs_tally_vcpu_lost(s, v, now);
	}
}

/* Records lost on a CPU may belong to any vCPU. */
static void any_lost(struct tally_sink *s, const struct seen *seen)
{
	struct tally_cpu *c = by_number(s, seen);

	all_lost(s, seen->now);
	if (c)
		rs_tally_cpu_lost(s, c, seen->now);
	else
		for (c = s->all_cpus; c; c = c->all)
			rs_tally_cpu_lost(s, c, seen->now);
}

/* ---- Xen ------------------------------------------------------------------------------------ */

static struct tally_vcpu *xen_vcpu(struct tally_sink *s, uint64_t now, uint32_t dom, uint32_t vcpu)
{
	const struct tally_id id = { UINT64_C(3) << 60, (uint64_t)dom << 32 | vcpu };
	struct tally_vcpu *v = rs_tally_vcpu_of(s, id, now);
	char name[16];

	if (v && !v->vm) {
		v->vm = rs_tally_name_copy(s, name,
					   (size_t)snprintf(name, sizeof(name), "d%u", dom));
		v->vcpu = (int)vcpu;
	}
	return v;
}

static struct tally_vcpu *xen_current(struct tally_sink *s, const struct seen *seen)
{
	const struct rs_stream *stream = seen->view->stream;

	if (stream->dom < 0 || stream->vcpu < 0)
		return NULL;
	return xen_vcpu(s, seen->now, (uint32_t)stream->dom, (uint32_t)stream->vcpu);
}

static bool is_svm(const struct rs_field *field)
{
	return field && field->values_name && !strcmp(field->values_name, "svm_exit");
}

static void xen_exit(struct tally_sink *s, const struct seen *seen)
{
	struct tally_vcpu *v = xen_current(s, seen);

	if (v)
		rs_tally_exit(s, v, seen->view->cpu,
			      is_svm(seen->known->fields[0]) ? RS_ISA_SVM : RS_ISA_VMX,
			      (uint32_t)seen->arg[0], seen->now);
}

static void xen_entry(struct tally_sink *s, const struct seen *seen)
{
	struct tally_vcpu *v = xen_current(s, seen);

	if (v)
		rs_tally_entry(s, v, seen->view->cpu, seen->now);
}

/* vector; records without one are ignored */
static void xen_external(struct tally_sink *s, const struct seen *seen)
{
	struct tally_vcpu *v = xen_current(s, seen);

	if (v && seen->known->fields[0])
		interrupt(s, v, seen->view->cpu, RS_TALLY_EXTERNAL, seen->arg[0]);
}

static void xen_inject(struct tally_sink *s, const struct seen *seen)
{
	interrupt(s, xen_current(s, seen), seen->view->cpu, RS_TALLY_INJECTED, seen->arg[0]);
}

static uint64_t ticks_of_ns(const struct tally_sink *s, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)ns * s->clock.freq_hz / 1000000000);
}

/* irq, took */
static void xen_handled(struct tally_sink *s, const struct seen *seen)
{
	struct tally_row *row = rs_tally_row_of(s, RS_TALLY_INTERRUPTS, seen->view->cpu, NULL,
						RS_TALLY_HANDLED, seen->arg[0]);

	if (row)
		row->row.count++;
	rs_tally_time(s, row, ticks_of_ns(s, seen->arg[1]), 0);
}

static void xen_runs(struct tally_sink *s, const struct seen *seen, struct tally_cpu *c, bool had)
{
	bool idle = seen->arg[0] == XEN_IDLE;
	struct tally_vcpu *v =
		idle ? NULL
		     : xen_vcpu(s, seen->now, (uint32_t)seen->arg[0], (uint32_t)seen->arg[1]);

	if (had)
		rs_tally_assign(c, idle ? RS_TALLY_IDLE : RS_TALLY_VCPU, v);
	else
		rs_tally_turn(s, c, idle ? RS_TALLY_IDLE : RS_TALLY_VCPU, v, seen->now);
	if (v && !had)
		rs_vcpu_on(&v->time, seen->now);
}

/* domain, vcpu, old, new */
static void xen_runstate(struct tally_sink *s, const struct seen *seen)
{
	struct tally_cpu *c = by_number(s, seen);
	struct tally_vcpu *v;

	if (!c)
		return;
	if (seen->arg[2] == XEN_RUNNING && seen->arg[3] != XEN_RUNNING) {
		xen_runs(s, seen, c, true);
		if (seen->arg[0] != XEN_IDLE) {
			v = xen_vcpu(s, seen->now, (uint32_t)seen->arg[0], (uint32_t)seen->arg[1]);
			if (v)
				rs_tally_off(v, seen->now, true);
		}
		rs_tally_turn(s, c, RS_TALLY_OTHERS, NULL, seen->now);
	}
	if (seen->arg[3] == XEN_RUNNING)
		xen_runs(s, seen, c, false);
	c->last = seen->now;
}

static void xen_runs_on(struct tally_sink *s, const struct seen *seen)
{
	struct tally_cpu *c = by_number(s, seen);

	if (!c)
		return;
	xen_runs(s, seen, c, true);
	c->last = seen->now;
}

/* ---- VMMs ----------------------------------------------------------------------------------- */

/* Returns the event's vCPU. The events do not name the CPU, so each vCPU gets a virtual CPU, which
 * it always has. */
static struct tally_vcpu *vmm_vcpu(struct tally_sink *s, const struct seen *seen)
{
	const struct tally_id id = { (uint64_t)(uintptr_t)seen->view->stream,
				     seen->arg[0] | UINT64_C(4) << 32 };
	struct tally_cpu *c = rs_tally_cpu_of(s, id, seen->view->cpu);
	struct tally_vcpu *v = c ? of_stream(s, seen, seen->arg[0]) : NULL;

	if (!v)
		return NULL;
	if (v->vcpu < 0 && seen->arg[0] <= INT32_MAX)
		v->vcpu = (int)seen->arg[0];
	if (!v->home) {
		v->home = c;
		c->since = seen->now;
	}
	rs_tally_assign(c, RS_TALLY_VCPU, v);
	c->last = seen->now;
	return v;
}

static void vmm_run(struct tally_sink *s, const struct seen *seen)
{
	struct tally_vcpu *v = vmm_vcpu(s, seen);

	if (v)
		rs_tally_entry(s, v, v->home->cpu, seen->now);
}

/* vcpu, reason */
static void vmm_exit(struct tally_sink *s, const struct seen *seen)
{
	struct tally_vcpu *v = vmm_vcpu(s, seen);

	if (v)
		rs_tally_exit(s, v, v->home->cpu, RS_ISA_USER, (uint32_t)seen->arg[1], seen->now);
}

static void vmm_lost(struct tally_sink *s, const struct seen *seen)
{
	for (struct tally_vcpu *v = s->all_vcpus; v; v = v->all) {
		if (v->id.a != (uint64_t)(uintptr_t)seen->view->stream || !v->home)
			continue;
		rs_tally_vcpu_lost(s, v, seen->now);
		rs_tally_cpu_lost(s, v->home, seen->now);
	}
}

/* ---- dispatch ------------------------------------------------------------------------------- */

/* A row without a class is for losses. */
static const struct tally_kind kinds[] = {
	{ "acrn", NULL, NULL, acrn_lost, 0, { NULL } },
	{ "acrn", "vcpu", "exit", acrn_exit, 0, { "reason" } },
	{ "acrn", "vcpu", "enter", acrn_enter, 0, { NULL } },
	{ "acrn", "sched", "next", acrn_switch, 0, { "prev", "next" } },
	{ "acrn", "handler", "external-interrupt", acrn_interrupt, 0, { "vector" } },
	{ "kvm", NULL, NULL, any_lost, 0, { NULL } },
#define RS_ISA(name, NAME, number, mask, base, module)                                             \
	{                                                                                          \
		"kvm",	  #name,	 "exit",                                                   \
		kvm_exit, RS_ISA_##NAME, { "tid", "reason", "flags", "intr_info" }                 \
	},
#include <ringside/event/isa.def>
	{ "kvm", "vcpu", "entry", kvm_entry, 0, { "tid", "vcpu_id" } },
	{ "kvm", "cpu", "interrupt", kvm_interrupt, 0, { "tid", "vector", "again" } },
	{ "kvm", "sched", "off-cpu", kvm_off, 0, { "tid", "state" } },
	{ "kvm", "sched", "on-cpu", kvm_on, 0, { "tid" } },
	{ "kvm", "sched", "end", kvm_end, 0, { "tid" } },
	{ "xdt", NULL, NULL, any_lost, 0, { NULL } },
	{ "xdt", "hvm", "vmexit", xen_exit, 0, { "reason" } },
	{ "xdt", "hvm", "vmentry", xen_entry, 0, { NULL } },
	{ "xdt", "hvm", "intr", xen_external, 0, { "vector" } },
	{ "xdt", "hvm", "virq-inject", xen_inject, 0, { "vector" } },
	{ "xdt", "sched", "runstate-change", xen_runstate, 0, { "domain", "vcpu", "old", "new" } },
	{ "xdt", "sched", "continue-running", xen_runs_on, 0, { "domain", "vcpu" } },
	{ "xen", NULL, NULL, any_lost, 0, { NULL } },
	{ "xen", "irq", "handled", xen_handled, 0, { "irq", "took" } },
	{ "vmm", NULL, NULL, vmm_lost, 0, { NULL } },
	{ "vmm", "vcpu", "run", vmm_run, 0, { "vcpu" } },
	{ "vmm", "vcpu", "exit", vmm_exit, 0, { "vcpu", "reason" } },
};

static bool is_of(const struct tally_kind *kind, const struct rs_event *event)
{
	if (strcmp(kind->provider, event->provider) != 0)
		return false;
	if (event->kind == RS_KIND_LOSS)
		return !kind->class_name;
	return kind->class_name && !strcmp(kind->class_name, event->class_name) &&
	       !strcmp(kind->name, event->name);
}

static void known_resolve(struct tally_known *known, const struct rs_event *event)
{
	*known = (struct tally_known){ .event = event };
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !known->kind; i++) {
		if (is_of(&kinds[i], event))
			known->kind = &kinds[i];
	}
	for (size_t i = 0; known->kind && i < TALLY_FIELDS_MAX && known->kind->fields[i]; i++) {
		for (uint16_t f = 0; f < event->n_fields; f++) {
			const struct rs_field *field = &event->fields[f];

			if (!rs_type_is_tail(field->type) &&
			    !strcmp(field->name, known->kind->fields[i]))
				known->fields[i] = field;
		}
	}
}

/* Returns whether a stamp of another clock is also one of the first event's. Equal rates are not
 * enough: the traces of two machines are shifted. */
static bool is_tick(const struct tally_sink *s, const struct rs_view *view)
{
	const struct rs_clock *clock = view->stream->clock, *first = &s->clock;
	uint64_t stamp;
	__int128 off;

	if (clock->freq_hz != first->freq_hz || clock->monotonic != first->monotonic)
		return false;
	stamp = rs_clock_to_host(clock, view->tsc) + (uint64_t)first->offset;
	off = (__int128)rs_clock_ns(first, stamp) + s->shift_ns - view->ts_ns;
	return off >= -ROUNDED_NS && off <= ROUNDED_NS;
}

/* Returns an event's tick: its stamp if that is one of the first event's clock, else the stamp for
 * its time. */
static uint64_t tick_of(struct tally_sink *s, const struct rs_view *view)
{
	const struct rs_clock *clock = view->stream->clock;

	if (!s->clock.freq_hz) {
		s->clock = *clock;
		if (__builtin_sub_overflow(view->ts_ns, rs_clock_ns(clock, view->tsc),
					   &s->shift_ns))
			s->shift_ns = 0; /* no shift is so large */
	}
	if (clock->id == s->clock.id || is_tick(s, view))
		return rs_clock_to_host(clock, view->tsc);
	return s->clock.origin +
	       (uint64_t)(((__int128)view->ts_ns - s->shift_ns) * s->clock.freq_hz / NS_PER_SEC);
}

/*
 * Returns the event's tick, and moves the end of the tally on to it. Time does not go back: an
 * earlier event gets the latest tick. Within a ns, events of several streams arrive in any order;
 * an event that is further back has a stamp beyond 64 bits of the first event's clock.
 */
static uint64_t tick_next(struct tally_sink *s, const struct rs_view *view)
{
	uint64_t tick = tick_of(s, view), now = tick < UINT64_MAX ? tick + 1 : tick; /* never 0 */

	if (!s->any)
		s->first = s->last = now;
	s->any = true;
	if (now < s->last && s->last - now > s->clock.freq_hz / NS_PER_SEC + 1)
		now = s->last;
	if (now > s->last)
		s->last = now;
	return now < s->first ? s->first : now;
}

static void on_view(struct tally_sink *s, const struct tally_known *known,
		    const struct rs_view *view)
{
	struct seen seen = { .view = view, .known = known };
	uint64_t id = view->event->id;

	/* A log beside a trace may last much longer, and its gaps are not losses of the trace. */
	if (!known->kind && (id == RS_ID_LOG || view->event->kind == RS_KIND_LOSS))
		return;
	seen.now = tick_next(s, view);
	if (!known->kind) /* only its time counts */
		return;
	for (size_t i = 0; i < TALLY_FIELDS_MAX; i++) {
		if (known->fields[i])
			seen.arg[i] = rs_field_value(known->fields[i], view->payload);
	}
	if (view->event->kind == RS_KIND_LOSS)
		s->lost += rs_view_loss(view).count;
	known->kind->run(s, &seen);
}

struct rs_error *rs_tally_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct tally_sink *s = (struct tally_sink *)sink;

	for (size_t i = 0; i < n; i++) {
		const struct rs_event *event = views[i].event;
		struct tally_known *known = &s->known[((uintptr_t)event >> 6) % TALLY_KNOWN];

		if (known->event != event)
			known_resolve(known, event);
		on_view(s, known, &views[i]);
	}
	return s->no_memory ? rs_error_no_memory() : NULL;
}
