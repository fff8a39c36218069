// SPDX-License-Identifier: BSD-2-Clause
/*
 * The session's own programs and their rivals, each in a loop within one run. One thread stands for
 * one vCPU, or for two that alternate on a CPU.
 *
 *	kvmexit	  scheme of bcc's tools/kvmexit.py: counts of a thread in a per-CPU hash, those of
 *		  the thread that ran last in a per-CPU array, moved between the two by copying
 *	hash	  scheme of kvmexits.bt of the BPF book: stamp and reason put into a hash at the
 *		  exit, found there and deleted at the entry; counts, sum and log2 slots by thread
 *		  and reason in another hash. kvmexits.bt has two hashes for the stamp and the
 *		  reason, so two updates and two deletes: this is its better half
 *	kept	  the same without the delete: the stamp stays, and the next exit replaces it
 *	keyed	  `@[args->exit_reason] = count()` as bpftrace 0.17 compiles it: the count is looked
 *		  up in a per-CPU hash, and what is one more put there
 */
#include <stdint.h>

uint64_t bench_self; /* which of this thread's vCPUs */

#define RS_KVM_BODIES
#define RS_KVM_SELF() (bpf_get_current_pid_tgid() + *(volatile uint64_t *)&bench_self)
#include "kvm/exits.bpf.c"

enum { BPF_MAP_TYPE_PERCPU_HASH = 5 };

#define REASONS 76
#define THREADS 1024

struct exit_counts {
	uint64_t of[REASONS];
};

struct last_hit {
	uint64_t id;
	struct exit_counts counts;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct exit_counts);
} zeros SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct last_hit);
} last_hits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, THREADS);
	__type(key, uint64_t);
	__type(value, struct exit_counts);
} kept SEC(".maps");

static __always_inline struct exit_counts *kept_of(uint64_t id)
{
	struct exit_counts *counts = bpf_map_lookup_elem(&kept, &id);
	uint32_t zero = 0;

	if (counts)
		return counts;
	counts = bpf_map_lookup_elem(&zeros, &zero);
	if (!counts || bpf_map_update_elem(&kept, &id, counts, BPF_ANY))
		return NULL;
	return bpf_map_lookup_elem(&kept, &id);
}

static __always_inline void kvmexit(uint32_t reason)
{
	uint64_t id = RS_KVM_SELF();
	struct exit_counts *counts;
	struct last_hit *last;
	uint32_t zero = 0;

	if (reason >= REASONS)
		return;
	last = bpf_map_lookup_elem(&last_hits, &zero);
	if (!last)
		return;
	if (last->id == id) {
		last->counts.of[reason]++;
		return;
	}
	counts = kept_of(id);
	if (!counts)
		return;
	counts->of[reason]++;
	if (last->id)
		bpf_map_update_elem(&kept, &last->id, &last->counts, BPF_ANY);
	last->id = id;
	bpf_probe_read_kernel(&last->counts, sizeof(*counts), counts);
}

struct begun {
	uint64_t at;
	uint32_t reason, zero;
};

struct by_reason {
	uint64_t id;
	uint32_t reason, zero;
};

struct stat {
	uint64_t count, total, slots[64];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, THREADS);
	__type(key, uint64_t);
	__type(value, struct begun);
} begun SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, THREADS);
	__type(key, struct by_reason);
	__type(value, struct stat);
} stats SEC(".maps");

static struct stat no_stat;

static __always_inline void hash_exit(uint32_t reason)
{
	const struct begun now = { .at = bpf_ktime_get_ns(), .reason = reason };
	uint64_t id = RS_KVM_SELF();

	bpf_map_update_elem(&begun, &id, &now, BPF_ANY);
}

static __always_inline void hash_entry(bool forget)
{
	uint64_t id = RS_KVM_SELF(), ns;
	const struct begun *from = bpf_map_lookup_elem(&begun, &id);
	struct by_reason key = { .id = id };
	struct stat *stat;

	if (!from)
		return;
	ns = bpf_ktime_get_ns() - from->at;
	key.reason = from->reason;
	if (forget)
		bpf_map_delete_elem(&begun, &id);
	stat = bpf_map_lookup_elem(&stats, &key);
	if (!stat) {
		bpf_map_update_elem(&stats, &key, &no_stat, BPF_ANY);
		stat = bpf_map_lookup_elem(&stats, &key);
		if (!stat)
			return;
	}
	stat->count++;
	stat->total += ns;
	stat->slots[rs_hist_log2(ns | 1) & 63]++;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 4096);
	__type(key, uint64_t);
	__type(value, uint64_t);
} keyed SEC(".maps");

static __always_inline void keyed_exit(uint64_t reason)
{
	const uint64_t *found = bpf_map_lookup_elem(&keyed, &reason);
	uint64_t count = (found ? *found : 0) + 1;

	bpf_map_update_elem(&keyed, &reason, &count, BPF_ANY);
}

/* ---- the loops ------------------------------------------------------------------------------- */

static __always_inline void ours_exit(void)
{
	const struct seen_exit e = { .isa = RS_ISA_SVM, .code = 0x40, .vcpu = 1 };
	const struct trace_event_raw_kvm_exit r = { 0 }; /* without events, this is not read */

	on_exit(&e, &r);
}

static __always_inline void turn(uint32_t i)
{
	bench_self = i & 1;
}

/* A program that runs `what` as often as its first argument specifies. */
#define LOOP(name, what)                                                                           \
	static long each_##name(uint32_t i, void *ctx)                                             \
	{                                                                                          \
		(void)ctx, (void)i;                                                                \
		what;                                                                              \
		return 0;                                                                          \
	}                                                                                          \
	SEC("raw_tp/" #name) int name(uint64_t *args)                                              \
	{                                                                                          \
		bench_self = 0;                                                                    \
		bpf_loop((uint32_t)args[0], each_##name, NULL, 0);                                 \
		return 0;                                                                          \
	}

LOOP(loop_empty, )
LOOP(loop_count, ours_exit())
LOOP(loop_count_turns, turn(i); ours_exit())
LOOP(loop_kvmexit, kvmexit(0x40))
LOOP(loop_kvmexit_turns, turn(i); kvmexit(0x40))
LOOP(loop_latency, ours_exit(); on_entry(1, 0))
LOOP(loop_latency_turns, turn(i / 2); ours_exit(); on_entry(1, 0))
LOOP(loop_hash, hash_exit(0x40); hash_entry(true))
LOOP(loop_kept, hash_exit(0x40); hash_entry(false))
LOOP(loop_keyed, keyed_exit(0x40))
