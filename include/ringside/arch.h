/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processor primitives for the inline functions: the stamp, and a compare-and-swap that is atomic
 * against interrupts of the *same* processor or signals of the same thread, not against others.
 * Libc-free: the guest runtime uses it too. A new architecture is one more branch here.
 */
#ifndef RINGSIDE_ARCH_H
#define RINGSIDE_ARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/language.h>

RS_C_BEGIN

/* Keeps the compiler from moving memory accesses across this point. Orders a thread with its own
 * handlers. */
#define rs_signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#if defined(__x86_64__)

/*
 * Returns the TSC by RDTSC (SDM vol. 2), which does not serialise; successive reads on one
 * processor never go back. The halves are first combined in RDX, because the claim that follows
 * needs RAX, which would otherwise have to be saved.
 */
static inline uint64_t rs_tsc(void)
{
	uint64_t now;

	__asm__ volatile("rdtsc\n\t"
			 "shlq $32, %%rdx\n\t"
			 "orq %%rax, %%rdx"
			 : "=d"(now)
			 :
			 : "rax", "cc");
	return now;
}

/*
 * Compares and swaps by CMPXCHG without LOCK: one instruction, which no handler can interrupt. Only
 * for memory that a single thread (or vCPU) and its handlers write. Returns whether the swap was
 * made.
 */
static inline bool rs_local_cmpxchg(uint64_t *at, uint64_t old, uint64_t new_value)
{
	bool done;

	__asm__ volatile("cmpxchgq %[new_value], %[at]"
			 : "=@ccz"(done), [at] "+m"(*at), "+a"(old)
			 : [new_value] "r"(new_value)
			 : "memory");
	return done;
}

static inline uint64_t rs_local_xchg(uint64_t *at, uint64_t new_value)
{
	return __atomic_exchange_n(at, new_value, __ATOMIC_RELAXED);
}

/* Assembler text that loads the 32-bit word at a label into an operand. */
#define RS_ARCH_LOAD_WORD(label, operand) "movl " label "(%%rip), %k" operand

/* Returns the address of the instruction that follows. */
static inline __attribute__((always_inline)) uint64_t rs_here(void)
{
	uint64_t here;

	__asm__ volatile("leaq 0(%%rip), %0" : "=r"(here));
	return here;
}

#elif defined(__aarch64__)

/* Returns the virtual counter (Arm ARM D11.2), which has a constant rate and is the same on every
 * processor. */
static inline uint64_t rs_tsc(void)
{
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
}

/* Compares and swaps by LDXR/STXR. An exception clears the exclusive monitor, so the pair is atomic
 * against handlers. */
static inline bool rs_local_cmpxchg(uint64_t *at, uint64_t old, uint64_t new_value)
{
	return __atomic_compare_exchange_n(at, &old, new_value, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

static inline uint64_t rs_local_xchg(uint64_t *at, uint64_t new_value)
{
	return __atomic_exchange_n(at, new_value, __ATOMIC_RELAXED);
}

/* Assembler text that loads the 32-bit word at a label into an operand. */
#define RS_ARCH_LOAD_WORD(label, operand)                                                          \
	"adrp %x" operand ", " label "\n\tldr %w" operand ", [%x" operand ", :lo12:" label "]"

/* Returns the address of the instruction that follows. */
static inline __attribute__((always_inline)) uint64_t rs_here(void)
{
	uint64_t here;

	__asm__ volatile("adr %0, ." : "=r"(here));
	return here;
}

#elif defined(__bpf__)

/* BPF programs use only the layouts. They call none of these functions, which the kernel would not
 * load. */
static inline uint64_t rs_tsc(void)
{
	__builtin_trap();
}

static inline bool rs_local_cmpxchg(uint64_t *at, uint64_t old, uint64_t new_value)
{
	(void)at, (void)old, (void)new_value;
	__builtin_trap();
}

static inline uint64_t rs_local_xchg(uint64_t *at, uint64_t new_value)
{
	(void)at, (void)new_value;
	__builtin_trap();
}

#else
#error "ringside: no stamp for this architecture yet; add it to arch.h"
#endif

RS_C_END

#endif
