/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stacks of a running guest's tasks: the frames are found by insight/stack.h, in the pages of
 * the stacks that a sample has (kvm/sample_wire.h), as they were when the vCPU did not run. While
 * frames are looked for, nothing else of a stack and nothing else of user memory can be read: a
 * stack that is deeper than the sample's pages ends there.
 */
#ifndef RS_LIVE_GUEST_STACKS_H
#define RS_LIVE_GUEST_STACKS_H

#include "insight/stack.h"
#include "live/vmm_memory.h"

#define RS_SAMPLED_FRAMES_MAX 240u /* inlined functions have a frame each */

struct rs_sampled_frame {
	const char *function; /* NULL: not known */
	const char *module;   /* the file's last part; "[kernel]"; NULL: not known */
	const char *file;     /* of the source; NULL: not known */
	uint64_t address;
	uint32_t line;
	bool inlined;  /* into the function of the next frame */
	bool is_guess; /* found by a frame pointer */
};

struct rs_sampled_stack {
	struct rs_sampled_frame frames[RS_SAMPLED_FRAMES_MAX]; /* innermost first */
	uint32_t n;
	bool is_cut; /* it ends before the outermost frame */
};

struct rs_sampled_stacks;

/* Reads one kernel, whose memory is that of vmm. */
struct rs_error *rs_sampled_stacks_create(struct rs_linux *kernel, const char *symfs,
					  struct rs_vmm_memory *vmm,
					  struct rs_sampled_stacks **out);
void rs_sampled_stacks_destroy(struct rs_sampled_stacks *stacks); /* NULL is ignored */

/* Reads the stack of a sample's task. Texts are valid until the next call. Returns an error only if
 * there is no memory. */
struct rs_error *rs_sampled_stacks_read(struct rs_sampled_stacks *stacks,
					const struct rs_linux_task *task,
					const struct rs_linux_vcpu *vcpu,
					const struct rs_kvm_sample *sample,
					struct rs_sampled_stack *stack);

#endif
