/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames of the kernel on a task's stack, by the kernel's own table (orc.h): through
 * interrupts, exceptions and the stacks that the kernel has for them, up to user mode.
 *
 * What is read has to lie on a stack of the task or of its processor. Each step goes up on the
 * stack or to one that was not visited; there are at most RS_LINUX_FRAMES_MAX steps. Registers on a
 * stack are believed if their segments and flags are the kernel's or those of user mode.
 */
#ifndef RS_INSIGHT_STACK_KERNEL_H
#define RS_INSIGHT_STACK_KERNEL_H

#include "insight/orc.h"
#include "insight/stack.h"

/* Where a task's kernel stack is: [from, to). Returns RS_USAGE if it has none any more. */
struct rs_error *rs_linux_task_stack(struct rs_linux *kernel, const struct rs_linux_task *task,
				     uint64_t *from, uint64_t *to);

/* Reads a struct pt_regs. Returns RS_DAMAGED if it is none of the kernel's or of user mode. Only
 * what the processor pushes is read if `partial`; the other registers stay as they are. */
struct rs_error *rs_linux_pt_regs_read(struct rs_linux *kernel, uint64_t gva, bool partial,
				       struct rs_x86_regs *regs);
/* Returns how far the part that the processor pushes is from the beginning. */
uint32_t rs_linux_pt_regs_partial(const struct rs_linux *kernel);

/* Sets the frames of the kernel, from registers of the kernel's, and why they end. *user becomes
 * the registers of user mode that they lead to; its rip is 0 if they lead to none. vcpu is the
 * processor that runs the task, or NULL. */
void rs_linux_kernel_frames(struct rs_linux *kernel, const struct rs_orc *orc,
			    const struct rs_linux_task *task, const struct rs_linux_vcpu *vcpu,
			    const struct rs_x86_regs *from, struct rs_linux_stack *stack,
			    struct rs_x86_regs *user);

#endif
