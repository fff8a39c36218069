/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the exits sink. */
#include "analyze/exits_parts.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define PLACES_FIRST 256u

/* ---- tables --------------------------------------------------------------------------------- */

static struct place *place_find(const struct places *places, uint64_t a, uint64_t b)
{
	const uint64_t key[2] = { a, b };
	size_t at = XXH3_64bits(key, sizeof(key));

	for (;; at++) {
		struct place *place = &places->at[at & places->mask];

		if (!place->value || (place->a == a && place->b == b))
			return place;
	}
}

static bool places_grow(struct places *places)
{
	size_t size = places->at ? (places->mask + 1) * 2 : PLACES_FIRST;
	struct places more = { calloc(size, sizeof(*more.at)), size - 1, places->used };

	if (!more.at)
		return false;
	for (size_t i = 0; places->at && i <= places->mask; i++) {
		const struct place *from = &places->at[i];

		if (from->value)
			*place_find(&more, from->a, from->b) = *from;
	}
	free(places->at);
	*places = more;
	return true;
}

/* The place of a key. It is free if value is NULL; a caller that sets value then counts it as used.
 * Returns NULL without memory. */
static struct place *place_of(struct places *places, uint64_t a, uint64_t b)
{
	struct place *place;

	if ((!places->at || places->used * 4 >= (places->mask + 1) * 3) && !places_grow(places))
		return NULL;
	place = place_find(places, a, b);
	place->a = a;
	place->b = b;
	return place;
}

static bool list_add(struct list *list, void *value)
{
	if (list->n == list->room) {
		size_t room = list->room ? list->room * 2 : 64;
		void **more = reallocarray(list->at, room, sizeof(*more));

		if (!more)
			return false;
		list->at = more;
		list->room = room;
	}
	list->at[list->n++] = value;
	return true;
}

/* A zeroed element in the arena and the list; *out NULL above the limit. */
static struct rs_error *element(struct exits_sink *sink, struct list *list, size_t limit,
				size_t bytes, void **out)
{
	*out = NULL;
	if (list->n >= limit) {
		sink->dropped++;
		return NULL;
	}
	*out = rs_arena_alloc(&sink->arena, bytes);
	if (!*out || !list_add(list, *out))
		return rs_error_no_memory();
	return NULL;
}

/* ---- threads -------------------------------------------------------------------------------- */

struct rs_error *exits_thread_new(struct exits_sink *sink, struct thread **out)
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

struct place *exits_thread_place(struct exits_sink *sink, enum exits_by by, int pid, int tid)
{
	uint64_t both = (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;

	return place_of(&sink->by_tid, both, by);
}

const char *exits_name(struct exits_sink *sink, const char *name)
{
	return rs_arena_text(&sink->arena, name, strlen(name));
}

/* ---- reasons and causes --------------------------------------------------------------------- */

struct rs_error *exits_cell(struct exits_sink *sink, struct thread *thread, uint32_t isa,
			    uint32_t nested, uint32_t code, struct cell **out)
{
	struct place *place = place_of(&sink->by_reason, (uint64_t)thread->number << 32 | code,
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
		sink->by_reason.used++;
		*(struct cell *)made = (struct cell){
			.thread = thread, .isa = isa, .code = code, .nested = nested != 0
		};
	}
	*out = place->value;
	return NULL;
}

struct rs_error *exits_cause(struct exits_sink *sink, struct thread *thread, uint32_t kind,
			     uint64_t key, struct cause **out)
{
	struct place *place = place_of(&sink->by_cause, (uint64_t)thread->number << 32 | kind, key);
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
		sink->by_cause.used++;
		*(struct cause *)made =
			(struct cause){ .thread = thread, .kind = kind, .key = key };
	}
	*out = place->value;
	return NULL;
}

struct rs_error *exits_hist(struct exits_sink *sink, struct amounts *amounts)
{
	if (!amounts->hist)
		amounts->hist = rs_arena_alloc(&sink->arena, sizeof(*amounts->hist));
	return amounts->hist ? NULL : rs_error_no_memory();
}

struct rs_error *exits_amounts_add(struct exits_sink *sink, struct amounts *to,
				   const struct amounts *from)
{
	struct rs_error *err;

	if (from->hist) {
		err = exits_hist(sink, to);
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
	to->sum.total_ns += from->sum.total_ns;
	to->sum.kernel_ns += from->sum.kernel_ns;
	to->sum.user_ns += from->sum.user_ns;
	to->sum.poll_ns += from->sum.poll_ns;
	to->sum.off_ns += from->sum.off_ns;
	return NULL;
}
