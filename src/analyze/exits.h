/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts VM exits by VM, vCPU and reason, with their durations and causes, and accounts each vCPU's
 * time. A live host, whose BPF programs count, and the events of a trace give the same result: the
 * sink reads a source's snapshots, and runs the same state machine (kvm/vcpu_time.h) over events.
 *
 *	source --snapshots--> sink --> rs_exits_collect() --> struct rs_exits --> a view
 *	       --events-----/
 *
 * Memory grows with vCPUs, reasons and causes, not with the trace.
 */
#ifndef RS_ANALYZE_EXITS_H
#define RS_ANALYZE_EXITS_H

#include "base/hist.h"
#include "event/exit_reason.h"
#include "event/query.h"
#include "kvm/kvm.h"

/* One reason of one thread. */
struct rs_exits_row {
	const char *vm; /* NULL: unknown */
	int pid, tid, vcpu;
	uint32_t isa, code, nested;
	uint64_t count, entered;
	struct rs_vcpu_cost sum;
	uint64_t min_ns, max_ns;
	const struct rs_hist *hist; /* never NULL; empty if latencies are not measured */
};

static inline void rs_exits_cost_add(struct rs_vcpu_cost *to, const struct rs_vcpu_cost *from)
{
	to->total_ns += from->total_ns;
	to->kernel_ns += from->kernel_ns;
	to->user_ns += from->user_ns;
	to->poll_ns += from->poll_ns;
	to->off_ns += from->off_ns;
}

/* One vCPU's time. Its states add up to wall_ns; rs_exits_check() verifies that. */
struct rs_exits_vcpu {
	const char *vm;
	int pid, tid, vcpu;
	bool ended;
	uint64_t wall_ns;
	uint64_t ns[RS_VCPU_STATES];
	uint64_t exits;
	bool sched_known;
	uint64_t run_ns, wait_ns; /* schedstat's */
	/* Since its first event: sleeps that ended without a wake-up; arrivals on a CPU and
	 * departures without the other before; whether the scheduler's count proves that neither
	 * was missed. */
	uint32_t unwoken, missed;
	bool complete;
	/* How much earlier than traced its sleeps may begin for the scheduler, and how much more,
	 * as may an unended wait, if CPUs were taken away below the kernel; the waiting that
	 * followed wake-ups. */
	uint64_t early_ns, stall_ns, woken_ns;
	/* The time on a CPU or waiting after its last event, which schedstat may lack; whether it
	 * was waiting at the beginning, for an unknown time before. */
	uint64_t unended_run_ns, unended_wait_ns;
	bool queued;
};

/* A cause's maximum in an interval of a live session, unless it is the largest so far. */
#define RS_EXITS_MAX_UNKNOWN UINT64_MAX

struct rs_exits_cause {
	const char *vm;
	int pid, tid, vcpu;
	uint32_t kind; /* enum rs_cause_kind */
	uint64_t key;
	uint64_t count, entered, total_ns, max_ns;
};

struct rs_exits {
	int64_t from_ns, to_ns;		 /* on the trace's timeline; live: since the gate opened */
	bool latency, causes;		 /* whether these were requested, and are known */
	const struct rs_exits_row *rows; /* by pid, tid, isa, nested, code */
	const struct rs_exits_vcpu *vcpus;	 /* by pid, tid */
	const struct rs_exits_cause *cause_rows; /* by total_ns, the largest first */
	size_t n_rows, n_vcpus, n_causes;
	uint64_t lost;	  /* records missing from this result */
	uint64_t dropped; /* exits that were not counted, for lack of room */
};

/* An exit that took longer than than_ns, reported at its re-entry. Valid during the call. */
struct rs_exits_long {
	int64_t ts_ns;
	const char *vm;
	int pid, tid, vcpu;
	uint32_t isa, code, nested;
	struct rs_vcpu_cost cost;
	uint64_t rip;
	uint32_t kind; /* enum rs_cause_kind; RS_CAUSE_NONE: not known */
	uint64_t key;
};

struct rs_exits_options {
	bool latency, causes;
	bool user;	  /* KVM_EXIT_ reasons of kvm_userspace_exit instead of exits */
	uint64_t than_ns; /* exits longer than this are passed to than(), in time order; 0: none */
	struct rs_error *(*than)(void *ctx, const struct rs_exits_long *exit);
	void *ctx;
};

struct rs_error *rs_exits_sink_create(const struct rs_exits_options *options,
				      struct rs_sink **sink);
void rs_exits_sink_destroy(struct rs_sink *sink);

/* Returns the query for the probes and counts that this sink needs. It is valid until the sink is
 * destroyed. */
const struct rs_query *rs_exits_query(const struct rs_sink *sink);

/* Returns the result since the last call, or since the start if `all` is set. It is valid until the
 * next call on the sink. to_ns is the current time of a live source; 0 means the time of the last
 * event. */
struct rs_error *rs_exits_collect(struct rs_sink *sink, bool all, int64_t to_ns,
				  struct rs_exits *exits);

/* The threads whose exits are selected, as kvmexit's options do. */
enum rs_exits_scope {
	RS_EXITS_ALL,	   /* each thread separately */
	RS_EXITS_PID,	   /* -p: a process, its threads added together */
	RS_EXITS_PID_TIDS, /* -p -a: its threads, each separately */
	RS_EXITS_VCPU,	   /* -p -v: one vCPU of it */
	RS_EXITS_TID,	   /* -t */
	RS_EXITS_TIDS,	   /* -T: these, each separately */
	RS_EXITS_VM,	   /* --vm alone: VMs of this name, their threads added together */
};

struct rs_exits_choice {
	enum rs_exits_scope scope;
	int pid, vcpu, tid;
	const int *tids;
	size_t n_tids;
	const char *vm; /* glob; with any scope; NULL: all */
};

/* Returns whether the choice adds its threads together. */
bool rs_exits_is_sum(const struct rs_exits_choice *choice);

bool rs_exits_chosen(const struct rs_exits_choice *choice, const char *vm, int pid, int tid,
		     int vcpu);

/* Selects the chosen part of exits. *chosen points into exits. Free it with rs_exits_unselect(). */
struct rs_error *rs_exits_select(const struct rs_exits *exits, const struct rs_exits_choice *choice,
				 struct rs_exits *chosen);
void rs_exits_unselect(struct rs_exits *chosen);

/* Adds rows of the same reason (with by_vm: and VM) together, sorted by isa, nested and code. What
 * the rows do not share is unknown (vm NULL, pid and tid 0, vcpu -1). The caller frees *merged;
 * one free() frees its histograms too. */
struct rs_error *rs_exits_merge(const struct rs_exits *exits, bool by_vm,
				struct rs_exits_row **merged, size_t *n);

/* Adds equal causes together in the same way. The largest total comes first. The caller frees
 * *merged. */
struct rs_error *rs_exits_merge_causes(const struct rs_exits *exits, bool by_vm,
				       struct rs_exits_cause **merged, size_t *n);

/*
 * Verifies that each vCPU's states add up to its wall time, and that its time on CPUs and its time
 * waiting agree with schedstat. Their sum may differ by slack_ns and 1%, and each alone by a
 * further eighth of the sum. If a vCPU is complete, only the sum is compared, and may also differ
 * by early_ns and stall_ns. If every sleep ended with an observed wake-up, schedstat may have more
 * waiting, up to the time asleep. It may lack what follows a thread's last event, and
 * have all of a wait that began before. Returns NULL if they agree. Otherwise returns RS_FAILED
 * with a message that names the vCPU and both values.
 */
struct rs_error *rs_exits_check(const struct rs_exits *exits, uint64_t slack_ns);

/* Returns the number of a cause's key, with its name if it is known ("0x3f8 (com1)", "0x6e0
 * (TSC_DEADLINE)"). rs_cause_kind_name() returns the kind's name ("pio read", "msr write"). */
#define RS_CAUSE_TEXT_MAX 64
const char *rs_cause_text(uint32_t kind, uint64_t key, char text[RS_CAUSE_TEXT_MAX]);
const char *rs_cause_kind_name(uint32_t kind);

/* A row of causes.def: the name of a kind's numbers from first to last. */
struct rs_cause_name {
	const char *table, *name;
	uint64_t first, last;
};
/* Returns whether there is an i-th row. */
bool rs_cause_name_at(size_t i, struct rs_cause_name *name);

#endif
