/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The four functions to which compilers emit calls, even in freestanding code. They are weak, so
 * that a guest can provide better ones. The file needs -fno-builtin: otherwise a compiler
 * recognises the loops and makes each function call itself.
 */
#include <stddef.h>
#include <stdint.h>

typedef uint64_t __attribute__((may_alias)) word_alias;

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

/* Fills the memory in whole words where it can, because it clears the lanes of a log. */
__attribute__((weak)) void *memset(void *to, int byte, size_t bytes)
{
	unsigned char *t = to;
	uint64_t word = (unsigned char)byte * UINT64_C(0x0101010101010101);

	while (bytes && (uintptr_t)t % sizeof(word)) {
		*t++ = (unsigned char)byte;
		bytes--;
	}
	for (; bytes >= sizeof(word); bytes -= sizeof(word), t += sizeof(word))
		*(word_alias *)(void *)t = word;
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
