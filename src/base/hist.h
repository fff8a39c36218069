/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A histogram of durations whose buckets grow with the value: eight to each power of two, so a
 * bucket is at most an eighth of its value wide. BPF programs, reports and the probe language all
 * use this layout, and two histograms are merged by adding their buckets.
 *
 *	value	0 1 2 ... 7 | 8 9 ... 15 | 16 18 20 ... 30 | 32 36 40 ... | ...
 *	bucket	0 1 2 ... 7 | 8 9 ... 15 | 16 17 18 ... 23 | 24 25 26 ... | ...
 *
 * BPF programs also include this header, so it uses no libc, no division and no loop.
 */
#ifndef RS_BASE_HIST_H
#define RS_BASE_HIST_H

#include <stdbool.h>
#include <stdint.h>

#define RS_HIST_SUB_BITS 3
#define RS_HIST_BITS	 42 /* bits of the largest value below the last bucket: 73 min in ns */
#define RS_HIST_BUCKETS	 ((RS_HIST_BITS - RS_HIST_SUB_BITS + 1) << RS_HIST_SUB_BITS)

struct rs_hist {
	uint64_t count[RS_HIST_BUCKETS];
};

/* Returns the index of the highest bit set in value, which must not be 0. BPF has no instruction
 * for it. The empty asm keeps each step a single jump; without it, the compiler generates two
 * selections. */
static inline uint32_t rs_hist_log2(uint64_t value)
{
#ifndef __bpf__
	return 63u - (uint32_t)__builtin_clzll(value);
#else
	uint32_t at = 0;

#define RS_HIST_STEP(bits)                                                                         \
	if (value >> (bits)) {                                                                     \
		__asm__ volatile("");                                                              \
		value >>= (bits);                                                                  \
		at += (bits);                                                                      \
	}
	RS_HIST_STEP(32)
	RS_HIST_STEP(16)
	RS_HIST_STEP(8)
	RS_HIST_STEP(4)
	RS_HIST_STEP(2)
	RS_HIST_STEP(1)
#undef RS_HIST_STEP
	return at;
#endif
}

/* Returns a value's bucket, below RS_HIST_BUCKETS. */
static inline uint32_t rs_hist_bucket(uint64_t value)
{
	uint32_t log2;

	if (value < 1u << RS_HIST_SUB_BITS)
		return (uint32_t)value;
	if (value >> RS_HIST_BITS)
		return RS_HIST_BUCKETS - 1;
	log2 = rs_hist_log2(value);
	return ((log2 - RS_HIST_SUB_BITS + 1) << RS_HIST_SUB_BITS) +
	       ((uint32_t)(value >> (log2 - RS_HIST_SUB_BITS)) & ((1u << RS_HIST_SUB_BITS) - 1));
}

#ifndef __bpf__

/* Returns the least value of a bucket; for RS_HIST_BUCKETS, the end of the last bucket. */
uint64_t rs_hist_bound(uint32_t bucket);

void rs_hist_add(struct rs_hist *to, const struct rs_hist *from);

/* Subtracts an earlier state, `before`, from `of`. Counts never decrease. */
void rs_hist_subtract(struct rs_hist *of, const struct rs_hist *before);

uint64_t rs_hist_total(const struct rs_hist *hist);

/*
 * Returns the value that permille (0..1000) of the values do not exceed, interpolated within its
 * bucket; 0 for an empty histogram. min and max bound the result; if max is 0, both are unknown.
 */
uint64_t rs_hist_percentile(const struct rs_hist *hist, uint32_t permille, uint64_t min,
			    uint64_t max);

/* Counts by power of two, as bcc's and DTrace's distributions show them: slots[n] is the number of
 * values of n bits, and slots[0] the number of zeros. */
#define RS_HIST_LOG2_SLOTS (RS_HIST_BITS + 2)
void rs_hist_log2_slots(const struct rs_hist *hist, uint64_t slots[RS_HIST_LOG2_SLOTS]);

#endif
#endif
