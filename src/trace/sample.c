/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selects the allocations that are recorded: those in which a Poisson process over the allocated
 * bytes has a point, and their frees. Also part of the guest library, so no libc and no floating
 * point.
 */
#include "base/random.h"
#include "ring/stack.h"

#define LOG2_BITS 6 /* of the mantissa that select a table entry */

/* log2(1 + i / 64) * 2^31 */
static const uint32_t log2_of[(1 << LOG2_BITS) + 1] = {
	0x00000000, 0x02dcf2d1, 0x05aeb4dd, 0x08759c50, 0x0b31fb7d, 0x0de42120, 0x108c588d,
	0x132ae9e2, 0x15c01a3a, 0x184c2bd0, 0x1acf5e2e, 0x1d49ee4c, 0x1fbc16b9, 0x22260fb6,
	0x24880f56, 0x26e2499d, 0x2934f098, 0x2b803474, 0x2dc4439b, 0x30014ac6, 0x32377512,
	0x3466ec15, 0x368fd7ee, 0x38b25f5a, 0x3acea7c0, 0x3ce4d544, 0x3ef50ad2, 0x40ff6a2e,
	0x43041403, 0x450327eb, 0x46fcc47a, 0x48f10751, 0x4ae00d1d, 0x4cc9f1ab, 0x4eaecfeb,
	0x508ec1fa, 0x5269e12f, 0x5440461c, 0x5612089a, 0x57df3fd0, 0x59a80239, 0x5b6c65aa,
	0x5d2c7f59, 0x5ee863e5, 0x60a02757, 0x6253dd2c, 0x64039858, 0x65af6b4b, 0x675767f5,
	0x68fb9fce, 0x6a9c23d6, 0x6c39049b, 0x6dd2523d, 0x6f681c73, 0x70fa728c, 0x72896373,
	0x7414fdb5, 0x759d4f81, 0x772266ad, 0x78a450b8, 0x7a231ace, 0x7b9ed1c7, 0x7d17822f,
	0x7e8d3846, 0x80000000,
};

#define LN2_Q32 UINT64_C(0xb17217f8) /* ln(2) * 2^32 */

/* With u = random / 2^64: -log2(u) = zeros + 1 - log2(1 + fraction). */
uint64_t rs_sample_distance(uint64_t random, uint64_t mean)
{
	uint32_t zeros, entry, rest;
	uint64_t fraction, log2_q31, minus_log2_q31, nats_q32;
	unsigned __int128 distance;

	random |= 1;
	zeros = (uint32_t)__builtin_clzll(random);
	fraction = random << zeros << 1; /* of 2^64 */
	entry = (uint32_t)(fraction >> (64 - LOG2_BITS));
	rest = (uint32_t)(fraction << LOG2_BITS >> 32); /* of 2^32 */
	log2_q31 = log2_of[entry] + ((uint64_t)(log2_of[entry + 1] - log2_of[entry]) * rest >> 32);
	minus_log2_q31 = ((uint64_t)(zeros + 1) << 31) - log2_q31;
	nats_q32 = (uint64_t)((unsigned __int128)minus_log2_q31 * LN2_Q32 >> 31);
	distance = (unsigned __int128)nats_q32 * mean >> 32;
	return distance > INT64_MAX ? INT64_MAX : (uint64_t)distance;
}

/*
 * Begins a thread's or vCPU's process, or continues with a new mean: the distance is memoryless, so
 * a new one is drawn. Each stream records the mean by which it is sampled.
 */
static void sampler_init(struct rs_sbuf_producer *p, uint64_t interval)
{
	if (!p->sample_interval) {
		uint64_t seed = rs_memory_settings.seed;

		p->sample_state = seed ? seed + p->cpu_bits : rs_tsc() ^ (uintptr_t)p;
	}
	p->sample_interval = interval;
	p->sample_left = rs_sample_distance(rs_random_next(&p->sample_state), interval);
	rs_record_put(p, RS_ID_MEMORY_SAMPLING, &interval, sizeof(interval));
}

bool rs_sample_take(struct rs_sbuf_producer *p, uint64_t size)
{
	uint64_t interval = rs_memory_settings.interval;

	if (p->sample_interval != interval)
		sampler_init(p, interval);
	if (rs_sample_pass(p, size))
		return false;
	p->sample_left = rs_sample_distance(rs_random_next(&p->sample_state), interval);
	return true;
}

/* ---- addresses ---------------------------------------------------------------------------- */

bool rs_live_init(struct rs_memory_live *live, void *memory, uint64_t bytes)
{
	const uint64_t set_bytes = RS_LIVE_WAYS * sizeof(uint64_t);

	if ((uintptr_t)memory % sizeof(uint64_t) || bytes < set_bytes)
		return false;
	live->entries = memory;
	live->sets = UINT64_C(1) << (63 - __builtin_clzll(bytes / set_bytes));
	return true;
}

static uint64_t *set_of(const struct rs_memory_live *live, uint64_t address)
{
	/* Fibonacci hashing: the upper bits depend on all lower ones. */
	uint64_t hash = (address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	return live->entries + RS_LIVE_WAYS * (hash & (live->sets - 1));
}

bool rs_live_insert(const struct rs_memory_live *live, uint64_t address)
{
	uint64_t *set = set_of(live, address), old;

	for (uint32_t i = 0; i < RS_LIVE_WAYS; i++) {
		old = __atomic_load_n(&set[i], __ATOMIC_RELAXED);
		if (old == address)
			return true;
	}
	for (uint32_t i = 0; i < RS_LIVE_WAYS; i++) {
		old = 0;
		/* Relaxed: an entry contains only an address, and the allocator orders its return
		 * before its reuse. */
		if (__atomic_compare_exchange_n(&set[i], &old, address, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return true;
	}
	return false;
}

bool rs_live_remove(const struct rs_memory_live *live, uint64_t address)
{
	uint64_t *set = set_of(live, address);

	for (uint32_t i = 0; i < RS_LIVE_WAYS; i++) {
		if (__atomic_load_n(&set[i], __ATOMIC_RELAXED) == address) {
			__atomic_store_n(&set[i], 0, __ATOMIC_RELAXED);
			return true;
		}
	}
	return false;
}
