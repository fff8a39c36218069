/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records with stacks: the walk along the frame pointers, and the records of allocations and of
 * stacks (memory.h). Also part of the guest library, so no libc. Parts are inlined, because the
 * benchmark counts instructions for each record (bench/run).
 */
#include "ring/stack.h"

struct rs_memory_settings rs_memory_settings;

/* Samples of all threads or vCPUs whose addresses had no room. Atomic. */
static uint64_t dropped;

/* ---- the walk ----------------------------------------------------------------------------- */

/* A frame in the layout of x86-64's and arm64's calling conventions, in code with frame
 * pointers. */
struct frame {
	uint64_t caller; /* the caller's frame */
	uint64_t back;	 /* the return address */
} __attribute__((packed, may_alias));

/* A walk along frame pointers may read any word of the stack, even one next to a variable. */
#define READS_STACK __attribute__((no_sanitize("address")))

/* A stack's element in a record, which is packed. */
struct element {
	uint64_t address;
} __attribute__((packed, may_alias));

READS_STACK
uint32_t rs_stack_walk(uint64_t here, const void *from, uint64_t top, void *elements, uint32_t max)
{
	struct element *to = elements;
	uint64_t frame = (uintptr_t)from;
	uint32_t n = 0;

	to[n++].address = here;
	while (n < max && frame && frame <= top && !(frame % sizeof(uint64_t))) {
		const struct frame *f = (const struct frame *)(uintptr_t)frame;

		to[n++].address = f->back;
		if (f->caller <= frame)
			break;
		frame = f->caller;
	}
	/* A thread's first function has the return address 0. */
	while (n > 1 && !to[n - 1].address)
		n--;
	return n;
}

/*
 * Walks like rs_stack_walk(), from a frame that is at most top, in fewer instructions: the loop is
 * unrolled, and accepts unaligned frames, which are safe to read. It calls no function, so its
 * caller saves few registers. left is the most elements, minus one. Returns the elements' end.
 */
READS_STACK static inline __attribute__((always_inline)) struct element *
walk_fast(uint64_t here, uint64_t frame, uint64_t top, struct element *elements, uint32_t left)
{
	struct element *to = elements + 1;
	uint64_t caller;

	elements->address = here;
#define STEP(i)                                                                                    \
	to[i].address = ((const struct frame *)(uintptr_t)frame)->back;                            \
	caller = ((const struct frame *)(uintptr_t)frame)->caller;                                 \
	if (caller <= frame || caller > top) {                                                     \
		to += (i) + 1;                                                                     \
		goto last;                                                                         \
	}                                                                                          \
	frame = caller;
#define STEPS 7

	for (; left >= STEPS; left -= STEPS, to += STEPS) {
		STEP(0)
		STEP(1)
		STEP(2)
		STEP(3)
		STEP(4)
		STEP(5)
		STEP(6)
	}
	for (; left; left--, to++) {
		STEP(0)
	}
#undef STEP
#undef STEPS
	return to;

last:
	while (to > elements + 1 && !to[-1].address)
		to--;
	return to;
}

/* Bits 1 to n - 1: the first element is exact. n is 1 or more. */
static inline uint64_t by_fp_of(uint32_t n)
{
	return (UINT64_C(2) << (n - 1)) - 2;
}

static uint32_t depth_max(void)
{
	return rs_memory_settings.depth ? rs_memory_settings.depth : RS_STACK_DEPTH_MAX;
}

static void walk_frames(struct rs_sbuf_producer *p, uint64_t here, const void *frame,
			struct rs_stack *stack)
{
	uint64_t at = (uintptr_t)frame, top = p->stack_top;

	if ((at < p->stack_low || at > top) && !rs_stack_find(p, at, &top))
		top = 0;
	stack->n = rs_stack_walk(here, frame, top, stack->frames, depth_max());
	stack->by_fp = by_fp_of(stack->n);
}

/*
 * Requests the stack from the host. It begins in the doorbell, so the elements before the caller
 * are dropped: the caller's return address is shortly after the instruction `here`. If no element
 * is such an address, the host unwound another stack, or could not unwind this library. Frame
 * pointers are used then.
 */
#define CALL_BYTES_MAX 256u /* from rs_here() to the end of the call, without optimization */

static void request_stack(struct rs_sbuf_producer *p, uint64_t here, const void *frame,
			  struct rs_stack *stack)
{
	uint32_t n = rs_stack_ask_host(p, stack, RS_STACK_DEPTH_MAX), first = 0, max = depth_max();
	uint64_t nearest = CALL_BYTES_MAX;

	for (uint32_t i = 0; i < n; i++) {
		if (stack->frames[i] - here < nearest) {
			nearest = stack->frames[i] - here;
			first = i;
		}
	}
	if (nearest == CALL_BYTES_MAX) {
		walk_frames(p, here, frame, stack);
		return;
	}
	stack->n = n - first < max ? n - first : max;
	stack->by_fp = stack->by_fp >> first & by_fp_of(stack->n);
	stack->frames[0] = here;
	for (uint32_t i = 1; i < stack->n; i++)
		stack->frames[i] = stack->frames[first + i];
}

/* ---- records ------------------------------------------------------------------------------ */

/* The start of a stack: rs_here() and __builtin_frame_address(0) of the function that called this
 * library. */
struct place {
	uint64_t here;
	const void *frame;
};
#define PLACE()                                                                                    \
	(struct place)                                                                             \
	{                                                                                          \
		here, frame                                                                        \
	}

/* A payload's last word is by_fp; the number of elements and the elements follow it. */
#define BY_FP_BYTES ((uint32_t)sizeof(uint64_t))
#define N_BYTES	    ((uint32_t)sizeof(uint16_t))
#define FIXED_MAX   ((uint32_t)sizeof(struct rs_memory_realloc) + N_BYTES)

/* Writes by_fp, n and the elements at the end of a payload. */
static void write_stack(uint8_t *to, const struct rs_stack *stack)
{
	uint16_t n = (uint16_t)stack->n;

	__builtin_memcpy(to, &stack->by_fp, BY_FP_BYTES);
	__builtin_memcpy(to + BY_FP_BYTES, &n, N_BYTES);
	__builtin_memcpy(to + BY_FP_BYTES + N_BYTES, stack->frames, n * sizeof(uint64_t));
}

/* Writes any record, with the stack that the settings request. bytes: without by_fp. */
static __attribute__((noinline, cold)) void put_slow(struct rs_sbuf_producer *p, uint64_t id,
						     const void *payload, uint32_t bytes,
						     enum rs_stacks stacks, struct place place)
{
	struct rs_stack stack = { 0 };
	struct rs_sbuf_room room;
	struct rs_slot *slot;
	uint32_t slots;

	if (stacks == RS_STACKS_HOST)
		request_stack(p, place.here, place.frame, &stack);
	else if (stacks == RS_STACKS_FRAMES)
		walk_frames(p, place.here, place.frame, &stack);
	slots = RS_RECORD_SLOTS(bytes + BY_FP_BYTES + N_BYTES + stack.n * sizeof(uint64_t));
	room = rs_sbuf_reserve_nested(p, slots * RS_SLOT_BYTES);
	slot = (struct rs_slot *)(void *)room.at;
	if (!slot)
		return;
	slot[slots - 1] = (struct rs_slot){ 0 }; /* the padding */
	slot->tsc = room.tsc;
	slot->head = rs_record_head(id, slots) | p->cpu_bits;
	__builtin_memcpy(room.at + RS_RECORD_HEAD, payload, bytes);
	write_stack(room.at + RS_RECORD_HEAD + bytes, &stack);
	rs_sbuf_commit_nested(p, room);
}

/*
 * Handles the ordinary case without a call: there is room, no handler interrupts, and the stack is
 * known. Otherwise returns false, without an effect.
 */
static inline __attribute__((always_inline)) bool claim(struct rs_sbuf_producer *p, uint32_t bytes,
							struct rs_sbuf_room *room)
{
	uint64_t from, tsc;

	rs_signal_fence();
	from = p->reserve;
	if (__builtin_expect(from + bytes > p->limit, 0))
		return false;
	tsc = rs_tsc();
	if (__builtin_expect(!rs_local_cmpxchg(&p->reserve, from, from + bytes), 0))
		return false;
	*room = rs_sbuf_room_at(p, from, tsc);
	return true;
}

static inline __attribute__((always_inline)) bool put_empty(struct rs_sbuf_producer *p, uint64_t id,
							    const void *payload, uint32_t bytes)
{
	uint32_t all = bytes + BY_FP_BYTES + N_BYTES, slots = RS_RECORD_SLOTS(all);
	struct rs_sbuf_room room;
	struct rs_slot *slot;

	if (!claim(p, slots * RS_SLOT_BYTES, &room))
		return false;
	slot = (struct rs_slot *)(void *)room.at;
	slot->tsc = room.tsc;
	slot->head = rs_record_head(id, slots) | p->cpu_bits;
	rs_sbuf_copy(room.at + RS_RECORD_HEAD, payload, bytes);
	__builtin_memset(room.at + RS_RECORD_HEAD + bytes, 0,
			 slots * RS_SLOT_BYTES - RS_RECORD_HEAD - bytes);
	rs_sbuf_commit_nested(p, room);
	return true;
}

/* Returns the part of a claim beyond a number of bytes or, if a handler has written a record after
 * it, fills that part. */
static inline __attribute__((always_inline)) void shrink(struct rs_sbuf_producer *p,
							 struct rs_sbuf_room room, uint64_t bytes)
{
	uint64_t claimed = rs_memory_settings.claim_bytes;

	rs_signal_fence();
	if (__builtin_expect(
		    rs_local_cmpxchg(&p->reserve, room.start + claimed, room.start + bytes), 1))
		return;
	for (; bytes < claimed; bytes += RS_SLOT_BYTES)
		*(struct rs_slot *)(void *)(room.at + bytes) = (struct rs_slot){
			.tsc = room.tsc,
			.head = rs_record_head(RS_ID_FILLER, 1),
		};
}

/* Claims room for the deepest stack and a slot of padding, writes the walk to it, and returns the
 * rest. */
READS_STACK static inline __attribute__((always_inline)) bool
put_frames(struct rs_sbuf_producer *p, uint64_t id, const void *payload, uint32_t bytes,
	   uint64_t here, const void *frame)
{
	uint64_t at = (uintptr_t)frame, top = p->stack_top, by_fp, all;
	const uint32_t before = RS_RECORD_HEAD + bytes + BY_FP_BYTES + N_BYTES;
	struct rs_sbuf_room room;
	struct rs_slot *slot;
	uint32_t n;
	uint8_t *end;

	if (__builtin_expect(at < p->stack_low || at > top, 0) ||
	    !claim(p, rs_memory_settings.claim_bytes, &room))
		return false;
	slot = (struct rs_slot *)(void *)room.at;
	slot->tsc = room.tsc;
	rs_sbuf_copy(room.at + RS_RECORD_HEAD, payload, bytes);
	end = (uint8_t *)walk_fast(here, at, top, (struct element *)(void *)(room.at + before),
				   rs_memory_settings.callers);
	__builtin_memset(end, 0, RS_SLOT_BYTES);
	all = (uint64_t)(end - room.at);
	n = (uint32_t)(all - before) / (uint32_t)sizeof(struct element);
	by_fp = by_fp_of(n);
	__builtin_memcpy(room.at + RS_RECORD_HEAD + bytes, &by_fp, BY_FP_BYTES);
	__builtin_memcpy(room.at + before - N_BYTES, &(uint16_t){ (uint16_t)n }, N_BYTES);
	all = (all + RS_SLOT_BYTES - 1) & ~(uint64_t)(RS_SLOT_BYTES - 1);
	/* rs_record_head() of a number of slots */
	slot->head = rs_record_head(id, 0) | all << (RS_N_DATA_SHIFT - 5) | p->cpu_bits;
	shrink(p, room, all);
	room.ring = p->ring;
	rs_sbuf_commit_nested(p, room);
	return true;
}

/* The payload without its by_fp, and its size. */
#define EVENT(type, ...) &(struct type){ __VA_ARGS__ }, sizeof(struct type) - BY_FP_BYTES

/* Inserts a sampled address. Counts it as a loss if there is no room: its free would be missing. */
static bool insert(struct rs_sbuf_producer *p, uint64_t address)
{
	if (rs_live_insert(&rs_memory_settings.live, address))
		return true;
	__atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
	if (p->ring)
		rs_sbuf_refuse(p, 1);
	return false;
}

uint64_t rs_memory_dropped(void)
{
	return __atomic_load_n(&dropped, __ATOMIC_RELAXED);
}

/* The functions named _slow are called last, in place of their caller: they return to the same
 * place, and the caller keeps no registers for them. */
static __attribute__((noinline)) void alloc_slow(struct rs_sbuf_producer *p, uint64_t here,
						 const void *frame, const void *address,
						 uint64_t size, uint32_t align)
{
	put_slow(
		p, RS_ID_MEMORY_ALLOC,
		EVENT(rs_memory_alloc, .address = (uintptr_t)address, .size = size, .align = align),
		rs_memory_settings.stacks, PLACE());
}

static __attribute__((noinline)) void sample_slow(struct rs_sbuf_producer *p, uint64_t here,
						  const void *frame, const void *address,
						  uint64_t size, uint32_t align)
{
	if (rs_sample_take(p, size) && insert(p, (uintptr_t)address))
		put_slow(p, RS_ID_MEMORY_ALLOC,
			 EVENT(rs_memory_alloc, .address = (uintptr_t)address, .size = size,
			       .align = align),
			 rs_memory_settings.stacks, PLACE());
}

READS_STACK static __attribute__((noinline)) void alloc_frames(struct rs_sbuf_producer *p,
							       uint64_t here, const void *frame,
							       const void *address, uint64_t size,
							       uint32_t align)
{
	if (!put_frames(p, RS_ID_MEMORY_ALLOC,
			EVENT(rs_memory_alloc, .address = (uintptr_t)address, .size = size,
			      .align = align),
			here, frame))
		alloc_slow(p, here, frame, address, size, align);
}

static __attribute__((noinline)) void alloc_alone(struct rs_sbuf_producer *p, uint64_t here,
						  const void *frame, const void *address,
						  uint64_t size, uint32_t align)
{
	if (!put_empty(p, RS_ID_MEMORY_ALLOC,
		       EVENT(rs_memory_alloc, .address = (uintptr_t)address, .size = size,
			     .align = align)))
		alloc_slow(p, here, frame, address, size, align);
}

void rs_memory_put_alloc(struct rs_sbuf_producer *p, uint64_t here, const void *frame,
			 const void *address, uint64_t size, uint32_t align)
{
	if (__builtin_expect(rs_memory_settings.way == RS_MEMORY_EACH_FRAMES, 1))
		alloc_frames(p, here, frame, address, size, align);
	else if (rs_memory_settings.way == RS_MEMORY_EACH)
		alloc_alone(p, here, frame, address, size, align);
	else if (rs_memory_settings.way == RS_MEMORY_EACH_HOST)
		alloc_slow(p, here, frame, address, size, align);
	else if (!rs_sample_pass(p, size))
		sample_slow(p, here, frame, address, size, align);
}

static __attribute__((noinline)) void free_slow(struct rs_sbuf_producer *p, uint64_t here,
						const void *frame, const void *address)
{
	if (!rs_memory_settings.interval ||
	    rs_live_remove(&rs_memory_settings.live, (uintptr_t)address))
		put_slow(p, RS_ID_MEMORY_FREE, EVENT(rs_memory_free, .address = (uintptr_t)address),
			 rs_memory_settings.stacks, PLACE());
}

READS_STACK static __attribute__((noinline)) void
free_frames(struct rs_sbuf_producer *p, uint64_t here, const void *frame, const void *address)
{
	if (!put_frames(p, RS_ID_MEMORY_FREE, EVENT(rs_memory_free, .address = (uintptr_t)address),
			here, frame))
		free_slow(p, here, frame, address);
}

void rs_memory_put_free(struct rs_sbuf_producer *p, uint64_t here, const void *frame,
			const void *address)
{
	switch (rs_memory_settings.way) {
	case RS_MEMORY_EACH:
		if (put_empty(p, RS_ID_MEMORY_FREE,
			      EVENT(rs_memory_free, .address = (uintptr_t)address)))
			return;
		break;
	case RS_MEMORY_EACH_FRAMES:
		free_frames(p, here, frame, address);
		return;
	case RS_MEMORY_SAMPLES:
	case RS_MEMORY_EACH_HOST:
		break;
	}
	free_slow(p, here, frame, address);
}

bool rs_memory_put_moving(struct rs_sbuf_producer *p, const void *from)
{
	(void)p;
	return !rs_memory_settings.interval ||
	       rs_live_remove(&rs_memory_settings.live, (uintptr_t)from);
}

/*
 * For the sampler, a reallocation is a free and an allocation. It is recorded as a reallocation if
 * both are recorded, else as the one that is recorded.
 */
void rs_memory_put_realloc(struct rs_sbuf_producer *p, uint64_t here, const void *frame,
			   const void *from, bool recorded, const void *address, uint64_t size)
{
	enum rs_stacks stacks = rs_memory_settings.stacks;
	uint64_t old = (uintptr_t)from, at = (uintptr_t)address;
	bool kept;

	if (!at) {
		if (recorded && rs_memory_settings.interval)
			insert(p, old);
		return;
	}
	kept = !rs_memory_settings.interval || (rs_sample_take(p, size) && insert(p, at));
	if (recorded && kept)
		put_slow(p, RS_ID_MEMORY_REALLOC,
			 EVENT(rs_memory_realloc, .from = old, .address = at, .size = size), stacks,
			 PLACE());
	else if (recorded)
		put_slow(p, RS_ID_MEMORY_FREE, EVENT(rs_memory_free, .address = old), stacks,
			 PLACE());
	else if (kept)
		put_slow(p, RS_ID_MEMORY_ALLOC, EVENT(rs_memory_alloc, .address = at, .size = size),
			 stacks, PLACE());
}

/* A sample consists of its stack, so it has one regardless of the settings for allocations. */
void rs_stack_put_sample(struct rs_sbuf_producer *p, uint64_t here, const void *frame,
			 uint32_t name)
{
	enum rs_stacks stacks = rs_memory_settings.stacks;
	struct rs_stack_sample sample = { .name = name };

	put_slow(p, RS_ID_STACK_SAMPLE, &sample, sizeof(sample) - BY_FP_BYTES,
		 stacks == RS_STACKS_NONE ? RS_STACKS_FRAMES : stacks, PLACE());
}

/* ---- settings ----------------------------------------------------------------------------- */

bool rs_memory_configure(struct rs_sbuf_producer *p, const struct rs_memory_options *options)
{
	struct rs_memory_live live = { 0 };
	uint64_t bytes = options->live_bytes;
	uint32_t depth = options->depth ? options->depth : RS_STACK_DEPTH_MAX;
	void *memory = options->live;

	if (depth > RS_STACK_DEPTH_MAX ||
	    (options->stacks == RS_STACKS_HOST && !options->host_stacks))
		return false;
	if (options->interval) {
		if (!memory)
			memory = rs_memory_live_default(&bytes);
		if (!memory || !rs_live_init(&live, memory, bytes))
			return false;
	}
	rs_memory_settings = (struct rs_memory_settings){
		.claim_bytes =
			(RS_RECORD_SLOTS(FIXED_MAX + depth * sizeof(uint64_t)) + 1) * RS_SLOT_BYTES,
		.way = options->interval		     ? RS_MEMORY_SAMPLES
		       : options->stacks == RS_STACKS_NONE   ? RS_MEMORY_EACH
		       : options->stacks == RS_STACKS_FRAMES ? RS_MEMORY_EACH_FRAMES
							     : RS_MEMORY_EACH_HOST,
		.interval = options->interval,
		.stacks = options->stacks,
		.depth = depth,
		.callers = depth - 1,
		.seed = options->seed,
		.live = live,
		.host_stacks = options->host_stacks,
		.n_host_stacks = options->n_host_stacks,
	};
	if (p && !options->interval)
		rs_record_put(p, RS_ID_MEMORY_SAMPLING, &(struct rs_memory_sampling){ 0 },
			      sizeof(struct rs_memory_sampling));
	return true;
}
