/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The producing side of each CPU's ring, in BPF: the protocol of ringside/sbuf.h, the records of
 * ringside/record.h. A full ring refuses records and counts them. When it has room again, a record
 * of the loss comes first. Filler ends a lap that would split a record.
 *
 * The programs on one CPU do not interrupt each other, except the one on sched_wakeup, which fires
 * in interrupts, too. So a program sets `busy` before it takes its stamp. A record that arrives
 * while `busy` is set waits in `pending`, and is written when the program ends. So stamps in a ring
 * never go back, and no slot is claimed twice.
 */
#ifndef RS_KVM_RING_BPF_H
#define RS_KVM_RING_BPF_H

#include "kvm/sums.bpf.h"

#define RS_RING_RECORD_SLOTS_MAX 3u /* of the largest record here; ring_put() checks it */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, 4096); /* the session sets this size, and config.ring_size */
} rings SEC(".maps");

/* A record on the stack, in the ring's layout. */
#define RS_RING_RECORD(symbol)                                                                     \
	union {                                                                                    \
		struct {                                                                           \
			uint64_t tsc, head;                                                        \
			struct rs_kvm_on_##symbol on;                                              \
		} __attribute__((packed));                                                         \
		uint64_t words[RS_RECORD_SLOTS(sizeof(struct rs_kvm_on_##symbol)) *                \
			       RS_SLOT_BYTES / 8];                                                 \
	}

/* Publishes records. Pairs with the consumer's acquire of tail. */
static __always_inline void ring_publish(struct rs_sbuf *ring, uint32_t tail)
{
#if defined(RS_HOST_x86_64)
	RS_ORDER(); /* other CPUs observe stores in order */
	*(volatile uint32_t *)&ring->tail = tail;
#else
	__sync_lock_test_and_set(&ring->tail, tail); /* a full barrier; arm64's JIT: since 5.18 */
#endif
}

/* Writes n words, a constant number. The caller has checked `at` against the ring's end; the check
 * here is for the verifier. */
static __always_inline void ring_write(struct rs_sbuf *ring, uint32_t at, const uint64_t *words,
				       uint32_t n)
{
	uint64_t *to;

	RS_OPAQUE(at);
	if (at > config.ring_size - n * 8)
		return;
	to = (uint64_t *)((uint8_t *)(ring + 1) + at);
#pragma unroll
	for (uint32_t i = 0; i < n; i++)
		to[i] = words[i];
}

static __always_inline void ring_filler(struct rs_sbuf *ring, uint32_t at, uint32_t bytes,
					uint64_t now)
{
	const uint64_t filler[4] = { now, rs_record_head(RS_ID_FILLER, 1), 0, 0 };

#pragma unroll
	for (uint32_t i = 0; i < RS_RING_RECORD_SLOTS_MAX + RS_LOST_SLOTS; i++)
		if (i * RS_SLOT_BYTES < bytes)
			ring_write(ring, at + i * RS_SLOT_BYTES, filler, 4);
}

static __always_inline void ring_lost(struct rs_sbuf *ring, const struct here *here, uint32_t at)
{
	const struct rs_kvm_cpu *cpu = here->cpu;
	const uint64_t words[RS_LOST_SLOTS * RS_SLOT_BYTES / 8] = {
		here->now,
		rs_record_head(RS_ID_LOST, RS_LOST_SLOTS) | (uint64_t)here->number << RS_CPU_SHIFT,
		cpu->refused - cpu->reported, /* struct rs_lost */
		cpu->lost_from,
		here->now,
		RS_LOST_FULL,
	};

	ring_write(ring, at, words, sizeof(words) / 8);
}

static __always_inline void ring_refuse(struct rs_sbuf *ring, const struct here *here)
{
	struct rs_kvm_cpu *cpu = here->cpu;

	if (cpu->refused == cpu->reported)
		cpu->lost_from = here->now;
	cpu->refused++;
	*(volatile uint64_t *)&ring->refused = cpu->refused;
}

/* Queues a record of a program that interrupts another one. Such records have one slot. */
static __always_inline void ring_put_nested(const struct here *here, const uint64_t *words,
					    uint64_t id, uint32_t n)
{
	struct rs_sbuf *ring = bpf_map_lookup_elem(&rings, &here->number);
	struct rs_kvm_cpu *cpu = here->cpu;
	uint32_t at = cpu->pending_end;
	uint64_t *to;

	if (!ring)
		return;
	if (n != RS_SLOT_BYTES / 8 || at - cpu->pending_begin >= RS_KVM_PENDING) {
		ring_refuse(ring, here);
		return;
	}
	to = (uint64_t *)&cpu->pending[at % RS_KVM_PENDING];
	to[0] = here->now;
	to[1] = id;
	to[2] = words[2];
	to[3] = words[3];
	RS_ORDER();
	cpu->pending_end = at + 1;
}

/* Copies the CPU's scratch into the ring. slots: 1 to RS_RING_RECORD_SLOTS_MAX. */
static __always_inline void ring_write_scratch(struct rs_sbuf *ring, const struct rs_kvm_cpu *cpu,
					       uint32_t at, uint32_t slots)
{
	ring_write(ring, at, cpu->scratch, RS_SLOT_BYTES / 8);
	if (slots > 1)
		ring_write(ring, at + RS_SLOT_BYTES, cpu->scratch + 4, RS_SLOT_BYTES / 8);
	if (slots > 2)
		ring_write(ring, at + 2 * RS_SLOT_BYTES, cpu->scratch + 8, RS_SLOT_BYTES / 8);
}

/* Writes the record in the CPU's scratch to the ring, unless the filter rejects it. */
__noinline int ring_put_scratch(uint32_t number, uint32_t slots, uint64_t id, uint64_t now)
{
	struct here here = { .now = now, .number = number };
	struct rs_kvm_cpu *cpu = bpf_map_lookup_elem(&cpus, &number);
	uint32_t bytes = slots * RS_SLOT_BYTES, size = config.ring_size;
	uint32_t head, at, used, loss, filler;
	struct rs_sbuf *ring;

	if (!cpu)
		return 0;
	if (config.filter) {
		uint64_t verdict = filter_verdict(cpu, number, id);

		if (config.adds && verdict & RS_FILTER_ADD) {
			if (sums_add(cpu, number, (uint32_t)(verdict >> RS_FILTER_N), now))
				id |= RS_FILTER_DONE;
			else
				verdict = RS_FILTER_KEEP;
		}
		if (!(verdict & RS_FILTER_KEEP))
			return 0;
	}
	ring = bpf_map_lookup_elem(&rings, &number);
	if (!ring)
		return 0;
	here.cpu = cpu;
	cpu->scratch[0] = now;
	cpu->scratch[1] = rs_record_head(id, slots) | (uint64_t)number << RS_CPU_SHIFT;
	at = cpu->tail;
	/* Pairs with the consumer's release of head: the stores below depend on this load. */
	head = *(volatile uint32_t *)&ring->head;
	used = at >= head ? at - head : at + size - head;
	loss = cpu->refused != cpu->reported ? RS_LOST_SLOTS * RS_SLOT_BYTES : 0;
	filler = bytes + loss > size - at ? size - at : 0;
	if (head >= size || bytes + loss + filler > size - RS_SLOT_BYTES - used) {
		ring_refuse(ring, &here);
		return 0;
	}
	if (filler) {
		ring_filler(ring, at, filler, now);
		at = 0;
	}
	if (loss) {
		ring_lost(ring, &here, at);
		cpu->reported = cpu->refused;
		at += loss;
	}
	ring_write_scratch(ring, cpu, at, slots);
	at += bytes;
	if (at >= size)
		at = 0;
	cpu->tail = at;
	ring_publish(ring, at);
	return 0;
}

/* Writes a record of n words, a constant number of whole slots. */
static __always_inline void ring_put_words(const struct here *here, const uint64_t *words,
					   uint64_t id, uint32_t n)
{
#pragma unroll
	for (uint32_t i = 2; i < n; i++)
		here->cpu->scratch[i] = words[i];
	ring_put_scratch(here->number, n * 8 / RS_SLOT_BYTES, id, here->now);
}

#define ring_put(here, symbol, record)                                                             \
	do {                                                                                       \
		_Static_assert(sizeof(*(record)) <= RS_RING_RECORD_SLOTS_MAX * RS_SLOT_BYTES,      \
			       "filler suffices for records up to this size");                     \
		if (!FILTER_WANTS(symbol))                                                         \
			break;                                                                     \
		if ((here)->nested)                                                                \
			ring_put_nested(here, (record)->words, RS_KVM_ID_##symbol,                 \
					sizeof(*(record)) / 8);                                    \
		else                                                                               \
			ring_put_words(here, (record)->words, RS_KVM_ID_##symbol,                  \
				       sizeof(*(record)) / 8);                                     \
	} while (0)

/* ---- records that interrupt others
 * -------------------------------------------------------------------- */

/* Writes the waiting records up to a stamp. More may arrive during the call. */
__noinline int ring_flush(uint32_t number, uint64_t upto)
{
	struct rs_kvm_cpu *cpu = bpf_map_lookup_elem(&cpus, &number);

	for (uint32_t i = 0; cpu && i < RS_KVM_PENDING; i++) {
		uint32_t at = cpu->pending_begin;
		const uint64_t *words = (const uint64_t *)&cpu->pending[at % RS_KVM_PENDING];

		if (at == *(volatile uint32_t *)&cpu->pending_end || words[0] > upto)
			break;
		cpu->scratch[2] = words[2];
		cpu->scratch[3] = words[3];
		ring_put_scratch(number, 1, words[1], words[0]);
		RS_ORDER();
		cpu->pending_begin = at + 1;
	}
	return 0;
}

static __always_inline bool ring_waiting(const struct rs_kvm_cpu *cpu)
{
	return cpu->pending_begin != *(volatile uint32_t *)&cpu->pending_end;
}

/* Returns the present time, but never less than this CPU's last stamp. */
static __always_inline uint64_t ring_now(struct rs_kvm_cpu *cpu)
{
	uint64_t now = bpf_ktime_get_ns(), last = *(volatile uint64_t *)&cpu->last_ns;

	if (now < last)
		now = last;
	cpu->last_ns = now;
	return now;
}

/* Begins a program: from here on, interrupting programs queue their records. Writes the records
 * that wait since before this program's stamp. */
static __always_inline void ring_begin(struct here *here)
{
	struct rs_kvm_cpu *cpu = here->cpu;

	here->nested = cpu->busy;
	cpu->busy = 1;
	RS_ORDER();
	here->now = ring_now(cpu);
	if (!here->nested && ring_waiting(cpu))
		ring_flush(here->number, here->now);
}

/* Ends a program: writes the records that arrived meanwhile. A record that arrives after the last
 * check, but before `busy` is cleared, waits for the next program on this CPU, or for the
 * session. */
static __always_inline void ring_end(const struct here *here)
{
	struct rs_kvm_cpu *cpu = here->cpu;

	if (here->nested)
		return;
	if (ring_waiting(cpu))
		ring_flush(here->number, ~0ull);
	RS_ORDER();
	cpu->busy = 0;
}

#endif
