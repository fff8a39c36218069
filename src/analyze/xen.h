/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Summarises a Xen trace: how vCPUs, domains and physical CPUs spent their time; the exits,
 * hypercalls, interrupts and accesses of guests; and the composition of the trace. All results are
 * rows of one form; a report consists of rows of some kinds.
 *
 *	events --> sink --> rs_xen_collect() --> struct rs_xen_result --> a view
 *
 * Memory grows with vCPUs and rows, not with the trace. Both are bounded, and what exceeds the
 * bounds is counted. One thread uses a sink at a time.
 */
#ifndef RS_ANALYZE_XEN_H
#define RS_ANALYZE_XEN_H

#include "base/hist.h"
#include "xen/counts.h"
#include <ringside/source.h>

/* The kinds of rows, with the meaning of `sub` and `key` in each. */
enum rs_xen_kind {
	RS_XEN_VOLUME,	 /* records by physical CPU; sub: pCPU, key: enum rs_xen_volume or class */
	RS_XEN_STATES,	 /* a vCPU's times; key: enum rs_xen_state */
	RS_XEN_DOMAINS,	 /* a domain's times; key: enum rs_xen_together */
	RS_XEN_PCPUS,	 /* a physical CPU's times; sub: pCPU, key: enum rs_xen_pcpu_state */
	RS_XEN_AFFINITY, /* the CPUs on which a vCPU ran; key: pCPU */
	RS_XEN_EXITS,	 /* sub: enum rs_isa | RS_XEN_IS_NESTED, key: code */
	RS_XEN_CALLS,	 /* sub: enum rs_xen_call, key: number */
	RS_XEN_PV,	 /* services of Xen for a PV domain; key: enum rs_xen_symbol */
	RS_XEN_INTERRUPTS, /* sub: enum rs_xen_interrupt, key: vector or IRQ */
	RS_XEN_IO,	   /* sub: enum rs_cause_kind, key: port or address */
	RS_XEN_CR3,	   /* key: value; the time during which it was loaded */
	RS_XEN_PM,	   /* sub: pCPU, key: C-state, or RS_XEN_PM_FREQUENCY | MHz */
	RS_XEN_KINDS,
};
#define RS_XEN_ALL_KINDS ((1u << RS_XEN_KINDS) - 1)

/* A vCPU's states, which add up to the duration of the trace. */
enum rs_xen_state {
	RS_XEN_RUNNING,
	RS_XEN_RUNNABLE_WAKE,	 /* woken up: the time from the wake-up until it runs */
	RS_XEN_RUNNABLE_PREEMPT, /* preempted */
	RS_XEN_RUNNABLE_OTHER,	 /* since before the trace, or since a loss */
	RS_XEN_BLOCKED,
	RS_XEN_OFFLINE,
	RS_XEN_LOST, /* unknown: records were lost, or contradict each other */
	RS_XEN_STATES_COUNT,
};

/* The joint states of a domain's vCPUs, in xenalyze's terms. vCPUs without an event so far do not
 * count. */
enum rs_xen_together {
	RS_XEN_ALL_BLOCKED,
	RS_XEN_PARTIAL_RUN,	   /* some run, the others are not runnable */
	RS_XEN_FULL_RUN,	   /* all run */
	RS_XEN_PARTIAL_CONTENTION, /* none runs, some are runnable */
	RS_XEN_CONCURRENCY_HAZARD, /* some run, some are runnable */
	RS_XEN_FULL_CONTENTION,	   /* none runs, all are runnable */
	RS_XEN_DOMAIN_LOST,	   /* the state of one is unknown */
	RS_XEN_TOGETHER_COUNT,
};

enum rs_xen_pcpu_state {
	RS_XEN_PCPU_BUSY,
	RS_XEN_PCPU_IDLE,
	RS_XEN_PCPU_SWITCH, /* between two vCPUs */
	RS_XEN_PCPU_LOST,
	RS_XEN_PCPU_STATES,
};

enum rs_xen_call {
	RS_XEN_CALL_PV,	     /* counted only: Xen does not trace their end */
	RS_XEN_CALL_SUBCALL, /* within a multicall */
	RS_XEN_CALL_HVM,     /* timed from exit to entry */
};

enum rs_xen_interrupt {
	RS_XEN_VIRQ,	       /* injected; its time: until the guest continues and handles it */
	RS_XEN_VIRQ_WAKE_HALT, /* an interrupt that woke the vCPU: until it halts again */
	RS_XEN_VIRQ_HALT,      /* any other interrupt: until the vCPU halts */
	RS_XEN_IRQ,	       /* a physical one, handled by Xen */
};

#define RS_XEN_IS_NESTED    0x100u
#define RS_XEN_PM_FREQUENCY (UINT64_C(1) << 32)

struct rs_xen_row {
	enum rs_xen_kind kind;
	int dom, vcpu; /* RS_UNKNOWN if not applicable, or unknown */
	uint32_t sub;
	uint64_t key;
	uint64_t count; /* occurrences; of states: those with a known begin and end */
	uint64_t bytes; /* of records */
	uint64_t timed; /* those in total_ns, min, max and hist: of known duration */
	uint64_t total_ns, min_ns, max_ns;
	/* of states: time in addition to total_ns, with an unknown begin or end */
	uint64_t edge_ns;
	uint64_t continued;	    /* of running: how often the scheduler let the vCPU continue */
	const struct rs_hist *hist; /* NULL: no durations */
};

struct rs_xen_result {
	int64_t from_ns, to_ns;	       /* of the first and last event */
	const struct rs_xen_row *rows; /* by kind, dom, vcpu, sub, key */
	size_t n_rows;
	uint64_t lost, losses;	 /* lost records, and the number of losses */
	uint64_t contradictions; /* state changes that do not fit the state before */
	uint64_t refused;	 /* events without a row, for lack of room */
};

/* kinds: bits of 1 << enum rs_xen_kind. */
struct rs_error *rs_xen_sink_create(uint32_t kinds, struct rs_sink **sink);
void rs_xen_sink_destroy(struct rs_sink *sink);

/* Returns the result so far. It is valid until the next call on the sink. */
struct rs_error *rs_xen_collect(struct rs_sink *sink, struct rs_xen_result *result);

/* Returns the result until a time, which must not precede the last event. rs_xen_continue() then
 * begins the next interval: times and counts restart, the states of vCPUs continue. */
struct rs_error *rs_xen_collect_until(struct rs_sink *sink, int64_t to_ns,
				      struct rs_xen_result *result);
void rs_xen_continue(struct rs_sink *sink);

/* Verifies that the states of each vCPU, domain and physical CPU add up to the duration. Returns
 * RS_FAILED, with a message that names the first mismatch, if they do not. */
struct rs_error *rs_xen_check(const struct rs_xen_result *result);

/* Returns whether two rows have the same subject, such as states of the same vCPU. */
bool rs_xen_same(const struct rs_xen_row *a, const struct rs_xen_row *b);

#endif
