/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of allocations, of stacks and of functions, for programs and for guests. Include it after
 * trace.h or guest.h. libringside-hooks.a and libringside-guest-hooks.a have wrappers of malloc()
 * and operator new, and the functions that -finstrument-functions calls; an allocator that they do
 * not wrap calls the functions here itself:
 *
 *	rs_memory_start(&(struct rs_memory_options){ .stacks = RS_STACKS_FRAMES });
 *	...
 *	p = pool_get(bytes);
 *	rs_memory_alloc(p, bytes, 16);		// after the allocation
 *	...
 *	rs_memory_free(p);			// before the memory is given back
 *	pool_put(p);
 *
 *	rs_trace_stack("slow path");		// a stack at any place; in a guest rs_guest_stack()
 *
 * A stack is taken in one of two ways:
 *	frames	the code itself follows the frame pointers. Functions without a frame pointer
 *		(-fomit-frame-pointer) are missing from it. Each frame must lie above the one
 *		before, in the stack that rs_memory_stack_range() gave; in a program whose thread
 *		did not call it, in that thread's stack; in a guest whose vCPU did not call it, in
 *		the 4 KiB page of the stack pointer. So nothing else is read, and no fault occurs.
 *	host	a doorbell asks the host, which unwinds by the guest's CFI. It costs an exit a
 *		stack.
 *
 * Sampling: with an interval above 0, an allocation of s bytes is recorded with the probability
 * 1 - exp(-s / interval), as points of a Poisson process in the bytes that a thread or vCPU
 * allocates. A free is recorded if its allocation was.
 *
 * None of the functions allocates, waits or calls the kernel, except at the first record of a
 * program's thread. They may not run in a signal or exception handler that interrupted one of them.
 */
#ifndef RINGSIDE_MEMORY_H
#define RINGSIDE_MEMORY_H

#if !defined(RS_THIS_PRODUCER) && !defined(RS_MEMORY_LIBRARY)
#error "include ringside/trace.h or ringside/guest.h"
#endif

#include <ringside/language.h>
#include <ringside/record.h>

RS_C_BEGIN

struct rs_guest_stack; /* guest_abi.h */

enum rs_stacks {
	RS_STACKS_NONE,
	RS_STACKS_FRAMES,
	RS_STACKS_HOST, /* guests only; frame pointers if the host returns no stack */
};

struct rs_memory_options {
	uint64_t interval;     /* mean distance between samples, in bytes; 0: record each */
	enum rs_stacks stacks; /* of allocation records */
	uint32_t depth;	       /* of stacks; 0 means RS_STACK_DEPTH_MAX */
	uint64_t seed;	       /* of the random numbers; 0 means the clock */
	/*
	 * With an interval: zeroed memory for the addresses of sampled allocations that live, 8
	 * bytes each; it loses the first ones when a quarter of it is used. A program without it
	 * gets 512 KiB.
	 */
	void *live;
	uint64_t live_bytes;
	/* RS_STACKS_HOST: one for each vCPU, by number; in memory to which to_gpa applies. */
	struct rs_guest_stack *host_stacks;
	uint32_t n_host_stacks;
};

/* ---- the library's part ------------------------------------------------------------------- */

/* Each takes the address of an instruction of its caller and the caller's frame. */
bool rs_memory_configure(struct rs_sbuf_producer *p, const struct rs_memory_options *options);
void rs_memory_put_alloc(struct rs_sbuf_producer *p, uint64_t here, const void *frame,
			 const void *address, uint64_t size, uint32_t align);
void rs_memory_put_free(struct rs_sbuf_producer *p, uint64_t here, const void *frame,
			const void *address);
bool rs_memory_put_moving(struct rs_sbuf_producer *p, const void *from);
void rs_memory_put_realloc(struct rs_sbuf_producer *p, uint64_t here, const void *frame,
			   const void *from, bool recorded, const void *address, uint64_t size);
void rs_stack_put_sample(struct rs_sbuf_producer *p, uint64_t here, const void *frame,
			 uint32_t name);

/* Returns how many allocations were sampled but not recorded, because their addresses found no
 * room. The trace has them as lost. */
uint64_t rs_memory_dropped(void);

#ifdef RS_THIS_PRODUCER

/* Keeps the caller's frame until the call before it returns: no tail call. */
#define RS_STACK_FRAME_END() __asm__ volatile("" : : : "memory")

#ifndef RS_TRACE_OFF

#define RS_MEMORY_ON() RS_CLASS_ON(mem)

#define RS_STACK_TAKE(string)                                                                      \
	do {                                                                                       \
		RS_SPAN_SITE(rs_stack_site_, RS_SITE_NAME, string);                                \
		const uint32_t rs_stack_name_ =                                                    \
			RS_CLASS_ON(stack) ? RS_SPAN_ID(rs_stack_site_, RS_SITE_NAME, string) : 0; \
		if (rs_stack_name_) {                                                              \
			rs_stack_put_sample(RS_THIS_PRODUCER(), rs_here(),                         \
					    __builtin_frame_address(0), rs_stack_name_);           \
			RS_STACK_FRAME_END();                                                      \
		}                                                                                  \
	} while (0)

#else
#define RS_MEMORY_ON()	      0
#define RS_STACK_TAKE(string) ((void)0)
#endif

/* ---- for programs and guests -------------------------------------------------------------- */

/*
 * Sets how allocations are recorded from here on. Before the call, each is recorded, without a
 * stack. Call it after rs_trace_start() or rs_guest_vcpu_init(), while nothing else allocates.
 * Returns false and changes nothing if the depth is above RS_STACK_DEPTH_MAX, or memory that the
 * options need is missing.
 */
static inline bool rs_memory_start(const struct rs_memory_options *options)
{
	return rs_memory_configure(RS_MEMORY_ON() ? RS_THIS_PRODUCER() : NULL, options);
}

/* Sets the bounds of this thread's or vCPU's stack: addresses [low, high), all of them mapped. */
static inline void rs_memory_stack_range(const void *low, const void *high)
{
	struct rs_sbuf_producer *p = RS_THIS_PRODUCER();

	p->stack_low = (uintptr_t)low;
	p->stack_top = (uintptr_t)high - 2 * sizeof(uint64_t); /* a frame is two words */
}

#ifndef RS_TRACE_OFF

/* Records an allocation; align is the requested alignment, or 0. Ignores NULL. */
static inline __attribute__((always_inline)) void rs_memory_alloc(const void *address,
								  uint64_t size, uint32_t align)
{
	if (!RS_MEMORY_ON() || !address)
		return;
	rs_memory_put_alloc(RS_THIS_PRODUCER(), rs_here(), __builtin_frame_address(0), address,
			    size, align);
	RS_STACK_FRAME_END();
}

/* Records that an allocation ends. Call it before another thread can get the memory. Ignores
 * NULL. */
static inline __attribute__((always_inline)) void rs_memory_free(const void *address)
{
	if (!RS_MEMORY_ON() || !address)
		return;
	rs_memory_put_free(RS_THIS_PRODUCER(), rs_here(), __builtin_frame_address(0), address);
	RS_STACK_FRAME_END();
}

/* Call it before a reallocation. Returns whether `from` was recorded, for rs_memory_realloc(). */
static inline bool rs_memory_moving(const void *from)
{
	return RS_MEMORY_ON() && from && rs_memory_put_moving(RS_THIS_PRODUCER(), from);
}

/* Records a reallocation after rs_memory_moving(). The address is NULL if it failed. */
static inline __attribute__((always_inline)) void
rs_memory_realloc(const void *from, bool recorded, const void *address, uint64_t size)
{
	if (!RS_MEMORY_ON())
		return;
	rs_memory_put_realloc(RS_THIS_PRODUCER(), rs_here(), __builtin_frame_address(0), from,
			      recorded, address, size);
	RS_STACK_FRAME_END();
}

#else
#define rs_memory_alloc(address, size, align) ((void)(address), (void)(size), (void)(align))
#define rs_memory_free(address)		      ((void)(address))
#define rs_memory_moving(from)		      ((void)(from), false)
#define rs_memory_realloc(from, recorded, address, size)                                           \
	((void)(from), (void)(recorded), (void)(address), (void)(size))
#endif

/* Records the stack at this place under a name, a literal. */
#define rs_trace_stack(string) RS_STACK_TAKE(string)
#define rs_guest_stack(string) RS_STACK_TAKE(string)

#endif
RS_C_END

#endif
