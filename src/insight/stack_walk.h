/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A walk from frame to frame of the kernel's, for the files that take a step of it: by the kernel's
 * tables (stack_kernel.c), or by frame pointers (stack_pointers.c).
 */
#ifndef RS_INSIGHT_STACK_WALK_H
#define RS_INSIGHT_STACK_WALK_H

#include "insight/orc.h"
#include "insight/stack.h"

#define RS_WALK_STACKS_MAX 12u
#define RS_WALK_WORD	   8u
#define RS_WALK_BP	   6u /* in rs_x86_regs.gpr */
#define RS_WALK_SP	   7u

struct rs_walk_range {
	uint64_t from, to;
};

struct rs_walk {
	struct rs_linux *kernel;
	const struct rs_orc *orc; /* NULL: the kernel has frame pointers */
	struct rs_linux_code code;
	const struct rs_linux_task *task;
	struct rs_linux_stack *stack;
	struct rs_walk_range stacks[RS_WALK_STACKS_MAX]; /* the task's is the first */
	uint32_t n_stacks, on, visited;			 /* bits of stacks */
	uint64_t ip, sp, bp;
	bool is_exact;
	enum rs_frame_origin origin; /* of the frame */
	struct rs_x86_regs regs;     /* of the frame, if has_regs: rsp and rip apart */
	bool has_regs;
	uint32_t regs_on; /* the stack of the last saved registers */
};

/* Ends the walk, with why: about the address of the frame. Returns false. */
bool rs_walk_end_at(struct rs_walk *w, const char *why);
/* Reads a word of one of the stacks. */
bool rs_walk_load(struct rs_walk *w, uint64_t address, uint64_t *value);
/* Goes to what saved registers on a stack are of; of which only those that the processor pushes are
 * there, if `partial`. Returns false if there are none. */
bool rs_walk_registers(struct rs_walk *w, uint64_t at, bool partial);
/* Returns whether the instruction before an address is a call. */
bool rs_walk_is_behind_call(struct rs_walk *w, uint64_t address);

/* Goes to the caller, or to what was interrupted, by frame pointers. Returns false at the outermost
 * frame, or with why if the caller is not known. */
bool rs_walk_pointer_step(struct rs_walk *w);
/* The same for code of a BPF program, in any kernel: it always has a frame. */
bool rs_walk_bpf_step(struct rs_walk *w);
/* Returns whether the kernel's code keeps frame pointers (CONFIG_FRAME_POINTER): its functions
 * begin with those instructions. */
bool rs_linux_has_frame_pointers(struct rs_linux *kernel);

#endif
