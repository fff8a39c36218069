/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples the vCPUs of one process without stopping them: registers, and the task that the guest's
 * kernel runs, at the ticks of a clock that ticks while a vCPU's thread runs. sample.bpf.c has the
 * BPF programs, sample_wire.h the layouts of their output.
 *
 *	rs_kvm_sampler_open()	loads the programs
 *	rs_kvm_sampler_scan()	reads all vCPUs and the memory slots as they are now
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

/* The vCPUs and memory slots at one moment. The sampler owns the arrays, which are valid until its
 * next scan. */
struct rs_kvm_scan {
	const struct rs_kvm_state *vcpus; /* sorted by number; a vCPU that has gone has `known` 0 */
	uint32_t n_vcpus;
	const struct rs_kvm_slot_memory *slots;
	uint32_t n_slots;
	uint32_t slots_left; /* samples for which there was no room */
	uint64_t generation; /* of the slots */
};

struct rs_kvm_sampler_counts {
	uint64_t ticks;		/* ticks of all clocks */
	uint64_t refused;	/* samples lost because the ring was full */
	uint64_t cost_ns;	/* time in the host's kernel, for all ticks */
	uint64_t gone;		/* ticks of a vCPU that its process has closed */
	uint32_t without_clock; /* vCPUs that a thread has run, but that have no clock */
};

/* Returns whether this host's KVM uses SVM or VMX. */
bool rs_kvm_can_sample(void);

/* Checks the requirements. Returns RS_FAILED if this machine lacks a requirement of all KVM
 * sessions, RS_ABSENT if it lacks SVM and VMX. The message names what is missing. */
struct rs_error *rs_kvm_sampler_check(void);

/* Loads the programs. Returns also the errors of rs_kvm_sampler_check(). */
struct rs_error *rs_kvm_sampler_open(int pid, struct rs_kvm_sampler **sampler);
void rs_kvm_sampler_close(struct rs_kvm_sampler *sampler); /* NULL is ignored */

/* Reads all vCPUs and memory slots. Returns RS_FAILED if the process has no vCPU, or vCPUs of
 * several VMs. */
struct rs_error *rs_kvm_sampler_scan(struct rs_kvm_sampler *sampler, struct rs_kvm_scan *scan);

/* Sets the places in the guest's memory that each sample reads. `current_at` has an address for
 * each vCPU of the last scan, in the scan's order; 0: unknown. */
void rs_kvm_sampler_guest(struct rs_kvm_sampler *sampler, const struct rs_kvm_sample_guest *guest,
			  const uint64_t *current_at);

/* Starts a clock for each vCPU of the last scan whose thread is known and has no clock yet. A clock
 * counts the thread's time on a CPU. Its period varies by up to a sixteenth, and the interval is
 * the mean. */
struct rs_error *rs_kvm_sampler_start(struct rs_kvm_sampler *sampler, uint64_t interval_ns);
void rs_kvm_sampler_stop(struct rs_kvm_sampler *sampler);

/* Passes each sample to consume(), which returns an error to end the poll. `target` of a sample is
 * the vCPU's place in the scan before rs_kvm_sampler_start(). */
struct rs_error *rs_kvm_sampler_poll(struct rs_kvm_sampler *sampler,
				     struct rs_error *(*consume)(void *ctx,
								 const struct rs_kvm_sample *),
				     void *ctx);

void rs_kvm_sampler_count(const struct rs_kvm_sampler *sampler,
			  struct rs_kvm_sampler_counts *counts);

/* Converts to the registers of ringside/registers.h. Unknown registers are 0. */
void rs_kvm_state_regs(const struct rs_kvm_state *state, struct rs_x86_regs *regs);

#endif
