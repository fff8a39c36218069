/* SPDX-License-Identifier: BSD-2-Clause */
/* The counts of a live KVM source: a snapshot of the counts that BPF maintains. */
#ifndef RS_KVM_COUNTS_H
#define RS_KVM_COUNTS_H

#include "event/query.h"
#include "kvm/kvm.h"

struct rs_kvm_counts {
	struct rs_counts counts; /* RS_COUNTS_KVM */
	/* Counts of all threads, cumulative since the gate opened, also of threads that the query
	 * does not select. A thread keeps its index. */
	const struct rs_kvm_snapshot *snapshot;
	const bool *wanted; /* for each thread: whether the query selects it */
	bool last;	    /* the gate is closed: the counts are final */
};

/* The states' names in JSON: "guest", "kernel", ... */
static const char *const rs_vcpu_state_names[RS_VCPU_STATES] = {
	[RS_VCPU_UNKNOWN] = "unknown", [RS_VCPU_GUEST] = "guest", [RS_VCPU_KERNEL] = "kernel",
	[RS_VCPU_USER] = "user",       [RS_VCPU_POLL] = "poll",	  [RS_VCPU_HALTED] = "halted",
	[RS_VCPU_BLOCKED] = "blocked", [RS_VCPU_WAIT] = "wait",
};

#endif
