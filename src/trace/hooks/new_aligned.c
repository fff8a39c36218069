/* SPDX-License-Identifier: BSD-2-Clause */
/* operator new and delete of objects whose type has an extended alignment: new.h. */
#include "trace/hooks/new.h"

void *aligned_alloc(size_t align, size_t bytes);
void free(void *memory);

/* operator new(size_t, std::align_val_t), operator new[], and so on as in new.c */
void *_ZnwmSt11align_val_t(size_t bytes, size_t align);
void *_ZnamSt11align_val_t(size_t bytes, size_t align);
void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *nothrow);
void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *nothrow);
void _ZdlPvSt11align_val_t(void *memory, size_t align);
void _ZdaPvSt11align_val_t(void *memory, size_t align);
void _ZdlPvmSt11align_val_t(void *memory, size_t bytes, size_t align);
void _ZdaPvmSt11align_val_t(void *memory, size_t bytes, size_t align);
void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *memory, size_t align, const void *nothrow);
void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *memory, size_t align, const void *nothrow);

static inline __attribute__((always_inline)) void *allocate(size_t bytes, size_t align,
							    bool may_fail)
{
	/* aligned_alloc() accepts multiples of the alignment, a power of two. */
	size_t rounded = bytes ? (bytes + align - 1) & ~(align - 1) : align;
	void *memory;

	while (rounded < bytes || !(memory = aligned_alloc(align, rounded))) {
		if (new_handled())
			continue;
		if (may_fail)
			return NULL;
		new_failed();
	}
	return memory;
}

void *_ZnwmSt11align_val_t(size_t bytes, size_t align)
{
	return allocate(bytes, align, false);
}

void *_ZnamSt11align_val_t(size_t bytes, size_t align)
{
	return allocate(bytes, align, false);
}

void *_ZnwmSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *nothrow)
{
	(void)nothrow;
	return allocate(bytes, align, true);
}

void *_ZnamSt11align_val_tRKSt9nothrow_t(size_t bytes, size_t align, const void *nothrow)
{
	(void)nothrow;
	return allocate(bytes, align, true);
}

void _ZdlPvSt11align_val_t(void *memory, size_t align)
{
	(void)align;
	free(memory);
}

void _ZdaPvSt11align_val_t(void *memory, size_t align)
{
	(void)align;
	free(memory);
}

void _ZdlPvmSt11align_val_t(void *memory, size_t bytes, size_t align)
{
	(void)bytes, (void)align;
	free(memory);
}

void _ZdaPvmSt11align_val_t(void *memory, size_t bytes, size_t align)
{
	(void)bytes, (void)align;
	free(memory);
}

void _ZdlPvSt11align_val_tRKSt9nothrow_t(void *memory, size_t align, const void *nothrow)
{
	(void)align, (void)nothrow;
	free(memory);
}

void _ZdaPvSt11align_val_tRKSt9nothrow_t(void *memory, size_t align, const void *nothrow)
{
	(void)align, (void)nothrow;
	free(memory);
}
