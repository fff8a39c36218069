/* SPDX-License-Identifier: BSD-2-Clause */
/* Shifts the times of a trace onto the timeline of several. */
#include "source/shift.h"

#include <stdlib.h>
#include <string.h>

#include "event/query.h"
#include "base/vector.h"

struct shift {
	struct rs_source source;
	struct rs_source *of;
	int64_t by_ns;
	struct rs_query query; /* in the source's own times */
	struct rs_view *views;
	size_t room;
};

/* Converts a common time to the source's. INT64_MIN and INT64_MAX, which mean no bound, are
 * unchanged. */
static int64_t back(int64_t ns, int64_t by_ns)
{
	int64_t own;

	if (ns == INT64_MIN || ns == INT64_MAX)
		return ns;
	if (__builtin_sub_overflow(ns, by_ns, &own))
		return by_ns > 0 ? INT64_MIN : INT64_MAX;
	return own;
}

/* Opens the source. The merge evaluates predicates, because these use an event's common time.
 * Counts have their own times, and are not requested. */
static struct rs_error *shift_open(struct rs_source *source, const struct rs_query *query,
				   uint32_t *pushed)
{
	struct shift *s = (struct shift *)source;
	struct rs_error *err;

	*pushed = 0;
	if (!s->of->ops->open)
		return NULL;
	s->query = *query;
	s->query.from_ns = back(query->from_ns, s->by_ns);
	s->query.to_ns = back(query->to_ns, s->by_ns);
	s->query.predicate = NULL;
	s->query.counts = 0;
	err = s->of->ops->open(s->of, &s->query, pushed);
	*pushed &= ~(RS_PUSHED_PREDICATE | RS_PUSHED_COUNTS);
	return err;
}

static struct rs_error *shift_next(struct rs_source *source, struct rs_batch *batch)
{
	struct shift *s = (struct shift *)source;
	struct rs_error *err = s->of->ops->next(s->of, batch);

	if (err || batch->kind == RS_NEXT_END)
		return err;
	if (batch->watermark_ns != INT64_MIN && batch->watermark_ns != INT64_MAX)
		batch->watermark_ns += s->by_ns;
	if (batch->kind != RS_NEXT_EVENTS)
		return NULL;
	if (!RS_VECTOR_RESERVE(s->views, s->room, batch->n))
		return rs_error_no_memory();
	memcpy(s->views, batch->views, batch->n * sizeof(*s->views));
	for (size_t i = 0; i < batch->n; i++)
		s->views[i].ts_ns += s->by_ns;
	batch->views = s->views;
	return NULL;
}

static void shift_destroy(struct rs_source *source)
{
	struct shift *s = (struct shift *)source;

	rs_source_destroy(s->of);
	free(s->views);
	free(s);
}

static const struct rs_source_ops ops = {
	.name = "shift",
	.open = shift_open,
	.next = shift_next,
	.destroy = shift_destroy,
};

struct rs_error *rs_shift_create(struct rs_source *source, int64_t by_ns, struct rs_source **out)
{
	struct shift *s = calloc(1, sizeof(*s));

	if (!s)
		return rs_error_no_memory();
	*s = (struct shift){ .source = { &ops }, .of = source, .by_ns = by_ns };
	*out = &s->source;
	return NULL;
}
