/* SPDX-License-Identifier: BSD-2-Clause */
/* operator new and delete of ordinary alignment: new.h. */
#include "trace/hooks/new.h"

void *malloc(size_t bytes);
void free(void *memory);

void *_Znwm(size_t bytes); /* operator new(size_t) */
void *_Znam(size_t bytes); /* operator new[] */
void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *nothrow);
void *_ZnamRKSt9nothrow_t(size_t bytes, const void *nothrow);
void _ZdlPv(void *memory); /* operator delete(void *) */
void _ZdaPv(void *memory); /* operator delete[] */
void _ZdlPvm(void *memory, size_t bytes);
void _ZdaPvm(void *memory, size_t bytes);
void _ZdlPvRKSt9nothrow_t(void *memory, const void *nothrow);
void _ZdaPvRKSt9nothrow_t(void *memory, const void *nothrow);

static inline __attribute__((always_inline)) void *allocate(size_t bytes, bool may_fail)
{
	void *memory;

	/* An object of no bytes has a distinct address, too. */
	while (!(memory = malloc(bytes ? bytes : 1))) {
		if (new_handled())
			continue;
		if (may_fail)
			return NULL;
		new_failed();
	}
	return memory;
}

void *_Znwm(size_t bytes)
{
	return allocate(bytes, false);
}

void *_Znam(size_t bytes)
{
	return allocate(bytes, false);
}

void *_ZnwmRKSt9nothrow_t(size_t bytes, const void *nothrow)
{
	(void)nothrow;
	return allocate(bytes, true);
}

void *_ZnamRKSt9nothrow_t(size_t bytes, const void *nothrow)
{
	(void)nothrow;
	return allocate(bytes, true);
}

void _ZdlPv(void *memory)
{
	free(memory);
}

void _ZdaPv(void *memory)
{
	free(memory);
}

void _ZdlPvm(void *memory, size_t bytes)
{
	(void)bytes;
	free(memory);
}

void _ZdaPvm(void *memory, size_t bytes)
{
	(void)bytes;
	free(memory);
}

void _ZdlPvRKSt9nothrow_t(void *memory, const void *nothrow)
{
	(void)nothrow;
	free(memory);
}

void _ZdaPvRKSt9nothrow_t(void *memory, const void *nothrow)
{
	(void)nothrow;
	free(memory);
}
