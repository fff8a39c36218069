/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * malloc(), calloc(), realloc() and free() with records, for programs and guests that are linked
 * with --wrap for each of the four (ringside_memory(3)). The linker then redirects their calls to
 * these functions, and __real_ is the allocator's function. An allocation that one function makes
 * for another is not recorded twice, because the linker does not redirect calls within an
 * allocator's object.
 */
#include "trace/hooks/hooks.h"

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *from, size_t bytes);
void __real_free(void *memory);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *from, size_t bytes);
void __wrap_free(void *memory);

void *__wrap_malloc(size_t bytes)
{
	void *memory = __real_malloc(bytes);

	rs_memory_alloc(memory, bytes, 0);
	return memory;
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	void *memory = __real_calloc(n, bytes);

	rs_memory_alloc(memory, n * bytes, 0); /* no overflow, or no memory */
	return memory;
}

void *__wrap_realloc(void *from, size_t bytes)
{
	bool recorded;
	void *memory;

	if (!from)
		return __wrap_malloc(bytes);
	if (!bytes) { /* frees, and may allocate */
		rs_memory_free(from);
		memory = __real_realloc(from, 0);
		rs_memory_alloc(memory, 0, 0);
		return memory;
	}
	recorded = rs_memory_moving(from);
	memory = __real_realloc(from, bytes);
	rs_memory_realloc(from, recorded, memory, bytes);
	return memory;
}

void __wrap_free(void *memory)
{
	rs_memory_free(memory);
	__real_free(memory);
}
