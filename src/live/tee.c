/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes what a sink receives from live sources to a trace directory. */
#include "live/tee.h"

#include <stdlib.h>

#include "store/sink.h"
#include "base/vector.h"

struct rs_tee {
	struct rs_sink sink;
	struct rs_sink *store, *to;
	int64_t last_ns;
	uint32_t last_stream; /* the stream of the trace that received the last view */
	uint64_t moved;
	struct rs_view *views;
	size_t room;
};

/* Returns the first stamp of a clock that is not before this time. */
static uint64_t stamp_at(const struct rs_clock *clock, int64_t ns)
{
	__int128 cycles = ((__int128)ns << RS_CLOCK_SHIFT) / (__int128)clock->ns_mult;
	uint64_t stamp = (uint64_t)cycles + clock->origin + (uint64_t)clock->offset;

	while (rs_clock_ns(clock, stamp) < ns) /* the division rounds down */
		stamp++;
	return stamp;
}

/* Sets a view's stamp such that the trace returns it after the previous one. */
static void set_order(struct rs_tee *tee, struct rs_view *view, const struct rs_store_place *place)
{
	const struct rs_clock *clock = view->stream->clock;
	int64_t least = tee->last_ns + (place->stream < tee->last_stream);

	if (view->ts_ns < least || view->tsc < place->last) {
		uint64_t stamp = view->ts_ns < least ? stamp_at(clock, least) : view->tsc;

		view->tsc = stamp > place->last ? stamp : place->last;
		view->ts_ns = rs_clock_ns(clock, view->tsc);
		tee->moved++;
	}
	tee->last_ns = view->ts_ns;
	tee->last_stream = place->stream;
}

static struct rs_error *tee_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct rs_tee *tee = (struct rs_tee *)sink;
	struct rs_error *err = NULL;

	if (!RS_VECTOR_RESERVE(tee->views, tee->room, n))
		return rs_error_no_memory();
	for (size_t i = 0; !err && i < n; i++) {
		struct rs_store_place place;

		tee->views[i] = views[i];
		err = rs_store_sink_place(tee->store, &views[i], &place);
		if (err)
			break;
		set_order(tee, &tee->views[i], &place);
		err = tee->store->ops->events(tee->store, &tee->views[i], 1);
	}
	return err ? err : tee->to->ops->events(tee->to, tee->views, n);
}

static const struct rs_sink_ops ops = { .name = "tee", .events = tee_events };

struct rs_error *rs_tee_create(struct rs_sink *store, struct rs_sink *to, struct rs_tee **out)
{
	struct rs_tee *tee = calloc(1, sizeof(*tee));

	if (!tee)
		return rs_error_no_memory();
	*tee = (struct rs_tee){ .sink = { &ops }, .store = store, .to = to, .last_ns = INT64_MIN };
	*out = tee;
	return NULL;
}

void rs_tee_destroy(struct rs_tee *tee)
{
	if (!tee)
		return;
	free(tee->views);
	free(tee);
}

struct rs_sink *rs_tee_sink(struct rs_tee *tee)
{
	return &tee->sink;
}

void rs_tee_advance(struct rs_tee *tee, int64_t now_ns)
{
	if (now_ns <= tee->last_ns)
		return;
	tee->last_ns = now_ns;
	tee->last_stream = 0;
}

uint64_t rs_tee_moved(const struct rs_tee *tee)
{
	return tee->moved;
}
