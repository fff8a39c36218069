/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples the execution of a guest, in a replay or while it runs: the task and its stack, once in
 * each period of the guest's time, at a pseudo-random position in it. The machine is stopped while
 * a sample is taken. The guest of a replay cannot detect that; the effect on a running guest is
 * measured.
 *
 * The guest's kernel is searched for while it boots. Samples before it is found, or before it has a
 * task, have no content.
 */
#ifndef RS_REPLAY_SAMPLER_H
#define RS_REPLAY_SAMPLER_H

#include "insight/stack.h"
#include "replay/live.h"
#include "replay/recording.h"

/* A sample: the execution of a processor. All members are valid until the callback returns. */
struct rs_replay_sample {
	uint64_t now_ns;    /* the guest's time; of a running one, the time that it ran */
	uint64_t period_ns; /* time that the sample represents */
	uint32_t vcpu;	    /* from 0 */
	const struct rs_x86_regs *regs;
	const struct rs_linux_task *task; /* NULL: unknown */
	struct rs_stacks *stacks;	  /* to look up the stack */
	/* Empty if the task is unknown, or its name is not the requested one. */
	const struct rs_linux_stack *stack;
};

struct rs_replay_sampling {
	uint64_t interval_ns;
	uint64_t time_ns; /* end after this time; 0: no limit */
	bool slow;	  /* replay: stop only through the GDB channel */
	const char *comm; /* read only the stacks of tasks of this name; NULL: of all */
	/* folder of the guest's programs, for rs_stacks_create(); or NULL */
	const char *symfs;
	const volatile bool *stop; /* ends the sampling like the guest's end */
	struct rs_error *(*sample)(void *ctx, const struct rs_replay_sample *sample);
	void *ctx;
	/* The results: how long the guest has run, and the effect on a running one. */
	uint64_t guest_ns;
	struct rs_distortion distortion;
};

/* Samples a replay of a recording, which must have passed rs_recording_check(). */
struct rs_error *rs_replay_sample(const struct rs_recording *recording,
				  struct rs_replay_sampling *sampling);

/* Samples all processors of a running machine, and leaves it stopped. The samples begin after one
 * second, in which the rate of the guest's clock is measured. */
struct rs_error *rs_live_sample(struct rs_live *live, struct rs_replay_sampling *sampling);

#endif
