/* SPDX-License-Identifier: BSD-2-Clause */
/* A source on the timeline of another trace, which began earlier. */
#include "../test.h"

#include "event/query.h"
#include "source/shift.h"

/* ---- a source ------------------------------------------------------------------------------- */

struct given {
	struct rs_source source;
	struct rs_query query; /* the query that it was opened with */
	struct rs_batch batches[4];
	uint32_t at;
	bool *gone;
};

static struct rs_error *given_open(struct rs_source *source, const struct rs_query *query,
				   uint32_t *pushed)
{
	((struct given *)source)->query = *query;
	*pushed = ~0u;
	return NULL;
}

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

static const struct rs_source_ops given_ops = {
	.name = "given", .open = given_open, .next = given_next, .destroy = given_destroy
};

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

/*
 * A part of the common time is another part of the source's own; filters that use times are not
 * delegated to the source.
 */
TEST(query)
{
	bool gone = false;
	struct given given = { .source = { &given_ops }, .gone = &gone };
	struct rs_source *source = NULL;
	struct rs_query query;
	uint32_t pushed = 0;

	CHECK_OK(rs_shift_create(&given.source, 100, &source));
	REQUIRE(source);
	rs_query_init(&query);
	CHECK_OK(source->ops->open(source, &query, &pushed));
	CHECK_EQ_S64(given.query.from_ns, query.from_ns);
	CHECK_EQ_S64(given.query.to_ns, query.to_ns);
	query.from_ns = 130;
	query.to_ns = 50;
	query.counts = RS_COUNTS_KVM;
	CHECK_OK(source->ops->open(source, &query, &pushed));
	CHECK_EQ_S64(given.query.from_ns, 30);
	CHECK_EQ_S64(given.query.to_ns, -50);
	CHECK_EQ_U64(given.query.counts, 0);
	CHECK(!(pushed & (RS_PUSHED_PREDICATE | RS_PUSHED_COUNTS)));
	CHECK(pushed & RS_PUSHED_TIME);
	query.from_ns = INT64_MIN + 1;
	CHECK_OK(source->ops->open(source, &query, &pushed));
	CHECK_EQ_S64(given.query.from_ns, INT64_MIN);
	rs_source_destroy(source);
}
