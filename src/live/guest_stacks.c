/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the stacks of a running guest's tasks. */
#include "live/guest_stacks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"

#define SPACES	  256u /* a power of two */
#define SPACE_OLD UINT64_C(1000000000)
#define INLINED	  16u

/* An address space whose binaries were read, and the time of the reading. */
struct space {
	uint64_t mm, read_ns;
};

struct rs_sampled_stacks {
	struct rs_stacks *stacks;
	struct rs_vmm_memory *vmm;
	struct rs_linux_stack stack;
	struct space spaces[SPACES];
	struct rs_arena texts; /* of the last stack */
};

struct rs_error *rs_sampled_stacks_create(struct rs_linux *kernel, const char *symfs,
					  struct rs_vmm_memory *vmm, struct rs_sampled_stacks **out)
{
	struct rs_sampled_stacks *s = calloc(1, sizeof(*s));
	struct rs_error *err =
		s ? rs_stacks_create(kernel, symfs, &s->stacks) : rs_error_no_memory();

	if (err) {
		free(s);
		return err;
	}
	s->vmm = vmm;
	*out = s;
	return NULL;
}

void rs_sampled_stacks_destroy(struct rs_sampled_stacks *s)
{
	if (!s)
		return;
	rs_stacks_destroy(s->stacks);
	rs_arena_deinit(&s->texts);
	free(s);
}

/* Reads the binaries of a task's address space at intervals. That needs memory outside the sample.
 * The stack that is read together with them is not used. */
static struct rs_error *space_read(struct rs_sampled_stacks *s, const struct rs_linux_task *task,
				   const struct rs_linux_vcpu *vcpu,
				   const struct rs_kvm_sample *sample)
{
	struct space *space = &s->spaces[rs_hash_pair(task->mm, 0) % SPACES];

	if (!task->mm || (space->mm == task->mm && sample->at_ns - space->read_ns < SPACE_OLD))
		return NULL;
	*space = (struct space){ task->mm, sample->at_ns };
	return rs_stacks_read(s->stacks, task, vcpu, &s->stack);
}

const char *rs_sampled_module(const char *module, char name[RS_SAMPLED_MODULE_MAX])
{
	snprintf(name, RS_SAMPLED_MODULE_MAX, "[%s]", module ? module : "kernel");
	return name;
}

static bool keep(struct rs_sampled_stacks *s, const char **text)
{
	if (*text)
		*text = rs_arena_text(&s->texts, *text, strlen(*text));
	return *text;
}

/* Adds the functions at an address, or the address alone if no function is found. */
static struct rs_error *address_add(struct rs_sampled_stacks *s, uint32_t i,
				    struct rs_sampled_stack *stack)
{
	const struct rs_linux_frame *from = &s->stack.frames[i];
	struct rs_frame found[INLINED];
	char name[RS_SAMPLED_MODULE_MAX];
	uint32_t n = rs_stacks_lookup(s->stacks, &s->stack, i, found, INLINED);

	if (!n)
		found[n++] = (struct rs_frame){ 0 };
	stack->is_cut |= n > RS_SAMPLED_FRAMES_MAX - stack->n;
	for (uint32_t k = 0; k < n && stack->n < RS_SAMPLED_FRAMES_MAX; k++) {
		struct rs_sampled_frame *frame = &stack->frames[stack->n++];

		*frame = (struct rs_sampled_frame){
			.function = found[k].function,
			.module = i < s->stack.n_kernel ? rs_sampled_module(found[k].module, name)
							: found[k].module,
			.file = found[k].file,
			.address = from->address,
			.line = found[k].line,
			.inlined = found[k].inlined,
			.is_guess = from->origin == RS_FRAME_POINTER,
		};
		if ((frame->function && !keep(s, &frame->function)) ||
		    (frame->module && !keep(s, &frame->module)) ||
		    (frame->file && !keep(s, &frame->file)))
			return rs_error_no_memory();
	}
	return NULL;
}

struct rs_error *rs_sampled_stacks_read(struct rs_sampled_stacks *s,
					const struct rs_linux_task *task,
					const struct rs_linux_vcpu *vcpu,
					const struct rs_kvm_sample *sample,
					struct rs_sampled_stack *stack)
{
	struct rs_error *err = space_read(s, task, vcpu, sample);
	bool has_user;

	rs_arena_deinit(&s->texts);
	stack->n = stack->gap = 0;
	stack->is_cut = false;
	if (err)
		return err;
	s->vmm->sample = sample;
	err = rs_stacks_read(s->stacks, task, vcpu, &s->stack);
	s->vmm->sample = NULL;
	has_user = s->stack.n > s->stack.n_kernel;
	for (uint32_t i = 0; !err && i < s->stack.n; i++) {
		if (i == s->stack.n_kernel && *s->stack.kernel_why)
			stack->gap = stack->n;
		err = address_add(s, i, stack);
	}
	/* In the first and last instructions of a system call, the kernel has no frame that leads
	 * to user mode. */
	stack->is_cut |=
		*s->stack.user_why || (!has_user && (*s->stack.kernel_why || !task->is_kernel));
	return err;
}
