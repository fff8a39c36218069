/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A failing allocator, as a library to preload. After failing_arm(n), each n-th call finds no
 * memory, until failing_arm(0).
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

static unsigned int every, calls; /* relaxed */

void failing_arm(unsigned int n);

__attribute__((visibility("default"))) void failing_arm(unsigned int n)
{
	__atomic_store_n(&every, n, __ATOMIC_RELAXED);
}

static int fails(void)
{
	unsigned int n = __atomic_load_n(&every, __ATOMIC_RELAXED);

	if (!n || __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % n)
		return 0;
	errno = ENOMEM;
	return 1;
}

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
	return fails() ? NULL : __libc_malloc(bytes);
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t bytes)
{
	return fails() ? NULL : __libc_calloc(n, bytes);
}

__attribute__((visibility("default"))) void *realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __libc_realloc(old, bytes);
}
