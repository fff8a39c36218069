/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the stacks of tasks: the kernel's frames, then those of user mode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insight/stack_kernel.h"
#include "introspect/module.h"
#include "introspect/unwind.h"

struct rs_stacks {
	struct rs_linux *kernel;
	struct rs_orc *orc; /* NULL: none */
	struct rs_error *no_orc;
	struct rs_programs *programs;
	struct rs_symbols *set;	 /* of the last stack's task; NULL: none */
	struct rs_memory memory; /* of that task */
	struct rs_ksym sym;	 /* of the last look-up */
	struct rs_unwound unwound;
};

struct rs_error *rs_stacks_create(struct rs_linux *kernel, const char *symfs,
				  struct rs_stacks **out)
{
	struct rs_stacks *s = calloc(1, sizeof(*s));
	struct rs_error *err;

	if (!s)
		return rs_error_no_memory();
	s->kernel = kernel;
	err = rs_programs_create(kernel, symfs, &s->programs);
	if (err) {
		rs_stacks_destroy(s);
		return err;
	}
	s->no_orc = rs_orc_read(kernel, &s->orc);
	*out = s;
	return NULL;
}

void rs_stacks_destroy(struct rs_stacks *s)
{
	if (!s)
		return;
	rs_orc_destroy(s->orc);
	rs_programs_destroy(s->programs);
	rs_error_free(s->no_orc);
	free(s);
}

static void say(char why[RS_STACK_WHY_MAX], struct rs_error *err)
{
	if (err)
		snprintf(why, RS_STACK_WHY_MAX, "%s", rs_error_text(err));
	rs_error_free(err);
}

/* Checks that the registers of user mode that frames of the kernel lead to are those at the top of
 * the stack, or takes those if the frames lead to none. */
static void waiting_user(struct rs_stacks *s, const struct rs_linux_task *task,
			 struct rs_linux_stack *stack, struct rs_x86_regs *user)
{
	struct rs_x86_regs top = { 0 };
	struct rs_error *err = rs_linux_user_registers(s->kernel, task, &top);

	if (!err && user->rip &&
	    (user->rip != top.rip || memcmp(user->gpr, top.gpr, sizeof(top.gpr)) != 0))
		err = rs_error_create(RS_DAMAGED, "the kernel's frames lead to other registers "
						  "than those at the top of its stack");
	user->rip = 0;
	if (!err)
		*user = top;
	say(stack->user_why, err);
}

/* Sets the kernel's frames, and *user to the registers of user mode, if there are any. */
static void kernel_part(struct rs_stacks *s, const struct rs_linux_task *task,
			const struct rs_linux_vcpu *vcpu, struct rs_linux_stack *stack,
			struct rs_x86_regs *user)
{
	struct rs_x86_regs regs = { 0 };
	struct rs_error *err = NULL;

	if (vcpu && vcpu->regs.cs & 3) {
		*user = vcpu->regs;
		return;
	}
	if (vcpu)
		regs = vcpu->regs;
	else
		err = rs_linux_task_registers(s->kernel, task, &regs);
	if (err) {
		say(stack->kernel_why, err);
	} else if (s->orc) {
		rs_linux_kernel_frames(s->kernel, s->orc, task, vcpu, &regs, stack, user);
	} else {
		stack->frames[stack->n_kernel++] =
			(struct rs_linux_frame){ regs.rip, RS_FRAME_REGISTERS, vcpu != NULL };
		snprintf(stack->kernel_why, sizeof(stack->kernel_why), "%s",
			 rs_error_text(s->no_orc));
	}
	if (!vcpu && !task->is_kernel)
		waiting_user(s, task, stack, user);
}

/* Adds the frames of user mode. Code that is in no binary ends them: a frame pointer there would be
 * a guess. */
static struct rs_error *user_part(struct rs_stacks *s, const struct rs_linux_task *task,
				  const struct rs_x86_regs *user, struct rs_linux_stack *stack)
{
	struct rs_unwound *u = &s->unwound;
	struct rs_error *err = rs_programs_of(s->programs, task, &s->set);

	if (!err)
		err = rs_linux_task_memory(s->kernel, task, &s->memory);
	if (err) {
		s->set = NULL;
		stack->frames[stack->n++] =
			(struct rs_linux_frame){ user->rip, RS_FRAME_REGISTERS, true };
		if (rs_error_code(err) == RS_NO_MEMORY)
			return err;
		say(stack->user_why, err);
		return NULL;
	}
	rs_unwind_read(s->set, &s->memory, user, u);
	for (uint32_t i = 0; i < u->n && stack->n < RS_LINUX_FRAMES_MAX; i++) {
		bool is_exact = u->exact >> i & 1;

		stack->frames[stack->n++] =
			(struct rs_linux_frame){ u->frames[i],
						 !i			? RS_FRAME_REGISTERS
						 : u->by_guess >> i & 1 ? RS_FRAME_POINTER
									: RS_FRAME_CFI,
						 is_exact };
		if (!rs_symbols_module(s->set, u->frames[i] - !is_exact)) {
			rs_programs_why(s->programs, u->frames[i] - !is_exact, stack->user_why);
			return NULL;
		}
	}
	if (u->why)
		snprintf(stack->user_why, sizeof(stack->user_why), "%s", u->why);
	return NULL;
}

struct rs_error *rs_stacks_read(struct rs_stacks *s, const struct rs_linux_task *task,
				const struct rs_linux_vcpu *vcpu, struct rs_linux_stack *stack)
{
	struct rs_x86_regs user = { 0 };

	stack->n = stack->n_kernel = 0;
	*stack->kernel_why = *stack->user_why = '\0';
	s->set = NULL;
	kernel_part(s, task, vcpu, stack, &user);
	stack->n = stack->n_kernel;
	return user.rip && stack->n < RS_LINUX_FRAMES_MAX ? user_part(s, task, &user, stack) : NULL;
}

uint32_t rs_stacks_lookup(struct rs_stacks *s, const struct rs_linux_stack *stack, uint32_t i,
			  struct rs_frame *frames, uint32_t max)
{
	const struct rs_linux_frame *frame = &stack->frames[i];
	uint64_t at = frame->address - !frame->is_exact, size;
	uint32_t n;

	if (i >= stack->n_kernel) {
		n = s->set ? rs_symbols_lookup(s->set, at, frames, max) : 0;
		if (n && !frame->is_exact && !frames[n - 1].inlined)
			frames[n - 1].offset++; /* of the return address */
		return n;
	}
	if (!max || !rs_kallsyms_by_address(s->kernel->symbols, at, &s->sym, &size))
		return 0;
	frames[0] = (struct rs_frame){ .function = s->sym.name,
				       .offset = frame->address - s->sym.address };
	return 1;
}
