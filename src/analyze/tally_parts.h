/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of the tally.
 *
 *	tally_events.c	which event means what, for each hypervisor
 *	tally.c		CPUs, vCPUs and rows
 *	tally_collect.c	rows together, as they are asked for
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

/* From what a CPU or vCPU is known by: streams, numbers. */
struct tally_who {
	uint64_t a, b;
};

struct tally_vcpu;

struct tally_cpu {
	struct tally_cpu *all;
	struct tally_who who;
	int cpu;	/* RS_UNKNOWN */
	bool told;	/* who has it; else the next event tells it for the time since */
	bool whole;	/* this turn's begin was seen */
	uint64_t since; /* this turn's */
	uint64_t last;	/* of the last event on it */
	enum rs_tally_use use;
	struct tally_vcpu *owner;	/* of RS_TALLY_VCPU */
	const struct rs_stream *stream; /* ACRN's: of the last event */
};

struct tally_vcpu {
	struct tally_vcpu *all;
	struct tally_who who;
	const char *vm; /* NULL: not known (yet) */
	int vcpu;
	struct tally_cpu *home;	  /* the CPU that it does not leave; NULL: any */
	struct rs_vcpu_time time; /* in ticks */
	bool exits;		  /* it was seen to leave or to enter its guest */
	/* The exit that waits for its entry. */
	bool pending;
	uint32_t isa, code;
	int exit_cpu;
	struct tally_row *interrupt; /* that it was for; NULL */
	uint64_t entered;	     /* the guest, then; 0: not known */
};

struct tally_row {
	struct tally_row *all;
	const struct tally_vcpu *owner; /* NULL: none */
	struct rs_tally_row row;
	struct rs_hist *hist;
};

/* An event of a schema: what handles it, and where its fields are. */
#define TALLY_FIELDS_MAX 4
#define TALLY_KNOWN	 256u
struct tally_kind;
struct tally_known {
	const struct rs_event *event;
	const struct tally_kind *kind; /* NULL: none of ours */
	const struct rs_field *fields[TALLY_FIELDS_MAX];
};

struct tally_sink {
	struct rs_sink sink;
	struct rs_arena arena;		 /* of all below */
	struct rs_map cpus, vcpus, rows; /* by what each is known by */
	struct tally_cpu *all_cpus;
	struct tally_vcpu *all_vcpus;
	struct tally_row *all_rows;
	uint32_t n_cpus, n_vcpus, n_rows, n_unnamed;
	bool any;
	struct rs_clock clock; /* of the first event: what ticks are; a copy */
	uint64_t first, last;  /* ticks */
	struct tally_known known[TALLY_KNOWN];
	uint64_t lost, contradictions, refused;
	bool kvm, kvm_switches; /* seen: its events, its threads' switches */
	bool no_memory;
	/* Given out by take. */
	struct rs_tally_row *taken;
	struct rs_hist *taken_hists;
};

/* Each is found, or made: NULL where it finds no place, which is counted, or without memory. */
struct tally_cpu *rs_tally_cpu_of(struct tally_sink *s, struct tally_who who, int cpu);
struct tally_vcpu *rs_tally_vcpu_of(struct tally_sink *s, struct tally_who who, uint64_t now);
/* It turns out to be this one; where there is one of these already, both stay. */
void rs_tally_vcpu_identify(struct tally_sink *s, struct tally_vcpu *v, struct tally_who who);
struct tally_row *rs_tally_row_of(struct tally_sink *s, enum rs_tally_kind kind, int cpu,
				  const struct tally_vcpu *owner, uint32_t sub, uint64_t key);
const char *rs_tally_name_copy(struct tally_sink *s, const char *name, size_t len);

/* A duration of a row, which may be NULL. */
void rs_tally_time(struct tally_sink *s, struct tally_row *row, uint64_t total, uint64_t off);

/* Somebody else has the CPU from now on; or the one that is named had it all the time. */
void rs_tally_turn(struct tally_sink *s, struct tally_cpu *c, enum rs_tally_use use,
		   struct tally_vcpu *owner, uint64_t now);
void rs_tally_assign(struct tally_cpu *c, enum rs_tally_use use, struct tally_vcpu *owner);
/* Who had it is not known since its last event; the next one tells. */
void rs_tally_cpu_lost(struct tally_sink *s, struct tally_cpu *c, uint64_t now);

void rs_tally_exit(struct tally_sink *s, struct tally_vcpu *v, int cpu, uint32_t isa, uint32_t code,
		   uint64_t now);
void rs_tally_entry(struct tally_sink *s, struct tally_vcpu *v, int cpu, uint64_t now);
/* It has no CPU from now on. */
void rs_tally_off(struct tally_vcpu *v, uint64_t now, bool preempted);
void rs_tally_vcpu_lost(struct tally_sink *s, struct tally_vcpu *v, uint64_t now);
/* Counts the exit that waits, without a time. */
void rs_tally_settle_exit(struct tally_sink *s, struct tally_vcpu *v);

/* tally_events.c: the sink's events(). */
struct rs_error *rs_tally_events(struct rs_sink *sink, const struct rs_view *views, size_t n);

#endif
