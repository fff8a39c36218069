/* SPDX-License-Identifier: BSD-2-Clause */
/* aligned_alloc() with records, as malloc.c describes. */
#include "trace/hooks/hooks.h"

void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
	void *memory = __real_aligned_alloc(align, bytes);

	rs_memory_alloc(memory, bytes, (uint32_t)align);
	return memory;
}
