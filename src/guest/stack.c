/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest's part of memory.h: finds memory that certainly belongs to the stack, and requests a
 * stack from the host by the doorbell. trace/memory.c is a program's part.
 */
#pragma GCC visibility push(hidden)
#include "guest/arch.h"
#include "ring/stack.h"
#pragma GCC visibility pop

_Static_assert(RS_GUEST_STACK_MAX == RS_STACK_DEPTH_MAX, "a stack from the host fits a record");

#define PAGE_BYTES UINT64_C(4096)

/* If no known range contains the frame: the frame's page, which is mapped. */
bool rs_stack_find(struct rs_sbuf_producer *p, uint64_t frame, uint64_t *top)
{
	(void)p;
	*top = (frame | (PAGE_BYTES - 1)) + 1 - RS_FRAME_BYTES;
	return frame <= *top;
}

/*
 * The vCPU's block is in use while `busy` is set: a handler that interrupts it gets no stack from
 * the host. The host's data is copied, each field once, and the copy is checked.
 */
uint32_t rs_stack_ask_host(const struct rs_sbuf_producer *p, struct rs_stack *stack, uint32_t max)
{
	uint32_t vcpu = (uint32_t)(p->cpu_bits >> RS_CPU_SHIFT), n;
	struct rs_guest_stack *block;

	if (vcpu >= rs_memory_settings.n_host_stacks)
		return 0;
	block = &rs_memory_settings.host_stacks[vcpu];
	if (block->busy)
		return 0;
	block->busy = 1;
	rs_signal_fence();
	block->n = 0;
	block->max = max;
	rs_guest_arch_doorbell(RS_DOORBELL_STACK, (uintptr_t)block + rs_guest_area.to_gpa);
	n = __atomic_load_n(&block->n, __ATOMIC_RELAXED);
	if (n > max)
		n = 0;
	stack->by_fp = __atomic_load_n(&block->by_fp, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < n; i++)
		stack->frames[i] = __atomic_load_n(&block->frames[i], __ATOMIC_RELAXED);
	rs_signal_fence();
	block->busy = 0;
	return n;
}

/* A guest may provide its own. */
void *rs_memory_live_default(uint64_t *bytes)
{
	*bytes = 0;
	return NULL;
}
