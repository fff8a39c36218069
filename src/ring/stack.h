/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks and samples of allocations: the interface between the files that programs and guests share
 * (trace/stack.c, trace/sample.c), and their own parts (trace/memory.c, guest/stack.c). It depends
 * neither on trace.h nor on guest.h.
 */
#ifndef RS_RING_STACK_H
#define RS_RING_STACK_H

#define RS_MEMORY_LIBRARY
#include <ringside/memory.h>

/* The addresses of sampled live allocations: sets of one cache line, found by a hash. Any thread or
 * vCPU may write an entry, by compare-and-swap. */
#define RS_LIVE_WAYS 8u
struct rs_memory_live {
	uint64_t *entries;
	uint64_t sets; /* a power of two */
};

/* The settings of rs_memory_start(). Written while nothing allocates. */
struct rs_memory_settings {
	enum {
		RS_MEMORY_EACH,
		RS_MEMORY_EACH_FRAMES,
		RS_MEMORY_EACH_HOST,
		RS_MEMORY_SAMPLES,
	} way;
	uint64_t interval;
	enum rs_stacks stacks;
	uint32_t depth;	      /* 0 before rs_memory_start(): the maximum */
	uint32_t callers;     /* depth - 1 */
	uint32_t claim_bytes; /* of a record with the deepest stack, and a slot of padding */
	uint64_t seed;
	struct rs_memory_live live;
	struct rs_guest_stack *host_stacks;
	uint32_t n_host_stacks;
};
extern struct rs_memory_settings rs_memory_settings __attribute__((visibility("hidden")));

/* ---- sample.c ----------------------------------------------------------------------------- */

/*
 * Draws the distance to the next sample: exponential with this mean, from 64 random bits. Computes
 * -ln(u) * mean in fixed point, with a table of logarithms and linear interpolation between its
 * entries; the error is at most 1/20,000 of the mean.
 */
uint64_t rs_sample_distance(uint64_t random, uint64_t mean);

/* Returns whether an allocation of this size is sampled. */
bool rs_sample_take(struct rs_sbuf_producer *p, uint64_t size);

/* Skips an allocation in the ordinary case. Returns false, without an effect, if it may be
 * sampled. */
static inline bool rs_sample_pass(struct rs_sbuf_producer *p, uint64_t size)
{
	if (__builtin_expect(
		    p->sample_interval != rs_memory_settings.interval || size > p->sample_left, 0))
		return false;
	p->sample_left -= size;
	return true;
}

/* Creates a set in the memory. Returns false if the memory is too small. */
bool rs_live_init(struct rs_memory_live *live, void *memory, uint64_t bytes);

/* Inserts an address. Returns false if there is no room. */
bool rs_live_insert(const struct rs_memory_live *live, uint64_t address);

/* Removes an address. Returns whether the set had it. */
bool rs_live_remove(const struct rs_memory_live *live, uint64_t address);

/* ---- stack.c ------------------------------------------------------------------------------ */

/* A frame is two words: the caller's frame, and the return address. */
#define RS_FRAME_BYTES 16u

struct rs_stack {
	uint32_t n;
	uint64_t by_fp;
	uint64_t frames[RS_STACK_DEPTH_MAX];
};

/* Follows frame pointers from a frame and writes up to max elements of 64 bits, which need not be
 * aligned; the first element is `here`. Returns their number. top is the highest address of a
 * frame. */
uint32_t rs_stack_walk(uint64_t here, const void *frame, uint64_t top, void *elements,
		       uint32_t max);

/* ---- memory.c, guest/stack.c -------------------------------------------------------------- */

/*
 * Finds the stack that contains a frame outside the producer's range. Sets *top to the highest
 * address of a frame there. Returns false if the stack is unknown: then nothing is read.
 */
bool rs_stack_find(struct rs_sbuf_producer *p, uint64_t frame, uint64_t *top);

/* Requests the stack from the host. Returns the number of elements written to stack, or 0. */
uint32_t rs_stack_ask_host(const struct rs_sbuf_producer *p, struct rs_stack *stack, uint32_t max);

/* Returns memory for addresses of allocations if the options have none, or NULL. */
void *rs_memory_live_default(uint64_t *bytes);

#endif
