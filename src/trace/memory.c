/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program's part of memory.h: the addresses of its threads' stacks, and memory for the addresses
 * of sampled allocations. guest/stack.c is a guest's part.
 */
#include "ring/stack.h"

#include <pthread.h>
#include <sys/mman.h>

#include <ringside/trace.h>

#define LIVE_BYTES_DEFAULT (UINT64_C(512) << 10)

/*
 * glibc reads /proc/self/maps for the main thread, and allocates memory, which may be traced. So
 * the stack is unknown until this is done. A stack that grows down later keeps its end. For code on
 * another stack (a coroutine, sigaltstack), the walk finds no frames.
 */
bool rs_stack_find(struct rs_sbuf_producer *p, uint64_t frame, uint64_t *top)
{
	pthread_attr_t attributes;
	size_t bytes = 0;
	void *low = NULL;

	rs_trace_has_addresses();
	if (p->stack_top)
		return false;
	p->stack_low = p->stack_top = 1;
	if (pthread_getattr_np(pthread_self(), &attributes))
		return false;
	if (!pthread_attr_getstack(&attributes, &low, &bytes)) {
		p->stack_low = (uintptr_t)low;
		p->stack_top = (uintptr_t)low + bytes - RS_FRAME_BYTES;
	}
	pthread_attr_destroy(&attributes);
	*top = p->stack_top;
	return frame >= p->stack_low && frame <= p->stack_top;
}

/* A program has no host that could return a stack. */
uint32_t rs_stack_ask_host(const struct rs_sbuf_producer *p, struct rs_stack *stack, uint32_t max)
{
	(void)p, (void)stack, (void)max;
	return 0;
}

void *rs_memory_live_default(uint64_t *bytes)
{
	void *memory = mmap(NULL, LIVE_BYTES_DEFAULT, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*bytes = LIVE_BYTES_DEFAULT;
	return memory == MAP_FAILED ? NULL : memory;
}
