/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the stacks of tasks: first the kernel's frames, then those of user mode. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insight/stack_kernel.h"
#include "insight/stack_walk.h"
#include "introspect/cfi.h"
#include "introspect/module.h"
#include "introspect/unwind.h"
#include "introspect/variable.h"

#define CALLERS_MAX 4u /* limit of callers that are searched for values of parameters */

struct rs_stacks {
	struct rs_linux *kernel;
	struct rs_orc *orc; /* NULL: none */
	struct rs_error *no_orc;
	bool by_pointers; /* the kernel has no such table, but keeps frame pointers */
	bool is_indexed;  /* whether the kernel had built its index when the table was read */
	struct rs_programs *programs;
	struct rs_symbols *set;	 /* symbols of the last stack's task; NULL: none */
	struct rs_memory memory; /* memory of that task */
	struct rs_ksym sym;	 /* result of the last lookup */
	struct rs_unwound unwound;
	/* registers of the frames in `unwound` */
	struct rs_frame_registers registers[RS_STACK_DEPTH_MAX];
};

/* Reads the kernel's ORC table. A booting kernel has the table in memory before it builds the
 * index, without which the table is rejected. */
static void orc_read(struct rs_stacks *s)
{
	struct rs_ksym sym;

	s->is_indexed = rs_orc_is_indexed(s->kernel);
	s->by_pointers = !rs_kallsyms_by_name(s->kernel->symbols, "__start_orc_unwind", &sym) &&
			 rs_linux_has_frame_pointers(s->kernel);
	rs_error_free(s->no_orc);
	s->no_orc = rs_orc_read(s->kernel, &s->orc);
}

struct rs_error *rs_stacks_create(struct rs_linux *kernel, const char *symfs,
				  struct rs_stacks **out)
{
	struct rs_stacks *s = calloc(1, sizeof(*s));
	struct rs_error *err;

	if (!s)
		return rs_error_no_memory();
	s->kernel = kernel;
	s->unwound.registers = s->registers;
	err = rs_programs_create(kernel, symfs, &s->programs);
	if (err) {
		rs_stacks_destroy(s);
		return err;
	}
	orc_read(s);
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

static void set_why(char why[RS_STACK_WHY_MAX], struct rs_error *err)
{
	if (err)
		snprintf(why, RS_STACK_WHY_MAX, "%s", rs_error_text(err));
	rs_error_free(err);
}

/* Sets *user to the registers of user mode at the top of the stack. If the frames of the kernel led
 * to registers of user mode, checks that they are the same. */
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
	set_why(stack->user_why, err);
}

/* Returns whether the kernel may not yet have saved the registers of user mode, or has restored
 * them already: in the code of its entries, and in sync_regs() (arch/x86/kernel/traps.c), which
 * copies them to the task's stack. */
static bool is_at_entry(const struct rs_linux *kernel, uint64_t rip)
{
	struct rs_ksym from, to, sym;
	uint64_t size;

	return !rs_kallsyms_by_name(kernel->symbols, "__entry_text_start", &from) ||
	       !rs_kallsyms_by_name(kernel->symbols, "__entry_text_end", &to) ||
	       (rip >= from.address && rip < to.address) ||
	       !rs_kallsyms_by_address(kernel->symbols, rip, &sym, &size) ||
	       !strcmp(sym.name, "sync_regs") || !strcmp(sym.name, "fixup_bad_iret");
}

/* Sets the frames of a processor in the kernel whose stack pointer is unknown: the function that it
 * executes, and the registers that were saved when the task entered the kernel. */
static void entry_part(struct rs_stacks *s, const struct rs_linux_task *task,
		       const struct rs_linux_vcpu *vcpu, struct rs_linux_stack *stack,
		       struct rs_x86_regs *user)
{
	struct rs_x86_regs saved = { 0 };
	struct rs_error *err = NULL;

	stack->frames[stack->n_kernel++] =
		(struct rs_linux_frame){ vcpu->regs.rip, RS_FRAME_REGISTERS, true };
	snprintf(stack->kernel_why, sizeof(stack->kernel_why), "the stack pointer is unknown");
	if (task->is_kernel || is_at_entry(s->kernel, vcpu->regs.rip))
		return;
	err = rs_linux_entry_registers(s->kernel, task, &saved);
	if (!err)
		*user = saved;
	set_why(stack->user_why, err);
}

/* Sets the kernel's frames. Sets *user to the registers of user mode, if they are found. */
static void kernel_part(struct rs_stacks *s, const struct rs_linux_task *task,
			const struct rs_linux_vcpu *vcpu, struct rs_linux_stack *stack,
			struct rs_x86_regs *user)
{
	struct rs_x86_regs regs = { 0 };
	struct rs_error *err = NULL;

	if (vcpu && vcpu->regs.cs & 3) {
		if (rs_linux_is_in_task(s->kernel, task, &vcpu->regs))
			*user = vcpu->regs;
		else
			snprintf(stack->kernel_why, sizeof(stack->kernel_why),
				 "its processor is in the user mode of another task");
		return;
	}
	if (vcpu && vcpu->no_sp) {
		entry_part(s, task, vcpu, stack, user);
		return;
	}
	if (vcpu)
		regs = vcpu->regs;
	else
		err = rs_linux_task_registers(s->kernel, task, &regs);
	if (err) {
		set_why(stack->kernel_why, err);
	} else if (s->orc || s->by_pointers) {
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

/* Adds the frames of user mode, up to code that is in no binary, where a frame pointer would be a
 * guess. */
static struct rs_error *user_part(struct rs_stacks *s, const struct rs_linux_task *task,
				  const struct rs_x86_regs *user, bool no_sp,
				  struct rs_linux_stack *stack)
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
		set_why(stack->user_why, err);
		return NULL;
	}
	u->no_sp = no_sp;
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
	bool no_sp;

	stack->n = stack->n_kernel = 0;
	*stack->kernel_why = *stack->user_why = '\0';
	s->set = NULL;
	if (!s->orc && !s->is_indexed && rs_orc_is_indexed(s->kernel))
		orc_read(s);
	kernel_part(s, task, vcpu, stack, &user);
	stack->n = stack->n_kernel;
	no_sp = vcpu && vcpu->no_sp && vcpu->regs.cs & 3; /* else they were saved in memory */
	return user.rip && stack->n < RS_LINUX_FRAMES_MAX ? user_part(s, task, &user, no_sp, stack)
							  : NULL;
}

/* Looks up a function of the kernel, or of a module, whose name the frame has. */
static uint32_t kernel_symbol(struct rs_stacks *s, uint64_t address, struct rs_frame *frames,
			      uint32_t max)
{
	const char *module;
	uint64_t size;

	if (!max || !rs_linux_symbol(s->kernel, address, &s->sym, &size, &module))
		return 0;
	frames[0] = (struct rs_frame){ .function = s->sym.name,
				       .module = module,
				       .offset = address - s->sym.address };
	return 1;
}

uint32_t rs_stacks_lookup(struct rs_stacks *s, const struct rs_linux_stack *stack, uint32_t i,
			  struct rs_frame *frames, uint32_t max)
{
	const struct rs_linux_frame *frame = &stack->frames[i];
	uint64_t at = frame->address - !frame->is_exact;
	uint32_t n;

	if (i >= stack->n_kernel) {
		n = s->set ? rs_symbols_lookup(s->set, at, frames, max) : 0;
		if (n && !frame->is_exact && !frames[n - 1].inlined)
			frames[n - 1].offset++; /* offset to the return address */
		return n;
	}
	n = kernel_symbol(s, at, frames, max);
	if (n)
		frames[0].offset = frame->address - s->sym.address;
	return n;
}

uint32_t rs_stacks_symbol(struct rs_stacks *s, const struct rs_linux_task *task, uint64_t address,
			  struct rs_frame *frames, uint32_t max)
{
	struct rs_error *err;

	if (address >> 63)
		return kernel_symbol(s, address, frames, max);
	err = rs_programs_of(s->programs, task, &s->set);
	if (err)
		s->set = NULL;
	rs_error_free(err);
	return s->set ? rs_symbols_lookup(s->set, address, frames, max) : 0;
}

/* ---- a frame's binary and variables --------------------------------------------------------- */

/* Returns the binary of a frame, or NULL. Sets *address to an address within the frame's
 * instruction. */
static struct rs_module *module_of(struct rs_stacks *s, const struct rs_linux_stack *stack,
				   uint32_t i, uint64_t *at)
{
	if (!s->set || i < stack->n_kernel || i >= stack->n)
		return NULL;
	*at = stack->frames[i].address - !stack->frames[i].is_exact;
	return rs_symbols_module(s->set, *at);
}

bool rs_stacks_is_in(struct rs_stacks *s, const struct rs_linux_stack *stack, uint32_t i,
		     const char *build_id)
{
	char own[RS_BUILD_ID_TEXT_MAX];
	uint64_t at;
	struct rs_module *m = module_of(s, stack, i, &at);

	if (!m)
		return false;
	rs_elf_build_id(&m->file, own);
	return *own && !strcmp(own, build_id);
}

/* Describes a frame for variable.h. Returns false if it is in no binary. */
static bool frame_of(struct rs_stacks *s, const struct rs_linux_stack *stack, uint32_t i,
		     struct rs_variable_frame *frame)
{
	const uint32_t n = i - stack->n_kernel;
	uint64_t at;
	struct rs_module *m = module_of(s, stack, i, &at);

	if (!m || n >= s->unwound.n)
		return false;
	*frame = (struct rs_variable_frame){ .address = at - m->load,
					     .load = m->load,
					     .registers = s->registers[n],
					     .memory = &s->memory,
					     .dwarf = m->dwarf };
	/* If CFI found the caller, the caller's rsp is the frame's CFA. */
	frame->has_cfa = n + 1 < s->unwound.n && i + 1 < stack->n &&
			 stack->frames[i + 1].origin == RS_FRAME_CFI;
	if (frame->has_cfa)
		frame->cfa = s->registers[n + 1].value[RS_CFI_RSP];
	return true;
}

const char *rs_stacks_variable(struct rs_stacks *s, const struct rs_linux_stack *stack, uint32_t i,
			       const char *function, const char *name, uint64_t *value)
{
	struct rs_variable_frame frames[CALLERS_MAX + 1];
	uint32_t n = 0;

	/* A caller that a signal interrupted made no call. */
	while (n <= CALLERS_MAX &&
	       (!n || (frames[n - 1].has_cfa && !stack->frames[i + n].is_exact)) &&
	       frame_of(s, stack, i + n, &frames[n]))
		n++;
	for (uint32_t k = 0; k + 1 < n; k++)
		frames[k].caller = &frames[k + 1];
	return n ? rs_variable_read(&frames[0], function, name, value)
		 : "the frame is in no known program";
}

bool rs_stacks_data(struct rs_stacks *s, const struct rs_linux_stack *stack, uint32_t i,
		    const char *name, uint64_t *address)
{
	uint64_t at;
	struct rs_module *m = module_of(s, stack, i, &at);

	return m && rs_module_symbol(m, name, address);
}

struct rs_memory *rs_stacks_memory(struct rs_stacks *s)
{
	return &s->memory;
}
