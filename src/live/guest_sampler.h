/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples what a guest's processors execute while the guest runs: the task and the function.
 *
 *	BPF, in an interrupt on the vCPU's thread	this process, later
 *	-----------------------------------------	--------------------------------------------
 *	registers of the vCPU
 *	current task: address, pid, tgid, comm	   -->	task_struct at that address: the same task?
 *	rip, cr3				   -->	kernel's symbols; areas, files, functions
 *
 * BPF reads while the vCPU does not run, so its registers and its current task belong together. The
 * rest is read with process_vm_readv() while the guest continues to run, and is accepted only if it
 * is consistent, and agrees with the data that BPF read. Other samples are dropped and counted.
 *
 * The guest's kernel is found in its memory. Until then, or if the kernel is not of a known kind, a
 * sample has an address and a page table. All data comes from the guest, and is checked. One thread
 * at a time.
 */
#ifndef RS_LIVE_GUEST_SAMPLER_H
#define RS_LIVE_GUEST_SAMPLER_H

#include "introspect/symbols.h"
#include "kvm/sampler.h"
#include "live/guest_stacks.h"
#include "insight/task.h"

struct rs_guest_sampler;

struct rs_guest_sampler_options {
	int pid;	      /* the VMM's process */
	uint64_t interval_ns; /* the period, of a vCPU's time on a CPU */
	const char *symfs;    /* a folder with the guest's files; NULL: none */
};

enum rs_guest_now {
	RS_NOW_RUNS,
	RS_NOW_HALTED,	    /* the vCPU waits for an interrupt */
	RS_NOW_NOT_STARTED, /* the guest has not started it */
	RS_NOW_STOPPED,	    /* its thread does not run it */
	RS_NOW_GONE,
};

struct rs_guest_sample {
	uint64_t at_ns;
	uint32_t vcpu; /* KVM's number */
	bool is_user;
	bool is_nested;	 /* a nested guest ran: all else is unknown */
	bool is_handled; /* the host handled an exit, and the guest waited */
	/* The same, and KVM had no copy of the address (VMX): neither it nor the mode is known. */
	bool is_unplaced;
	bool has_task;
	int32_t pid, tgid; /* ids of the task; pid is the thread's */
	char comm[RS_TASK_COMM_BYTES];
	uint64_t rip, cr3; /* cr3 0: unknown */
	const char *module; /* a file of the guest; "[kernel]"; a module, "[fuse]"; NULL: unknown */
	const struct rs_frame *frames; /* innermost inlined first; valid until the next sample */
	uint32_t n_frames;	       /* 0: the function is unknown */
	/* The frames of all functions, also the innermost one; NULL: unknown. */
	const struct rs_sampled_stack *stack;
};

struct rs_guest_sampler_counts {
	uint64_t samples;      /* samples that were passed on */
	uint64_t cut;	       /* of these, samples whose stacks lack frames */
	uint64_t changed;      /* dropped: the data that was read later was of another task */
	uint64_t unread;       /* dropped: memory that was not present, or not RAM */
	uint64_t hidden;       /* dropped: the vCPU's registers are encrypted */
	uint64_t refused;      /* dropped: the ring was full */
	uint64_t cost_ns;      /* time in the vCPUs' threads, for all samples */
	uint64_t read_ns;      /* CPU time of this process, for the same */
	uint64_t ticks;	       /* ticks of the clocks */
	uint32_t vcpus_missed; /* vCPUs that began to run after the start, and are not sampled */
};

/* Opens a sampler, and searches for the guest's kernel. Without a kernel, samples have no task. */
struct rs_error *rs_guest_sampler_open(const struct rs_guest_sampler_options *options,
				       struct rs_guest_sampler **sampler);
void rs_guest_sampler_close(struct rs_guest_sampler *sampler); /* NULL is ignored */

struct rs_error *rs_guest_sampler_start(struct rs_guest_sampler *sampler);

/* Passes on the samples since the last call. Sets *ended if the VMM has ended. */
typedef struct rs_error *rs_guest_sample_fn(void *ctx, const struct rs_guest_sample *sample);
struct rs_error *rs_guest_sampler_poll(struct rs_guest_sampler *sampler,
				       rs_guest_sample_fn *consume, void *ctx, bool *ended);
void rs_guest_sampler_stop(struct rs_guest_sampler *sampler);

/* Passes on the present state of each vCPU. The sample of a running vCPU has only its number. */
typedef struct rs_error *rs_guest_now_fn(void *ctx, enum rs_guest_now now,
					 const struct rs_guest_sample *sample);
struct rs_error *rs_guest_sampler_now(struct rs_guest_sampler *sampler, rs_guest_now_fn *consume,
				      void *ctx);

void rs_guest_sampler_count(const struct rs_guest_sampler *sampler,
			    struct rs_guest_sampler_counts *counts);

/* Returns the kernel's version, or NULL. Then *why, if not NULL, is the reason why no kernel was
 * found. The strings are valid until the next call. */
const char *rs_guest_sampler_kernel(const struct rs_guest_sampler *sampler, const char **why);
/* Returns the reason why tasks are unknown although a kernel was found, or NULL if they are
 * known. */
const char *rs_guest_sampler_no_tasks(const struct rs_guest_sampler *sampler);
uint32_t rs_guest_sampler_vcpus(const struct rs_guest_sampler *sampler);

#endif
