/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs on the scheduler's tracepoints. Included by exits.bpf.c. They run for each thread of
 * the host, so they first check quickly whether a thread has a slot.
 *
 * Each switch stores in last[] which slot runs next on the CPU, if any. So the thread that leaves
 * is known without a lookup, once a switch has occurred on the CPU.
 */
#ifndef RS_KVM_SCHED_BPF_H
#define RS_KVM_SCHED_BPF_H

/* Returns the slot of a thread by its tid, in any process: tids are those of the host. */
static __always_inline uint32_t thread_by_tid(uint32_t tid)
{
	const uint32_t *found = tid ? bpf_map_lookup_elem(&threads, &tid) : NULL;

	return found ? *found : RS_KVM_NO_SLOT;
}

/* Moves `here` to another slot. Returns false if the slot does not exist, or its thread has
 * ended. */
static __always_inline bool slot_at(struct here *here, uint32_t at, uint32_t tid)
{
	here->at = at;
	here->slot = bpf_map_lookup_elem(&slots, &at);
	return here->slot && at != RS_KVM_NO_SLOT && (uint32_t)here->slot->id == tid;
}

/*
 * Computes the scheduler's times when the watch began. They could not be read then, because the
 * scheduler charges a thread on a CPU at ticks, which are late if a hypervisor below takes the CPU
 * away, and a wait when it ends. At a departure it has charged all, but it may have charged the end
 * of the time on the CPU as the beginning of the next wait (rq_clock_skip_update()). So the time on
 * CPUs is read at the first departure, and the waits at the next one.
 */
static __always_inline void base_correct(struct rs_kvm_slot *slot)
{
	const struct task_struct *task = (const void *)bpf_get_current_task();
	const uint64_t *ns = slot->time.ns;

	if (slot->departures == 2 || !bpf_core_field_exists(task->sched_info.run_delay))
		return;
	if (!slot->departures)
		slot->base_run_ns = BPF_CORE_READ(task, se.sum_exec_runtime) - ns[RS_VCPU_UNKNOWN] -
				    ns[RS_VCPU_GUEST] - ns[RS_VCPU_KERNEL] - ns[RS_VCPU_USER] -
				    ns[RS_VCPU_POLL];
	else
		slot->base_wait_ns = BPF_CORE_READ(task, sched_info.run_delay) - ns[RS_VCPU_WAIT];
	RS_ORDER();
	slot->departures++;
}

/* Compares the scheduler's count of the thread's arrivals with the one between two departures. */
static __always_inline void arrivals_check(struct rs_kvm_slot *slot, uint64_t arrivals)
{
	if (slot->departures && arrivals != slot->arrivals + 1)
		slot->missed = 1;
	slot->arrivals = arrivals;
}

static __always_inline void off_cpu(const struct here *here, uint32_t state, uint32_t next,
				    uint64_t arrivals)
{
	TIME_STEP(here->slot, rs_vcpu_off(&here->slot->time, here->now, !state));
	if (config.latency) {
		arrivals_check(here->slot, arrivals);
		base_correct(here->slot);
	}
	if (config.events) {
		RS_RING_RECORD(kvm_off_cpu) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_off_cpu){ here->slot->tid, state, next };
		ring_put(here, kvm_off_cpu, &e);
	}
}

static __always_inline void on_cpu(const struct here *here, uint32_t prev)
{
	TIME_STEP(here->slot, rs_vcpu_on(&here->slot->time, here->now));
	if (config.events) {
		RS_RING_RECORD(kvm_on_cpu) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_on_cpu){ here->slot->tid, prev };
		ring_put(here, kvm_on_cpu, &e);
	}
}

/* state: 0 if the thread that leaves was runnable. arrivals: how often it came on a CPU, by the
 * scheduler's count. */
static __always_inline void on_switch(uint32_t prev, uint32_t next, bool next_is_kernel,
				      uint32_t state, uint64_t arrivals)
{
	uint32_t from, to = RS_KVM_NO_SLOT;
	struct rs_kvm_last *last;
	struct here here;

	if (!enter_cpu(&here))
		return;
	last = last_of(here.number);
	from = last->sure ? last->slot : thread_by_tid(prev);
	if (!next_is_kernel)
		to = thread_by_tid(next);
	last->slot = to;
	last->sure = config.n_cpus <= RS_KVM_LAST; /* else another CPU may use it */
	if (from == RS_KVM_NO_SLOT && to == RS_KVM_NO_SLOT)
		return;
	stamp(&here);
	if (slot_at(&here, from, prev))
		off_cpu(&here, state, next, arrivals);
	if (slot_at(&here, to, next))
		on_cpu(&here, prev);
	leave(&here);
}

/* Runs on the waker's CPU, also in interrupts. */
static __always_inline void on_sched_wakeup(uint32_t tid)
{
	uint32_t at = thread_by_tid(tid);
	struct here here;

	if (at == RS_KVM_NO_SLOT || !enter_cpu(&here) || !slot_at(&here, at, tid))
		return;
	stamp(&here);
	rs_vcpu_wake(&here.slot->time, here.now);
	if (config.events) {
		RS_RING_RECORD(kvm_sched_wakeup) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_sched_wakeup){ tid, (uint32_t)RS_KVM_SELF() };
		ring_put(&here, kvm_sched_wakeup, &e);
	}
	leave(&here);
}

/* Ends a thread's accounting: counts its last exit, and stops its time. */
static __always_inline void thread_close(struct here *here)
{
	if (config.only_count) {
		count_settle(here->slot, here->number, here->at);
		here->slot->place = 0;
		return;
	}
	stamp(here);
	exit_settle(here, NULL);
	if (config.latency)
		TIME_STEP(here->slot, rs_vcpu_end(&here->slot->time, here->now));
	if (config.events) {
		RS_RING_RECORD(kvm_thread_end) e = { .words = { 0 } };

		e.on = (struct rs_kvm_on_kvm_thread_end){ here->slot->tid };
		ring_put(here, kvm_thread_end, &e);
	}
	leave(here);
}

/* The current thread ends. The program also works while the gate is closed, because the session
 * adds threads to `threads` before the gate opens, and an ended thread must not stay there. */
static __always_inline void on_thread_end(void)
{
	uint64_t id = RS_KVM_SELF();
	uint32_t tid = (uint32_t)id;
	struct here here;

	if (!slot_at(&here, thread_by_tid(tid), tid) || here.slot->id != id)
		return;
	if (enter_cpu(&here))
		thread_close(&here);
	here.slot->id = ~0ull;
	RS_ORDER();
	here.slot->ended = 1;
	bpf_map_delete_elem(&threads, &tid);
}

#ifdef RS_KVM_BODIES

/* args: prev, next, whether next is a kernel thread, state and arrivals of prev */
RS_SCHED(sched_switch)
{
	on_switch((uint32_t)args[0], (uint32_t)args[1], args[2] != 0, (uint32_t)args[3],
		  args[4]);
}

RS_SCHED(sched_wakeup)
{
	on_sched_wakeup((uint32_t)args[0]);
}

#else

static __always_inline uint32_t state_of(const struct task_struct *task)
{
	const struct task_struct___5_13 *old = (const void *)task;

	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return (uint32_t)old->state;
}

static __always_inline uint64_t arrivals_of(const struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.pcount))
		return 0;
	return task->sched_info.pcount;
}

/* (preempt, prev, next); since 5.19 prev_state follows them; in 5.18 it precedes prev. */
RS_SCHED(sched_switch)
{
	const struct task_struct *prev, *next;
	bool preempt = args[0];
	uint32_t state;

	if (config.switch_state == 1) {
		prev = (const void *)args[2];
		next = (const void *)args[3];
		state = (uint32_t)args[1];
	} else {
		prev = (const void *)args[1];
		next = (const void *)args[2];
		state = config.switch_state == 3 ? (uint32_t)args[3] : state_of(prev);
	}
	on_switch((uint32_t)prev->pid, (uint32_t)next->pid, next->flags & PF_KTHREAD,
		  preempt ? 0 : state, arrivals_of(prev));
}

RS_SCHED(sched_wakeup)
{
	const struct task_struct *task = (const void *)args[0];

	if (!(task->flags & PF_KTHREAD))
		on_sched_wakeup((uint32_t)task->pid);
}

#endif

RS_SCHED(sched_process_exit)
{
	(void)args;
	on_thread_end();
}

#endif
