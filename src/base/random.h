/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pseudo-random numbers, for samples that are not in step with what they measure: splitmix64
 * (Steele, Lea, Flood: Fast splittable pseudorandom number generators). Also part of the guest
 * library, so no libc.
 */
#ifndef RS_BASE_RANDOM_H
#define RS_BASE_RANDOM_H

#include <stdint.h>

#define RS_RANDOM_STEP UINT64_C(0x9e3779b97f4a7c15)

/* Returns the next number, and advances the state. Each state is a valid seed. */
static inline uint64_t rs_random_next(uint64_t *state)
{
	uint64_t z = *state += RS_RANDOM_STEP;

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* Returns the number after `n` others, without these. */
static inline uint64_t rs_random_at(uint64_t seed, uint64_t n)
{
	uint64_t state = seed + n * RS_RANDOM_STEP;

	return rs_random_next(&state);
}

#endif
