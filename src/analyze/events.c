/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts a trace's events by probe. */
#include "analyze/events.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vector.h"

/* An event of a schema, and its row. */
struct known {
	const struct rs_event *event;
	uint32_t row; /* ROW_REFUSED: the limit of rows is reached */
};
#define ROW_REFUSED UINT32_MAX

/* A row by its probe. It holds an index, because rows move when their array grows. */
struct name {
	const char *probe;
	uint32_t row;
};

struct events_sink {
	struct rs_sink sink;
	struct rs_map by_event; /* of struct known */
	struct rs_map by_probe; /* of struct name */
	struct rs_arena arena;	/* of both maps, and of the probes' names */
	struct rs_events_row *rows;
	uint32_t n_rows, rows_room;
	const struct known *last; /* of the last event */
	uint64_t count, lost, refused;
	int64_t first_ns, last_ns;
};

static bool same_event(const void *item, const void *key)
{
	return ((const struct known *)item)->event == key;
}

static bool same_probe(const void *item, const void *key)
{
	return !strcmp(((const struct name *)item)->probe, key);
}

/* Finds or creates the row of a probe. */
static struct rs_error *row_of(struct events_sink *s, const char *probe, uint32_t *row)
{
	uint64_t hash = rs_hash_bytes(probe, strlen(probe));
	struct name *name = rs_map_find(&s->by_probe, hash, same_probe, probe);

	if (name) {
		*row = name->row;
		return NULL;
	}
	*row = ROW_REFUSED;
	if (s->n_rows == RS_EVENTS_ROWS_MAX)
		return NULL;
	if (rs_map_reserve(&s->by_probe) && RS_VECTOR_RESERVE(s->rows, s->rows_room, s->n_rows + 1))
		name = rs_arena_alloc(&s->arena, sizeof(*name));
	if (!name)
		return rs_error_no_memory();
	name->probe = rs_arena_text(&s->arena, probe, strlen(probe));
	if (!name->probe)
		return rs_error_no_memory();
	name->row = s->n_rows++;
	s->rows[name->row] = (struct rs_events_row){ .probe = name->probe };
	rs_map_add(&s->by_probe, hash, name);
	*row = name->row;
	return NULL;
}

static struct rs_error *known_of(struct events_sink *s, const struct rs_event *event,
				 const struct known **out)
{
	uint64_t hash = rs_hash_pair((uintptr_t)event, 0);
	struct known *known = rs_map_find(&s->by_event, hash, same_event, event);
	struct rs_error *err;
	uint32_t row;

	if (!known) {
		err = row_of(s, event->probe, &row);
		if (err)
			return err;
		if (rs_map_reserve(&s->by_event))
			known = rs_arena_alloc(&s->arena, sizeof(*known));
		if (!known)
			return rs_error_no_memory();
		*known = (struct known){ event, row };
		rs_map_add(&s->by_event, hash, known);
	}
	*out = known;
	return NULL;
}

static struct rs_error *count(struct events_sink *s, const struct rs_view *view)
{
	struct rs_events_row *row;
	struct rs_error *err;

	if (view->event->kind == RS_KIND_LOSS)
		s->lost += rs_view_loss(view).count;
	if (!s->last || s->last->event != view->event) {
		err = known_of(s, view->event, &s->last);
		if (err)
			return err;
	}
	if (!s->count)
		s->first_ns = view->ts_ns;
	s->last_ns = view->ts_ns;
	s->count++;
	if (s->last->row == ROW_REFUSED) {
		s->refused++;
		return NULL;
	}
	row = &s->rows[s->last->row];
	if (!row->count)
		row->first_ns = view->ts_ns;
	row->last_ns = view->ts_ns;
	row->count++;
	return NULL;
}

static struct rs_error *events_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++)
		err = count((struct events_sink *)sink, &views[i]);
	return err;
}

static int most_first(const void *left, const void *right)
{
	const struct rs_events_row *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return strcmp(a->probe, b->probe);
}

struct rs_error *rs_events_collect(struct rs_sink *sink, struct rs_events *events)
{
	struct events_sink *s = (struct events_sink *)sink;

	if (s->n_rows)
		qsort(s->rows, s->n_rows, sizeof(*s->rows), most_first);
	*events = (struct rs_events){ .rows = s->rows,
				      .n_rows = s->n_rows,
				      .count = s->count - s->refused,
				      .first_ns = s->first_ns,
				      .last_ns = s->last_ns,
				      .lost = s->lost,
				      .refused = s->refused };
	return NULL;
}

static const struct rs_sink_ops events_ops = {
	.name = "events",
	.events = events_events,
};

struct rs_error *rs_events_sink_create(struct rs_sink **sink)
{
	struct events_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return rs_error_no_memory();
	s->sink.ops = &events_ops;
	*sink = &s->sink;
	return NULL;
}

void rs_events_sink_destroy(struct rs_sink *sink)
{
	struct events_sink *s = (struct events_sink *)sink;

	if (!s)
		return;
	rs_map_deinit(&s->by_event);
	rs_map_deinit(&s->by_probe);
	rs_arena_deinit(&s->arena);
	free(s->rows);
	free(s);
}
