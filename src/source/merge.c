/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The merge: several sources as one, by time; and rs_run() and rs_source_feed(), which feed a sink.
 *
 * A heap holds the sources that have unread views, the earliest on top. Views of equal time are in
 * the sources' order, so that two runs give the same result. An idle source delays the others only
 * up to its watermark. The merge evaluates the parts of the query that no source does.
 */
#include <ringside/source.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/heap.h"
#include "base/now.h"
#include "event/query.h"

#define VIEWS	     256
#define WANTS	     64 /* a power of two */
#define IDLE_WAIT_NS 1000000

struct input {
	struct rs_source *source;
	struct rs_batch batch; /* of kind events while at < batch.n */
	size_t at;
	uint32_t pushed;
	bool ended;
};

struct merge {
	struct rs_source source;
	struct input *inputs;
	size_t n;
	uint32_t *heap; /* inputs with unread views */
	size_t n_heap;
	size_t n_open;
	uint32_t *empty; /* inputs to read again */
	size_t n_empty;
	struct rs_query query;
	bool filter, globs_alone; /* the query has only names of probes */
	/* Whether the globs match recent events; a direct-mapped cache. */
	struct {
		const struct rs_event *event;
		bool wanted;
	} wants[WANTS];
	struct rs_error *error; /* the first error of an input; returned at the end */
	struct rs_view out[VIEWS];
};

/* ---- the heap ----------------------------------------------------------------------------- */

static int64_t head_ns(const struct merge *m, uint32_t input)
{
	return m->inputs[input].batch.views[m->inputs[input].at].ts_ns;
}

static bool before(const struct merge *m, uint32_t a, uint32_t b)
{
	int64_t x = head_ns(m, a), y = head_ns(m, b);

	return x < y || (x == y && a < b);
}

RS_HEAP_DEFINE(heap, uint32_t, const struct merge *, before)

static void pop(struct merge *m)
{
	m->heap[0] = m->heap[--m->n_heap];
	if (m->n_heap)
		heap_sift(m, m->heap, m->n_heap, 0);
}

/* ---- reading the inputs ------------------------------------------------------------------- */

static void end_input(struct merge *m, struct input *input, struct rs_error *err)
{
	input->ended = true;
	input->batch.n = 0;
	input->batch.watermark_ns = INT64_MAX;
	m->n_open--;
	if (!m->error)
		m->error = err;
	else
		rs_error_free(err);
}

/* Reads from each input that has no unread views. Sets *horizon to the earliest time of a view that
 * an input without views may still return. */
static void refill(struct merge *m, int64_t *horizon)
{
	size_t still = 0;

	*horizon = INT64_MAX;
	for (size_t i = 0; i < m->n_empty; i++) {
		struct input *input = &m->inputs[m->empty[i]];
		struct rs_error *err = NULL;

		input->at = 0;
		/* Another read would discard counts that were not yet passed on. */
		if (input->batch.kind != RS_NEXT_COUNTS)
			err = input->source->ops->next(input->source, &input->batch);
		if (err || input->batch.kind == RS_NEXT_END) {
			end_input(m, input, err);
			continue;
		}
		if (input->batch.kind == RS_NEXT_EVENTS && input->batch.n) {
			heap_push(m, m->heap, m->n_heap++, m->empty[i]);
			continue;
		}
		if (input->batch.watermark_ns < *horizon)
			*horizon = input->batch.watermark_ns;
		m->empty[still++] = m->empty[i];
	}
	m->n_empty = still;
}

/* Returns the number of views from `at` on that are not after limit: mostly all views, or few. */
static size_t run_length(const struct input *input, int64_t limit, bool inclusive, size_t most)
{
	const struct rs_view *views = input->batch.views + input->at;
	size_t n = input->batch.n - input->at;
	size_t i = 0;

	if (n > most)
		n = most;
	if (n && (views[n - 1].ts_ns < limit || (inclusive && views[n - 1].ts_ns == limit)))
		return n;
	while (i < n && (views[i].ts_ns < limit || (inclusive && views[i].ts_ns == limit)))
		i++;
	return i;
}

static bool wanted(struct merge *m, const struct rs_event *event)
{
	size_t at = (event->id ^ event->id >> 18) & (WANTS - 1);

	if (m->wants[at].event != event) {
		m->wants[at].event = event;
		m->wants[at].wanted = rs_query_wants(&m->query, event);
	}
	return m->wants[at].wanted;
}

/* Copies the views, of n, that match the query. Returns their number. */
static size_t views_copy(struct merge *m, const struct input *input, size_t n, struct rs_view *to)
{
	const struct rs_view *views = input->batch.views + input->at;
	size_t kept = 0;

	if (!m->filter) {
		memcpy(to, views, n * sizeof(*to));
		return n;
	}
	for (size_t i = 0; i < n; i++) {
		if (wanted(m, views[i].event) &&
		    (m->globs_alone ||
		     rs_query_match(&m->query, &views[i], input->pushed | RS_PUSHED_PROBES)))
			to[kept++] = views[i];
	}
	return kept;
}

/* Returns the time up to which views of the heap's top may be returned: the next input's, or the
 * horizon. */
static int64_t limit_of(const struct merge *m, int64_t horizon, bool *inclusive)
{
	uint32_t rival = UINT32_MAX;

	*inclusive = false;
	for (size_t child = 1; child <= 2 && child < m->n_heap; child++) {
		if (rival == UINT32_MAX || before(m, m->heap[child], rival))
			rival = m->heap[child];
	}
	if (rival == UINT32_MAX || head_ns(m, rival) >= horizon)
		return horizon;
	*inclusive = m->heap[0] < rival;
	return head_ns(m, rival);
}

/* Fills the output until it is full, an input has no more views (those returned must stay valid),
 * or the horizon is reached. */
static size_t gather(struct merge *m, int64_t horizon)
{
	size_t n = 0;

	while (m->n_heap && n < VIEWS) {
		struct input *input = &m->inputs[m->heap[0]];
		bool inclusive;
		int64_t limit = limit_of(m, horizon, &inclusive);
		size_t run = run_length(input, limit, inclusive, VIEWS - n);

		if (!run && head_ns(m, m->heap[0]) >= horizon)
			break;
		if (!run) /* of equal time, and an earlier input */
			run = 1;
		n += views_copy(m, input, run, &m->out[n]);
		input->at += run;
		if (input->at == input->batch.n) {
			m->empty[m->n_empty++] = m->heap[0];
			pop(m);
			break;
		}
		heap_sift(m, m->heap, m->n_heap, 0);
	}
	return n;
}

/* ---- as a source -------------------------------------------------------------------------- */

static struct rs_error *merge_open(struct rs_source *source, const struct rs_query *query,
				   uint32_t *pushed)
{
	struct merge *m = (struct merge *)source;
	struct rs_query rest = *query;

	m->query = *query;
	m->filter = !rs_query_is_all(query);
	rest.n_globs = 0;
	m->globs_alone = rs_query_is_all(&rest);
	*pushed = ~0u & ~RS_PUSHED_COUNTS;
	for (size_t i = 0; i < m->n; i++) {
		struct input *input = &m->inputs[i];
		struct rs_error *err;

		if (!input->source->ops->open)
			continue;
		err = input->source->ops->open(input->source, query, &input->pushed);
		if (err)
			return err;
	}
	return NULL;
}

/* Passes an input's counts on immediately, because they have no place in the order of time. Their
 * watermark applies only to that input. */
static bool counts_in_hand(struct merge *m, struct rs_batch *batch, int64_t horizon)
{
	for (size_t i = 0; i < m->n_empty; i++) {
		struct input *input = &m->inputs[m->empty[i]];

		if (input->batch.kind == RS_NEXT_COUNTS) {
			*batch = input->batch;
			batch->watermark_ns = horizon;
			if (m->n_heap && head_ns(m, m->heap[0]) < horizon)
				batch->watermark_ns = head_ns(m, m->heap[0]);
			input->batch.kind = RS_NEXT_IDLE;
			return true;
		}
	}
	return false;
}

static struct rs_error *merge_next(struct rs_source *source, struct rs_batch *batch)
{
	struct merge *m = (struct merge *)source;
	int64_t horizon;
	size_t n = 0;

	if (m->n == 1 && !m->filter) /* one input, and nothing to filter */
		return m->inputs[0].source->ops->next(m->inputs[0].source, batch);
	for (;;) {
		refill(m, &horizon);
		if (counts_in_hand(m, batch, horizon))
			return NULL;
		if (!m->n_heap || head_ns(m, m->heap[0]) >= horizon)
			break;
		n = gather(m, horizon);
		if (n)
			break;
	}
	*batch = (struct rs_batch){
		.kind = n	    ? RS_NEXT_EVENTS
			: m->n_open ? RS_NEXT_IDLE
				    : RS_NEXT_END,
		.views = m->out,
		.n = n,
		.watermark_ns = n ? m->out[n - 1].ts_ns : horizon,
	};
	if (batch->kind == RS_NEXT_END && m->error) {
		struct rs_error *err = m->error;

		m->error = NULL;
		return err;
	}
	return NULL;
}

static void merge_destroy(struct rs_source *source)
{
	struct merge *m = (struct merge *)source;

	for (size_t i = 0; i < m->n; i++)
		rs_source_destroy(m->inputs[i].source);
	rs_error_free(m->error);
	free(m->inputs);
	free(m->heap);
	free(m->empty);
	free(m);
}

static const struct rs_source_ops merge_ops = {
	.name = "merge",
	.open = merge_open,
	.next = merge_next,
	.destroy = merge_destroy,
};

struct rs_error *rs_merge_create(struct rs_source **sources, size_t n, struct rs_source **out)
{
	struct merge *m = calloc(1, sizeof(*m));

	if (!m)
		return rs_error_no_memory();
	m->source.ops = &merge_ops;
	m->inputs = calloc(n + 1, sizeof(*m->inputs));
	m->heap = calloc(n + 1, sizeof(*m->heap));
	m->empty = calloc(n + 1, sizeof(*m->empty));
	if (!m->inputs || !m->heap || !m->empty) {
		merge_destroy(&m->source); /* n is still 0 */
		return rs_error_no_memory();
	}
	for (size_t i = 0; i < n; i++) {
		m->inputs[i].source = sources[i];
		m->empty[i] = (uint32_t)i;
	}
	m->n = m->n_open = m->n_empty = n;
	*out = &m->source;
	return NULL;
}

void rs_source_destroy(struct rs_source *source)
{
	if (source)
		source->ops->destroy(source);
}

/* ---- source to sink ----------------------------------------------------------------------- */

/* Passes a batch to the sink, or waits if it is empty. */
static struct rs_error *deliver(struct rs_sink *sink, const struct rs_feed_hooks *hooks,
				const struct rs_batch *batch, bool *stop, bool *sink_failed)
{
	struct rs_error *err = NULL;

	if (batch->kind == RS_NEXT_IDLE && hooks->idle)
		return hooks->idle(hooks->ctx, batch, stop);
	if (batch->kind == RS_NEXT_IDLE)
		rs_sleep_ns(IDLE_WAIT_NS);
	else if (batch->kind == RS_NEXT_EVENTS)
		err = sink->ops->events(sink, batch->views, batch->n);
	else if (sink->ops->counts)
		err = sink->ops->counts(sink, batch->counts);
	*sink_failed = err != NULL;
	return err;
}

static struct rs_error *feed(struct rs_source *source, struct rs_sink *sink,
			     const struct rs_feed_hooks *hooks, bool *sink_failed)
{
	struct rs_error *err = NULL;
	bool stop = false;

	while (!err && !stop) {
		struct rs_batch batch;

		if (hooks->tick)
			err = hooks->tick(hooks->ctx, &stop);
		if (err || stop)
			break;
		err = source->ops->next(source, &batch);
		if (err || batch.kind == RS_NEXT_END)
			break;
		err = deliver(sink, hooks, &batch, &stop, sink_failed);
	}
	return err;
}

struct rs_error *rs_source_feed(struct rs_source *source, struct rs_sink *sink,
				const struct rs_feed_hooks *hooks)
{
	static const struct rs_feed_hooks none = { NULL };
	bool sink_failed;

	return feed(source, sink, hooks ? hooks : &none, &sink_failed);
}

static struct rs_error *check_stop(void *ctx, bool *stop)
{
	const volatile bool *stopped = ctx;

	*stop = *stopped;
	return NULL;
}

struct rs_error *rs_run(struct rs_source *source, const struct rs_query *query,
			struct rs_sink *sink, const volatile bool *stop)
{
	const struct rs_feed_hooks hooks = { .tick = stop ? check_stop : NULL,
					     .ctx = (void *)(uintptr_t)stop };
	struct rs_query all;
	struct rs_error *err = NULL;
	uint32_t pushed;
	bool sink_failed = false;

	if (!query) {
		rs_query_init(&all);
		query = &all;
	}
	if (source->ops->open)
		err = source->ops->open(source, query, &pushed);
	if (!err)
		err = feed(source, sink, &hooks, &sink_failed);
	if (!sink_failed && sink->ops->end)
		err = rs_error_first(err, sink->ops->end(sink));
	return err;
}
