/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The subject of the interleaving test: the real put, built so that each access to memory calls
 * model_step() first (hooks.c).
 */
#ifndef RS_TESTS_MODEL_SUBJECT_H
#define RS_TESTS_MODEL_SUBJECT_H

#include <ringside/sbuf.h>

#define MODEL_SLOTS_MAX 3u
#define MODEL_WORDS_MAX (2 + 4 * (MODEL_SLOTS_MAX - 1)) /* of payload */
#define MODEL_ID	UINT64_C(0x123456789abc)

extern struct rs_sbuf_producer model_producer;

/* Word i of the payload of put number n. */
static inline uint64_t model_word(uint32_t n, uint32_t i)
{
	return (uint64_t)n << 32 | ~(n * 7919 + i);
}

/* Puts record number n of 1 to MODEL_SLOTS_MAX slots. Returns false if refused. */
bool model_put(uint32_t n, uint32_t slots);

/* Called before each access to memory of the put, and before each stamp. */
void model_step(const volatile void *at);

#endif
