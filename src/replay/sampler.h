/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples what the guest of a recording executes: the task and its stack, once in each period of
 * the guest's time, at a pseudo-random place in it. The machine is stopped while a sample is
 * taken, which the guest cannot detect.
 *
 * The guest's kernel is looked for while it boots. Of samples before it is found, and where it has
 * no task yet, nothing is known but that they are.
 */
#ifndef RS_REPLAY_SAMPLER_H
#define RS_REPLAY_SAMPLER_H

#include "insight/stack.h"
#include "replay/recording.h"

struct rs_replay_sampling {
	uint64_t interval_ns;
	const char *symfs;	   /* the guest's programs, as of rs_stacks_create(); or NULL */
	const volatile bool *stop; /* ends it, as the end of the recording does */
	/* Called for each sample. task is NULL if it is not known; there is no stack then. */
	struct rs_error *(*sample)(void *ctx, const struct rs_linux_task *task,
				   struct rs_stacks *stacks, const struct rs_linux_stack *stack);
	void *ctx;
	uint64_t guest_ns; /* the result: how long the guest has run */
};

/* Replays a recording, which has passed rs_recording_check(). */
struct rs_error *rs_replay_sample(const struct rs_recording *recording,
				  struct rs_replay_sampling *sampling);

#endif
