/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layouts that the BPF programs and the session share: the mapped arrays, the settings, the
 * payloads of the events. The header is compiled for both: no libc, no pointers.
 *
 *	threads: tid -> slot        the index of the thread's slot; 0 is no slot
 *	slots[]                     a thread: its ids, its time, its current exit, its row
 *	  count[reason]             if exits are only counted
 *	  row[reason] -> cell       if exits are timed, too; rare reasons by the hash `odd`
 *	cells[], hists[]            a reason of a thread: counts, costs, distribution
 *	causes[]                    a cause of a thread, found by the hash `cause_index`
 *	cpus[]                      a CPU: dropped counts, its ring's producer, the trigger
 *
 * Writers: only a slot's own thread writes the slot and its cells and causes, on any CPU, with
 * preemption off (except time.wake, which any CPU writes). Only its CPU writes a cpus[] entry. The
 * session writes before the gate opens, and after the gate is closed and no program runs any more.
 * It reads at any time.
 *
 * A reader accepts a cell or a time only if the counters before and after its words are equal: the
 * writer increments one first and sets the other last.
 */
#ifndef RS_KVM_WIRE_H
#define RS_KVM_WIRE_H

#include <ringside/record.h>

#include "base/hist.h"
#include "event/exit_reason.h"
#include "event/filter.h"
#include "kvm/vcpu_time.h"

/* ---- reasons to places ----------------------------------------------------------------------- */

/* A thread's row has the reasons of one hardware isa, that of the thread's first exit. Place 0
 * belongs to no reason. */
#define RS_KVM_ROW_HARDWARE 192u
#define RS_KVM_ROW_USER	    63u
#define RS_KVM_ROW_NESTED   (1 + RS_KVM_ROW_HARDWARE)
#define RS_KVM_ROW_RETURNS  (1 + 2 * RS_KVM_ROW_HARDWARE)
#define RS_KVM_ROW	    (RS_KVM_ROW_RETURNS + RS_KVM_ROW_USER)

/* Returns the place of a code in a row, in which n codes from `first` on have the places from `at`
 * on. */
static inline uint32_t rs_kvm_place_in(uint32_t code, uint32_t first, uint32_t n, uint32_t at)
{
	return code - first < n ? 1 + at + (code - first) : RS_KVM_ROW;
}

/* Returns the place in a row, or RS_KVM_ROW for reasons that have none. */
static inline uint32_t rs_kvm_place(uint32_t isa, uint32_t nested, uint32_t code)
{
	uint32_t at = RS_KVM_ROW;

	if (isa == RS_ISA_USER)
		return code < RS_KVM_ROW_USER ? RS_KVM_ROW_RETURNS + code : RS_KVM_ROW;
#define RS_ISA_PLACES(NAME, first, n, begins)                                                      \
	if (isa == RS_ISA_##NAME && at == RS_KVM_ROW)                                              \
		at = rs_kvm_place_in(code, first, n, begins);
#include <ringside/event/isa.def>
	return at != RS_KVM_ROW && nested ? at + RS_KVM_ROW_HARDWARE : at;
}
#define RS_ISA_PLACES(NAME, first, n, begins)                                                      \
	_Static_assert((begins) + (n) <= RS_KVM_ROW_HARDWARE, "a row has room for the places");
#include <ringside/event/isa.def>

/* Returns a reason as one word, which is never 0, because isa is not 0. */
static inline uint64_t rs_kvm_what(uint32_t isa, uint32_t nested, uint32_t code)
{
	return code | (uint64_t)(uint8_t)isa << 32 | (uint64_t)(nested & 1) << 40;
}
#define RS_KVM_WHAT_CODE(what)	 ((uint32_t)(what))
#define RS_KVM_WHAT_ISA(what)	 ((uint32_t)((what) >> 32) & 0xff)
#define RS_KVM_WHAT_NESTED(what) ((uint32_t)((what) >> 40) & 1)

/* ---- the arrays ------------------------------------------------------------------------------ */

/* Cells and causes are assigned to threads in blocks, so that no two threads write to one cache
 * line. */
#define RS_KVM_BLOCK 8u

#define RS_KVM_NO_SLOT 0u  /* slots[0] is unused; its id is not a thread's */
#define RS_KVM_NO_CELL ~0u /* an exit is current, but has no place */

struct rs_kvm_extent {
	uint64_t min, max;
};

struct rs_kvm_cell {
	uint64_t what; /* 0: free */
	uint32_t slot;
	uint32_t reserved;
	uint64_t count;
	uint64_t entered; /* incremented before the fields below are written */
	struct rs_vcpu_cost sum;
	struct rs_kvm_extent extent[2]; /* by the epoch's parity */
	uint32_t epoch[2];
	uint64_t settled; /* set to `entered` after the fields above */
	uint64_t spare;
};
_Static_assert(sizeof(struct rs_kvm_cell) == 128, "whole cache lines");

struct rs_kvm_cause_row {
	uint64_t key;
	uint32_t slot; /* 0: free */
	uint32_t kind;
	uint64_t count;
	uint64_t entered; /* incremented before the fields below are written */
	uint64_t total_ns;
	uint64_t max_ns;
	uint64_t settled; /* set to `entered` after the fields above */
	uint64_t spare;
};
_Static_assert(sizeof(struct rs_kvm_cause_row) == 64, "a cache line");

struct rs_kvm_slot {
	uint64_t id; /* tgid << 32 | tid while the thread lives; else ~0 */
	uint32_t used;
	uint32_t ended;
	uint32_t tid, tgid;
	int32_t vcpu;	     /* -1: unknown */
	uint32_t departures; /* sleeps and preemptions, up to 2 */
	/* The current exit. It is counted at the next entry or exit, when it is known whether it
	 * came from a nested guest. */
	uint32_t place; /* if exits are only counted: the place in the row; RS_KVM_ROW: in `cell` */
	uint32_t cell;	/* 0: none */
	uint32_t isa;	/* the hardware isa of the row */
	uint32_t cause;
	uint64_t what, rip;
	uint64_t cause_key;
	uint32_t cause_kind;
	uint32_t cell_next, cell_end; /* of its block */
	uint32_t cause_next, cause_end;
	uint32_t missed;   /* the scheduler has counted other arrivals than were observed */
	uint64_t arrivals; /* by its count, at the last departure */
	/* The scheduler's times at the thread's first event, or as base_correct() has them. */
	uint64_t base_run_ns, base_wait_ns;
	uint32_t base_known;
	uint32_t begun; /* incremented before `time` changes */
	struct rs_vcpu_time time;
	uint32_t done; /* and done */
	char comm[16]; /* the process's name at the thread's first event */
	union {
		uint64_t count[RS_KVM_ROW];
		uint32_t row[RS_KVM_ROW];
	};
} __attribute__((aligned(4096)));
_Static_assert(sizeof(struct rs_kvm_slot) == 4096, "a shift indexes a power of two");

/* The slot of the thread that ran last on a CPU. Further CPUs share entries, which costs
 * lookups. */
#define RS_KVM_LAST 1024u
struct rs_kvm_last {
	uint32_t slot;
	uint32_t sure; /* a switch has set it: its thread, or none with a slot, runs there now */
} __attribute__((aligned(64)));

#define RS_KVM_PENDING 8u
#define RS_KVM_SCRATCH 12u /* words of the longest record */

struct rs_kvm_pulled {
	uint64_t at_ns, cost_ns;
	uint64_t what;
	uint32_t tid;
	uint32_t set; /* written last */
};

struct rs_kvm_cpu {
	uint64_t dropped_threads, dropped_exits, dropped_causes;
	/* The ring's producer. */
	uint64_t last_ns; /* the last stamp; stamps do not go back */
	uint64_t refused, reported, lost_from;
	uint32_t tail;
	uint32_t busy; /* a program runs: programs that interrupt it queue their records */
	uint32_t pending_begin,
		pending_end; /* counters of the waiting records; modulo the queue's size */
	struct rs_kvm_pulled pulled;
	struct rs_slot pending[RS_KVM_PENDING];
	uint64_t scratch[RS_KVM_SCRATCH]; /* the record that is being built */
	/* The filter's input and output after the record: event/filter.h. */
	uint64_t who;
	uint64_t rows[RS_FILTER_ROWS][RS_FILTER_ROW];
} __attribute__((aligned(1024)));
_Static_assert(sizeof(struct rs_kvm_cpu) == 1024, "CPUs do not share lines");
_Static_assert(offsetof(struct rs_kvm_cpu, rows) ==
		       offsetof(struct rs_kvm_cpu, scratch) + RS_FILTER_AT * 8,
	       "a filter's layout");

/* The first instruction of the room for a filter loads the mark, by which filter.c finds it. With
 * this instruction, the one after it and the exit at the end, the room has RS_FILTER_INSNS
 * instructions. They are plain numbers because an asm() uses them. */
#define RS_KVM_FILTER_MARK 1381189196
#define RS_KVM_FILTER_ROOM 2045
_Static_assert(RS_KVM_FILTER_ROOM + 3 == RS_FILTER_INSNS, "the room's size is RS_FILTER_INSNS");
_Static_assert(RS_KVM_SCRATCH == RS_FILTER_WORDS, "a filter reads the CPU's scratch");

/*
 * A sum in the array near its CPU. While key[0] is 0, the CPU may claim it. After that, only the
 * CPU adds to it until its epoch ends. Then it belongs to the session, which returns it by setting
 * key[0] to 0.
 */
struct rs_kvm_near {
	uint64_t key[RS_FILTER_KEY_HEAD + RS_FILTER_KEYS];
	struct rs_filter_sum sum;
	uint64_t spare[2];
};
_Static_assert(sizeof(struct rs_kvm_near) == 128, "two cache lines");

/* Keys of the hashes. */
struct rs_kvm_odd {
	uint64_t what;
	uint32_t slot;
	uint32_t zero;
};

struct rs_kvm_cause_key {
	uint64_t key;
	uint32_t slot;
	uint32_t kind;
};

/* ---- settings and state ---------------------------------------------------------------------- */

enum rs_kvm_only {
	RS_KVM_ALL,
	RS_KVM_ONLY_EXITS,
	RS_KVM_ONLY_RETURNS, /* kvm_userspace_exit */
};

/* Fixed when the programs are loaded: the verifier removes what is off. */
struct rs_kvm_config {
	uint64_t than_ns;
	uint64_t trigger_ns;
	uint32_t trigger_isa, trigger_code;
	uint32_t only_count; /* enum rs_kvm_only; without times and rings */
	uint32_t latency;
	uint32_t causes;
	uint32_t user;
	uint32_t events;
	uint32_t rings;	    /* rings exist: for events or than_ns */
	uint32_t ring_size; /* bytes of slots in each ring */
	uint32_t pid;	    /* 0: any */
	uint32_t listed;    /* only threads that are already in `threads` */
	/* The argument of sched_switch that is the state: 3 since Linux 5.19, 1 in 5.18; 0:
	 * none. */
	uint32_t switch_state;
	uint32_t n_cpus;
	uint32_t spare;
	/* Records: a bit for each event, by its number; whether a filter exists, and whether it
	 * reads the thread. */
	uint64_t wanted;
	uint32_t filter, filter_thread;
	/* A filter's sums: whether it has any, the words of a key, the sums' epochs; and the number
	 * of sums near each CPU, a power of two, or 0. */
	uint32_t adds, n_keys;
	uint64_t from_ns, epoch_ns;
	uint32_t near, spare_too;
};

struct rs_kvm_control {
	uint32_t gate;
	uint32_t epoch; /* of min and max */
};

/* ---- the events' payloads: struct rs_kvm_on_<symbol>, RS_KVM_ID_<symbol> --------------------- */

#define RS_KVM_C_u8  uint8_t
#define RS_KVM_C_u16 uint16_t
#define RS_KVM_C_u32 uint32_t
#define RS_KVM_C_u64 uint64_t
#define RS_KVM_C_s32 int32_t

#pragma push_macro("errno") /* a field's name, but also a macro of libc */
#undef errno
#define RS_TEXT(name)
#define RS_FIELD(type, show, name, unit, values) RS_KVM_C_##type name;
#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, fields)                      \
	struct rs_kvm_on_##symbol {                                                                \
		fields                                                                             \
	} __attribute__((packed));
#include <ringside/event/kvm.def>
#undef RS_EVENT
#undef RS_FIELD
#undef RS_TEXT
#pragma pop_macro("errno")

#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, fields)                      \
	RS_KVM_ID_##symbol = RS_ID(RS_IDS_KVM, n),
enum {
#include <ringside/event/kvm.def>
};
#undef RS_EVENT

#endif
