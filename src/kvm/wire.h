/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the BPF programs and the session share: the layouts of the mapped arrays, the settings, the
 * payloads of the events. Read by both compilers: no libc, no pointers.
 *
 *	threads: tid -> slot        the index of the thread's slot; 0 is no slot
 *	slots[]                     a thread: whose, its time, its current exit, its row
 *	  count[reason]             where exits are only counted
 *	  row[reason] -> cell       where they are timed, too; rare reasons by the hash `odd`
 *	cells[], hists[]            a reason of a thread: counts, costs, distribution
 *	causes[]                    a cause of a thread, found by the hash `cause_index`
 *	cpus[]                      a CPU: the slot that ran last, what was dropped, its ring
 *
 * Who writes: a slot and all that hangs on it, its own thread, on whatever CPU it runs, with
 * preemption off (but for time.wake, any CPU). A cpus[] entry, that CPU. The session writes before
 * the gate opens and after it is shut and no program runs any more; it reads at any time.
 *
 * A reader takes a cell or a time only when the counter before and the counter after its words
 * agree: the writer steps the one first and the other last.
 */
#ifndef RS_KVM_WIRE_H
#define RS_KVM_WIRE_H

#include <ringside/record.h>

#include "base/hist.h"
#include "event/exit_reason.h"
#include "event/filter.h"
#include "kvm/vcpu_time.h"

/* ---- reasons to places ----------------------------------------------------------------------- */

/* A thread has one of the hardware's spaces: the first that it is seen with; they share a row.
 * Place 0 is no reason's. */
#define RS_KVM_ROW_HARDWARE 192u
#define RS_KVM_ROW_USER	    63u
#define RS_KVM_ROW_NESTED   (1 + RS_KVM_ROW_HARDWARE)
#define RS_KVM_ROW_RETURNS  (1 + 2 * RS_KVM_ROW_HARDWARE)
#define RS_KVM_ROW	    (RS_KVM_ROW_RETURNS + RS_KVM_ROW_USER)

/* Returns the place of a code in a row, where n codes from `first` on have those from `at` on. */
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

/* A reason in one word; never 0, for isa is not. */
static inline uint64_t rs_kvm_what(uint32_t isa, uint32_t nested, uint32_t code)
{
	return code | (uint64_t)(uint8_t)isa << 32 | (uint64_t)(nested & 1) << 40;
}
#define RS_KVM_WHAT_CODE(what)	 ((uint32_t)(what))
#define RS_KVM_WHAT_ISA(what)	 ((uint32_t)((what) >> 32) & 0xff)
#define RS_KVM_WHAT_NESTED(what) ((uint32_t)((what) >> 40) & 1)

/* ---- the arrays ------------------------------------------------------------------------------ */

/* Cells and causes are handed to threads by blocks, so that no two threads write to one line. */
#define RS_KVM_BLOCK 8u

#define RS_KVM_NO_SLOT 0u  /* slots[0] is nobody's, its id can't be any thread's */
#define RS_KVM_NO_CELL ~0u /* an exit is current, but found no place */

struct rs_kvm_extent {
	uint64_t min, max;
};

struct rs_kvm_cell {
	uint64_t what; /* 0: free */
	uint32_t slot;
	uint32_t reserved;
	uint64_t count;
	uint64_t entered; /* stepped before what follows is written */
	struct rs_vcpu_cost sum;
	struct rs_kvm_extent extent[2]; /* by the epoch's parity */
	uint32_t epoch[2];
	uint64_t settled; /* as entered, after it */
	uint64_t spare;
};
_Static_assert(sizeof(struct rs_kvm_cell) == 128, "whole cache lines");

struct rs_kvm_cause_row {
	uint64_t key;
	uint32_t slot; /* 0: free */
	uint32_t kind;
	uint64_t count;
	uint64_t entered; /* stepped before what follows is written */
	uint64_t total_ns;
	uint64_t max_ns;
	uint64_t settled; /* as entered, after it */
	uint64_t spare;
};
_Static_assert(sizeof(struct rs_kvm_cause_row) == 64, "a cache line");

struct rs_kvm_slot {
	uint64_t id; /* tgid << 32 | tid, while the thread lives; ~0: it does not */
	uint32_t used;
	uint32_t ended;
	uint32_t tid, tgid;
	int32_t vcpu; /* -1: not known */
	uint32_t reserved;
	/* The exit that is not counted yet: at the next entry or exit, when it is known whether it
	 * came out of a guest's guest. */
	uint32_t place; /* where exits are only counted: in the row; RS_KVM_ROW: cell says */
	uint32_t cell;	/* 0: none */
	uint32_t isa;	/* the hardware's, of the row */
	uint32_t cause;
	uint64_t what, rip;
	uint64_t cause_key;
	uint32_t cause_kind;
	uint32_t cell_next, cell_end; /* of its block */
	uint32_t cause_next, cause_end;
	/* What the scheduler had accounted when the thread was first seen. */
	uint64_t base_run_ns, base_wait_ns;
	uint32_t base_known;
	uint32_t begun; /* steps of time: begun, */
	struct rs_vcpu_time time;
	uint32_t done; /* and done */
	char comm[16]; /* the process's name, when the thread was first seen */
	union {
		uint64_t count[RS_KVM_ROW];
		uint32_t row[RS_KVM_ROW];
	};
} __attribute__((aligned(4096)));
_Static_assert(sizeof(struct rs_kvm_slot) == 4096, "a power of two is found by a shift");

/* Which slot's thread ran last on a CPU. CPUs beyond share an entry, which costs a lookup. */
#define RS_KVM_LAST 1024u
struct rs_kvm_last {
	uint32_t slot;
	uint32_t sure; /* its thread, or none of ours, runs there now: a switch has told */
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
	uint64_t last_ns; /* no stamp before it */
	uint64_t refused, told, lost_from;
	uint32_t tail;
	uint32_t busy; /* a program is at work: what interrupts it leaves its record below */
	uint32_t pending_begin, pending_end; /* counted on: records that wait for it to finish */
	struct rs_kvm_pulled pulled;
	struct rs_slot pending[RS_KVM_PENDING];
	uint64_t scratch[RS_KVM_SCRATCH]; /* a record in the making */
	/* What a filter finds behind it, and leaves there: event/filter.h. */
	uint64_t who;
	uint64_t rows[RS_FILTER_ROWS][RS_FILTER_ROW];
} __attribute__((aligned(1024)));
_Static_assert(sizeof(struct rs_kvm_cpu) == 1024, "CPUs do not share lines");
_Static_assert(offsetof(struct rs_kvm_cpu, rows) ==
		       offsetof(struct rs_kvm_cpu, scratch) + RS_FILTER_AT * 8,
	       "as a filter has it");

/* The first instruction of the room for a filter loads this, so that it is found; with the one
 * behind it and the exit at its end the room is of RS_FILTER_INSNS. Plain numbers: of an asm(). */
#define RS_KVM_FILTER_MARK 1381189196
#define RS_KVM_FILTER_ROOM 2045
_Static_assert(RS_KVM_FILTER_ROOM + 3 == RS_FILTER_INSNS, "the room is whole");
_Static_assert(RS_KVM_SCRATCH == RS_FILTER_WORDS, "a filter reads the CPU's scratch");

/*
 * A sum that has a place near its CPU. While key[0] is 0 it is its CPU's to take; from then on,
 * until its epoch is over, its CPU's to add to; then the session's, who gives it back by that 0.
 */
struct rs_kvm_near {
	uint64_t key[RS_FILTER_KEY_HEAD + RS_FILTER_KEYS];
	struct rs_filter_sum sum;
	uint64_t spare[2];
};
_Static_assert(sizeof(struct rs_kvm_near) == 128, "two lines");

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
	uint32_t only_count; /* no times, no rings; enum rs_kvm_only */
	uint32_t latency;
	uint32_t causes;
	uint32_t user;
	uint32_t events;
	uint32_t rings;	    /* there are rings: events or than_ns */
	uint32_t ring_size; /* bytes of slots in each */
	uint32_t pid;	    /* 0: any */
	uint32_t listed;    /* only threads that are in `threads` already */
	/* Which argument of sched_switch is the state: 3 since Linux 5.19, 1 in 5.18, else none. */
	uint32_t switch_state;
	uint32_t n_cpus;
	uint32_t spare;
	/* Of the records: which events, by a bit of their number; whether there is a filter, and
	 * whether it asks for the thread. */
	uint64_t wanted;
	uint32_t filter, filter_thread;
	/* What a filter adds up: whether it does, the words of a key, the epochs of its sums; and
	 * how many of them have a place near a CPU: a power of two, or 0. */
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

#pragma push_macro("errno") /* is a field's name, and libc's macro */
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
