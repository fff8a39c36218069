/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tallies exits, interrupts and the use of physical CPUs: counts and times by reason, vCPU and CPU,
 * for the traces of ACRN, KVM, Xen and VMMs. For ACRN's traces it replaces acrnalyze's vm_exit, irq
 * and cpu_usage, without their defects.
 *
 *	events --> sink --> rs_tally_collect() --> struct rs_tally --> a view
 *
 * Times are ticks of the first event's clock, so no frequency is needed: cycles of a TSC, or ns if
 * stamps are CLOCK_MONOTONIC's. An exit lasts until its vCPU enters its guest again; the state
 * machine is kvm/vcpu_time.h. After a loss the state is unknown until the next event; separate rows
 * hold that time.
 *
 * Memory grows with vCPUs and rows, not with the trace. Both are bounded, and what exceeds the
 * bounds is counted. One thread uses a sink at a time.
 */
#ifndef RS_ANALYZE_TALLY_H
#define RS_ANALYZE_TALLY_H

#include "base/hist.h"
#include <ringside/source.h>

/* The kinds of rows, with the meaning of `sub` and `key` in each. */
enum rs_tally_kind {
	RS_TALLY_EXITS,	     /* sub: enum rs_isa, or RS_TALLY_LOST; key: code */
	RS_TALLY_INTERRUPTS, /* sub: enum rs_tally_interrupt; key: vector or IRQ */
	RS_TALLY_CPU,	     /* sub: enum rs_tally_use; a time is a turn, from switch to switch */
	RS_TALLY_KINDS,
};

#define RS_TALLY_LOST 0xffffffffu /* of exits: time in which the vCPUs' state is unknown */

enum rs_tally_interrupt {
	RS_TALLY_EXTERNAL, /* arrived while the guest ran; its time is the exit's */
	RS_TALLY_INJECTED, /* injected into the guest */
	RS_TALLY_HANDLED,  /* a physical one, by the hypervisor; its time is the handler's */
};

enum rs_tally_use {
	RS_TALLY_VCPU,	 /* a vCPU had the CPU, or the hypervisor on its behalf */
	RS_TALLY_IDLE,	 /* the trace shows that the CPU was idle */
	RS_TALLY_OTHERS, /* any other use: in KVM's traces, other threads and idling */
	RS_TALLY_UNKNOWN,
	RS_TALLY_USES,
};

/* The keys of rows. "Unknown" is a value of a key. */
#define RS_TALLY_BY_CPU	 (1u << 0)
#define RS_TALLY_BY_VM	 (1u << 1)
#define RS_TALLY_BY_VCPU (1u << 2) /* and by VM */

struct rs_tally_row {
	enum rs_tally_kind kind;
	int cpu, vcpu;	/* RS_UNKNOWN: unknown, or several are merged */
	const char *vm; /* NULL: likewise */
	uint32_t sub;
	uint64_t key;
	uint64_t count;
	uint64_t timed; /* those with a known begin and end, to which min, max and hist apply */
	uint64_t total, off; /* ticks; off: the part of total in which the vCPU had no CPU */
	uint64_t guest;	     /* RS_TALLY_CPU: the part of total within the guest */
	bool guest_known;    /* the trace has times within the guest of one of its vCPUs */
	/* the time of which the row is a share: that of the CPUs, else of the vCPUs */
	uint64_t base;
	uint64_t min, max;
	const struct rs_hist *hist; /* never NULL */
};

struct rs_tally {
	uint64_t ticks;			 /* from the first event to the last */
	uint64_t tick_hz;		 /* 0: unknown */
	bool ticks_are_ns;		 /* CLOCK_MONOTONIC's; else a TSC's cycles */
	const struct rs_tally_row *rows; /* by kind, cpu, vm, vcpu; then the most time first */
	size_t n_rows;
	uint64_t lost;		 /* records that the trace reports as lost */
	uint64_t contradictions; /* switches from a vCPU without the CPU: records are missing */
	uint64_t refused;	 /* events that were not counted, for lack of room */
};

struct rs_error *rs_tally_sink_create(struct rs_sink **sink);
void rs_tally_sink_destroy(struct rs_sink *sink);

/* Returns the complete result, once, after the last event. Rows with equal `by` keys are added
 * together. It is valid until the sink is destroyed. */
struct rs_error *rs_tally_collect(struct rs_sink *sink, uint32_t by, struct rs_tally *tally);

#endif
