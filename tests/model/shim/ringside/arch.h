/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Precedes include/ringside/arch.h when the ring is built for the interleaving test: the stamp is a
 * counter that advances at every read, and what is one instruction in the real header is one step
 * here, so that a handler may run before it but not in its middle.
 */
#ifndef RINGSIDE_ARCH_H
#define RINGSIDE_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#define rs_signal_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

uint64_t rs_tsc(void);
bool rs_local_cmpxchg(uint64_t *at, uint64_t old, uint64_t new_value);
uint64_t rs_local_xchg(uint64_t *at, uint64_t new_value);

#endif
