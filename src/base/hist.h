/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A histogram of durations whose buckets grow with the value: eight to each power of two, so a
 * bucket is at most an eighth of its value wide. The same layout is counted in by BPF programs, by
 * reports and by the probe language; two of them are merged by adding.
 *
 *	value	0 1 2 ... 7 | 8 9 ... 15 | 16 18 20 ... 30 | 32 36 40 ... | ...
 *	bucket	0 1 2 ... 7 | 8 9 ... 15 | 16 17 18 ... 23 | 24 25 26 ... | ...
 *
 * This header is read by the BPF compiler too: no libc, no division, no loop.
 */
#ifndef RS_BASE_HIST_H
#define RS_BASE_HIST_H

#include <stdbool.h>
#include <stdint.h>

#define RS_HIST_SUB_BITS 3
#define RS_HIST_BITS	 42 /* of the largest value told apart: 73 minutes in ns */
#define RS_HIST_BUCKETS	 ((RS_HIST_BITS - RS_HIST_SUB_BITS + 1) << RS_HIST_SUB_BITS)

struct rs_hist {
	uint64_t count[RS_HIST_BUCKETS];
};

/* The place of the highest bit that is set; value is not 0. BPF has no instruction for it; the
 * empty asm keeps a step one jump: its compiler would make two selections of it. */
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

/* Always below RS_HIST_BUCKETS. */
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

/* The least value of a bucket; of RS_HIST_BUCKETS, where the last one ends. */
uint64_t rs_hist_bound(uint32_t bucket);

void rs_hist_add(struct rs_hist *to, const struct rs_hist *from);

/* What `of` has more than it had at `before`; the counts only grow. */
void rs_hist_subtract(struct rs_hist *of, const struct rs_hist *before);

uint64_t rs_hist_total(const struct rs_hist *hist);

/*
 * The value that permille (0..1000) of the counted do not exceed, interpolated within its bucket;
 * 0 when nothing was counted. min and max, where known (max 0: not), tighten the ends.
 */
uint64_t rs_hist_percentile(const struct rs_hist *hist, uint32_t permille, uint64_t min,
			    uint64_t max);

/* Counts by power of two, as bcc's and DTrace's distributions show them: slots[n] has the values
 * of n bits, slots[0] the zeros. */
#define RS_HIST_LOG2_SLOTS (RS_HIST_BITS + 2)
void rs_hist_log2_slots(const struct rs_hist *hist, uint64_t slots[RS_HIST_LOG2_SLOTS]);

#endif
#endif
