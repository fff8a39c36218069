/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a guest's processors execute, sampled while the guest runs: the task and the function.
 *
 *	BPF, in an interrupt on the vCPU's thread	this process, later
 *	-----------------------------------------	--------------------------------------------
 *	registers of the vCPU
 *	current task: address, pid, tgid, comm	   -->	task_struct at that address: the same task?
 *	rip, cr3				   -->	kernel's symbols; areas, files, functions
 *
 * BPF reads while the vCPU does not run, so its registers and its current task belong together. The
 * rest is read with process_vm_readv() while the guest runs on, and is believed only if it agrees
 * with what BPF read and with itself. A sample that does not is dropped and counted.
 *
 * The guest's kernel is found in its memory. Until it is, or if it is none that is known, a sample
 * has an address and a page table. All of it is the guest's and is not trusted. One thread at a
 * time.
 */
#ifndef RS_LIVE_GUEST_SAMPLER_H
#define RS_LIVE_GUEST_SAMPLER_H

#include "introspect/symbols.h"
#include "kvm/sampler.h"
#include "live/guest_stacks.h"
#include "insight/task.h"

struct rs_guest_sampler;

struct rs_guest_sampler_options {
	int pid;	      /* of the VMM */
	uint64_t interval_ns; /* of a vCPU's time on a CPU */
	const char *symfs;    /* a folder with the guest's files; NULL: none */
};

enum rs_guest_now {
	RS_NOW_RUNS,
	RS_NOW_HALTED,	    /* it waits for an interrupt */
	RS_NOW_NOT_STARTED, /* the guest has not */
	RS_NOW_STOPPED,	    /* its thread does not run it */
	RS_NOW_GONE,
};

struct rs_guest_sample {
	uint64_t at_ns;
	uint32_t vcpu; /* KVM's number */
	bool is_user;
	bool is_nested;	 /* a guest of the guest ran: nothing else is known */
	bool is_handled; /* the host handled an exit, and the guest waited */
	bool has_task;
	int32_t pid, tgid; /* of the task; pid is of the thread */
	char comm[RS_TASK_COMM_BYTES];
	uint64_t rip, cr3;
	const char *module;	       /* a file of the guest's; "[kernel]"; NULL: not known */
	const struct rs_frame *frames; /* innermost inlined first; texts until the next sample */
	uint32_t n_frames;	       /* 0: no function is known */
	/* The frames of all functions, the innermost too; NULL: not known. */
	const struct rs_sampled_stack *stack;
};

struct rs_guest_sampler_counts {
	uint64_t samples;      /* that were passed on */
	uint64_t cut;	       /* of these, whose stacks end before the outermost frame */
	uint64_t changed;      /* dropped: what was read later was of another task */
	uint64_t unread;       /* dropped: memory that was not present, or not RAM */
	uint64_t hidden;       /* dropped: the vCPU's registers are encrypted */
	uint64_t refused;      /* dropped: the ring was full */
	uint64_t cost_ns;      /* in the vCPUs' threads, for all samples */
	uint64_t read_ns;      /* CPU time of this process, for the same */
	uint64_t ticks;	       /* of the clocks */
	uint32_t vcpus_missed; /* that began to run after the start, and are not sampled */
};

/* Opens, and looks for the guest's kernel; without one it works, too. */
struct rs_error *rs_guest_sampler_open(const struct rs_guest_sampler_options *options,
				       struct rs_guest_sampler **sampler);
void rs_guest_sampler_close(struct rs_guest_sampler *sampler); /* NULL is ignored */

struct rs_error *rs_guest_sampler_start(struct rs_guest_sampler *sampler);

/* Passes on the samples since the last call. *ended: the VMM has ended. */
typedef struct rs_error *rs_guest_sample_fn(void *ctx, const struct rs_guest_sample *sample);
struct rs_error *rs_guest_sampler_poll(struct rs_guest_sampler *sampler,
				       rs_guest_sample_fn *consume, void *ctx, bool *ended);
void rs_guest_sampler_stop(struct rs_guest_sampler *sampler);

/* Passes on what each vCPU is at now. The sample of one that runs has nothing but its number. */
typedef struct rs_error *rs_guest_now_fn(void *ctx, enum rs_guest_now now,
					 const struct rs_guest_sample *sample);
struct rs_error *rs_guest_sampler_now(struct rs_guest_sampler *sampler, rs_guest_now_fn *consume,
				      void *ctx);

void rs_guest_sampler_count(const struct rs_guest_sampler *sampler,
			    struct rs_guest_sampler_counts *counts);

/* Returns the kernel's version, or NULL: then *why, if not NULL, is why it was not found. Valid
 * until the next call. */
const char *rs_guest_sampler_kernel(const struct rs_guest_sampler *sampler, const char **why);
/* Returns why tasks are not known although a kernel is; NULL: they are known. */
const char *rs_guest_sampler_no_tasks(const struct rs_guest_sampler *sampler);
uint32_t rs_guest_sampler_vcpus(const struct rs_guest_sampler *sampler);

#endif
