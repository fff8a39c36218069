/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/shift.h"

#include <stdlib.h>
#include <string.h>

#define NS_PER_SEC INT64_C(1000000000)

/* What the times of day of two machines' clocks, or of one before and after it was set, may be
 * apart when the TSC is still one: a boot puts it further off. */
#define APART_NS_MAX (2 * NS_PER_SEC)
/* Two measures of one frequency are no further apart: one part in so many. */
#define FREQ_PARTS 1000u

struct shift {
	struct rs_source source;
	struct rs_source *of;
	int64_t by_ns;
	struct rs_view *views;
	size_t room;
};

static struct rs_error *shift_open(struct rs_source *source, const struct rs_query *query,
				   uint32_t *pushed)
{
	struct shift *s = (struct shift *)source;

	return s->of->ops->open ? s->of->ops->open(s->of, query, pushed) : NULL;
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
	if (batch->n > s->room) {
		struct rs_view *more = reallocarray(s->views, batch->n, sizeof(*more));

		if (!more)
			return rs_error_no_memory();
		s->views = more;
		s->room = batch->n;
	}
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

/* ---- how far apart two traces began --------------------------------------------------------- */

/* By the stamps at their starts; false: they are of two kinds, or rates. */
static bool by_stamps(const struct rs_clock *first, const struct rs_clock *clock, int64_t *ns)
{
	uint64_t a = first->freq_hz, b = clock->freq_hz;
	__int128 cycles = (__int128)clock->origin - (__int128)first->origin;

	if (first->monotonic != clock->monotonic || (a > b ? a - b : b - a) > a / FREQ_PARTS)
		return false;
	cycles = cycles * NS_PER_SEC / (__int128)a;
	if (cycles > INT64_MAX / 2 || cycles < INT64_MIN / 2)
		return false;
	*ns = (int64_t)cycles;
	return true;
}

struct rs_error *rs_shift_find(const struct rs_clock *first, const struct rs_clock *clock,
			       int64_t *later_ns)
{
	int64_t stamps = 0, wall = 0, apart;
	bool has_wall = first->wall_ns && clock->wall_ns &&
			!__builtin_sub_overflow(clock->wall_ns, first->wall_ns, &wall);
	bool has_stamps = by_stamps(first, clock, &stamps);

	if (has_stamps && has_wall) {
		has_stamps = !__builtin_sub_overflow(stamps, wall, &apart) &&
			     apart <= APART_NS_MAX && apart >= -APART_NS_MAX;
	}
	if (!has_stamps && !has_wall)
		return rs_error_create(RS_USAGE,
				       "it says no time of day, and its stamps are not of the same "
				       "clock: there is no telling how the two lie in time");
	*later_ns = has_stamps ? stamps : wall;
	return NULL;
}
