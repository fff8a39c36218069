/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples the vCPUs of one process without stopping them: registers, and the task that the guest's
 * kernel runs, at the ticks of a clock that ticks while a vCPU's thread runs. sample.bpf.c has the
 * BPF programs, sample_wire.h what they write.
 *
 *	rs_kvm_sampler_open()	loads the programs
 *	rs_kvm_sampler_look()	reads all vCPUs and the memory slots as they are now
 *	rs_kvm_sampler_guest()	where the guest's kernel has its tasks, once it is found
 *	rs_kvm_sampler_start()	a clock for each vCPU's thread
 *	rs_kvm_sampler_poll()	what was sampled since the last call
 *
 * All calls come from one thread. A sampler needs CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN (for the
 * types of KVM's modules), or root, and Linux 5.17.
 */
#ifndef RS_KVM_SAMPLER_H
#define RS_KVM_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>
#include <ringside/registers.h>

#include "kvm/sample_wire.h"

#define RS_KVM_SAMPLE_NS_MIN 100000u
#define RS_KVM_SAMPLE_NS_MAX UINT64_C(10000000000)

struct rs_kvm_sampler;

/* What there is at one moment. Arrays are the sampler's, valid until its next look. */
struct rs_kvm_look {
	const struct rs_kvm_state *vcpus; /* by their numbers; `known` is 0 of one that has gone */
	uint32_t n_vcpus;
	const struct rs_kvm_slot_memory *slots;
	uint32_t n_slots;
	uint32_t slots_left; /* for which there was no room */
	uint64_t generation; /* of the slots */
};

struct rs_kvm_sampler_counts {
	uint64_t ticks;		/* of all clocks */
	uint64_t refused;	/* the ring was full */
	uint64_t cost_ns;	/* in the host's kernel, for all ticks */
	uint64_t gone;		/* ticks of a vCPU that its process has closed */
	uint32_t without_clock; /* vCPUs that a thread has run, and that have no clock */
};

/* Returns whether this host's KVM is of the kind whose registers are read: SVM. */
bool rs_kvm_can_sample(void);

/* Returns an error that says what this machine lacks: RS_FAILED for what all of KVM's sessions
 * need, RS_ABSENT for SVM. */
struct rs_error *rs_kvm_sampler_check(void);

/* Returns what rs_kvm_sampler_check() returns, too. */
struct rs_error *rs_kvm_sampler_open(int pid, struct rs_kvm_sampler **sampler);
void rs_kvm_sampler_close(struct rs_kvm_sampler *sampler); /* NULL is ignored */

/* Returns RS_FAILED if the process has no vCPU, or vCPUs of several VMs. */
struct rs_error *rs_kvm_sampler_look(struct rs_kvm_sampler *sampler, struct rs_kvm_look *look);

/* Sets what is read of the guest's memory in each sample. `current_at` has an address for each vCPU
 * of the last look, in its order; 0: not known. */
void rs_kvm_sampler_guest(struct rs_kvm_sampler *sampler, const struct rs_kvm_sample_guest *guest,
			  const uint64_t *current_at);

/* Starts a clock for each vCPU of the last look whose thread is known and has none yet. Its period
 * is of the thread's time on a CPU. */
struct rs_error *rs_kvm_sampler_start(struct rs_kvm_sampler *sampler, uint64_t interval_ns);
void rs_kvm_sampler_stop(struct rs_kvm_sampler *sampler);

/* Passes each sample to consume(), which returns an error to end the poll. `target` of a sample is
 * the vCPU's place in the look before rs_kvm_sampler_start(). */
struct rs_error *rs_kvm_sampler_poll(struct rs_kvm_sampler *sampler,
				     struct rs_error *(*consume)(void *ctx,
								 const struct rs_kvm_sample *),
				     void *ctx);

void rs_kvm_sampler_count(const struct rs_kvm_sampler *sampler,
			  struct rs_kvm_sampler_counts *counts);

/* Converts to the registers of ringside/registers.h; what is not known is 0. */
void rs_kvm_state_regs(const struct rs_kvm_state *state, struct rs_x86_regs *regs);

#endif
