/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the exits sink. */
#include "analyze/exits_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

/* ---- tables --------------------------------------------------------------------------------- */

static bool same_place(const void *item, const void *key)
{
	const struct place *x = item, *y = key;

	return x->a == y->a && x->b == y->b;
}

/* Finds or creates the entry of a key. Returns NULL without memory. */
static struct place *place_of(struct exits_sink *sink, struct rs_map *map, uint64_t a, uint64_t b)
{
	const struct place key = { .a = a, .b = b };
	uint64_t hash = rs_hash_pair(a, b);
	struct place *place = rs_map_find(map, hash, same_place, &key);

	if (place)
		return place;
	if (rs_map_reserve(map))
		place = rs_arena_alloc(&sink->arena, sizeof(*place));
	if (place) {
		*place = key;
		rs_map_add(map, hash, place);
	}
	return place;
}

bool rs_exits_list_add(struct list *list, void *value)
{
	if (!RS_VECTOR_RESERVE(list->at, list->room, list->n + 1))
		return false;
	list->at[list->n++] = value;
	return true;
}

/* Adds a zeroed element to the arena and the list. *out is NULL above the limit. */
static struct rs_error *element(struct exits_sink *sink, struct list *list, size_t limit,
				size_t bytes, void **out)
{
	*out = NULL;
	if (list->n >= limit) {
		sink->dropped++;
		return NULL;
	}
	*out = rs_arena_alloc(&sink->arena, bytes);
	if (!*out || !rs_exits_list_add(list, *out))
		return rs_error_no_memory();
	return NULL;
}

/* ---- threads -------------------------------------------------------------------------------- */

struct rs_error *rs_exits_thread_make(struct exits_sink *sink, struct thread **out)
{
	struct rs_error *err;
	void *made;

	err = element(sink, &sink->threads, EXITS_THREADS_MAX, sizeof(**out), &made);
	*out = made;
	if (!err && made) {
		(*out)->number = (uint32_t)sink->threads.n;
		(*out)->vcpu = RS_UNKNOWN;
	}
	return err;
}

struct place *rs_exits_thread_place(struct exits_sink *sink, const struct rs_schema *schema,
				    int tid)
{
	return place_of(sink, &sink->by_tid, (uint32_t)tid, (uintptr_t)schema);
}

const char *rs_exits_name_copy(struct exits_sink *sink, const char *name)
{
	return rs_arena_text(&sink->arena, name, strlen(name));
}

/* ---- reasons and causes --------------------------------------------------------------------- */

struct rs_error *rs_exits_cell_of(struct exits_sink *sink, struct thread *thread, uint32_t isa,
				  uint32_t nested, uint32_t code, struct cell **out)
{
	struct place *place =
		place_of(sink, &sink->by_reason, (uint64_t)thread->number << 32 | code,
			 (uint64_t)isa << 1 | (nested != 0));
	struct rs_error *err;
	void *made;

	*out = NULL;
	if (!place)
		return rs_error_no_memory();
	if (!place->value) {
		err = element(sink, &sink->cells, EXITS_CELLS_MAX, sizeof(**out), &made);
		if (err || !made)
			return err;
		place->value = made;
		*(struct cell *)made = (struct cell){
			.thread = thread, .isa = isa, .code = code, .nested = nested != 0
		};
	}
	*out = place->value;
	return NULL;
}

struct rs_error *rs_exits_cause_of(struct exits_sink *sink, struct thread *thread, uint32_t kind,
				   uint64_t key, struct cause **out)
{
	struct place *place =
		place_of(sink, &sink->by_cause, (uint64_t)thread->number << 32 | kind, key);
	struct rs_error *err;
	void *made;

	*out = NULL;
	if (!place)
		return rs_error_no_memory();
	if (!place->value) {
		err = element(sink, &sink->causes, EXITS_CAUSES_MAX, sizeof(**out), &made);
		if (err || !made)
			return err;
		place->value = made;
		*(struct cause *)made =
			(struct cause){ .thread = thread, .kind = kind, .key = key };
	}
	*out = place->value;
	return NULL;
}

struct rs_error *rs_exits_hist_make(struct exits_sink *sink, struct amounts *amounts)
{
	if (!amounts->hist)
		amounts->hist = rs_arena_alloc(&sink->arena, sizeof(*amounts->hist));
	return amounts->hist ? NULL : rs_error_no_memory();
}

struct rs_error *rs_exits_amounts_add(struct exits_sink *sink, struct amounts *to,
				      const struct amounts *from)
{
	struct rs_error *err;

	if (from->hist) {
		err = rs_exits_hist_make(sink, to);
		if (err)
			return err;
		rs_hist_add(to->hist, from->hist);
	}
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	if (from->entered && (!to->entered || from->min_ns < to->min_ns))
		to->min_ns = from->min_ns;
	to->count += from->count;
	to->entered += from->entered;
	rs_exits_cost_add(&to->sum, &from->sum);
	return NULL;
}
