/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The merge and rs_run() on scripted sources. The expected result is computed separately: all
 * events sorted by time, equal times in the order of their sources, filtered one by one. A source's
 * views live in memory that its next next() frees, so that AddressSanitizer detects a stale
 * reference.
 */
#include "event_kit.h"

#include "event/query.h"

/* ---- scripted sources ----------------------------------------------------------------------- */

struct step {
	enum rs_next kind;
	const int64_t *times; /* of events */
	size_t n;
	int64_t watermark_ns;
	const struct rs_counts *counts;
	const char *error; /* not NULL: next() fails with this, whatever the kind */
};

struct script {
	struct rs_source source;
	const struct step *steps;
	size_t n, at;
	uint32_t takes; /* the parts of a query that it evaluates itself */
	bool fails_to_open;
	/* Of its events. */
	struct rs_stream stream;
	const struct rs_event *const *events; /* by serial number, in turn */
	size_t n_events;
	uint64_t serial;
	/* State. */
	struct rs_query query;
	uint32_t opened, nexts, nexts_after_end;
	bool ended, *destroyed;
	struct rs_view *views;
	uint64_t *payloads;
};

static struct rs_error *script_open(struct rs_source *source, const struct rs_query *query,
				    uint32_t *pushed)
{
	struct script *s = (struct script *)source;

	s->opened++;
	if (s->fails_to_open)
		return rs_error_create(RS_ABSENT, "the source can't be opened");
	s->query = *query;
	*pushed = s->takes;
	return NULL;
}

static void script_forget(struct script *s)
{
	free(s->views);
	free(s->payloads);
	s->views = NULL;
	s->payloads = NULL;
}

/* The events of a step, except those that the source keeps back. */
static size_t script_events(struct script *s, const struct step *step)
{
	size_t kept = 0;

	s->views = malloc((step->n + 1) * sizeof(*s->views));
	s->payloads = malloc((step->n + 1) * sizeof(*s->payloads));
	for (size_t i = 0; i < step->n; i++) {
		struct rs_view view = { .ts_ns = step->times[i],
					.tsc = s->serial,
					.event = s->events[s->serial % s->n_events],
					.stream = &s->stream,
					.payload_bytes = 8,
					.cpu = (int)(s->serial % 3) };

		s->payloads[kept] = s->serial++;
		view.payload = (const uint8_t *)&s->payloads[kept];
		if (rs_query_match(&s->query, &view, ~s->takes))
			s->views[kept++] = view;
	}
	return kept;
}

static struct rs_error *script_next(struct rs_source *source, struct rs_batch *batch)
{
	struct script *s = (struct script *)source;
	const struct step *step;

	s->nexts++;
	s->nexts_after_end += s->ended;
	script_forget(s);
	*batch = (struct rs_batch){ .kind = RS_NEXT_END };
	if (s->at == s->n) {
		s->ended = true;
		return NULL;
	}
	step = &s->steps[s->at++];
	if (step->error) {
		s->ended = true;
		return rs_error_create(RS_DAMAGED, "%s", step->error);
	}
	*batch = (struct rs_batch){ .kind = step->kind,
				    .watermark_ns = step->watermark_ns,
				    .counts = step->counts };
	if (step->kind == RS_NEXT_EVENTS) {
		batch->n = script_events(s, step);
		batch->views = s->views;
		if (step->n) /* it may have kept back all */
			batch->watermark_ns = step->times[step->n - 1];
	}
	return NULL;
}

static void script_destroy(struct rs_source *source)
{
	struct script *s = (struct script *)source;

	script_forget(s);
	if (s->destroyed)
		*s->destroyed = true;
}

static const struct rs_source_ops script_ops = {
	.name = "script",
	.open = script_open,
	.next = script_next,
	.destroy = script_destroy,
};

static const struct rs_source_ops script_ops_plain = {
	.name = "script without open",
	.next = script_next,
	.destroy = script_destroy,
};

static struct rs_schema *schema;
static const struct rs_event *events[KIT_EVENTS];

static void need_events(void)
{
	if (schema)
		return;
	schema = kit_schema("app");
	for (uint32_t i = 0; i < KIT_EVENTS; i++)
		events[i] = rs_schema_find(schema, USER(i + 1));
}

/* Source number i, whose events have its number in their stream. */
static struct script script(uint32_t i, const struct step *steps, size_t n)
{
	struct script s = { .source = { &script_ops }, .steps = steps, .n = n };

	need_events();
	s.stream = (struct rs_stream){ .index = i,
				       .vm = i % 2 ? "odd" : "even",
				       .vcpu = (int)i,
				       .cpu = RS_UNKNOWN,
				       .tid = RS_UNKNOWN,
				       .schema = schema };
	s.events = events;
	s.n_events = KIT_EVENTS;
	rs_query_init(&s.query);
	return s;
}

#define SCRIPT(i, steps) script(i, steps, sizeof(steps) / sizeof((steps)[0]))
#define TIMES(...)                                                                                 \
	.kind = RS_NEXT_EVENTS, .times = (const int64_t[]){ __VA_ARGS__ },                         \
	.n = sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)
#define IDLE(until) .kind = RS_NEXT_IDLE, .watermark_ns = (until)

static struct rs_source *merge_of(struct script *scripts, size_t n)
{
	struct rs_source *sources[16], *merge = NULL;

	for (size_t i = 0; i < n; i++)
		sources[i] = &scripts[i].source;
	CHECK_OK(rs_merge_create(sources, n, &merge));
	return merge;
}

/* One call of the merge: for each event, its source times 1000 plus its serial number. */
static bool next_is(struct rs_source *merge, enum rs_next kind, const uint64_t *expected, size_t n)
{
	struct rs_batch batch;

	if (!CHECK_OK(merge->ops->next(merge, &batch)) || !CHECK_EQ_U64(batch.kind, kind))
		return false;
	if (kind != RS_NEXT_EVENTS)
		return true;
	if (!CHECK_EQ_U64(batch.n, n))
		return false;
	for (size_t i = 0; i < n; i++) {
		uint64_t serial;

		memcpy(&serial, batch.views[i].payload, sizeof(serial));
		if (!CHECK_EQ_U64(batch.views[i].stream->index * 1000 + serial, expected[i]))
			return false;
	}
	return true;
}

#define NEXT_EVENTS(merge, ...)                                                                    \
	CHECK(next_is(merge, RS_NEXT_EVENTS, (const uint64_t[]){ __VA_ARGS__ },                    \
		      sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8))
#define NEXT_IDLE(merge) CHECK(next_is(merge, RS_NEXT_IDLE, NULL, 0))
#define NEXT_END(merge)	 CHECK(next_is(merge, RS_NEXT_END, NULL, 0))

/* All events until the end, in one row; also checks that they end once. */
static void all_is(struct rs_source *merge, const uint64_t *expected, size_t n)
{
	struct got_sink sink = got_sink();

	CHECK_OK(rs_run(merge, NULL, &sink.sink, NULL));
	CHECK(sink.ended);
	if (CHECK_EQ_U64(sink.n, n)) {
		for (size_t i = 0; i < n; i++)
			CHECK_EQ_U64(sink.at[i].stream->index * 1000 + sink.at[i].tsc, expected[i]);
	}
	got_free(&sink);
}

#define ALL(merge, ...)                                                                            \
	all_is(merge, (const uint64_t[]){ __VA_ARGS__ },                                           \
	       sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)

/* ---- order ---------------------------------------------------------------------------------- */

TEST(no_sources)
{
	struct rs_source *merge = merge_of(NULL, 0);
	struct got_sink sink = got_sink();

	NEXT_END(merge);
	NEXT_END(merge);
	CHECK_OK(rs_run(merge, NULL, &sink.sink, NULL));
	CHECK(sink.ended);
	CHECK_EQ_U64(sink.n, 0);
	rs_source_destroy(merge);
	rs_source_destroy(NULL);
}

TEST(events_come_by_time)
{
	const struct step a[] = { { TIMES(1, 4) }, { TIMES(9) } };
	const struct step b[] = { { TIMES(2) }, { TIMES(3, 5, 8) } };
	const struct step c[] = { { TIMES(-7, 6, 7, 10) } };
	struct script scripts[] = { SCRIPT(0, a), SCRIPT(1, b), SCRIPT(2, c) };
	bool destroyed[3] = { 0 };
	struct rs_source *merge;

	for (int i = 0; i < 3; i++)
		scripts[i].destroyed = &destroyed[i];
	merge = merge_of(scripts, 3);
	ALL(merge, 2000, 0, 1000, 1001, 1, 1002, 2001, 2002, 1003, 2, 2003);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ_U64(scripts[i].opened, 1);
		CHECK_EQ_U64(scripts[i].nexts_after_end, 0);
	}
	rs_source_destroy(merge);
	CHECK(destroyed[0] && destroyed[1] && destroyed[2]);
}

TEST(equal_times_follow_the_sources_order)
{
	const struct step a[] = { { TIMES(5, 5) }, { TIMES(5, 6) } };
	const struct step b[] = { { TIMES(4, 5) }, { TIMES(5) }, { TIMES(6, 6) } };
	const struct step c[] = { { TIMES(5) }, { TIMES(5) }, { TIMES(5, 6) } };
	struct script scripts[] = { SCRIPT(0, a), SCRIPT(1, b), SCRIPT(2, c) };
	struct rs_source *merge = merge_of(scripts, 3);

	ALL(merge, 1000, 0, 1, 2, 1001, 1002, 2000, 2001, 2002, 3, 1003, 1004, 2003);
	rs_source_destroy(merge);
}

TEST(times_at_the_limits_of_the_range)
{
	const struct step a[] = { { TIMES(INT64_MIN, 0, INT64_MAX - 1) } };
	const struct step b[] = { { TIMES(INT64_MIN, INT64_MAX - 1) } };
	struct script scripts[] = { SCRIPT(0, a), SCRIPT(1, b) };
	struct rs_source *merge = merge_of(scripts, 2);

	ALL(merge, 0, 1000, 1, 2, 1001);
	rs_source_destroy(merge);
}

/* ---- quiet sources -------------------------------------------------------------------------- */

TEST(a_quiet_source_delays_others_up_to_its_watermark)
{
	const struct step a[] = {
		{ IDLE(INT64_MIN) }, { IDLE(20) }, { IDLE(20) }, { TIMES(20, 25) }, { IDLE(100) },
	};
	const struct step b[] = { { TIMES(10, 19, 20, 21, 30) } };
	struct script scripts[] = { SCRIPT(0, a), SCRIPT(1, b) };
	struct rs_source *merge = merge_of(scripts, 2);

	NEXT_IDLE(merge); /* no promise */
	NEXT_EVENTS(merge, 1000, 1001);
	NEXT_IDLE(merge); /* one at 20 may still follow, and would be first */
	/* Up to where a source has no more; it is polled again before the other continues. */
	NEXT_EVENTS(merge, 0, 1002, 1003, 1);
	NEXT_EVENTS(merge, 1004);
	NEXT_END(merge);
	NEXT_END(merge);
	CHECK_EQ_U64(scripts[0].nexts_after_end, 0);
	rs_source_destroy(merge);
}

TEST(the_slowest_watermark_applies)
{
	const struct step a[] = { { IDLE(15) }, { IDLE(35) }, { IDLE(35) } };
	const struct step b[] = { { TIMES(10, 20, 30, 40) } };
	const struct step c[] = { { IDLE(25) }, { IDLE(25) }, { IDLE(45) } };
	struct script scripts[] = { SCRIPT(0, a), SCRIPT(1, b), SCRIPT(2, c) };
	struct rs_source *merge = merge_of(scripts, 3);

	NEXT_EVENTS(merge, 1000);
	NEXT_EVENTS(merge, 1001);
	NEXT_EVENTS(merge, 1002);
	NEXT_EVENTS(merge, 1003);
	NEXT_END(merge);
	rs_source_destroy(merge);
}

/* A merge's watermark holds for a merge above it. */
TEST(the_merge_s_own_watermark)
{
	const struct rs_counts counts = { .kind = 1 };
	const struct step a[] = { { IDLE(15) }, { IDLE(50) }, { IDLE(60) }, { IDLE(80) } };
	const struct step b[] = {
		{ TIMES(17) },
		{ IDLE(70) },
		{ .kind = RS_NEXT_COUNTS, .counts = &counts, .watermark_ns = 90 },
	};
	struct script scripts[] = { SCRIPT(0, a), SCRIPT(1, b) };
	struct rs_source *merge = merge_of(scripts, 2);
	struct rs_batch batch;

	REQUIRE_OK(merge->ops->next(merge, &batch));
	CHECK_EQ_U64(batch.kind, RS_NEXT_IDLE);
	CHECK_EQ_S64(batch.watermark_ns, 15);
	REQUIRE_OK(merge->ops->next(merge, &batch));
	CHECK_EQ_U64(batch.kind, RS_NEXT_EVENTS);
	CHECK(batch.watermark_ns <= 50);
	REQUIRE_OK(merge->ops->next(merge, &batch));
	CHECK_EQ_U64(batch.kind, RS_NEXT_IDLE);
	CHECK_EQ_S64(batch.watermark_ns, 60);
	REQUIRE_OK(merge->ops->next(merge, &batch));
	CHECK_EQ_U64(batch.kind, RS_NEXT_COUNTS);
	CHECK_EQ_S64(batch.watermark_ns, 80);
	rs_source_destroy(merge);
}

TEST(a_batch_of_no_events_is_not_the_end)
{
	const struct step a[] = { { .kind = RS_NEXT_EVENTS, .watermark_ns = 3 }, { TIMES(3) } };
	const struct step b[] = { { TIMES(2, 4) } };
	struct script scripts[] = { SCRIPT(0, a), SCRIPT(1, b) };
	struct rs_source *merge = merge_of(scripts, 2);

	ALL(merge, 1000, 0, 1001);
	rs_source_destroy(merge);
}

/* ---- random scripts ------------------------------------------------------------------------- */

#define RANDOM_SOURCES 7
#define RANDOM_EVENTS  997

struct plan {
	struct step *steps;
	size_t n_steps;
	int64_t *times;
	size_t n;
};

/*
 * Ascending times, many of them equal, in batches of any size, with idle steps between whose
 * watermark is as high as possible.
 */
static struct plan plan_make(uint64_t *random)
{
	struct plan p = { .steps = calloc(2 * RANDOM_EVENTS + 2, sizeof(*p.steps)),
			  .times = calloc(RANDOM_EVENTS, sizeof(*p.times)) };
	int64_t at = -50;
	size_t done = 0;

	p.n = kit_random(random) % RANDOM_EVENTS;
	for (size_t i = 0; i < p.n; i++)
		p.times[i] = at += (int64_t)(kit_random(random) % 3);
	while (done < p.n) {
		size_t n =
			kit_random(random) % 4 ? kit_random(random) % 5 : kit_random(random) % 400;

		if (n > p.n - done)
			n = p.n - done;
		if (kit_random(random) % 3 == 0)
			p.steps[p.n_steps++] = (struct step){ IDLE(
				p.times[done] - (int64_t)(kit_random(random) % 3)) };
		p.steps[p.n_steps++] = (struct step){ .kind = RS_NEXT_EVENTS,
						      .times = p.times + done,
						      .n = n,
						      .watermark_ns = n ? 0 : p.times[done] };
		done += n;
		if (p.n_steps > 2 * RANDOM_EVENTS - 4)
			break;
	}
	p.n = done;
	return p;
}

static void plan_free(struct plan *p)
{
	free(p->steps);
	free(p->times);
}

struct expected {
	int64_t ts_ns;
	uint32_t source;
	uint64_t serial;
};

static int expected_order(const void *a, const void *b)
{
	const struct expected *x = a, *y = b;

	if (x->ts_ns != y->ts_ns)
		return x->ts_ns < y->ts_ns ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return x->serial < y->serial ? -1 : x->serial > y->serial;
}

/* Odd serial numbers only. */
static bool odd(void *ctx, const struct rs_view *view)
{
	(void)ctx;
	return view->tsc & 1;
}

static const struct rs_evaluator odd_only = { .match = odd };

static void query_of(unsigned int which, struct rs_query *query)
{
	rs_query_init(query);
	if (which & 1)
		query->globs[query->n_globs++] = "app:c::*e"; /* one, none, wide */
	if (which & 2) {
		query->from_ns = 10;
		query->to_ns = 300;
	}
	if (which & 4)
		CHECK_OK(rs_cpu_set_parse(&query->cpus, "0,2"));
	if (which & 8)
		CHECK_OK(rs_cpu_set_parse(&query->vcpus, "1-4"));
	if (which & 16)
		query->predicate = &odd_only;
	if (which & 32)
		query->vm = "e*";
}

/* Compares event by event. */
static bool expect_wanted(unsigned int which, const struct expected *e)
{
	uint64_t event = e->serial % KIT_EVENTS + 1;

	if ((which & 1) && event != KIT_ONE && event != KIT_NONE && event != KIT_WIDE)
		return false;
	if ((which & 2) && (e->ts_ns < 10 || e->ts_ns >= 300))
		return false;
	if ((which & 4) && e->serial % 3 == 1)
		return false;
	if ((which & 8) && (e->source < 1 || e->source > 4))
		return false;
	if ((which & 16) && e->serial % 2 == 0)
		return false;
	return !(which & 32) || e->source % 2 == 0;
}

/* takes: the parts that each source evaluates itself; ~0: each its own. */
static void run_plans(const struct plan *plans, unsigned int which, uint32_t takes)
{
	struct expected *expected = calloc(RANDOM_SOURCES * RANDOM_EVENTS, sizeof(*expected));
	struct script scripts[RANDOM_SOURCES];
	struct got_sink sink = got_sink();
	struct rs_source *merge;
	struct rs_query query;
	size_t n = 0;

	query_of(which, &query);
	for (uint32_t i = 0; i < RANDOM_SOURCES; i++) {
		scripts[i] = script(i, plans[i].steps, plans[i].n_steps);
		scripts[i].takes = takes == ~0u ? (i * 11) & 31 : takes;
		if (takes == 0 && i % 2)
			scripts[i].source.ops = &script_ops_plain;
		for (uint64_t k = 0; k < plans[i].n; k++) {
			expected[n] = (struct expected){ plans[i].times[k], i, k };
			n += expect_wanted(which, &expected[n]);
		}
	}
	qsort(expected, n, sizeof(*expected), expected_order);
	merge = merge_of(scripts, RANDOM_SOURCES);
	CHECK_OK(merge->ops->open(merge, &query, &(uint32_t){ 0 }));
	for (struct rs_batch batch = { 0 }; batch.kind != RS_NEXT_END;) {
		if (!CHECK_OK(merge->ops->next(merge, &batch)))
			break;
		if (batch.kind == RS_NEXT_EVENTS)
			CHECK_OK(got_events(&sink.sink, batch.views, batch.n));
	}
	CHECK_EQ_U64(sink.n, n);
	for (size_t i = 0; i < n && i < sink.n; i++) {
		if (!CHECK_EQ_S64(sink.at[i].ts_ns, expected[i].ts_ns) ||
		    !CHECK_EQ_U64(sink.at[i].stream->index, expected[i].source) ||
		    !CHECK_EQ_U64(sink.at[i].tsc, expected[i].serial) ||
		    !CHECK_MEM(sink.at[i].payload, &expected[i].serial, 8))
			break;
	}
	got_free(&sink);
	free(expected);
	rs_source_destroy(merge);
}

TEST(random_scripts_are_sorted)
{
	uint64_t random = 17;

	for (int round = 0; round < 20; round++) {
		struct plan plans[RANDOM_SOURCES];

		for (int i = 0; i < RANDOM_SOURCES; i++)
			plans[i] = plan_make(&random);
		run_plans(plans, 0, 0);
		for (int i = 0; i < RANDOM_SOURCES; i++)
			plan_free(&plans[i]);
	}
}

/* The result is the same whether the merge or a source evaluates all or some of a query. */
TEST(a_query_gives_the_same_wherever_it_is_filtered)
{
	struct plan plans[RANDOM_SOURCES];
	uint64_t random = 23;

	for (int i = 0; i < RANDOM_SOURCES; i++)
		plans[i] = plan_make(&random);
	for (unsigned int which = 0; which < 64; which++) {
		run_plans(plans, which, 0);
		run_plans(plans, which, 31);
		run_plans(plans, which, ~0u);
	}
	for (int i = 0; i < RANDOM_SOURCES; i++)
		plan_free(&plans[i]);
}

/* A loss qualifies other events: probes and predicates do not hide it, time and context do. */
TEST(losses_pass_probes_and_predicates)
{
	const struct step a[] = { { TIMES(1, 2, 3, 4) } };
	const struct rs_event *only_lost[1];
	struct script scripts[] = { SCRIPT(0, a), SCRIPT(1, a) };
	struct got_sink sink = got_sink();
	struct rs_source *merge;
	struct rs_query query;

	only_lost[0] = rs_schema_find(schema, RS_ID_LOST);
	scripts[0].events = only_lost;
	scripts[0].n_events = 1;
	rs_query_init(&query);
	query.globs[query.n_globs++] = "nobody:*";
	query.predicate = &odd_only;
	query.to_ns = 4;
	merge = merge_of(scripts, 2);
	CHECK_OK(rs_run(merge, &query, &sink.sink, NULL));
	CHECK_EQ_U64(sink.n, 3);
	for (size_t i = 0; i < sink.n; i++)
		CHECK(sink.at[i].event == only_lost[0]);
	got_free(&sink);
	rs_source_destroy(merge);
}

/* ---- errors --------------------------------------------------------------------------------- */

TEST(an_input_s_error_follows_the_others_events)
{
	const struct step a[] = { { TIMES(1) }, { .error = "the first source broke" } };
	const struct step b[] = { { TIMES(2) }, { IDLE(3) }, { TIMES(4) } };
	const struct step c[] = { { TIMES(3) }, { .error = "the third broke as well" } };
	struct script scripts[] = { SCRIPT(0, a), SCRIPT(1, b), SCRIPT(2, c) };
	struct rs_source *merge = merge_of(scripts, 3);
	struct got_sink sink = got_sink();

	CHECK_ERR(rs_run(merge, NULL, &sink.sink, NULL), RS_DAMAGED, "the first source broke");
	CHECK(sink.ended);
	CHECK_EQ_U64(sink.n, 4);
	NEXT_END(merge); /* told once */
	CHECK_EQ_U64(scripts[0].nexts_after_end, 0);
	got_free(&sink);
	rs_source_destroy(merge);
}

TEST(an_unreported_error_is_freed)
{
	const struct step a[] = { { .error = "broken at once" } };
	const struct step b[] = { { TIMES(2) }, { IDLE(3) } };
	struct script scripts[] = { SCRIPT(0, a), SCRIPT(1, b) };
	struct rs_source *merge = merge_of(scripts, 2);

	NEXT_EVENTS(merge, 1000);
	rs_source_destroy(merge);
}

TEST(a_source_that_fails_to_open)
{
	const struct step a[] = { { TIMES(1) } };
	struct script scripts[] = { SCRIPT(0, a), SCRIPT(1, a) };
	struct rs_source *merge = merge_of(scripts, 2);
	struct got_sink sink = got_sink();

	scripts[1].fails_to_open = true;
	CHECK_ERR(rs_run(merge, NULL, &sink.sink, NULL), RS_ABSENT, "can't be opened");
	CHECK(sink.ended);
	CHECK_EQ_U64(sink.n, 0);
	CHECK_EQ_U64(scripts[0].nexts, 0);
	got_free(&sink);
	rs_source_destroy(merge);
}

/* ---- counts --------------------------------------------------------------------------------- */

struct counts_sink {
	struct rs_sink sink;
	uint64_t kinds[16];
	size_t n, events, fail_at;
	bool ended;
};

static struct rs_error *counts_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	(void)views;
	((struct counts_sink *)sink)->events += n;
	return NULL;
}

static struct rs_error *counts_counts(struct rs_sink *sink, const struct rs_counts *counts)
{
	struct counts_sink *s = (struct counts_sink *)sink;

	if (s->n + 1 == s->fail_at)
		return rs_error_create(RS_FAILED, "the sink takes no more");
	s->kinds[s->n++] = counts->kind;
	return NULL;
}

static struct rs_error *counts_end(struct rs_sink *sink)
{
	((struct counts_sink *)sink)->ended = true;
	return rs_error_create(RS_FAILED, "the end failed");
}

static const struct rs_sink_ops counts_ops = {
	.name = "counts",
	.events = counts_events,
	.counts = counts_counts,
};

static const struct rs_sink_ops counts_end_ops = {
	.name = "counts, with an end that fails",
	.events = counts_events,
	.counts = counts_counts,
	.end = counts_end,
};

#define COUNTS(c, until)                                                                           \
	.kind = RS_NEXT_COUNTS, .counts = &(const struct rs_counts){ .kind = (c) },                \
	.watermark_ns = (until)

static const struct step counts_a[] = { { COUNTS(1, 5) }, { TIMES(7) }, { COUNTS(2, 9) } };
static const struct step counts_b[] = { { COUNTS(4, 2) }, { COUNTS(8, 3) }, { TIMES(8) } };
static const struct step counts_c[] = { { COUNTS(16, INT64_MIN) }, { COUNTS(32, INT64_MAX) } };

TEST(counts_are_forwarded_once)
{
	struct script scripts[] = { SCRIPT(0, counts_a), SCRIPT(1, counts_b), SCRIPT(2, counts_c) };
	struct rs_source *merge = merge_of(scripts, 3);
	struct counts_sink sink = { .sink = { &counts_ops } };
	uint64_t seen = 0;

	CHECK_OK(rs_run(merge, NULL, &sink.sink, NULL));
	CHECK_EQ_U64(sink.n, 6);
	for (size_t i = 0; i < sink.n; i++)
		seen += sink.kinds[i];
	CHECK_EQ_U64(seen, 63);
	CHECK_EQ_U64(sink.events, 2);
	rs_source_destroy(merge);
}

/* A merge above another: the watermark of counts is not only that of one input. */
TEST(counts_pass_a_merge_of_merges)
{
	const struct step quick[] = { { COUNTS(1, 100) }, { TIMES(100) } };
	const struct step slow[] = { { IDLE(10) }, { IDLE(10) }, { IDLE(10) }, { TIMES(10) } };
	const struct step other[] = { { TIMES(5, 50) } };
	struct script inner[] = { SCRIPT(0, quick), SCRIPT(1, slow) };
	struct script outer = SCRIPT(2, other);
	struct rs_source *sources[] = { merge_of(inner, 2), &outer.source };
	struct rs_source *merge;

	REQUIRE_OK(rs_merge_create(sources, 2, &merge));
	ALL(merge, 2000, 1000, 2001, 0);
	rs_source_destroy(merge);
}

TEST(a_sink_without_counts_gets_none)
{
	struct script scripts[] = { SCRIPT(0, counts_a), SCRIPT(1, counts_b) };
	struct rs_source *merge = merge_of(scripts, 2);
	struct got_sink sink = got_sink();

	CHECK_OK(rs_run(merge, NULL, &sink.sink, NULL));
	CHECK_EQ_U64(sink.n, 2);
	got_free(&sink);
	rs_source_destroy(merge);
}

/* ---- rs_run --------------------------------------------------------------------------------- */

TEST(the_sink_s_error_ends_the_run)
{
	const struct step a[] = { { TIMES(1) }, { TIMES(2) }, { TIMES(3) } };
	struct script scripts[] = { SCRIPT(0, a) };
	struct rs_source *merge = merge_of(scripts, 1);
	struct got_sink sink = got_sink();

	sink.fail_at = 2;
	CHECK_ERR(rs_run(merge, NULL, &sink.sink, NULL), RS_FAILED, "the sink fails");
	CHECK(!sink.ended); /* its own error: it is not called again */
	CHECK_EQ_U64(sink.n, 1);
	got_free(&sink);
	rs_source_destroy(merge);
}

TEST(the_sink_s_error_on_counts_ends_the_run)
{
	struct script scripts[] = { SCRIPT(0, counts_a), SCRIPT(1, counts_b) };
	struct rs_source *merge = merge_of(scripts, 2);
	struct counts_sink sink = { .sink = { &counts_end_ops }, .fail_at = 2 };

	CHECK_ERR(rs_run(merge, NULL, &sink.sink, NULL), RS_FAILED, "takes no more");
	CHECK_EQ_U64(sink.n, 1);
	CHECK(!sink.ended);
	rs_source_destroy(merge);
}

TEST(an_error_at_the_end)
{
	const struct step good[] = { { TIMES(1) } };
	const struct step broken[] = { { .error = "broken" } };
	struct script scripts[] = { SCRIPT(0, good), SCRIPT(1, broken) };
	struct rs_source *merge = merge_of(scripts, 1);
	struct counts_sink sink = { .sink = { &counts_end_ops } };

	CHECK_ERR(rs_run(merge, NULL, &sink.sink, NULL), RS_FAILED, "the end failed");
	CHECK(sink.ended);
	rs_source_destroy(merge);
	/* The first error is reported. */
	sink.ended = false;
	merge = merge_of(scripts + 1, 1);
	CHECK_ERR(rs_run(merge, NULL, &sink.sink, NULL), RS_DAMAGED, "broken");
	CHECK(sink.ended);
	rs_source_destroy(merge);
}

struct stop_sink {
	struct rs_sink sink;
	volatile bool stop;
	size_t n;
	bool ended;
};

static struct rs_error *stop_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct stop_sink *s = (struct stop_sink *)sink;

	(void)views;
	s->n += n;
	s->stop = true;
	return NULL;
}

static struct rs_error *stop_end(struct rs_sink *sink)
{
	((struct stop_sink *)sink)->ended = true;
	return NULL;
}

static const struct rs_sink_ops stop_ops = { .name = "stop",
					     .events = stop_events,
					     .end = stop_end };

TEST(stop_ends_the_run)
{
	const struct step a[] = { { TIMES(1) }, { TIMES(2) }, { TIMES(3) } };
	struct script scripts[] = { SCRIPT(0, a) };
	struct rs_source *merge = merge_of(scripts, 1);
	struct stop_sink sink = { .sink = { &stop_ops } };

	CHECK_OK(rs_run(merge, NULL, &sink.sink, &sink.stop));
	CHECK_EQ_U64(sink.n, 1);
	CHECK(sink.ended);
	/* Already set: opened, not polled, ended. */
	sink.ended = false;
	CHECK_OK(rs_run(merge, NULL, &sink.sink, &sink.stop));
	CHECK_EQ_U64(sink.n, 1);
	CHECK(sink.ended);
	rs_source_destroy(merge);
}
