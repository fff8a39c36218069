/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the kernel's frames on a task's stack with the ORC tables of the kernel and its modules
 * (orc.h), or with frame pointers (stack_walk.h): through interrupts, exceptions and their separate
 * stacks, up to user mode.
 *
 * All reads must be on a stack of the task or of its processor. Each step goes up the stack, or to
 * a stack that was not visited, so there are at most RS_LINUX_FRAMES_MAX steps. Registers on a
 * stack are accepted if their segments and flags are those of the kernel or of user mode.
 */
#ifndef RS_INSIGHT_STACK_KERNEL_H
#define RS_INSIGHT_STACK_KERNEL_H

#include "insight/orc.h"
#include "insight/stack.h"

/* Finds a task's kernel stack, [from, to). Returns RS_USAGE if the task has no stack any more. */
struct rs_error *rs_linux_task_stack(struct rs_linux *kernel, const struct rs_linux_task *task,
				     uint64_t *from, uint64_t *to);

/* Reads a struct pt_regs. Returns RS_DAMAGED if it is neither of the kernel nor of user mode. If
 * `partial` is set, reads only the part that the processor pushes, and leaves the other registers
 * unchanged. */
struct rs_error *rs_linux_pt_regs_read(struct rs_linux *kernel, uint64_t gva, bool partial,
				       struct rs_x86_regs *regs);
/* Returns whether the registers at the top of a stack that ends at `to` are at `gva`. */
bool rs_linux_pt_regs_is_top(const struct rs_linux *kernel, uint64_t to, uint64_t gva);
/* Returns the offset of the part that the processor pushes. */
uint32_t rs_linux_pt_regs_partial(const struct rs_linux *kernel);

/* Reads the registers that a task saved when it entered the kernel, in which a processor runs it
 * now. Errors are those of rs_linux_user_registers(). */
struct rs_error *rs_linux_entry_registers(struct rs_linux *kernel, const struct rs_linux_task *task,
					  struct rs_x86_regs *regs);

/* Returns whether registers of user mode that a processor has, or saved on a stack of its own, may
 * be this task's: whether the processor has the task's page table, as far as both are known. */
bool rs_linux_is_in_task(struct rs_linux *kernel, const struct rs_linux_task *task,
			 const struct rs_x86_regs *regs);

/* Sets the kernel's frames, starting from registers in the kernel, and the reason for their end. If
 * orc is NULL, they are found with frame pointers. Sets *user to the registers of user mode that
 * the frames lead to; its rip is 0 if there are none. vcpu is the processor that runs the task, or
 * NULL. */
void rs_linux_kernel_frames(struct rs_linux *kernel, const struct rs_orc *orc,
			    const struct rs_linux_task *task, const struct rs_linux_vcpu *vcpu,
			    const struct rs_x86_regs *from, struct rs_linux_stack *stack,
			    struct rs_x86_regs *user);

#endif
