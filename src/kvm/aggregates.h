/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The aggregates that a live KVM source answers, and the exits analysis asks for: what BPF has
 * added up in the kernel. Both sides use this table; keys are texts in the partials, numbers in
 * decimal.
 */
#ifndef RS_KVM_AGGREGATES_H
#define RS_KVM_AGGREGATES_H

#include "event/query.h"
#include "kvm/vcpu_time.h"

#define RS_KVM_WALL "wall"

#define RS_KVM_THREAD_KEYS "vm", "pid", "tid", "vcpu"

enum rs_kvm_aggregate {
	RS_KVM_EXITS,	  /* count: every exit */
	RS_KVM_EXIT_NS,	  /* count: those that an entry ended; sum, min, max, hist of the whole */
	RS_KVM_KERNEL_NS, /* sum */
	RS_KVM_USER_NS,
	RS_KVM_POLL_NS,
	RS_KVM_OFF_NS,
	RS_KVM_TIME_NS,	 /* sum: a vCPU's time in a state, as rs_vcpu_state_names says; and in
			  * RS_KVM_WALL, the time that it was watched, which these add up to */
	RS_KVM_SCHED_NS, /* sum: /proc's schedstat; state "run" or "wait" */
	RS_KVM_ENDED,	 /* count 1: the thread has ended */
	RS_KVM_CAUSES,	 /* count */
	RS_KVM_CAUSE_NS, /* count of those that an entry ended; sum, max of the exit's whole */
	RS_KVM_DROPPED,	 /* count: exits seen that found no place; key what: threads, exits, causes
			  */
	RS_KVM_AGGREGATES,
};

/* isa as rs_isa_name(), code a decimal number, nested 0 or 1; kind and key decimal numbers. */
static const struct rs_aggregate rs_kvm_aggregates[RS_KVM_AGGREGATES] = {
#define RS_KVM_BY_REASON { RS_KVM_THREAD_KEYS, "isa", "nested", "code" }, .n_keys = 7
	[RS_KVM_EXITS] = { .keys = RS_KVM_BY_REASON },
	[RS_KVM_EXIT_NS] = { .value = "exit_ns", .hist = true, .keys = RS_KVM_BY_REASON },
	[RS_KVM_KERNEL_NS] = { .value = "kernel_ns", .keys = RS_KVM_BY_REASON },
	[RS_KVM_USER_NS] = { .value = "user_ns", .keys = RS_KVM_BY_REASON },
	[RS_KVM_POLL_NS] = { .value = "poll_ns", .keys = RS_KVM_BY_REASON },
	[RS_KVM_OFF_NS] = { .value = "off_ns", .keys = RS_KVM_BY_REASON },
#undef RS_KVM_BY_REASON
	[RS_KVM_TIME_NS] = { .value = "time_ns",
			     .keys = { RS_KVM_THREAD_KEYS, "state" },
			     .n_keys = 5 },
	[RS_KVM_SCHED_NS] = { .value = "sched_ns",
			      .keys = { RS_KVM_THREAD_KEYS, "state" },
			      .n_keys = 5 },
	[RS_KVM_ENDED] = { .value = "ended", .keys = { RS_KVM_THREAD_KEYS }, .n_keys = 4 },
	[RS_KVM_CAUSES] = { .value = "causes",
			    .keys = { RS_KVM_THREAD_KEYS, "kind", "key" },
			    .n_keys = 6 },
	[RS_KVM_CAUSE_NS] = { .value = "cause_ns",
			      .keys = { RS_KVM_THREAD_KEYS, "kind", "key" },
			      .n_keys = 6 },
	[RS_KVM_DROPPED] = { .value = "dropped", .keys = { "what" }, .n_keys = 1 },
};

/* "guest", "kernel", ... as the JSON results have them. */
static const char *const rs_vcpu_state_names[RS_VCPU_STATES] = {
	[RS_VCPU_UNKNOWN] = "unknown", [RS_VCPU_GUEST] = "guest", [RS_VCPU_KERNEL] = "kernel",
	[RS_VCPU_USER] = "user",       [RS_VCPU_POLL] = "poll",	  [RS_VCPU_HALTED] = "halted",
	[RS_VCPU_BLOCKED] = "blocked", [RS_VCPU_WAIT] = "wait",
};

#endif
