/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the stacks of a running guest's tasks. insight/stack.h finds the frames in the sample's
 * pages of the stacks (kvm/sample_wire.h), which were copied while the vCPU did not run. During the
 * search for frames, no other page of a stack or of user memory can be read: a stack that is deeper
 * than the sample's pages ends there.
 */
#ifndef RS_LIVE_GUEST_STACKS_H
#define RS_LIVE_GUEST_STACKS_H

#include "insight/modules.h"
#include "insight/stack.h"
#include "live/vmm_memory.h"

#define RS_SAMPLED_FRAMES_MAX 240u /* each inlined function has a frame */
#define RS_SAMPLED_MODULE_MAX (RS_MODULE_NAME_MAX + 2)

struct rs_sampled_frame {
	const char *function; /* NULL: unknown */
	const char *module;   /* the file's last part; "[kernel]", "[fuse]"; NULL: unknown */
	const char *file;     /* of the source; NULL: unknown */
	uint64_t address;
	uint32_t line;
	bool inlined;  /* inlined into the function of the next frame */
	bool is_guess; /* found by a frame pointer */
};

struct rs_sampled_stack {
	struct rs_sampled_frame frames[RS_SAMPLED_FRAMES_MAX]; /* innermost first */
	uint32_t n;
	uint32_t gap; /* callers of frames[gap - 1], up to frames[gap], are unknown; 0: none are */
	bool is_cut;  /* the stack ends before the outermost frame */
};

/* Writes the name of a module of the kernel's, NULL for the kernel itself, as tables have it.
 * Returns `name`. */
const char *rs_sampled_module(const char *module, char name[RS_SAMPLED_MODULE_MAX]);

struct rs_sampled_stacks;

/* Creates a reader of one kernel's stacks, in the memory of vmm. */
struct rs_error *rs_sampled_stacks_create(struct rs_linux *kernel, const char *symfs,
					  struct rs_vmm_memory *vmm,
					  struct rs_sampled_stacks **out);
void rs_sampled_stacks_destroy(struct rs_sampled_stacks *stacks); /* NULL is ignored */

/* Reads the stack of a sample's task. Strings are valid until the next call. Returns an error only
 * if there is no memory. */
struct rs_error *rs_sampled_stacks_read(struct rs_sampled_stacks *stacks,
					const struct rs_linux_task *task,
					const struct rs_linux_vcpu *vcpu,
					const struct rs_kvm_sample *sample,
					struct rs_sampled_stack *stack);

#endif
