/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads, their cells and causes, on the BPF side; see wire.h for the arrays. An exit accesses
 * this CPU's entry, the slot of the thread that ran here last, and the cell that the slot's row
 * names. If the slot's id is not the current thread's, one lookup finds the thread's slot. All are
 * array elements, whose addresses are computed in line.
 *
 * A slot's id is cleared when its thread ends, so a CPU that has stored the slot cannot confuse a
 * new thread of the same tid with the old one.
 */
#ifndef RS_KVM_THREAD_BPF_H
#define RS_KVM_THREAD_BPF_H

#include "kvm/kernel.bpf.h"
#include "kvm/kvm.h"
#include "kvm/wire.h"

const volatile struct rs_kvm_config config SEC(".rodata.config");
struct rs_kvm_control control SEC(".data.control");
struct rs_kvm_last last[RS_KVM_LAST] SEC(".data.last");

/* The session sets the sizes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct rs_kvm_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct rs_kvm_cell);
} cells SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct rs_hist);
} hists SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct rs_kvm_cause_row);
} causes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct rs_kvm_cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct rs_kvm_odd);
	__type(value, uint32_t);
} odd SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct rs_kvm_cause_key);
	__type(value, uint32_t);
} cause_index SEC(".maps");

/* Queues of free slots, and of free blocks of cells and of causes. (An atomic counter that returns
 * its value would suffice, but exists only since 5.12.) */
#define RS_QUEUE(name)                                                                             \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_QUEUE);                                                  \
		__uint(max_entries, 1);                                                            \
		__uint(key_size, 0);                                                               \
		__uint(value_size, sizeof(uint32_t));                                              \
	} name SEC(".maps")
RS_QUEUE(free_slots);
RS_QUEUE(free_cells);
RS_QUEUE(free_causes);

/* The current thread. The benchmark defines it otherwise, to simulate several threads with one. */
#ifndef RS_KVM_SELF
#define RS_KVM_SELF() bpf_get_current_pid_tgid()
#endif

/* A program's context. */
struct here {
	struct rs_kvm_cpu *cpu; /* only with rings */
	struct rs_kvm_slot *slot;
	uint64_t now;
	uint32_t at;	 /* the slot's index */
	uint32_t number; /* the CPU's */
	uint32_t nested; /* it interrupts another program on this CPU */
};

/* ---- threads --------------------------------------------------------------------------------- */

/* What thread_find() does for a thread without a slot. */
enum find {
	FIND,	    /* nothing */
	FIND_MAKE,  /* assign a slot */
	FIND_COUNT, /* assign a slot; if none is free, count a dropped exit */
};

/* Initializes a slot for its thread. No other CPU uses the slot yet. */
static __always_inline void slot_begin(struct rs_kvm_slot *slot, uint64_t id)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	slot->tid = (uint32_t)id;
	slot->tgid = id >> 32;
	slot->vcpu = -1;
	BPF_CORE_READ_STR_INTO(&slot->comm, task, group_leader, comm);
	if (config.latency && bpf_core_field_exists(task->sched_info.run_delay)) {
		slot->base_run_ns = BPF_CORE_READ(task, se.sum_exec_runtime);
		slot->base_wait_ns = BPF_CORE_READ(task, sched_info.run_delay);
		slot->base_known = 1;
	}
	slot->id = id;
	RS_ORDER();
	slot->used = 1;
}

/* Selects the count that drop() increments. */
enum drop {
	DROP_THREAD,
	DROP_EXIT,
	DROP_CAUSE,
};

__noinline int drop(uint32_t number, uint32_t what)
{
	struct rs_kvm_cpu *cpu = bpf_map_lookup_elem(&cpus, &number);

	if (!cpu)
		return 0;
	if (what == DROP_THREAD)
		cpu->dropped_threads++;
	else if (what == DROP_EXIT)
		cpu->dropped_exits++;
	else
		cpu->dropped_causes++;
	return 0;
}

static __always_inline struct rs_kvm_last *last_of(uint32_t number)
{
	return &last[number % RS_KVM_LAST];
}

static __always_inline uint32_t thread_make(uint32_t number, uint64_t id, uint32_t find)
{
	struct rs_kvm_slot *slot;
	uint32_t tid = (uint32_t)id, at = RS_KVM_NO_SLOT;

	if (find == FIND || config.listed || (config.pid && config.pid != id >> 32))
		return RS_KVM_NO_SLOT;
	if (bpf_map_pop_elem(&free_slots, &at))
		goto none;
	slot = bpf_map_lookup_elem(&slots, &at);
	if (!slot || bpf_map_update_elem(&threads, &tid, &at, BPF_ANY))
		goto none;
	slot_begin(slot, id);
	return at;
none:
	if (find == FIND_COUNT)
		drop(number, DROP_THREAD);
	return RS_KVM_NO_SLOT;
}

/*
 * Finds or creates the slot of a thread, when another thread ran here last. An entry of `threads`
 * whose slot has another id is left from a thread whose end was not observed.
 *
 * This and the other functions that are not static take only scalars, so that the verifier checks
 * each once, and not on each path of each program.
 */
__noinline uint32_t thread_find(uint32_t number, uint64_t id, uint32_t find)
{
	uint32_t tid = (uint32_t)id;
	const struct rs_kvm_slot *slot;
	uint32_t *found, at = RS_KVM_NO_SLOT;

	found = bpf_map_lookup_elem(&threads, &tid);
	if (found)
		at = *found;
	slot = bpf_map_lookup_elem(&slots, &at);
	if (!slot || slot->id != id)
		at = thread_make(number, id, find);
	last_of(number)->slot = at;
	return at;
}

/* Finds the slot of the current thread. Returns false if it has none. */
static __always_inline bool thread_here(struct here *here, enum find find)
{
	uint64_t id = RS_KVM_SELF();

	here->at = last_of(here->number)->slot;
	here->slot = bpf_map_lookup_elem(&slots, &here->at);
	if (here->slot && here->slot->id == id)
		return true;
	here->at = thread_find(here->number, id, find);
	if (here->at == RS_KVM_NO_SLOT)
		return false;
	here->slot = bpf_map_lookup_elem(&slots, &here->at);
	return here->slot != NULL;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static __always_inline uint32_t block_claim(void *blocks, uint32_t *next, uint32_t *end)
{
	uint32_t block = 0;

	if (*next == *end) {
		if (bpf_map_pop_elem(blocks, &block))
			return 0;
		*next = block * RS_KVM_BLOCK;
		*end = *next + RS_KVM_BLOCK;
	}
	return (*next)++;
}

__noinline uint32_t cell_make(uint32_t at, uint64_t what)
{
	struct rs_kvm_slot *slot = bpf_map_lookup_elem(&slots, &at);
	struct rs_kvm_cell *cell;
	uint32_t n;

	if (!slot)
		return RS_KVM_NO_CELL;
	n = block_claim(&free_cells, &slot->cell_next, &slot->cell_end);
	cell = bpf_map_lookup_elem(&cells, &n);
	if (!n || !cell)
		return RS_KVM_NO_CELL;
	cell->slot = at;
	RS_ORDER();
	cell->what = what;
	return n;
}

/* Finds or creates the cell of a reason without a place in the row. */
__noinline uint32_t cell_odd(uint32_t at, uint64_t what)
{
	struct rs_kvm_odd key = { .what = what, .slot = at };
	const uint32_t *found = bpf_map_lookup_elem(&odd, &key);
	uint32_t n;

	if (found)
		return *found;
	n = cell_make(at, what);
	/* If there is no room for the key, the cell stays unused. */
	if (n != RS_KVM_NO_CELL && bpf_map_update_elem(&odd, &key, &n, BPF_ANY))
		return RS_KVM_NO_CELL;
	return n;
}

/* Returns a reason's place in a slot's row, or RS_KVM_ROW. */
static __always_inline uint32_t place_of(struct rs_kvm_slot *slot, uint32_t isa, uint32_t nested,
					 uint32_t code)
{
	if (isa != RS_ISA_USER && slot->isa != isa) {
		if (slot->isa)
			return RS_KVM_ROW;
		slot->isa = isa;
	}
	return rs_kvm_place(isa, nested, code);
}

static __always_inline uint32_t cell_of(struct rs_kvm_slot *slot, uint32_t at, uint32_t isa,
					uint32_t nested, uint32_t code)
{
	uint64_t what = rs_kvm_what(isa, nested, code);
	uint32_t place = place_of(slot, isa, nested, code), n;

	RS_OPAQUE(place);
	if (place >= RS_KVM_ROW)
		return cell_odd(at, what);
	n = slot->row[place];
	if (n)
		return n;
	n = cell_make(at, what);
	if (n != RS_KVM_NO_CELL)
		slot->row[place] = n;
	return n;
}

/* ---- sessions that only count ---------------------------------------------------------------- */

/* Counts the current exit if it has a rare reason, or found no place. */
__noinline int rare_settle(uint32_t number, uint32_t at)
{
	struct rs_kvm_slot *slot = bpf_map_lookup_elem(&slots, &at);
	struct rs_kvm_cell *cell;

	if (!slot)
		return 0;
	cell = bpf_map_lookup_elem(&cells, &slot->cell);
	if (cell && slot->cell) {
		RS_ORDER();
		cell->count++;
	} else {
		drop(number, DROP_EXIT);
	}
	slot->cell = 0;
	return 0;
}

/* Marks the usual case, whose code is then in line, without a taken jump. Otherwise an exit costs
 * up to a fifth more, depending on the code's layout (make bench). */
#define RS_USUAL(is) __builtin_expect(!!(is), 1)

/* Counts the current exit. The caller then sets the next one. */
static __always_inline void count_settle(struct rs_kvm_slot *slot, uint32_t number, uint32_t at)
{
	uint32_t place = slot->place;

	RS_OPAQUE(place);
	if (RS_USUAL(place < RS_KVM_ROW))
		slot->count[place]++; /* place 0: no current exit */
	else
		rare_settle(number, at);
}

static __always_inline void count_is(struct rs_kvm_slot *slot, uint32_t at, uint32_t isa,
				     uint32_t nested, uint32_t code)
{
	uint32_t place = place_of(slot, isa, nested, code);

	slot->place = place;
	if (!RS_USUAL(place < RS_KVM_ROW))
		slot->cell = cell_odd(at, rs_kvm_what(isa, nested, code));
}

/* Handles an exit completely, except for the kernel's record. */
static __always_inline void count_exit(uint32_t isa, uint32_t code, int32_t vcpu)
{
	uint32_t number, at;
	struct rs_kvm_slot *slot;
	uint64_t id;

	if (!*(volatile uint32_t *)&control.gate)
		return;
	number = bpf_get_smp_processor_id();
	at = last_of(number)->slot;
	id = RS_KVM_SELF();
	slot = bpf_map_lookup_elem(&slots, &at);
	if (!RS_USUAL(slot && slot->id == id)) {
		at = thread_find(number, id, FIND_COUNT);
		slot = bpf_map_lookup_elem(&slots, &at);
		if (!slot || at == RS_KVM_NO_SLOT)
			return;
	}
	if (vcpu >= 0)
		slot->vcpu = vcpu;
	count_settle(slot, number, at);
	count_is(slot, at, isa, 0, code);
}

/* Marks the current exit as one of a nested guest. */
static __always_inline void count_nested(void)
{
	uint32_t number = bpf_get_smp_processor_id(), at = last_of(number)->slot;
	struct rs_kvm_slot *slot = bpf_map_lookup_elem(&slots, &at);
	const struct rs_kvm_cell *cell;

	if (!slot || slot->id != RS_KVM_SELF())
		return; /* the exit was not counted */
	if (slot->place && slot->place < RS_KVM_ROW_NESTED)
		slot->place += RS_KVM_ROW_HARDWARE;
	if (slot->place != RS_KVM_ROW)
		return;
	cell = bpf_map_lookup_elem(&cells, &slot->cell);
	if (cell && slot->cell)
		slot->cell = cell_odd(at, cell->what | rs_kvm_what(0, 1, 0));
}

/* ---- costs of exits -------------------------------------------------------------------------- */

static __always_inline void extent_add(struct rs_kvm_cell *cell, uint64_t ns)
{
	uint32_t epoch = *(volatile uint32_t *)&control.epoch;
	bool odd_one = epoch & 1;
	struct rs_kvm_extent *extent = odd_one ? &cell->extent[1] : &cell->extent[0];
	uint32_t *of = odd_one ? &cell->epoch[1] : &cell->epoch[0];

	if (*of != epoch) {
		extent->min = ns;
		extent->max = ns;
		RS_ORDER();
		*of = epoch;
		return;
	}
	if (ns < extent->min)
		extent->min = ns;
	if (ns > extent->max)
		extent->max = ns;
}

static __always_inline void hist_add(uint32_t n, uint64_t ns)
{
	struct rs_hist *hist = bpf_map_lookup_elem(&hists, &n);
	uint32_t bucket = rs_hist_bucket(ns);

	RS_OPAQUE(bucket);
	if (hist && bucket < RS_HIST_BUCKETS)
		hist->count[bucket]++;
}

static __always_inline void cell_cost(struct rs_kvm_cell *cell, uint32_t n,
				      const struct rs_vcpu_cost *cost)
{
	cell->entered++;
	RS_ORDER();
	cell->sum.total_ns += cost->total_ns;
	cell->sum.kernel_ns += cost->kernel_ns;
	if (cost->kernel_ns != cost->total_ns) {
		cell->sum.user_ns += cost->user_ns;
		cell->sum.poll_ns += cost->poll_ns;
		cell->sum.off_ns += cost->off_ns;
	}
	extent_add(cell, cost->total_ns);
	hist_add(n, cost->total_ns);
	RS_ORDER();
	cell->settled = cell->entered;
}

/* Counts the current exit, if any, with its cost if that is known. */
static __always_inline void exit_settle(struct here *here, const struct rs_vcpu_cost *cost)
{
	uint32_t n = here->slot->cell;
	struct rs_kvm_cell *cell;

	if (!n)
		return;
	here->slot->cell = 0;
	cell = bpf_map_lookup_elem(&cells, &n);
	if (!cell) { /* RS_KVM_NO_CELL */
		drop(here->number, DROP_EXIT);
		return;
	}
	cell->count++;
	if (cost)
		cell_cost(cell, n, cost);
}

/* ---- causes ---------------------------------------------------------------------------------- */

__noinline uint32_t cause_find(uint32_t at, uint32_t kind, uint64_t key)
{
	struct rs_kvm_cause_key by = { .key = key, .slot = at, .kind = kind };
	const uint32_t *found = bpf_map_lookup_elem(&cause_index, &by);
	struct rs_kvm_slot *slot = bpf_map_lookup_elem(&slots, &at);
	struct rs_kvm_cause_row *row;
	uint32_t n;

	if (found)
		return *found;
	if (!slot)
		return 0;
	n = block_claim(&free_causes, &slot->cause_next, &slot->cause_end);
	row = bpf_map_lookup_elem(&causes, &n);
	if (!n || !row || bpf_map_update_elem(&cause_index, &by, &n, BPF_ANY))
		return 0;
	row->key = key;
	row->kind = kind;
	RS_ORDER();
	row->slot = at;
	return n;
}

/* Counts a cause. The exit's cost goes to this cause, unless another cause follows before the
 * entry. It never goes to an interrupt, which is injected before the entry independent of the
 * exit's reason. */
static __always_inline void cause_count(struct here *here, uint32_t kind, uint64_t key)
{
	uint32_t n = cause_find(here->at, kind, key);
	struct rs_kvm_cause_row *row = bpf_map_lookup_elem(&causes, &n);

	if (n && row) {
		RS_ORDER(); /* else one addition, to a pointer selected before its check */
		row->count++;
	} else {
		drop(here->number, DROP_CAUSE);
	}
	if (kind == RS_CAUSE_INTERRUPT)
		return;
	here->slot->cause = n;
	here->slot->cause_kind = kind;
	here->slot->cause_key = key;
}

static __always_inline void cause_forget(struct rs_kvm_slot *slot)
{
	slot->cause = 0;
	slot->cause_kind = RS_CAUSE_NONE;
	slot->cause_key = 0;
}

static __always_inline void cause_settle(struct rs_kvm_slot *slot, const struct rs_vcpu_cost *cost)
{
	uint32_t n = slot->cause;
	struct rs_kvm_cause_row *row;

	if (!n)
		return;
	row = bpf_map_lookup_elem(&causes, &n);
	if (!row)
		return;
	row->entered++;
	RS_ORDER();
	row->total_ns += cost->total_ns;
	if (cost->total_ns > row->max_ns)
		row->max_ns = cost->total_ns;
	RS_ORDER();
	row->settled = row->entered;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Encloses each change of a slot's time. */
#define TIME_STEP(slot, step)                                                                      \
	do {                                                                                       \
		(slot)->begun++;                                                                   \
		RS_ORDER();                                                                        \
		step;                                                                              \
		RS_ORDER();                                                                        \
		(slot)->done = (slot)->begun;                                                      \
	} while (0)

#endif
