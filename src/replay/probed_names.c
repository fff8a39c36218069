/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the stack of a stopped guest's running task, and finds names of addresses. */
#include "replay/probed.h"

#include <stdlib.h>

#define FRAMES_MAX 16u /* frames of one address */

struct rs_probed_names {
	struct rs_stacks *stacks;
	struct rs_linux_stack stack;
	bool read; /* `stack` belongs to the present stop */
};

void rs_probed_names_destroy(struct rs_probed_names *names)
{
	if (names)
		rs_stacks_destroy(names->stacks);
	free(names);
}

void rs_probed_names_stopped(struct rs_probed_names *names)
{
	if (names)
		names->read = false;
}

/* Returns the reader of stacks, and sets *task to the running task. Returns NULL if the task is
 * unknown, or there is no memory. */
static struct rs_probed_names *names_of(struct rs_probed *p, const struct rs_linux_task **task)
{
	struct rs_error *err = NULL;

	*task = rs_guest_kernel_task(&p->guest);
	if (!*task)
		return NULL;
	if (!p->names)
		p->names = calloc(1, sizeof(*p->names));
	if (p->names && !p->names->stacks)
		err = rs_stacks_create(p->guest.kernel, NULL, &p->names->stacks);
	rs_error_free(err);
	return p->names && p->names->stacks ? p->names : NULL;
}

static void stack_read(struct rs_probed *p, struct rs_probed_names *names,
		       const struct rs_linux_task *task)
{
	const struct rs_linux_vcpu vcpu = { .regs = p->regs };

	if (names->read)
		return;
	names->read = true;
	rs_error_free(rs_stacks_read(names->stacks, task, &vcpu, &names->stack));
}

bool rs_probed_stack(struct rs_probed *p, bool user, uint32_t most, rs_probed_frame_fn *each,
		     void *ctx)
{
	const struct rs_linux_task *task;
	struct rs_probed_names *names = names_of(p, &task);
	const struct rs_linux_stack *stack;
	struct rs_frame frames[FRAMES_MAX];
	uint32_t n = 0;

	if (!names)
		return false;
	stack_read(p, names, task);
	stack = &names->stack;
	for (uint32_t i = user ? stack->n_kernel : 0;
	     i < (user ? stack->n : stack->n_kernel) && n < most; i++) {
		uint32_t here = rs_stacks_lookup(names->stacks, stack, i, frames, FRAMES_MAX);

		if (!here) {
			frames[0] = (struct rs_frame){ 0 };
			here = 1;
		}
		for (uint32_t j = 0; j < here && n < most; j++, n++)
			each(ctx, stack->frames[i].address, &frames[j]);
	}
	return true;
}

bool rs_probed_symbol(struct rs_probed *p, uint64_t address, struct rs_frame *frame)
{
	const struct rs_linux_task *task;
	struct rs_probed_names *names = names_of(p, &task);
	struct rs_frame frames[FRAMES_MAX];
	uint32_t n = names ? rs_stacks_symbol(names->stacks, task, address, frames, FRAMES_MAX) : 0;

	if (n)
		*frame = frames[n - 1]; /* the function that contains the inlined ones */
	return n;
}
