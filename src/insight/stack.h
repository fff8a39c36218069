/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers and the stacks of Linux tasks.
 *
 * A task that no vCPU runs is in the kernel, where it called schedule(). Its kernel stack has, from
 * the top:
 *
 *	struct pt_regs		the user's registers, as the kernel was entered
 *	frames of the kernel
 *	struct inactive_task_frame: what __switch_to_asm saved; thread.sp points to it
 *
 * Both structs are believed if they lie where the kernel puts them and hold what it puts there: a
 * return address behind the call of __switch_to_asm, the user's segments and flags. Nothing in
 * memory repeats the values of the other registers.
 */
#ifndef RS_INSIGHT_STACK_H
#define RS_INSIGHT_STACK_H

#include "insight/programs.h"

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

/* ---- stacks --------------------------------------------------------------------------------- */

#define RS_LINUX_FRAMES_MAX 256u
#define RS_STACK_WHY_MAX    192u

/* How a frame was found. */
enum rs_frame_origin {
	RS_FRAME_REGISTERS, /* it is what executes, or executes next */
	RS_FRAME_ORC,	    /* by the kernel's own table of its frames */
	RS_FRAME_CFI,	    /* by call frame information of the program */
	RS_FRAME_POINTER,   /* by a frame pointer: a guess */
};

struct rs_linux_frame {
	uint64_t address; /* of an instruction if is_exact, else where a call returns to */
	enum rs_frame_origin origin;
	bool is_exact;
};

/* The frames of a task, innermost first: those of the kernel, then those of user mode. A text says
 * why the frames of either end before the outermost one, and is empty if they do not. */
struct rs_linux_stack {
	struct rs_linux_frame frames[RS_LINUX_FRAMES_MAX];
	uint32_t n_kernel, n; /* how many are of the kernel, and how many there are */
	char kernel_why[RS_STACK_WHY_MAX], user_why[RS_STACK_WHY_MAX];
};

/* What stacks are read with: the kernel's tables, and the programs of each address space. Reads one
 * kernel, which has to stay open, at any of its stops. */
struct rs_stacks;

/* symfs is a folder with the guest's programs, as of rs_programs_create(), or NULL. */
struct rs_error *rs_stacks_create(struct rs_linux *kernel, const char *symfs,
				  struct rs_stacks **out);
void rs_stacks_destroy(struct rs_stacks *stacks); /* NULL is ignored */

/* Reads a task's stack. vcpu is the processor that runs the task; NULL: none does. Returns an error
 * only if there is no memory; what cannot be read is said in the stack. */
struct rs_error *rs_stacks_read(struct rs_stacks *stacks, const struct rs_linux_task *task,
				const struct rs_linux_vcpu *vcpu, struct rs_linux_stack *stack);

/* Looks up frame i of the stack that was read last. Returns how many functions it is in, innermost
 * inlined first, at most max; 0: it is in none. Texts are valid until the next call. */
uint32_t rs_stacks_lookup(struct rs_stacks *stacks, const struct rs_linux_stack *stack, uint32_t i,
			  struct rs_frame *frames, uint32_t max);

#endif
