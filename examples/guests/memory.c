/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest with known allocations: prime numbers of allocations of prime sizes, on four call paths.
 * The compiler inlines a function of the first path, recurses in the second, makes a tail call in
 * the third, and the fourth has a function without a frame pointer.
 *
 *	path		allocations	bytes	freed	live at the end
 *	inlined		13		101	11	202
 *	recursive	7		211	5	422
 *	tail call	17		307	17	0
 *	no frame	19		401	14	2005
 *
 * A path frees before the next one begins, so that the peak of live bytes is when the fourth has
 * allocated: 202 + 422 + 19 * 401 = 8243. At the end 2629 bytes are live.
 */
#include <ringside/kit.h>

#include <ringside/memory.h>

#define NOINLINE __attribute__((noinline))

void *malloc(size_t bytes);
void *calloc(size_t n, size_t bytes);
void *realloc(void *from, size_t bytes);
void free(void *memory);
void *aligned_alloc(size_t align, size_t bytes);
int posix_memalign(void **memory, size_t align, size_t bytes);

#define VCPUS 8u
static struct rs_guest_stack host_stacks[VCPUS];

/* The number of allocations before the guest stops on the path of one; 0: all. */
uint32_t until_stop;
#define STOP()                                                                                     \
	do {                                                                                       \
		if (!--until_stop)                                                                 \
			__builtin_trap();                                                          \
	} while (0)

/* The allocations of a path. */
struct kept {
	void *memory[32];
	uint32_t n;
};

static void keep(struct kept *kept, void *memory)
{
	kept->memory[kept->n++ % 32] = memory;
}

NOINLINE static void release(struct kept *kept, uint32_t n)
{
	for (uint32_t i = 0; i < n && i < kept->n; i++)
		free(kept->memory[i]);
}

static inline __attribute__((always_inline)) void inlined(struct kept *kept)
{
	keep(kept, malloc(101));
	STOP();
}

NOINLINE void path_inlined(struct kept *kept);
NOINLINE void path_inlined(struct kept *kept)
{
	for (uint32_t i = 0; i < 13; i++)
		inlined(kept);
}

/* Allocates after the recursive call, so that no call is a tail call. */
NOINLINE void path_recursive(struct kept *kept, uint32_t left);
NOINLINE void path_recursive(struct kept *kept, uint32_t left)
{
	if (left > 1)
		path_recursive(kept, left - 1);
	else
		rs_guest_stack("the deepest");
	keep(kept, malloc(211));
	STOP();
}

NOINLINE void *tail_called(size_t bytes);
NOINLINE void *tail_called(size_t bytes)
{
	void *memory = malloc(bytes);

	STOP(); /* so that this call is not a tail call */
	return memory;
}

NOINLINE void *tail_calling(size_t bytes);
NOINLINE void *tail_calling(size_t bytes)
{
	return tail_called(bytes);
}

NOINLINE void path_tail(struct kept *kept);
NOINLINE void path_tail(struct kept *kept)
{
	for (uint32_t i = 0; i < 17; i++)
		keep(kept, tail_calling(307));
}

/* In a separate file, because the compiler's option applies to a file. */
void *no_frame(size_t bytes);

NOINLINE void path_no_frame(struct kept *kept);
NOINLINE void path_no_frame(struct kept *kept)
{
	for (uint32_t i = 0; i < 19; i++)
		keep(kept, no_frame(401));
}

NOINLINE static uint64_t paths(void)
{
	struct kept first = { .n = 0 }, second = { .n = 0 }, third = { .n = 0 },
		    fourth = { .n = 0 };

	path_inlined(&first);
	release(&first, 11);
	path_recursive(&second, 7);
	release(&second, 5);
	path_tail(&third);
	release(&third, 17);
	path_no_frame(&fourth);
	release(&fourth, 14);
	return first.n + second.n + third.n + fourth.n;
}

static uint64_t with_frames(const struct rs_kit_args *args)
{
	(void)args;
	rs_memory_start(&(struct rs_memory_options){ .stacks = RS_STACKS_FRAMES });
	return paths();
}
RS_KIT_EXPORT_AS("main", with_frames, 0,
		 "the allocations, with stacks by frame pointers; how many");

static uint64_t host(const struct rs_kit_args *args)
{
	(void)args;
	rs_memory_start(&(struct rs_memory_options){
		.stacks = RS_STACKS_HOST,
		.host_stacks = host_stacks,
		.n_host_stacks = VCPUS,
	});
	return paths();
}
RS_KIT_EXPORT(host, 0, "the same, with stacks by the host; how many");

static uint64_t stop(const struct rs_kit_args *args)
{
	until_stop = (uint32_t)args->v[0];
	return host(args);
}
RS_KIT_EXPORT(stop, 1, "the same, until the guest stops after this many");

static uint64_t plain(const struct rs_kit_args *args)
{
	(void)args;
	rs_memory_start(&(struct rs_memory_options){ .stacks = RS_STACKS_NONE });
	return paths();
}
RS_KIT_EXPORT(plain, 0, "the same, without stacks; how many");

/* Each other function of the allocator, with sizes that identify it. */
static uint64_t others(const struct rs_kit_args *args)
{
	void *memory = NULL;
	char *grown;

	(void)args;
	rs_memory_start(&(struct rs_memory_options){ .stacks = RS_STACKS_FRAMES });
	grown = calloc(3, 37);
	for (uint32_t i = 0; grown && i < 3 * 37; i++) {
		if (grown[i])
			rs_kit_panic("calloc() of memory that is not zero");
		grown[i] = (char)i;
	}
	grown = realloc(grown, 503);
	grown = realloc(grown, 53);
	for (uint32_t i = 0; grown && i < 53; i++) {
		if (grown[i] != (char)i)
			rs_kit_panic("realloc() has lost what was there");
	}
	free(grown);
	free(realloc(NULL, 59));
	free(NULL);
	if (posix_memalign(&memory, 4096, 61) || (uintptr_t)memory % 4096)
		rs_kit_panic("posix_memalign() of other memory");
	free(memory);
	memory = aligned_alloc(256, 67);
	if (!memory || (uintptr_t)memory % 256)
		rs_kit_panic("aligned_alloc() of other memory");
	free(memory);
	if (posix_memalign(&memory, 3, 61) != 22 || aligned_alloc(3, 67) || malloc(SIZE_MAX) ||
	    calloc(SIZE_MAX, 2) || realloc(NULL, UINT64_C(1) << 50))
		rs_kit_panic("memory that cannot be");
	return 0;
}
RS_KIT_EXPORT(others, 0, "each other function of the allocator");

/* Sizes from 1 to 4096 in turn, freed immediately except for each 512th. */
static uint64_t sampled(const struct rs_kit_args *args)
{
	static uint64_t live[4096];
	uint32_t size = 0;

	if (!rs_memory_start(&(struct rs_memory_options){
		    .interval = args->v[1], .seed = 7, .live = live, .live_bytes = sizeof(live) }))
		rs_kit_panic("rs_memory_start()");
	for (uint64_t i = 0; i < args->v[0]; i++) {
		void *memory;

		size = size % 4096 + 1;
		memory = malloc(size);
		if (i % 512 != 511)
			free(memory);
	}
	return rs_memory_dropped();
}
RS_KIT_EXPORT(sampled, 2, "this many allocations, sampled at this interval; samples dropped");
