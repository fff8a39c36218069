/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers and the stacks of Linux tasks.
 *
 * A task that no vCPU runs is in the kernel, where it called schedule(). Its kernel stack has, from
 * the top:
 *
 *	struct pt_regs		the user's registers at the entry to the kernel
 *	frames of the kernel
 *	struct inactive_task_frame: registers saved by __switch_to_asm; thread.sp points to it
 *
 * Both structs are accepted if they are where the kernel puts them and have the expected content: a
 * return address after the call of __switch_to_asm, the user's segments and flags. The values of
 * the other registers cannot be checked, since memory has no second copy.
 */
#ifndef RS_INSIGHT_STACK_H
#define RS_INSIGHT_STACK_H

#include "insight/programs.h"

/*
 * Reads the registers with which a task will continue in the kernel: rip, rsp, rbp, rbx, r12 to
 * r15, the kernel's segments, the task's page table (the kernel's, if it has none), and the user's
 * fs_base, ds, es, fs and gs. k_gs_base is the user's gs base. gs_base, which belongs to the
 * processor, and the registers that a call does not preserve are unknown, and set to 0. eflags has
 * only the bit that is always set.
 *
 * Returns RS_USAGE if a processor runs the task or the task has ended, RS_DAMAGED if its stack is
 * inconsistent. A kernel without CONFIG_SMP does not record in the task whether it runs; the caller
 * must check rs_linux_current() first.
 */
struct rs_error *rs_linux_task_registers(struct rs_linux *kernel, const struct rs_linux_task *task,
					 struct rs_x86_regs *regs);

/*
 * Reads the registers with which a task will continue in user mode. All of them are known. cr3 is
 * the kernel's of the two page tables that a process has with PTI; it also maps the user's memory.
 * k_gs_base, which belongs to the processor in user mode, is set to 0.
 *
 * Returns RS_USAGE like rs_linux_task_registers(), and for a task that is never in user mode.
 */
struct rs_error *rs_linux_user_registers(struct rs_linux *kernel, const struct rs_linux_task *task,
					 struct rs_x86_regs *regs);

/* ---- stacks --------------------------------------------------------------------------------- */

#define RS_LINUX_FRAMES_MAX 256u
#define RS_STACK_WHY_MAX    192u

/* The source of a frame. */
enum rs_frame_origin {
	RS_FRAME_REGISTERS, /* rip: the next instruction to execute */
	RS_FRAME_ORC,	    /* the ORC table of the kernel or of a module */
	RS_FRAME_CFI,	    /* call frame information of the program */
	RS_FRAME_POINTER,   /* a frame pointer of a program: a guess */
	RS_FRAME_LINK,	    /* a frame pointer of a kernel that keeps them, or of a BPF program */
};

struct rs_linux_frame {
	uint64_t address; /* an instruction's if is_exact, else a return address */
	enum rs_frame_origin origin;
	bool is_exact;
};

/* The frames of a task, innermost first: those of the kernel, then those of user mode. The texts
 * contain the reason if the frames of a part end before the outermost one, and are empty
 * otherwise. */
struct rs_linux_stack {
	struct rs_linux_frame frames[RS_LINUX_FRAMES_MAX];
	uint32_t n_kernel, n; /* number of the kernel's frames, and of all frames */
	char kernel_why[RS_STACK_WHY_MAX], user_why[RS_STACK_WHY_MAX];
};

/* A reader of stacks: it has the kernel's tables, and the programs of each address space. It reads
 * one kernel, which must stay open, at any of the machine's stops. */
struct rs_stacks;

/* Creates a reader. symfs is a folder with the guest's programs, as for rs_programs_create(), or
 * NULL. */
struct rs_error *rs_stacks_create(struct rs_linux *kernel, const char *symfs,
				  struct rs_stacks **out);
void rs_stacks_destroy(struct rs_stacks *stacks); /* NULL is ignored */

/* Reads a task's stack. vcpu is the processor that runs the task; NULL: none does. Returns an error
 * only if there is no memory. If frames cannot be read, the stack contains the reason. */
struct rs_error *rs_stacks_read(struct rs_stacks *stacks, const struct rs_linux_task *task,
				const struct rs_linux_vcpu *vcpu, struct rs_linux_stack *stack);

/* Looks up frame i of the stack that was read last. Stores its functions, innermost first, and
 * returns their number, at most max; 0: it is in none. Texts are valid until the next call. */
uint32_t rs_stacks_lookup(struct rs_stacks *stacks, const struct rs_linux_stack *stack, uint32_t i,
			  struct rs_frame *frames, uint32_t max);

/* Looks up the address of an instruction, in the kernel or in a task's address space, in the same
 * way. Frames of the stack that was read last cannot be looked up any more. */
uint32_t rs_stacks_symbol(struct rs_stacks *stacks, const struct rs_linux_task *task,
			  uint64_t address, struct rs_frame *frames, uint32_t max);

/* ---- a frame's binary and variables ---------------------------------------------------------- */

/* These functions accept a frame i of user mode, of the stack that was read last. */

/* Returns whether the frame is in the binary with this build-id, in hexadecimal. */
bool rs_stacks_is_in(struct rs_stacks *stacks, const struct rs_linux_stack *stack, uint32_t i,
		     const char *build_id);
/* Reads a variable of a function that contains the frame, like rs_variable_read(). Returns NULL, or
 * the reason why there is no value. */
const char *rs_stacks_variable(struct rs_stacks *stacks, const struct rs_linux_stack *stack,
			       uint32_t i, const char *function, const char *name, uint64_t *value);
/* Finds the address of a variable in the frame's binary, by its symbol. */
bool rs_stacks_data(struct rs_stacks *stacks, const struct rs_linux_stack *stack, uint32_t i,
		    const char *name, uint64_t *address);
/* Returns the memory of the stack's task. */
struct rs_memory *rs_stacks_memory(struct rs_stacks *stacks);

#endif
