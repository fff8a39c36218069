/* SPDX-License-Identifier: BSD-2-Clause */
/* A part of the guest memory that is compiled without frame pointers. */
#include <stddef.h>

void *malloc(size_t bytes);
void *no_frame(size_t bytes);

void *no_frame(size_t bytes)
{
	void *memory = malloc(bytes);

	__asm__ volatile("" : : : "memory"); /* no tail call */
	return memory;
}
