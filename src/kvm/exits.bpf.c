// SPDX-License-Identifier: BSD-2-Clause
/*
 * The programs on KVM's and the scheduler's tracepoints. Each reads plain values from its record,
 * in any kernel's layout, and passes them to a function on_...(), which does not depend on records.
 *
 * With RS_KVM_BODIES the same programs are built as raw_tp, with the record as their context, so
 * that tests and benchmarks can run them with BPF_PROG_TEST_RUN.
 */
#include "kvm/ring.bpf.h"

#ifdef RS_KVM_BODIES
#define RS_KVM_SECTION	 "raw_tp/"
#define RS_SCHED_SECTION "raw_tp/"
#else
#define RS_KVM_SECTION	 "tp/kvm/"
#define RS_SCHED_SECTION "tp_btf/"
#endif

/*
 * Defines a program that gets a record r, and is empty on kernels without the record. It returns 1,
 * because 0 would hide the event from all users of perf (perf_trace_run_bpf_submit() in
 * kernel/events/core.c).
 */
#define RS_PROGRAM(name, record)                                                                   \
	static __always_inline void run_##name(const struct record *r);                            \
	SEC(RS_KVM_SECTION #name) int name(struct record *r)                                       \
	{                                                                                          \
		if (bpf_core_type_exists(struct record))                                           \
			run_##name(r);                                                             \
		return 1;                                                                          \
	}                                                                                          \
	static __always_inline void run_##name(const struct record *r)

/* Defines a program that gets args. */
#define RS_SCHED(name)                                                                             \
	static __always_inline void run_##name(const uint64_t *args);                              \
	SEC(RS_SCHED_SECTION #name) int name(uint64_t *args)                                       \
	{                                                                                          \
		run_##name(args);                                                                  \
		return 0;                                                                          \
	}                                                                                          \
	static __always_inline void run_##name(const uint64_t *args)

/* ---- around every program -------------------------------------------------------------------- */

/* Fills in the CPU. Returns false if the program has nothing to do. If it returns true, the program
 * must call leave(). */
static __always_inline bool enter_cpu(struct here *here)
{
	if (!*(volatile uint32_t *)&control.gate)
		return false;
	here->number = bpf_get_smp_processor_id();
	here->nested = 0;
	here->now = 0;
	here->cpu = NULL;
	if (!config.rings)
		return true;
	here->cpu = bpf_map_lookup_elem(&cpus, &here->number);
	return here->cpu != NULL;
}

static __always_inline void leave(const struct here *here)
{
	if (config.rings)
		ring_end(here);
}

/* Takes the stamp. From here on, a program that interrupts this one queues its records. */
static __always_inline void stamp(struct here *here)
{
	if (config.rings)
		ring_begin(here);
	else if (config.latency)
		here->now = bpf_ktime_get_ns();
}

static __always_inline bool enter(struct here *here, enum find find)
{
	if (!enter_cpu(here) || !thread_here(here, find))
		return false;
	stamp(here);
	if (config.latency && !here->slot->time.since) /* the thread's first event */
		rs_vcpu_begin(&here->slot->time, here->now);
	return true;
}

/* ---- exits and entries ----------------------------------------------------------------------- */

/* An exit, of any instruction set of the host. */
struct seen_exit {
	uint32_t isa, code;
	int32_t vcpu; /* -1: not in the record */
	uint64_t pc;
};

#define RS_GET(field)		(r->field)
#define RS_GET_OR(field, other) RS_FIELD_OR(r->field, other)

/* Writes the event of an exit, from the kernel's record r. */
static __always_inline void exit_record(const struct here *here, const struct seen_exit *e,
					const struct trace_event_raw_kvm_exit *r)
{
#define RS_COPY(ours, theirs, shift, mask) event.on.ours = RS_GET(theirs) >> (shift);
#define RS_COPY_OR_0(ours, theirs)	   event.on.ours = RS_GET_OR(theirs, 0);
#define RS_COPY_CODE(ours)		   event.on.ours = e->code;
#define RS_ISA_RECORD(name, NAME, field, value, code, a, b, copies)                                \
	if (e->isa == RS_ISA_##NAME) {                                                             \
		RS_RING_RECORD(kvm_##name##_exit) event = { .words = { 0 } };                      \
                                                                                                   \
		event.on.tid = here->slot->tid;                                                    \
		copies ring_put(here, kvm_##name##_exit, &event);                                  \
	}
#include <ringside/event/isa.def>
#undef RS_COPY
#undef RS_COPY_OR_0
#undef RS_COPY_CODE
}

/* Counts the current exit, and makes this exit the current one. */
static __always_inline void exit_is(struct here *here, uint32_t isa, uint32_t code, uint64_t rip)
{
	struct rs_kvm_slot *slot = here->slot;

	exit_settle(here, NULL);
	slot->cell = cell_of(slot, here->at, isa, 0, code);
	if (config.latency) {
		slot->what = rs_kvm_what(isa, 0, code);
		slot->rip = rip;
	}
}

static __always_inline void on_exit(const struct seen_exit *e,
				    const struct trace_event_raw_kvm_exit *r)
{
	struct here here;

	if (config.only_count) {
		if (config.only_count == RS_KVM_ONLY_EXITS)
			count_exit(e->isa, e->code, e->vcpu);
		return;
	}
	if (!enter(&here, config.user ? FIND_MAKE : FIND_COUNT))
		return;
	if (e->vcpu >= 0)
		here.slot->vcpu = e->vcpu;
	/* On SVM fastpath exits the cause tracepoint fires before kvm_exit, so the cause is kept,
	 * unless it belongs to an exit without an entry. */
	if (config.causes && here.slot->time.exit_at)
		cause_forget(here.slot);
	if (config.latency)
		TIME_STEP(here.slot, rs_vcpu_exit(&here.slot->time, here.now));
	if (!config.user)
		exit_is(&here, e->isa, e->code, e->pc);
	if (config.events)
		exit_record(&here, e, r);
	leave(&here);
}

/* Each host architecture has its own object, with the fields of its record. If a field were chosen
 * at load time, the compiler would modify the context pointer, which verifiers reject. */
RS_PROGRAM(kvm_exit, trace_event_raw_kvm_exit)
{
	struct seen_exit e = { .isa = RS_ISA_UNKNOWN };

#define RS_ISA_RECORD(name, NAME, field, value, kind, a, b, copies)                                \
	if (!(value) || RS_GET(field) == (value)) {                                                \
		e.isa = RS_ISA_##NAME;                                                             \
		e.code = rs_isa_code_##kind(RS_GET(a), RS_GET(b), sizeof(r->a));                   \
	}
#define RS_HOST_EXIT(members, rip, number)                                                         \
	e.pc = RS_GET(rip);                                                                        \
	e.vcpu = (int32_t)(number);
#include <ringside/event/isa.def>
	on_exit(&e, r);
}

/* Marks the current exit as one of a nested guest. */
static __always_inline void on_nested_exit(uint32_t code, uint64_t rip)
{
	struct here here;
	uint64_t what;

	if (config.only_count) {
		if (*(volatile uint32_t *)&control.gate)
			count_nested();
		return;
	}
	if (!enter(&here, FIND))
		return;
	if (here.slot->cell && !config.user) {
		struct rs_kvm_cell *cell = bpf_map_lookup_elem(&cells, &here.slot->cell);

		what = cell ? cell->what : here.slot->what;
		here.slot->cell = cell_of(here.slot, here.at, RS_KVM_WHAT_ISA(what), 1,
					  RS_KVM_WHAT_CODE(what));
		here.slot->what = what | rs_kvm_what(0, 1, 0);
	}
	if (config.events) {
		RS_RING_RECORD(kvm_nested_exit) r = { .words = { 0 } };

		r.on = (struct rs_kvm_on_kvm_nested_exit){ here.slot->tid, code, rip };
		ring_put(&here, kvm_nested_exit, &r);
	}
	leave(&here);
}

RS_PROGRAM(kvm_nested_vmexit, trace_event_raw_kvm_nested_vmexit)
{
	on_nested_exit(RS_FIELD_OR(r->exit_reason, 0), RS_FIELD_OR(r->guest_rip, 0));
}

static __always_inline void long_exit_record(const struct here *here,
					     const struct rs_vcpu_cost *cost)
{
	const struct rs_kvm_slot *slot = here->slot;
	RS_RING_RECORD(kvm_long_exit) r = { .words = { 0 } };

	r.on.tid = slot->tid;
	r.on.isa = (uint16_t)RS_KVM_WHAT_ISA(slot->what);
	r.on.kind = (uint16_t)slot->cause_kind;
	r.on.rip = slot->rip;
	r.on.total = cost->total_ns;
	r.on.kernel = cost->kernel_ns;
	r.on.user = cost->user_ns;
	r.on.poll = cost->poll_ns;
	r.on.off = cost->off_ns;
	r.on.key = slot->cause_key;
	r.on.code = RS_KVM_WHAT_CODE(slot->what);
	r.on.nested = RS_KVM_WHAT_NESTED(slot->what);
	ring_put(here, kvm_long_exit, &r);
}

static __always_inline void trigger(const struct here *here, const struct rs_vcpu_cost *cost)
{
	struct rs_kvm_cpu *cpu = bpf_map_lookup_elem(&cpus, &here->number);
	struct rs_kvm_pulled *pulled = cpu ? &cpu->pulled : NULL;
	uint64_t what = here->slot->what;

	if (!cpu || pulled->set || cost->total_ns <= config.trigger_ns)
		return;
	if (config.trigger_isa && (RS_KVM_WHAT_ISA(what) != config.trigger_isa ||
				   RS_KVM_WHAT_CODE(what) != config.trigger_code))
		return;
	pulled->at_ns = here->now;
	pulled->cost_ns = cost->total_ns;
	pulled->what = what;
	pulled->tid = here->slot->tid;
	RS_ORDER();
	pulled->set = 1;
}

static __always_inline void on_entry(uint32_t vcpu, uint64_t rip)
{
	struct rs_vcpu_cost cost = { 0 };
	struct here here;
	bool ended = false;

	if (!enter(&here, FIND_MAKE))
		return;
	if ((int32_t)vcpu >= 0)
		here.slot->vcpu = (int32_t)vcpu;
	if (config.latency)
		TIME_STEP(here.slot, ended = rs_vcpu_entry(&here.slot->time, here.now, &cost));
	if (ended && config.than_ns && cost.total_ns > config.than_ns && here.slot->cell)
		long_exit_record(&here, &cost);
	if (ended && config.trigger_ns && here.slot->cell)
		trigger(&here, &cost);
	exit_settle(&here, ended ? &cost : NULL);
	if (config.causes) {
		if (ended)
			cause_settle(here.slot, &cost);
		cause_forget(here.slot);
	}
	if (config.events) {
		RS_RING_RECORD(kvm_entry) r = { .words = { 0 } };

		r.on = (struct rs_kvm_on_kvm_entry){ here.slot->tid, vcpu, rip };
		ring_put(&here, kvm_entry, &r);
	}
	leave(&here);
}

#define RS_HOST_ENTRY(tracepoint, record, field, pc, vcpu)                                         \
	RS_PROGRAM(tracepoint, trace_event_raw_##record)                                           \
	{                                                                                          \
		on_entry(vcpu, RS_GET_OR(pc, 0));                                                  \
	}
#include <ringside/event/isa.def>

/* KVM_RUN returns. A negative errno is kept as the code, because it is not a KVM_EXIT_ reason. */
static __always_inline void on_user_exit(uint32_t reason, int32_t errno_value)
{
	uint32_t code = errno_value < 0 ? (uint32_t)errno_value : reason;
	struct here here;

	if (config.only_count) {
		count_exit(RS_ISA_USER, code, -1);
		return;
	}
	if (!enter(&here, config.user ? FIND_COUNT : FIND_MAKE))
		return;
	if (config.latency)
		TIME_STEP(here.slot, rs_vcpu_user_exit(&here.slot->time, here.now));
	if (config.user)
		exit_is(&here, RS_ISA_USER, code, 0);
	if (config.events) {
		RS_RING_RECORD(kvm_user_exit) r = { .words = { 0 } };

		r.on = (struct rs_kvm_on_kvm_user_exit){ here.slot->tid, reason, errno_value };
		ring_put(&here, kvm_user_exit, &r);
	}
	leave(&here);
}

RS_PROGRAM(kvm_userspace_exit, trace_event_raw_kvm_userspace_exit)
{
	on_user_exit(r->reason, r->errno);
}

/* ns: the time since the halt began, polling and sleep. */
static __always_inline void on_wakeup(uint64_t ns, bool waited, bool valid)
{
	struct here here;

	if (!enter(&here, FIND_MAKE))
		return;
	if (config.latency)
		TIME_STEP(here.slot, rs_vcpu_woken(&here.slot->time, here.now, ns));
	if (config.events) {
		RS_RING_RECORD(kvm_wakeup) r = { .words = { 0 } };

		r.on = (struct rs_kvm_on_kvm_wakeup){ here.slot->tid, waited, valid, ns };
		ring_put(&here, kvm_wakeup, &r);
	}
	leave(&here);
}

RS_PROGRAM(kvm_vcpu_wakeup, trace_event_raw_kvm_vcpu_wakeup)
{
	on_wakeup(r->ns, r->waited, r->valid);
}

#include "kvm/causes.bpf.h"
#include "kvm/sched.bpf.h"

char _license[] SEC("license") = "Dual BSD/GPL";
