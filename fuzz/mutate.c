/* SPDX-License-Identifier: BSD-2-Clause */
/* Mutates a part of an input and repairs the sizes and checksums around it. */
#include "mutate.h"

#include <string.h>

#define PART_MAX  65536u
#define GROWS_MAX 64u /* maximum growth of a part, in bytes */

uint32_t fuzz_pick(struct fuzz_mutant *m, uint32_t n)
{
	/* The constants are those of Numerical Recipes; the high bits are the random ones. */
	m->random = m->random * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)m->random * n >> 32);
}

bool fuzz_splice(struct fuzz_mutant *m, size_t at, size_t old, const void *bytes, size_t n)
{
	if (n > old && n - old > m->most - m->size)
		return false;
	memmove(m->data + at + n, m->data + at + old, m->size - at - old);
	if (n)
		memcpy(m->data + at, bytes, n);
	m->size = m->size - old + n;
	return true;
}

size_t fuzz_mutate_part(struct fuzz_mutant *m, size_t at, size_t len)
{
	static uint8_t part[PART_MAX];
	size_t room = m->most - m->size, n;

	if (len > PART_MAX - GROWS_MAX)
		return len;
	room = room < GROWS_MAX ? room : GROWS_MAX;
	if (!len && !room)
		return len;
	memcpy(part, m->data + at, len);
	n = LLVMFuzzerMutate(part, len, len + room);
	fuzz_splice(m, at, len, part, n);
	return n;
}

void fuzz_mutate_fixed(struct fuzz_mutant *m, size_t at, size_t len)
{
	if (len)
		LLVMFuzzerMutate(m->data + at, len, len); /* a shorter one leaves the rest */
}

uint32_t fuzz_get_u32(const struct fuzz_mutant *m, size_t at)
{
	uint32_t value;

	memcpy(&value, m->data + at, sizeof(value));
	return value;
}

void fuzz_put_u32(struct fuzz_mutant *m, size_t at, uint32_t value)
{
	memcpy(m->data + at, &value, sizeof(value));
}
