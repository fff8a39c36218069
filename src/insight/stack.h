/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of a Linux task that no vCPU runs.
 *
 * Such a task is in the kernel, where it called schedule(). Its kernel stack has, from the top:
 *
 *	struct pt_regs		the user's registers, as the kernel was entered
 *	frames of the kernel
 *	struct inactive_task_frame
				what __switch_to_asm saved; thread.sp points to it
 *
 * Both structs are believed if they lie where the kernel puts them and hold what it puts there: a
 * return address behind the call of __switch_to_asm, the user's segments and flags. Nothing in
 * memory repeats the values of the other registers.
 */
#ifndef RS_INSIGHT_STACK_H
#define RS_INSIGHT_STACK_H

#include "insight/task.h"

/*
 * Reads the registers with which a task's execution in the kernel continues: rip, rsp, rbp, rbx,
 * r12 to r15, the segments of the kernel, the task's page table (the kernel's, if it has none), and
 * the user's fs_base, ds, es, fs and gs. k_gs_base is the user's gs. gs_base, which is the
 * processor's, and the registers that a call does not preserve are not known and are 0. eflags has
 * only the bit that is always set.
 *
 * Returns RS_USAGE if a processor runs the task or the task has ended, RS_DAMAGED if its stack is
 * not believed. A kernel without CONFIG_SMP does not say which task runs: there the caller has to
 * ask rs_linux_current() first.
 */
struct rs_error *rs_linux_task_registers(struct rs_linux *kernel, const struct rs_linux_task *task,
					 struct rs_x86_regs *regs);

/*
 * Reads the registers with which a task's execution in user mode continues. All of them are known.
 * cr3 is the kernel's table of the two that PTI gives a process; it maps the user's memory too.
 * k_gs_base, which is the processor's then, is 0.
 *
 * Returns RS_USAGE as rs_linux_task_registers() does, and for a task that is never in user mode.
 */
struct rs_error *rs_linux_user_registers(struct rs_linux *kernel, const struct rs_linux_task *task,
					 struct rs_x86_regs *regs);

#endif
