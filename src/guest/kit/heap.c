/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kit's heap, for guests without an allocator: the linker includes this file if a guest calls
 * malloc() or a related function. Each block has a size class, and freed blocks wait in the list of
 * their class; unused memory is allocated from the front of the rest.
 *
 *	block:	| ... padding for the alignment | struct tag | what the caller gets ... |
 *
 * All vCPUs share the heap, under a spin lock; handlers of exceptions may not allocate.
 * rs_kit_heap() sets its memory; by default it has RS_KIT_HEAP_BYTES of the guest's image.
 */
#include <ringside/kit.h>

#define ALIGN_MIN     16u
#define CLASS_STEPS   4u /* classes between a power of two and the next one */
#define CLASS_MIN_LOG 5u /* the first classes are of 32, 40, 48, 56 bytes */
#define CLASSES	      (CLASS_STEPS * (48u - CLASS_MIN_LOG))

void *malloc(size_t bytes);
void *calloc(size_t n, size_t bytes);
void *realloc(void *from, size_t bytes);
void free(void *memory);
void *aligned_alloc(size_t align, size_t bytes);
int posix_memalign(void **memory, size_t align, size_t bytes);

/* Precedes the caller's memory. Its size is a multiple of ALIGN_MIN. */
struct tag {
	uint32_t class;	 /* + CLASS_MARK */
	uint32_t before; /* bytes of the block before the tag */
	uint64_t bytes;	 /* bytes that were requested */
};
_Static_assert(sizeof(struct tag) == ALIGN_MIN, "the caller's memory is aligned");
#define CLASS_MARK 0x6b697400u

struct block {
	struct block *next;
};

static struct {
	uint32_t lock;
	uint8_t *next, *end; /* memory that was never used; both NULL before the first call */
	struct block *free[CLASSES];
} heap;

static uint8_t image_heap[RS_KIT_HEAP_BYTES] __attribute__((aligned(64)));

static void lock(void)
{
	/* Acquire pairs with the release in unlock(). */
	while (__atomic_exchange_n(&heap.lock, 1, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

static void unlock(void)
{
	__atomic_store_n(&heap.lock, 0, __ATOMIC_RELEASE);
}

void rs_kit_heap(void *memory, uint64_t bytes)
{
	uint64_t from = ((uintptr_t)memory + ALIGN_MIN - 1) & ~(uint64_t)(ALIGN_MIN - 1);

	lock();
	for (uint32_t i = 0; i < CLASSES; i++)
		heap.free[i] = NULL;
	heap.next = (uint8_t *)(uintptr_t)from;
	heap.end = (uint8_t *)memory + bytes;
	unlock();
}

/* Returns the size of a class: (4 + step) / 4 of a power of two. */
static uint64_t class_bytes(uint32_t class)
{
	uint32_t log = CLASS_MIN_LOG + class / CLASS_STEPS;

	return (UINT64_C(1) << log) + ((uint64_t)(class % CLASS_STEPS) << (log - 2));
}

/* Returns the smallest class that holds `bytes`, which are at least the first class's. */
static uint32_t class_of(uint64_t bytes)
{
	uint32_t log = 63 - (uint32_t)__builtin_clzll(bytes);
	uint32_t class = (log - CLASS_MIN_LOG) * CLASS_STEPS + (bytes >> (log - 2) & 3);

	return class_bytes(class) < bytes ? class + 1 : class;
}

/* Takes a block of a class, under the lock. Returns NULL if the heap is used up. */
static uint8_t *block_take(uint32_t class)
{
	struct block *block = heap.free[class];
	uint64_t bytes = (class_bytes(class) + ALIGN_MIN - 1) & ~(uint64_t)(ALIGN_MIN - 1);

	if (block) {
		heap.free[class] = block->next;
		return (uint8_t *)block;
	}
	if (!heap.end) {
		heap.next = image_heap;
		heap.end = image_heap + sizeof(image_heap);
	}
	if ((uint64_t)(heap.end - heap.next) < bytes)
		return NULL;
	heap.next += bytes;
	return heap.next - bytes;
}

static void *allocate(uint64_t align, uint64_t bytes)
{
	uint64_t more = sizeof(struct tag) + (align > ALIGN_MIN ? align : 0), at;
	uint32_t class;
	struct tag *tag;
	uint8_t *block;

	if (align > UINT32_MAX || bytes >> 40)
		return NULL;
	class = class_of(bytes + more < class_bytes(0) ? class_bytes(0) : bytes + more);
	lock();
	block = block_take(class);
	unlock();
	if (!block)
		return NULL;
	at = (uintptr_t)block + sizeof(*tag);
	if (align > ALIGN_MIN)
		at = (at + align - 1) & ~(align - 1);
	tag = (struct tag *)(uintptr_t)at - 1;
	*tag = (struct tag){
		.class = class + CLASS_MARK,
		.before = (uint32_t)((uint8_t *)tag - block),
		.bytes = bytes,
	};
	return tag + 1;
}

void *malloc(size_t bytes)
{
	return allocate(ALIGN_MIN, bytes);
}

/* Ends the guest if the block does not exist, or was freed, which clears its tag. */
void free(void *memory)
{
	struct block *block;
	struct tag *tag;
	uint32_t class;

	if (!memory)
		return;
	tag = (struct tag *)memory - 1;
	lock();
	class = tag->class - CLASS_MARK;
	block = (struct block *)(void *)((uint8_t *)tag - tag->before);
	tag->class = 0;
	if (class < CLASSES) {
		block->next = heap.free[class];
		heap.free[class] = block;
	}
	unlock();
	if (class >= CLASSES)
		rs_kit_panic(
			"free() of memory that malloc() did not return, or that was already freed");
}

void *calloc(size_t n, size_t bytes)
{
	size_t all;
	void *memory;

	if (__builtin_mul_overflow(n, bytes, &all))
		return NULL;
	memory = allocate(ALIGN_MIN, all);
	if (memory)
		__builtin_memset(memory, 0, all);
	return memory;
}

void *realloc(void *from, size_t bytes)
{
	struct tag *tag;
	void *memory;

	if (!from)
		return malloc(bytes);
	memory = allocate(ALIGN_MIN, bytes);
	if (!memory)
		return NULL;
	tag = (struct tag *)from - 1;
	__builtin_memcpy(memory, from, tag->bytes < bytes ? tag->bytes : bytes);
	free(from);
	return memory;
}

void *aligned_alloc(size_t align, size_t bytes)
{
	return align && !(align & (align - 1)) ? allocate(align, bytes) : NULL;
}

#define EINVAL 22
#define ENOMEM 12

int posix_memalign(void **memory, size_t align, size_t bytes)
{
	void *got;

	if (align < sizeof(void *) || align & (align - 1))
		return EINVAL;
	got = allocate(align, bytes);
	if (!got)
		return ENOMEM;
	*memory = got;
	return 0;
}
