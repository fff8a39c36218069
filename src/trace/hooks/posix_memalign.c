/* SPDX-License-Identifier: BSD-2-Clause */
/* posix_memalign() with records, as malloc.c describes. */
#include "trace/hooks/hooks.h"

int __real_posix_memalign(void **memory, size_t align, size_t bytes);
int __wrap_posix_memalign(void **memory, size_t align, size_t bytes);

int __wrap_posix_memalign(void **memory, size_t align, size_t bytes)
{
	int error = __real_posix_memalign(memory, align, bytes);

	if (!error)
		rs_memory_alloc(*memory, bytes, (uint32_t)align);
	return error;
}
