/* SPDX-License-Identifier: BSD-2-Clause */
/* What a live KVM source gives besides events: a snapshot of what BPF has counted. */
#ifndef RS_KVM_COUNTS_H
#define RS_KVM_COUNTS_H

#include "event/query.h"
#include "kvm/kvm.h"

struct rs_kvm_counts {
	struct rs_counts counts; /* RS_COUNTS_KVM */
	/* Cumulative since the gate opened; a thread keeps its index. Of all threads, also those
	 * that the query does not select. */
	const struct rs_kvm_snapshot *snapshot;
	const bool *wanted; /* of each thread: the query selects it */
	bool last;	    /* the gate is shut: nothing will grow any more */
};

/* "guest", "kernel", ... as the JSON results have them. */
static const char *const rs_vcpu_state_names[RS_VCPU_STATES] = {
	[RS_VCPU_UNKNOWN] = "unknown", [RS_VCPU_GUEST] = "guest", [RS_VCPU_KERNEL] = "kernel",
	[RS_VCPU_USER] = "user",       [RS_VCPU_POLL] = "poll",	  [RS_VCPU_HALTED] = "halted",
	[RS_VCPU_BLOCKED] = "blocked", [RS_VCPU_WAIT] = "wait",
};

#endif
