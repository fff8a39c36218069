/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces that began at different times, on one timeline. */
#include "../test.h"

#include "source/shift.h"

#define GHZ UINT64_C(1000000000)

static struct rs_clock clock_of(uint64_t freq_hz, uint64_t origin, int64_t wall_ns)
{
	struct rs_clock clock = {
		.name = "host", .freq_hz = freq_hz, .origin = origin, .wall_ns = wall_ns
	};

	rs_clock_init(&clock);
	return clock;
}

static int64_t later(struct rs_clock first, struct rs_clock clock)
{
	int64_t ns = INT64_MIN;

	CHECK_OK(rs_shift_find(&first, &clock, &ns));
	return ns;
}

TEST(one_tsc)
{
	/* 3,000,000 cycles of 3 GHz; the times of day are a little apart, as readings are */
	CHECK_EQ_S64(later(clock_of(3 * GHZ, 5000000, 70000), clock_of(3 * GHZ, 8000000, 1070500)),
		     1000000);
	CHECK_EQ_S64(later(clock_of(3 * GHZ, 8000000, 0), clock_of(3 * GHZ, 5000000, 0)), -1000000);
	/* a file that says no time of day */
	CHECK_EQ_S64(later(clock_of(2 * GHZ, 10, 12345), clock_of(2 * GHZ, 2010, 0)), 1000);
}

TEST(another_boot)
{
	int64_t hour = INT64_C(3600) * (int64_t)GHZ;

	CHECK_EQ_S64(later(clock_of(3 * GHZ, 5000000, hour), clock_of(3 * GHZ, 5000, 2 * hour)),
		     hour);
	/* another machine */
	CHECK_EQ_S64(later(clock_of(3 * GHZ, 5000000, hour), clock_of(2 * GHZ, 5000000, hour + 7)),
		     7);
}

TEST(nothing_in_common)
{
	struct rs_clock a = clock_of(3 * GHZ, 5, 7), b = clock_of(2 * GHZ, 5, 0);
	int64_t ns = 1;

	CHECK_ERR(rs_shift_find(&a, &b, &ns), RS_USAGE, "no telling");
	b = clock_of(3 * GHZ, 5, 0);
	b.monotonic = true;
	CHECK_ERR(rs_shift_find(&a, &b, &ns), RS_USAGE, "no telling");
	CHECK_EQ_S64(ns, 1);
}

/* ---- a source ------------------------------------------------------------------------------- */

struct given {
	struct rs_source source;
	struct rs_batch batches[4];
	uint32_t at;
	bool *gone;
};

static struct rs_error *given_next(struct rs_source *source, struct rs_batch *batch)
{
	struct given *g = (struct given *)source;

	*batch = g->batches[g->at++];
	return NULL;
}

static void given_destroy(struct rs_source *source)
{
	*((struct given *)source)->gone = true;
}

static const struct rs_source_ops given_ops = { .name = "given",
						.next = given_next,
						.destroy = given_destroy };

TEST(views)
{
	static const struct rs_view views[] = { { .ts_ns = 5 }, { .ts_ns = 7 } };
	bool gone = false;
	struct given given = {
		.source = { &given_ops },
		.batches = { { .kind = RS_NEXT_EVENTS, .views = views, .n = 2, .watermark_ns = 7 },
			     { .kind = RS_NEXT_IDLE, .watermark_ns = INT64_MIN },
			     { .kind = RS_NEXT_IDLE, .watermark_ns = 9 },
			     { .kind = RS_NEXT_END } },
		.gone = &gone
	};
	struct rs_source *source = NULL;
	struct rs_batch batch;

	CHECK_OK(rs_shift_create(&given.source, 100, &source));
	REQUIRE(source);
	CHECK_OK(source->ops->next(source, &batch));
	CHECK_EQ_S64(batch.n, 2);
	CHECK_EQ_S64(batch.views[0].ts_ns, 105);
	CHECK_EQ_S64(batch.views[1].ts_ns, 107);
	CHECK_EQ_S64(batch.watermark_ns, 107);
	CHECK_EQ_S64(views[0].ts_ns, 5);
	CHECK_OK(source->ops->next(source, &batch));
	CHECK_EQ_S64(batch.watermark_ns, INT64_MIN);
	CHECK_OK(source->ops->next(source, &batch));
	CHECK_EQ_S64(batch.watermark_ns, 109);
	CHECK_OK(source->ops->next(source, &batch));
	CHECK_EQ_S64(batch.kind, RS_NEXT_END);
	rs_source_destroy(source);
	CHECK(gone);
}
