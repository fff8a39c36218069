/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A filter of the probe language (event/filter.h), between a record and its ring: rejected records
 * take no room in the ring.
 *
 * filter_code() consists of a mark and of placeholder instructions: the session overwrites them
 * with the filter's instructions before the programs are loaded (filter.c). So a filter works on
 * each kernel on which these programs work, and needs no call of another program.
 */
#ifndef RS_KVM_FILTER_BPF_H
#define RS_KVM_FILTER_BPF_H

#include "kvm/thread.bpf.h"

/* Whether any record of a kind can be needed. The value is constant for the verifier, which removes
 * the dead code. */
#define FILTER_WANTS(symbol) (config.wanted >> (RS_KVM_ID_##symbol & 63) & 1)
_Static_assert((RS_KVM_ID_kvm_thread_end & RS_ID_N_MAX) < 64, "events have a bit each");

#define FILTER_TEXT(x)	 #x
#define FILTER_NUMBER(x) FILTER_TEXT(x)

#define FILTER_ROOM FILTER_NUMBER(RS_KVM_FILTER_ROOM) "\n"
#define FILTER_MARK FILTER_NUMBER(RS_KVM_FILTER_MARK) "\n"

/* Room for RS_FILTER_INSNS instructions. Unchanged, it accepts each record, and jumps over its
 * placeholders. The arguments have names because the kernel rejects BTF of arguments without
 * names. */
static __attribute__((noinline)) uint64_t filter_code(const uint64_t *words, uint64_t id,
						      uint64_t cpu, uint64_t who)
{
	register uint64_t verdict asm("r0");

	/* clang-format off */
	asm volatile("r0 = " FILTER_MARK
		     "if r0 != 0 goto +" FILTER_ROOM
		     ".rept " FILTER_ROOM
		     "r0 = r0\n"
		     ".endr\n"
		     : "=r"(verdict)
		     : "r"(words), "r"(id), "r"(cpu), "r"(who));
	/* clang-format on */
	return verdict;
}

/* Returns the vCPU and the process of the scratch's record, in the form of the filter's
 * argument. */
static __always_inline uint64_t filter_owner(struct rs_kvm_cpu *cpu)
{
	uint32_t tid = (uint32_t)cpu->scratch[RS_FILTER_HEAD];
	const uint32_t *at;
	const struct rs_kvm_slot *slot;

	if (!config.filter_thread)
		return 0;
	at = bpf_map_lookup_elem(&threads, &tid);
	slot = at ? bpf_map_lookup_elem(&slots, at) : NULL;
	cpu->who = 0;
	if (!slot)
		return (uint32_t)-1;
	cpu->who = *at;
	return (uint32_t)slot->vcpu | (uint64_t)slot->tgid << 32;
}

/* Runs the filter on the record in the CPU's scratch, and fills in its rows. Returns the
 * verdict. */
static __always_inline uint64_t filter_verdict(struct rs_kvm_cpu *cpu, uint32_t number, uint64_t id)
{
	return filter_code(cpu->scratch, id & RS_ID_MASK, number, filter_owner(cpu));
}

#endif
