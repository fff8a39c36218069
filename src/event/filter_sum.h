/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds a row of a filter (filter.h) to its sum. Numbers that are too large wrap, as in the
 * language's own aggregations (lang/vm/aggregate.c), with which the tests compare the sums. The
 * file is also compiled for BPF.
 */
#ifndef RS_EVENT_FILTER_SUM_H
#define RS_EVENT_FILTER_SUM_H

#include "base/hist.h"
#include "event/filter.h"

/* Adds a square, in 128 bits, because BPF multiplies only 64 bits. */
static inline void rs_filter_square(struct rs_filter_sum *sum, int64_t value)
{
	uint64_t a = value < 0 ? -(uint64_t)value : (uint64_t)value, low, middle, before;
	uint64_t top = a >> 32, bottom = (uint32_t)a;

	middle = top * bottom; /* twice this product, from bit 32 on */
	low = bottom * bottom;
	sum->more[1] += top * top + (middle >> 31);
	before = low;
	low += middle << 33;
	sum->more[1] += low < before;
	before = sum->more[0];
	sum->more[0] += low;
	sum->more[1] += sum->more[0] < before;
}

static inline uint32_t rs_filter_power(int64_t value)
{
	uint32_t power;

	if (!value)
		return RS_FILTER_POWER_ZERO;
	power = rs_hist_log2(value < 0 ? -(uint64_t)value : (uint64_t)value);
	if (value > 0)
		return RS_FILTER_POWER_ZERO + 1 + power;
	return power < RS_FILTER_POWER_ZERO ? RS_FILTER_POWER_ZERO - 1 - power : 0;
}

static inline void rs_filter_extent(struct rs_filter_sum *sum, int64_t value)
{
	if (value < 0)
		value = 0;
	if (!sum->n || (uint64_t)value < sum->more[0])
		sum->more[0] = (uint64_t)value;
	if (!sum->n || (uint64_t)value > sum->more[1])
		sum->more[1] = (uint64_t)value;
}

static inline void rs_filter_add(struct rs_filter_sum *sum, uint32_t how, const uint64_t *row)
{
	int64_t value = (int64_t)row[1];

	if (how == RS_FILTER_COUNT) { /* most often */
		sum->n++;
		return;
	}
	if (how == RS_FILTER_MIN || how == RS_FILTER_MAX) {
		if (!sum->n || (how == RS_FILTER_MIN ? value < sum->value : value > sum->value))
			sum->value = value;
	} else if (how == RS_FILTER_BINS || how == RS_FILTER_POWER) {
		sum->value = (int64_t)((uint64_t)sum->value + row[2]);
	} else if (how == RS_FILTER_HIST) {
		rs_filter_extent(sum, value);
	} else {
		sum->value = (int64_t)((uint64_t)sum->value + row[1]);
		if (how == RS_FILTER_SQUARES)
			rs_filter_square(sum, value);
	}
	sum->n++;
}

static inline uint32_t rs_filter_bin(uint32_t how, const uint64_t *row)
{
	int64_t value = (int64_t)row[1];

	if (how == RS_FILTER_POWER)
		return rs_filter_power(value);
	if (how == RS_FILTER_HIST)
		return rs_hist_bucket(value < 0 ? 0 : (uint64_t)value);
	return row[0] >> RS_FILTER_BIN;
}

#endif
