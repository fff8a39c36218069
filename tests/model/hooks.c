/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions that -fsanitize=thread calls before each access to memory, defined here in place of
 * ThreadSanitizer's runtime: each access of the subject becomes a step at which the explorer may
 * run something else. An access is indivisible: its step precedes all of its bytes, as an interrupt
 * comes between instructions.
 */
#include "subject.h"

#include <string.h>

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
	(void)pc;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

#define PLAIN(name)                                                                                \
	void __tsan_##name(void *at);                                                              \
	void __tsan_##name(void *at)                                                               \
	{                                                                                          \
		model_step(at);                                                                    \
	}
#define PLAIN_SIZES(kind)                                                                          \
	PLAIN(kind##1)                                                                             \
	PLAIN(kind##2)                                                                             \
	PLAIN(kind##4)                                                                             \
	PLAIN(kind##8)                                                                             \
	PLAIN(kind##16)
PLAIN_SIZES(read)
PLAIN_SIZES(write)
PLAIN_SIZES(unaligned_read)
PLAIN_SIZES(unaligned_write)
PLAIN_SIZES(volatile_read)
PLAIN_SIZES(volatile_write)

/* A structure that is copied or cleared in pieces has as many steps as words. */
static void step_words(char *at, size_t bytes)
{
	for (size_t done = 0; done < bytes; done += 8)
		model_step(at + done);
}

void __tsan_read_range(void *at, unsigned long bytes);
void __tsan_read_range(void *at, unsigned long bytes)
{
	step_words(at, bytes);
}

void __tsan_write_range(void *at, unsigned long bytes);
void __tsan_write_range(void *at, unsigned long bytes)
{
	step_words(at, bytes);
}

void *__tsan_memcpy(void *to, const void *from, size_t bytes);
void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
	for (size_t done = 0; done < bytes; done += 8) {
		model_step((const char *)from + done);
		model_step((char *)to + done);
		memcpy((char *)to + done, (const char *)from + done,
		       bytes - done < 8 ? bytes - done : 8);
	}
	return to;
}

void *__tsan_memset(void *at, int value, size_t bytes);
void *__tsan_memset(void *at, int value, size_t bytes)
{
	for (size_t done = 0; done < bytes; done += 8) {
		model_step((char *)at + done);
		memset((char *)at + done, value, bytes - done < 8 ? bytes - done : 8);
	}
	return at;
}

/* The atomic operations are calls, which also perform the operation. */
#define ATOMIC(bits)                                                                               \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order);   \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order)    \
	{                                                                                          \
		(void)order;                                                                       \
		model_step(at);                                                                    \
		return *at;                                                                        \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value,        \
					 int order);                                               \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value,        \
					 int order)                                                \
	{                                                                                          \
		(void)order;                                                                       \
		model_step(at);                                                                    \
		*at = value;                                                                       \
	}
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
	(void)order;
}

/* The shim's one-instruction operations. */
bool rs_local_cmpxchg(uint64_t *at, uint64_t old, uint64_t new_value)
{
	model_step(at);
	if (*at != old)
		return false;
	*at = new_value;
	return true;
}

uint64_t rs_local_xchg(uint64_t *at, uint64_t new_value)
{
	uint64_t old;

	model_step(at);
	old = *at;
	*at = new_value;
	return old;
}
