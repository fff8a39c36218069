/* SPDX-License-Identifier: BSD-2-Clause */
/* A histogram of durations with eight buckets for each power of two. */
#include "base/hist.h"

#define SUB (1u << RS_HIST_SUB_BITS)

uint64_t rs_hist_bound(uint32_t bucket)
{
	uint32_t log2;

	if (bucket < SUB)
		return bucket;
	if (bucket > RS_HIST_BUCKETS)
		bucket = RS_HIST_BUCKETS;
	log2 = (bucket >> RS_HIST_SUB_BITS) + RS_HIST_SUB_BITS - 1;
	return (uint64_t)(SUB + (bucket & (SUB - 1))) << (log2 - RS_HIST_SUB_BITS);
}

void rs_hist_add(struct rs_hist *to, const struct rs_hist *from)
{
	for (uint32_t i = 0; i < RS_HIST_BUCKETS; i++)
		to->count[i] += from->count[i];
}

void rs_hist_subtract(struct rs_hist *of, const struct rs_hist *before)
{
	for (uint32_t i = 0; i < RS_HIST_BUCKETS; i++)
		of->count[i] -= before->count[i];
}

uint64_t rs_hist_total(const struct rs_hist *hist)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < RS_HIST_BUCKETS; i++)
		total += hist->count[i];
	return total;
}

/* Returns the position in [low, high) of the rank-th of n evenly spread values. */
static uint64_t interpolate(uint64_t low, uint64_t high, uint64_t rank, uint64_t n)
{
	return low + (uint64_t)((__uint128_t)(high - low) * rank / n);
}

uint64_t rs_hist_percentile(const struct rs_hist *hist, uint32_t permille, uint64_t min,
			    uint64_t max)
{
	uint64_t total = rs_hist_total(hist);
	uint64_t rank, below = 0, value = 0;

	if (!total)
		return 0;
	if (permille > 1000)
		permille = 1000;
	/* The number of values at or below the result, at least one. */
	rank = (uint64_t)(((__uint128_t)total * permille + 999) / 1000);
	if (!rank)
		rank = 1;
	for (uint32_t i = 0; i < RS_HIST_BUCKETS; i++) {
		uint64_t n = hist->count[i], last;

		if (below + n < rank) {
			below += n;
			continue;
		}
		/* Values are integers: the last value of a bucket is one below the next bucket's
		 * first. The last bucket has all larger values. */
		last = rs_hist_bound(i + 1) - 1;
		if (i == RS_HIST_BUCKETS - 1 && max > last)
			last = max;
		value = interpolate(rs_hist_bound(i), last, rank - below, n);
		break;
	}
	if (max && value > max)
		value = max;
	if (value < min)
		value = min;
	return value;
}

void rs_hist_log2_slots(const struct rs_hist *hist, uint64_t slots[RS_HIST_LOG2_SLOTS])
{
	for (uint32_t i = 0; i < RS_HIST_LOG2_SLOTS; i++)
		slots[i] = 0;
	for (uint32_t i = 0; i < RS_HIST_BUCKETS; i++) {
		uint64_t low = rs_hist_bound(i);

		slots[low ? rs_hist_log2(low) + 1 : 0] += hist->count[i];
	}
}
