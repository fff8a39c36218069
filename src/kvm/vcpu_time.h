/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accounts a vCPU thread's time. One state machine is compiled twice: the BPF programs run it live,
 * the analyses run it over recorded events, so both give the same numbers.
 *
 *	           exit                  user_exit
 *	  GUEST ---------->  KERNEL  ------------------>  USER
 *	    ^                  |  ^ (woken: part of it was POLL)
 *	    +------ entry -----+  |                         |
 *	    +------ entry ------------------------------- --+
 *
 *	in KERNEL or USER:  off(preempted) -> WAIT -> on;   off(sleeping) -> HALTED or BLOCKED,
 *	                    and from the wake-up on WAIT -> on
 *
 * Every step accounts the time since the last one to exactly one state, so the states of a vCPU add
 * up to its observed time. Time in an unknown state is UNKNOWN, never a guess.
 *
 * Stamps are CLOCK_MONOTONIC ns. All steps of a thread run in its own context, and are never
 * concurrent. The exception is rs_vcpu_wake(), which writes a word that no other step writes.
 *
 * The header is also compiled for BPF: no libc, no division, no loop.
 */
#ifndef RS_KVM_VCPU_TIME_H
#define RS_KVM_VCPU_TIME_H

#include <stdbool.h>
#include <stdint.h>

enum rs_vcpu_state {
	RS_VCPU_UNKNOWN, /* before the first event, after a loss */
	RS_VCPU_GUEST,	 /* from entry to exit */
	RS_VCPU_KERNEL,	 /* in KVM, on a CPU, not polling */
	RS_VCPU_USER,	 /* from the return of KVM_RUN to the next entry, on a CPU */
	RS_VCPU_POLL,	 /* halted, and KVM spins for the wake-up (halt polling) */
	RS_VCPU_HALTED,	 /* asleep in KVM, in HLT or the like */
	RS_VCPU_BLOCKED, /* asleep while in the VMM */
	RS_VCPU_WAIT,	 /* runnable, and waits for a CPU */
	RS_VCPU_STATES,
};

enum rs_vcpu_off {
	RS_VCPU_ON,
	RS_VCPU_PREEMPTED,
	RS_VCPU_SLEEPING,
};

/* The cost of an exit, from the exit to the next entry. The parts add up to total_ns. */
struct rs_vcpu_cost {
	uint64_t total_ns;
	uint64_t kernel_ns;
	uint64_t user_ns;
	uint64_t poll_ns;
	uint64_t off_ns; /* HALTED, BLOCKED and WAIT */
};

struct rs_vcpu_time {
	uint64_t since;	      /* observed from here */
	uint64_t at;	      /* accounted up to here */
	uint64_t wake;	      /* the time of its wake-up while off; 0: none */
	uint64_t exit_at;     /* the exit that waits for its entry; 0: none */
	uint64_t base_kernel; /* ns[] at that exit, unless plain is set */
	uint64_t base_user;
	uint64_t base_poll;
	uint64_t halt_from;   /* the last return to the VMM, or the end of a halt */
	uint64_t base_asleep; /* ns[] then */
	uint64_t base_wait;
	uint64_t halted_ns; /* by KVM's reports of halts alone */
	uint64_t polled_ns;
	uint64_t on_at;	   /* on a CPU since then, or since the watch began; 0: unknown */
	uint64_t early_ns; /* the scheduler's clock may have been so much behind at sleeps */
	uint64_t stall_ns; /* and so much more at departures, if a hypervisor took the CPU away */
	uint64_t woken_ns; /* the part of ns[WAIT] that began at a wake-up */
	/* What rs_vcpu_end() added: on a CPU; waiting. */
	uint64_t unended_run_ns, unended_wait_ns;
	uint64_t ns[RS_VCPU_STATES];
	uint32_t state;	  /* GUEST, KERNEL, USER, or UNKNOWN: the state while it is on a CPU */
	uint32_t off;	  /* enum rs_vcpu_off */
	uint32_t seen;	  /* any event since the watch began */
	uint32_t plain;	  /* no event since that exit: all of its time is KERNEL */
	uint32_t entered; /* an exit or an entry occurred */
	uint32_t left;	  /* a return to the VMM, or the end of a halt, occurred */
	uint32_t unwoken; /* sleeps that ended without an observed wake-up */
	uint32_t missed;  /* arrivals and departures that prove that the one before was missed */
	uint32_t queued;  /* when the watch began, it was already waiting for a CPU */
	uint32_t lossy;	  /* events may have been lost */
};

/* The longest period of the scheduler's tick, at 100 Hz. */
#define RS_VCPU_TICK_NS 10000000u

/* Begins the accounting at now. The first event may determine the state until then. */
static inline void rs_vcpu_begin(struct rs_vcpu_time *t, uint64_t now)
{
	t->since = now;
	t->at = now;
	t->halt_from = now;
	t->on_at = now;
}

/* Continues after a loss in an unknown state. The first event does not determine the state before
 * it. */
static inline void rs_vcpu_forget(struct rs_vcpu_time *t)
{
	t->state = RS_VCPU_UNKNOWN;
	t->off = RS_VCPU_ON;
	t->exit_at = 0;
	t->wake = 0;
	t->on_at = 0;
	t->seen = 1;
	t->lossy = 1;
}

/* Accounts the time until now. A stamp before the last one adds nothing. */
#define RS_VCPU_ACCOUNT(t, until, to)                                                              \
	do {                                                                                       \
		if ((until) > (t)->at) {                                                           \
			(t)->ns[to] += (until) - (t)->at;                                          \
			(t)->at = (until);                                                         \
		}                                                                                  \
	} while (0)

/* Accounts the time of a running thread. Each index is a constant, as the BPF verifier requires. */
static inline void rs_vcpu_account(struct rs_vcpu_time *t, uint64_t now)
{
	if (t->state == RS_VCPU_GUEST)
		RS_VCPU_ACCOUNT(t, now, RS_VCPU_GUEST);
	else if (t->state == RS_VCPU_KERNEL)
		RS_VCPU_ACCOUNT(t, now, RS_VCPU_KERNEL);
	else if (t->state == RS_VCPU_USER)
		RS_VCPU_ACCOUNT(t, now, RS_VCPU_USER);
	else
		RS_VCPU_ACCOUNT(t, now, RS_VCPU_UNKNOWN);
}

/* Returns whether a thread that has been off since t->at was woken before now. */
static inline bool rs_vcpu_is_woken(const struct rs_vcpu_time *t, uint64_t wake, uint64_t now)
{
	return wake && wake >= t->at && wake <= now;
}

/* Accounts the time off the CPU, when the thread is back on a CPU, or at the end. */
static inline void rs_vcpu_account_off(struct rs_vcpu_time *t, uint64_t now)
{
	uint64_t wake = t->wake;

	if (t->off == RS_VCPU_SLEEPING) {
		if (!rs_vcpu_is_woken(t, wake, now))
			wake = now;
		t->woken_ns += now > wake ? now - wake : 0;
		if (t->state == RS_VCPU_USER)
			RS_VCPU_ACCOUNT(t, wake, RS_VCPU_BLOCKED);
		else
			RS_VCPU_ACCOUNT(t, wake, RS_VCPU_HALTED);
	}
	RS_VCPU_ACCOUNT(t, now, RS_VCPU_WAIT);
}

/* Notes that a thread sleeps. If it had no event since the accounting began, it has slept from the
 * start, because a switch would have been an event. */
static inline void rs_vcpu_asleep(struct rs_vcpu_time *t)
{
	if (!t->seen)
		t->off = RS_VCPU_SLEEPING;
}

/* Notes that the next halt begins after now. */
static inline void rs_vcpu_halt_mark(struct rs_vcpu_time *t)
{
	t->left = 1;
	t->halt_from = t->at;
	t->base_asleep = t->ns[RS_VCPU_HALTED] + t->ns[RS_VCPU_BLOCKED];
	t->base_wait = t->ns[RS_VCPU_WAIT];
}

/* Ends a halt of halt_ns. Divides that time into the thread's sleep, and its time on a CPU. */
static inline void rs_vcpu_halt_end(struct rs_vcpu_time *t, uint64_t halt_ns)
{
	uint64_t asleep = t->ns[RS_VCPU_HALTED] + t->ns[RS_VCPU_BLOCKED] - t->base_asleep;
	uint64_t off = asleep + t->ns[RS_VCPU_WAIT] - t->base_wait;
	uint64_t on = t->at - t->halt_from > off ? t->at - t->halt_from - off : 0;
	uint64_t poll = halt_ns > off ? halt_ns - off : 0;

	t->halted_ns += asleep < halt_ns ? asleep : halt_ns;
	t->polled_ns += poll < on ? poll : on;
	rs_vcpu_halt_mark(t);
}

/*
 * Corrects the states of a thread if KVM's exits and entries do not fire, but returns to the VMM
 * and halts do. It is then unknown when the guest runs, so GUEST, KERNEL and USER cannot be
 * distinguished, and a sleep that was not a halt may belong to any of them. Halts and waits for a
 * CPU are known. The rest is UNKNOWN.
 */
static inline void rs_vcpu_merge_unknown(struct rs_vcpu_time *t)
{
	uint64_t all = t->ns[RS_VCPU_UNKNOWN] + t->ns[RS_VCPU_GUEST] + t->ns[RS_VCPU_KERNEL] +
		       t->ns[RS_VCPU_USER] + t->ns[RS_VCPU_POLL] + t->ns[RS_VCPU_HALTED] +
		       t->ns[RS_VCPU_BLOCKED];

	t->ns[RS_VCPU_GUEST] = 0;
	t->ns[RS_VCPU_KERNEL] = 0;
	t->ns[RS_VCPU_USER] = 0;
	t->ns[RS_VCPU_BLOCKED] = 0;
	t->ns[RS_VCPU_POLL] = t->polled_ns;
	t->ns[RS_VCPU_HALTED] = t->halted_ns;
	t->ns[RS_VCPU_UNKNOWN] = all - t->polled_ns - t->halted_ns;
}

/* kvm_exit. As the first event, it shows that the guest ran until now. */
static inline void rs_vcpu_exit(struct rs_vcpu_time *t, uint64_t now)
{
	if (!t->seen)
		t->state = RS_VCPU_GUEST;
	rs_vcpu_account(t, now);
	t->seen = 1;
	t->entered = 1;
	t->state = RS_VCPU_KERNEL;
	t->exit_at = t->at;
	t->plain = 1;
}

/* Notes an event between an exit and its entry. Most exits have none, and need no copies of
 * ns[]. */
static inline void rs_vcpu_between(struct rs_vcpu_time *t)
{
	if (!t->plain)
		return;
	t->plain = 0;
	t->base_kernel = t->ns[RS_VCPU_KERNEL];
	t->base_user = t->ns[RS_VCPU_USER];
	t->base_poll = t->ns[RS_VCPU_POLL];
}

/* kvm_entry. Returns whether it ends an exit. Then *cost, which the caller has zeroed, is the
 * exit's cost. */
static inline bool rs_vcpu_entry(struct rs_vcpu_time *t, uint64_t now, struct rs_vcpu_cost *cost)
{
	uint64_t begin = t->exit_at;

	rs_vcpu_account(t, now);
	t->seen = 1;
	t->entered = 1;
	t->state = RS_VCPU_GUEST;
	t->exit_at = 0;
	if (!begin || now < begin)
		return false;
	cost->total_ns = now - begin;
	if (t->plain) {
		cost->kernel_ns = cost->total_ns;
		return true;
	}
	cost->kernel_ns = t->ns[RS_VCPU_KERNEL] - t->base_kernel;
	cost->user_ns = t->ns[RS_VCPU_USER] - t->base_user;
	cost->poll_ns = t->ns[RS_VCPU_POLL] - t->base_poll;
	cost->off_ns = cost->total_ns - cost->kernel_ns - cost->user_ns - cost->poll_ns;
	return true;
}

/* kvm_userspace_exit. As the first event, it shows that the thread was in KVM until now. */
static inline void rs_vcpu_user_exit(struct rs_vcpu_time *t, uint64_t now)
{
	rs_vcpu_between(t);
	if (!t->seen)
		t->state = RS_VCPU_KERNEL;
	rs_vcpu_account(t, now);
	t->seen = 1;
	t->state = RS_VCPU_USER;
	rs_vcpu_halt_mark(t);
}

/*
 * kvm_vcpu_wakeup: a halt of halt_ns ends. The part of the halt on the CPU was polling. It was
 * accounted as KERNEL, and is moved to POLL, but never more than this exit spent in KERNEL.
 */
static inline void rs_vcpu_woken(struct rs_vcpu_time *t, uint64_t now, uint64_t halt_ns)
{
	uint64_t kernel, off, poll;

	rs_vcpu_between(t);
	rs_vcpu_account(t, now);
	rs_vcpu_halt_end(t, halt_ns);
	if (!t->exit_at || t->state != RS_VCPU_KERNEL)
		return;
	kernel = t->ns[RS_VCPU_KERNEL] - t->base_kernel;
	off = now - t->exit_at - kernel - (t->ns[RS_VCPU_USER] - t->base_user) -
	      (t->ns[RS_VCPU_POLL] - t->base_poll);
	poll = halt_ns > off ? halt_ns - off : 0;
	if (poll > kernel)
		poll = kernel;
	t->ns[RS_VCPU_KERNEL] -= poll;
	t->ns[RS_VCPU_POLL] += poll;
}

/*
 * Notes a sleep. If a thread on this CPU was woken before and is to preempt this one, the scheduler
 * lets the sleep begin at that wake-up or at the last tick (rq_clock_skip_update() in
 * kernel/sched/core.c). The tick is late if a hypervisor below takes the CPU away.
 */
static inline void rs_vcpu_early(struct rs_vcpu_time *t, uint64_t now)
{
	uint64_t on_ns = now > t->on_at ? now - t->on_at : 0;
	uint64_t early_ns = on_ns < RS_VCPU_TICK_NS ? on_ns : RS_VCPU_TICK_NS;

	t->early_ns += early_ns;
	if (t->on_at)
		t->stall_ns += on_ns - early_ns;
}

/* sched_switch away from the thread. preempted: it is still runnable. */
static inline void rs_vcpu_off(struct rs_vcpu_time *t, uint64_t now, bool preempted)
{
	rs_vcpu_between(t);
	rs_vcpu_account(t, now);
	if (t->off != RS_VCPU_ON)
		t->missed++;
	if (!preempted)
		rs_vcpu_early(t, now);
	t->seen = 1;
	t->wake = 0;
	t->off = preempted ? RS_VCPU_PREEMPTED : RS_VCPU_SLEEPING;
}

/* sched_wakeup, on any CPU. */
static inline void rs_vcpu_wake(struct rs_vcpu_time *t, uint64_t now)
{
	*(volatile uint64_t *)&t->wake = now;
}

/* Notes that the first event of a thread is its arrival on a CPU. It was off until now: asleep if
 * it was woken since the accounting began, else waiting from the start. */
static inline void rs_vcpu_first_on(struct rs_vcpu_time *t, uint64_t now)
{
	t->queued = !rs_vcpu_is_woken(t, t->wake, now);
	t->off = t->queued ? RS_VCPU_PREEMPTED : RS_VCPU_SLEEPING;
}

/* sched_switch to the thread. */
static inline void rs_vcpu_on(struct rs_vcpu_time *t, uint64_t now)
{
	rs_vcpu_between(t);
	if (!t->seen && t->off == RS_VCPU_ON)
		rs_vcpu_first_on(t, now);
	else if (t->off == RS_VCPU_SLEEPING && !rs_vcpu_is_woken(t, t->wake, now))
		t->unwoken++;
	else if (t->off == RS_VCPU_ON && t->on_at)
		t->missed++;
	if (t->off != RS_VCPU_ON)
		rs_vcpu_account_off(t, now);
	else
		rs_vcpu_account(t, now);
	t->seen = 1;
	t->off = RS_VCPU_ON;
	t->on_at = now;
}

/* Ends the accounting, or the thread's; applied to a copy, gives the times at present. */
static inline void rs_vcpu_end(struct rs_vcpu_time *t, uint64_t now)
{
	uint64_t from = t->at, waited = t->ns[RS_VCPU_WAIT];
	bool on = t->off == RS_VCPU_ON;

	/* The scheduler may let the wait begin earlier, but does not count it yet. */
	if (t->off == RS_VCPU_PREEMPTED && t->on_at)
		t->stall_ns += from - t->on_at;
	if (on)
		rs_vcpu_account(t, now);
	else
		rs_vcpu_account_off(t, now);
	t->unended_run_ns = on ? t->at - from : 0;
	t->unended_wait_ns = t->ns[RS_VCPU_WAIT] - waited;
}

#endif
