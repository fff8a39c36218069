/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The four functions that compilers call on their own account, even in freestanding code. Weak:
 * a guest with better ones keeps its own. Built with -fno-builtin, or a compiler would recognise
 * the loops and make each function call itself.
 */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

__attribute__((weak)) void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	while (bytes--)
		*t++ = *f++;
	return to;
}

__attribute__((weak)) void *memmove(void *to, const void *from, size_t bytes)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	if ((uintptr_t)t - (uintptr_t)f >= bytes) {
		while (bytes--)
			*t++ = *f++;
	} else {
		while (bytes--)
			t[bytes] = f[bytes];
	}
	return to;
}

__attribute__((weak)) void *memset(void *to, int byte, size_t bytes)
{
	unsigned char *t = to;

	while (bytes--)
		*t++ = (unsigned char)byte;
	return to;
}

__attribute__((weak)) int memcmp(const void *a, const void *b, size_t bytes)
{
	const unsigned char *x = a, *y = b;

	for (; bytes; bytes--, x++, y++) {
		if (*x != *y)
			return *x < *y ? -1 : 1;
	}
	return 0;
}
