/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The internals of the tally.
 *
 *	tally_events.c	the meaning of each hypervisor's events
 *	tally.c		CPUs, vCPUs and rows
 *	tally_collect.c	the result
 */
#ifndef RS_ANALYZE_TALLY_PARTS_H
#define RS_ANALYZE_TALLY_PARTS_H

#include "analyze/tally.h"
#include "base/arena.h"
#include "base/map.h"
#include "kvm/vcpu_time.h"

#define TALLY_ROWS_MAX	65536u
#define TALLY_VCPUS_MAX 65536u
#define TALLY_CPUS_MAX	8192u

/* The identity of a CPU or vCPU, composed of streams and numbers. */
struct tally_id {
	uint64_t a, b;
};

struct tally_vcpu;

struct tally_cpu {
	struct tally_cpu *all;
	struct tally_id id;
	int cpu;	/* RS_UNKNOWN */
	bool known;	/* else the next event determines the owner since the last event */
	bool whole;	/* the begin of this turn is known */
	uint64_t since; /* the begin of this turn */
	uint64_t last;	/* of the last event on it */
	enum rs_tally_use use;
	struct tally_vcpu *owner;	/* of RS_TALLY_VCPU */
	const struct rs_stream *stream; /* ACRN's: of the last event */
};

struct tally_vcpu {
	struct tally_vcpu *all;
	struct tally_id id;
	const char *vm; /* NULL: not yet known */
	int vcpu;
	struct tally_cpu *home;	  /* the CPU to which it is bound; NULL: none */
	struct rs_vcpu_time time; /* in ticks */
	bool exits;		  /* the trace has its exits or entries */
	bool guest_known;	  /* the trace has an entry with the next exit */
	bool ended;		  /* its thread has ended: no loss concerns it */
	/* The exit that waits for its entry. */
	bool pending;
	uint32_t isa, code;
	int exit_cpu;
	struct tally_row *interrupt; /* the interrupt that caused it, or NULL */
	uint64_t entered;	     /* the time at which it entered the guest; 0: unknown */
};

struct tally_row {
	struct tally_row *all;
	const struct tally_vcpu *owner; /* NULL: none */
	struct rs_tally_row row;
	struct rs_hist *hist;
};

/* An event of a schema, with its handler and the places of its fields. */
#define TALLY_FIELDS_MAX 4
#define TALLY_KNOWN	 256u
struct tally_kind;
struct tally_known {
	const struct rs_event *event;
	const struct tally_kind *kind; /* NULL: not handled */
	const struct rs_field *fields[TALLY_FIELDS_MAX];
};

struct tally_sink {
	struct rs_sink sink;
	struct rs_arena arena;		 /* of all objects below */
	struct rs_map cpus, vcpus, rows; /* by their identities */
	struct tally_cpu *all_cpus;
	struct tally_vcpu *all_vcpus;
	struct tally_row *all_rows;
	uint32_t n_cpus, n_vcpus, n_rows, n_unnamed;
	bool any;
	struct rs_clock clock; /* of the first event, which defines ticks; a copy */
	int64_t shift_ns;      /* of that event's trace on the timeline of several */
	uint64_t first, last;  /* ticks */
	struct tally_known known[TALLY_KNOWN];
	uint64_t lost, contradictions, refused;
	bool kvm, kvm_switches; /* the trace has events of KVM, switches of its threads */
	bool no_memory;
	/* The result of rs_tally_collect(). */
	struct rs_tally_row *taken;
	struct rs_hist *taken_hists;
};

/* Each finds or creates its object. Returns NULL if there is no room, which is counted, or no
 * memory. */
struct tally_cpu *rs_tally_cpu_of(struct tally_sink *s, struct tally_id id, int cpu);
struct tally_vcpu *rs_tally_vcpu_of(struct tally_sink *s, struct tally_id id, uint64_t now);
/* Sets the identity of v. If another vCPU has the identity already, both stay. */
void rs_tally_vcpu_identify(struct tally_sink *s, struct tally_vcpu *v, struct tally_id id);
struct tally_row *rs_tally_row_of(struct tally_sink *s, enum rs_tally_kind kind, int cpu,
				  const struct tally_vcpu *owner, uint32_t sub, uint64_t key);
const char *rs_tally_name_copy(struct tally_sink *s, const char *name, size_t len);

/* Adds a duration to a row, which may be NULL. */
void rs_tally_time(struct tally_sink *s, struct tally_row *row, uint64_t total, uint64_t off);

/* rs_tally_turn() assigns the CPU to another owner from now on. rs_tally_assign() sets the owner of
 * the current turn. */
void rs_tally_turn(struct tally_sink *s, struct tally_cpu *c, enum rs_tally_use use,
		   struct tally_vcpu *owner, uint64_t now);
void rs_tally_assign(struct tally_cpu *c, enum rs_tally_use use, struct tally_vcpu *owner);
/* Marks the CPU's owner as unknown from its last event to the next one. */
void rs_tally_cpu_lost(struct tally_sink *s, struct tally_cpu *c, uint64_t now);

void rs_tally_exit(struct tally_sink *s, struct tally_vcpu *v, int cpu, uint32_t isa, uint32_t code,
		   uint64_t now);
void rs_tally_entry(struct tally_sink *s, struct tally_vcpu *v, int cpu, uint64_t now);
/* Removes the vCPU from its CPU. */
void rs_tally_off(struct tally_vcpu *v, uint64_t now, bool preempted);
void rs_tally_vcpu_lost(struct tally_sink *s, struct tally_vcpu *v, uint64_t now);
/* Counts the exit that waits for its entry, without a time. */
void rs_tally_settle_exit(struct tally_sink *s, struct tally_vcpu *v);

/* Implements the sink's events() (tally_events.c). */
struct rs_error *rs_tally_events(struct rs_sink *sink, const struct rs_view *views, size_t n);

#endif
