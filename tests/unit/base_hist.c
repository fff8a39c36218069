/* SPDX-License-Identifier: BSD-2-Clause */
/* The histogram of durations: its buckets, percentiles and powers of two. */
#include "../test.h"

#include "base/hist.h"

/* Compares with the diagram in hist.h. */
TEST(buckets_match_the_header)
{
	static const struct {
		uint64_t value;
		uint32_t bucket;
	} cases[] = {
		{ 0, 0 },
		{ 1, 1 },
		{ 7, 7 },
		{ 8, 8 },
		{ 15, 15 },
		{ 16, 16 },
		{ 17, 16 },
		{ 18, 17 },
		{ 30, 23 },
		{ 31, 23 },
		{ 32, 24 },
		{ 35, 24 },
		{ 36, 25 },
		{ 63, 31 },
		{ 64, 32 },
		{ 1000, 63 },
		{ 1024, 64 },
		{ UINT64_C(1) << 41, 312 },
		{ UINT64_C(0x3ffffffffff), 319 }, /* the last value with a separate bucket */
		{ UINT64_C(1) << 42, 319 },
		{ UINT64_MAX, 319 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ_U64(rs_hist_bucket(cases[i].value), cases[i].bucket);
	CHECK_EQ_U64(RS_HIST_BUCKETS, 320);
}

TEST(a_bound_is_the_first_value_of_its_bucket)
{
	for (uint32_t i = 0; i < RS_HIST_BUCKETS; i++) {
		uint64_t low = rs_hist_bound(i);

		CHECK_EQ_U64(rs_hist_bucket(low), i);
		if (i)
			CHECK_EQ_U64(rs_hist_bucket(low - 1), i - 1);
		/* at most an eighth of its value wide */
		if (low)
			CHECK(rs_hist_bound(i + 1) - low <= (low < 8 ? 1 : low / 8));
	}
	CHECK_EQ_U64(rs_hist_bound(RS_HIST_BUCKETS), UINT64_C(1) << 42);
	CHECK_EQ_U64(rs_hist_bound(UINT32_MAX), UINT64_C(1) << 42);
}

TEST(log2)
{
	for (uint32_t i = 0; i < 64; i++) {
		uint64_t power = UINT64_C(1) << i;

		CHECK_EQ_U64(rs_hist_log2(power), i);
		CHECK_EQ_U64(rs_hist_log2(power | (power - 1)), i);
	}
}

TEST(percentiles)
{
	struct rs_hist h = { 0 };

	CHECK_EQ_U64(rs_hist_percentile(&h, 500, 0, 0), 0);
	CHECK_EQ_U64(rs_hist_percentile(&h, 500, 3, 9), 0);

	/* 1, 2, 3, 4, 5: each in a separate bucket, so they are exact */
	for (uint32_t v = 1; v <= 5; v++)
		h.count[rs_hist_bucket(v)]++;
	CHECK_EQ_U64(rs_hist_percentile(&h, 0, 0, 0), 1);
	CHECK_EQ_U64(rs_hist_percentile(&h, 200, 0, 0), 1);
	CHECK_EQ_U64(rs_hist_percentile(&h, 201, 0, 0), 2);
	CHECK_EQ_U64(rs_hist_percentile(&h, 500, 0, 0), 3);
	CHECK_EQ_U64(rs_hist_percentile(&h, 1000, 0, 0), 5);
	CHECK_EQ_U64(rs_hist_percentile(&h, 5000, 0, 0), 5);
	CHECK_EQ_U64(rs_hist_total(&h), 5);

	/*
	 * 97 values of 1024..1151 (bucket 64), 3 of 1 << 20: p97 is the bucket's last value, p98 a
	 * third of the way through the other's 131071 values
	 */
	memset(&h, 0, sizeof(h));
	h.count[64] = 97;
	h.count[rs_hist_bucket(1 << 20)] = 3;
	CHECK_EQ_U64(rs_hist_percentile(&h, 970, 0, 0), 1151);
	CHECK_EQ_U64(rs_hist_percentile(&h, 980, 0, 0), (1 << 20) + 131071 / 3);
	CHECK_EQ_U64(rs_hist_percentile(&h, 1000, 0, 0), (1 << 20) + 131071);
	/* the known minimum and maximum limit the result */
	CHECK_EQ_U64(rs_hist_percentile(&h, 1000, 1100, 1 << 20), 1 << 20);
	CHECK_EQ_U64(rs_hist_percentile(&h, 10, 1100, 1 << 20), 1100);
}

/* The last bucket extends to the maximum, if that is known. */
TEST(percentiles_of_the_last_bucket)
{
	const uint64_t low = UINT64_C(15) << 38, max = UINT64_C(36000) * 1000000000;
	struct rs_hist h = { 0 };

	h.count[rs_hist_bucket(max)] = 4;
	CHECK_EQ_U64(rs_hist_percentile(&h, 500, 0, max), low + (max - low) / 2);
	CHECK_EQ_U64(rs_hist_percentile(&h, 1000, 0, max), max);
	CHECK_EQ_U64(rs_hist_percentile(&h, 1000, max, max), max);
	CHECK_EQ_U64(rs_hist_percentile(&h, 1000, 0, UINT64_MAX), UINT64_MAX);
	CHECK_EQ_U64(rs_hist_percentile(&h, 1000, 0, 0), (UINT64_C(1) << 42) - 1);
	CHECK_EQ_U64(rs_hist_percentile(&h, 1000, 0, low + 5), low + 5);
}

/* No rank overflows, whatever the count. */
TEST(percentiles_of_large_counts)
{
	struct rs_hist h = { 0 };

	h.count[10] = UINT64_MAX / 2;
	h.count[20] = UINT64_MAX / 4;
	CHECK_EQ_U64(rs_hist_percentile(&h, 500, 0, 0), 10);
	CHECK(rs_hist_bucket(rs_hist_percentile(&h, 990, 0, 0)) == 20);
}

TEST(addition_and_subtraction)
{
	struct rs_hist a = { 0 }, b = { 0 };

	for (uint32_t i = 0; i < RS_HIST_BUCKETS; i++) {
		a.count[i] = i * 3;
		b.count[i] = i + 1;
	}
	rs_hist_add(&a, &b);
	for (uint32_t i = 0; i < RS_HIST_BUCKETS; i++)
		CHECK_EQ_U64(a.count[i], i * 4 + 1);
	rs_hist_subtract(&a, &b);
	for (uint32_t i = 0; i < RS_HIST_BUCKETS; i++)
		CHECK_EQ_U64(a.count[i], i * 3);
}

/* slots[n]: values of n bits. */
TEST(powers_of_two)
{
	static const uint64_t values[] = {
		0, 0, 0, 1, 2, 3, 4, 7, 8, 1023, 1024, 2047, UINT64_MAX
	};
	struct rs_hist h = { 0 };
	uint64_t slots[RS_HIST_LOG2_SLOTS], total = 0;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		h.count[rs_hist_bucket(values[i])]++;
	rs_hist_log2_slots(&h, slots);
	CHECK_EQ_U64(slots[0], 3);
	CHECK_EQ_U64(slots[1], 1);
	CHECK_EQ_U64(slots[2], 2);
	CHECK_EQ_U64(slots[3], 2);
	CHECK_EQ_U64(slots[4], 1);
	CHECK_EQ_U64(slots[10], 1);
	CHECK_EQ_U64(slots[11], 2);
	CHECK_EQ_U64(slots[42], 1); /* values too large to be distinguished */
	for (size_t i = 0; i < RS_HIST_LOG2_SLOTS; i++)
		total += slots[i];
	CHECK_EQ_U64(total, 13);
}
