/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aggregates events in two tables. The hot path uses the first, whose keys are raw: the event, its
 * stream and its argument values. The second, keyed by text, is filled from the first at the end,
 * so that each distinct key is formatted once.
 */
#include "analyze/aggregate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"

#define AGGREGATES_MAX	32
#define NUMBER_TEXT_MAX 32

/* The raw values of an event's keys. */
struct raw_key {
	uint32_t aggregate;
	int cpu; /* RS_UNKNOWN unless a key is "cpu" */
	const struct rs_event *event;
	const struct rs_stream *stream;
	uint64_t values[RS_AGGREGATE_KEYS_MAX]; /* of arguments */
};

_Static_assert(sizeof(struct raw_key) == 24 + 8 * RS_AGGREGATE_KEYS_MAX, "no padding");

struct raw_row {
	struct raw_key key;
	uint64_t count;
	__int128 sum, min, max;
};

struct aggregate_sink {
	struct rs_sink sink;
	const struct rs_aggregate *aggregates;
	uint32_t n_aggregates;
	struct rs_map raw;    /* of struct raw_row, allocated in raw_arena */
	struct rs_map merged; /* of struct rs_aggregate_row, allocated in arena */
	struct rs_arena raw_arena, arena;
	struct rs_aggregate_row *sorted; /* the result of the last requested aggregate */
	uint64_t dropped[AGGREGATES_MAX];
};

/* ---- the hot path ------------------------------------------------------------------------- */

/* Returns the event's field with a key's name. Returns NULL if the event has no such field, or if
 * the field is a text, which cannot be a raw value. */
static const struct rs_field *field_of(const struct rs_event *event, const char *name)
{
	for (uint16_t i = 0; i < event->n_fields; i++) {
		if (!strcmp(event->fields[i].name, name) && !rs_type_is_tail(event->fields[i].type))
			return &event->fields[i];
	}
	return NULL;
}

/* Returns the number that a field's value is: an unsigned one unless the field's type is signed. */
static __int128 number_of(const struct rs_field *field, uint64_t value)
{
	return field->type >= RS_TYPE_S8 ? (__int128)(int64_t)value : (__int128)value;
}

static bool is_context(const char *key)
{
	static const char *const context[] = { "probe", "vm", "vcpu", "cpu", "tid" };

	for (size_t i = 0; i < sizeof(context) / sizeof(context[0]); i++) {
		if (!strcmp(key, context[i]))
			return true;
	}
	return false;
}

/* Fills in the raw key of an event. Returns false if the event lacks one of the keys. */
static bool raw_key(const struct rs_aggregate *aggregate, const struct rs_view *view,
		    struct raw_key *key)
{
	key->event = view->event;
	key->stream = view->stream;
	key->cpu = RS_UNKNOWN;
	for (uint32_t i = 0; i < aggregate->n_keys; i++) {
		const struct rs_field *field;

		field = field_of(view->event, aggregate->keys[i]);
		if (field)
			key->values[i] = rs_field_value(field, view->payload);
		else if (!is_context(aggregate->keys[i]))
			return false;
		else if (!strcmp(aggregate->keys[i], "cpu"))
			key->cpu = view->cpu;
	}
	return true;
}

static bool same_raw(const void *item, const void *key)
{
	return !memcmp(&((const struct raw_row *)item)->key, key, sizeof(struct raw_key));
}

/* Finds or creates the row of a key. Sets *out to NULL if there are too many. */
static struct rs_error *raw_row(struct aggregate_sink *s, const struct raw_key *key, __int128 value,
				struct raw_row **out)
{
	uint64_t hash = rs_hash_bytes(key, sizeof(*key));
	struct raw_row *row = rs_map_find(&s->raw, hash, same_raw, key);

	if (!row && s->raw.used < RS_AGGREGATE_ROWS_MAX) {
		if (rs_map_reserve(&s->raw))
			row = rs_arena_alloc(&s->raw_arena, sizeof(*row));
		if (!row)
			return rs_error_no_memory();
		*row = (struct raw_row){ .key = *key, .min = value, .max = value };
		rs_map_add(&s->raw, hash, row);
	}
	*out = row;
	return NULL;
}

static struct rs_error *add_event(struct aggregate_sink *s, uint32_t index,
				  const struct rs_view *view)
{
	const struct rs_aggregate *aggregate = &s->aggregates[index];
	const struct rs_field *field = NULL;
	struct raw_key key;
	struct raw_row *row;
	struct rs_error *err;
	__int128 value = 0;

	memset(&key, 0, sizeof(key)); /* keys are compared as bytes */
	key.aggregate = index;
	if (aggregate->value) {
		field = field_of(view->event, aggregate->value);
		if (!field)
			return NULL;
		value = number_of(field, rs_field_value(field, view->payload));
	}
	if (!raw_key(aggregate, view, &key))
		return NULL;
	err = raw_row(s, &key, value, &row);
	if (err || !row) {
		s->dropped[index] += !err;
		return err;
	}
	row->count++;
	row->sum += value;
	if (value < row->min)
		row->min = value;
	if (value > row->max)
		row->max = value;
	return NULL;
}

static struct rs_error *aggregate_events(struct rs_sink *sink, const struct rs_view *views,
					 size_t n)
{
	struct aggregate_sink *s = (struct aggregate_sink *)sink;
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++) {
		for (uint32_t j = 0; !err && j < s->n_aggregates; j++)
			err = add_event(s, j, &views[i]);
	}
	return err;
}

/* ---- rows by text ------------------------------------------------------------------------- */

static uint32_t n_keys(const struct aggregate_sink *s, const struct rs_aggregate_row *row)
{
	return s->aggregates[row->aggregate].n_keys;
}

/* Compares the keys of two rows. Unused keys are NULL, and compare equal. */
static int compare_keys(const void *a, const void *b)
{
	const struct rs_aggregate_row *x = a, *y = b;

	if (x->aggregate != y->aggregate)
		return x->aggregate < y->aggregate ? -1 : 1;
	for (uint32_t i = 0; i < RS_AGGREGATE_KEYS_MAX && x->keys[i] && y->keys[i]; i++) {
		int order = strcmp(x->keys[i], y->keys[i]);

		if (order)
			return order;
	}
	return 0;
}

static bool same_keys(const void *item, const void *key)
{
	return !compare_keys(item, key);
}

static uint64_t hash_of_keys(const struct rs_aggregate_row *row, uint32_t n)
{
	uint64_t hash = row->aggregate;

	for (uint32_t i = 0; i < n; i++)
		hash = rs_hash_pair(hash, rs_hash_bytes(row->keys[i], strlen(row->keys[i])));
	return hash;
}

/* Adds a row's values to the row with equal keys. Copies the texts that it keeps. */
static struct rs_error *merge_row(struct aggregate_sink *s, const struct rs_aggregate_row *row)
{
	uint64_t hash = hash_of_keys(row, n_keys(s, row));
	struct rs_aggregate_row *copy = rs_map_find(&s->merged, hash, same_keys, row);

	if (copy) {
		copy->count += row->count;
		copy->sum += row->sum;
		copy->min = row->min < copy->min ? row->min : copy->min;
		copy->max = row->max > copy->max ? row->max : copy->max;
		return NULL;
	}
	if (s->merged.used >= RS_AGGREGATE_ROWS_MAX) {
		s->dropped[row->aggregate] += row->count;
		return NULL;
	}
	if (rs_map_reserve(&s->merged))
		copy = rs_arena_alloc(&s->arena, sizeof(*copy));
	if (!copy)
		return rs_error_no_memory();
	*copy = *row;
	memset(copy->keys, 0, sizeof(copy->keys));
	for (uint32_t i = 0; i < n_keys(s, row); i++) {
		copy->keys[i] = rs_arena_text(&s->arena, row->keys[i], strlen(row->keys[i]));
		if (!copy->keys[i])
			return rs_error_no_memory();
	}
	rs_map_add(&s->merged, hash, copy);
	return NULL;
}

/* Each returns the key's text: an existing string of any length, or one written to the buffer. */

static const char *number_text(char *buffer, int value)
{
	if (value < 0)
		return "-";
	snprintf(buffer, NUMBER_TEXT_MAX, "%d", value);
	return buffer;
}

static const char *arg_text(const struct raw_key *key, const struct rs_field *field, uint64_t value,
			    char *buffer)
{
	const char *name = NULL;

	if (field->show == RS_SHOW_NAME)
		name = rs_schema_name(key->stream->schema, (uint32_t)value);
	else if (field->show == RS_SHOW_ENUM)
		name = rs_enum_name(field->values, value);
	if (name)
		return name;
	if (field->show == RS_SHOW_NAME)
		snprintf(buffer, NUMBER_TEXT_MAX, "#%" PRIu64, value);
	else if (field->show == RS_SHOW_HEX)
		snprintf(buffer, NUMBER_TEXT_MAX, "0x%" PRIx64, value);
	else if (field->type >= RS_TYPE_S8)
		snprintf(buffer, NUMBER_TEXT_MAX, "%" PRId64, (int64_t)value);
	else
		snprintf(buffer, NUMBER_TEXT_MAX, "%" PRIu64, value);
	return buffer;
}

static const char *key_text(const struct raw_key *key, const char *name, uint64_t value,
			    char *buffer)
{
	const struct rs_field *field = field_of(key->event, name);

	if (field)
		return arg_text(key, field, value, buffer);
	if (!strcmp(name, "probe"))
		return key->event->probe;
	if (!strcmp(name, "vm"))
		return key->stream->vm ? key->stream->vm : "-";
	if (!strcmp(name, "vcpu"))
		return number_text(buffer, key->stream->vcpu);
	if (!strcmp(name, "cpu"))
		return number_text(buffer, key->cpu);
	return number_text(buffer, key->stream->tid);
}

/* Converts all raw rows to rows by text. */
static struct rs_error *aggregate_end(struct rs_sink *sink)
{
	struct aggregate_sink *s = (struct aggregate_sink *)sink;
	char numbers[RS_AGGREGATE_KEYS_MAX][NUMBER_TEXT_MAX];
	struct rs_error *err = NULL;
	const struct raw_row *raw;
	size_t at = 0;

	while (!err && (raw = rs_map_next(&s->raw, &at))) {
		const struct rs_aggregate *aggregate = &s->aggregates[raw->key.aggregate];
		struct rs_aggregate_row row = { .aggregate = raw->key.aggregate,
						.count = raw->count,
						.sum = raw->sum,
						.min = raw->min,
						.max = raw->max };

		for (uint32_t k = 0; k < aggregate->n_keys; k++)
			row.keys[k] = key_text(&raw->key, aggregate->keys[k], raw->key.values[k],
					       numbers[k]);
		err = merge_row(s, &row);
	}
	rs_map_clear(&s->raw);
	rs_arena_deinit(&s->raw_arena);
	s->raw_arena = (struct rs_arena){ 0 };
	return err;
}

/* ---- the result --------------------------------------------------------------------------- */

static int most_first(const void *a, const void *b)
{
	const struct rs_aggregate_row *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return compare_keys(a, b);
}

struct rs_error *rs_aggregate_rows(struct rs_sink *sink, uint32_t aggregate,
				   const struct rs_aggregate_row **rows, size_t *n,
				   uint64_t *dropped)
{
	struct aggregate_sink *s = (struct aggregate_sink *)sink;
	struct rs_aggregate_row *sorted = calloc(s->merged.used + 1, sizeof(*sorted));
	const struct rs_aggregate_row *row;
	size_t count = 0, at = 0;

	if (!sorted)
		return rs_error_no_memory();
	while ((row = rs_map_next(&s->merged, &at))) {
		if (row->aggregate == aggregate)
			sorted[count++] = *row;
	}
	qsort(sorted, count, sizeof(*sorted), most_first);
	free(s->sorted);
	*rows = s->sorted = sorted;
	*n = count;
	*dropped = s->dropped[aggregate];
	return NULL;
}

static const struct rs_sink_ops aggregate_ops = {
	.name = "aggregate",
	.events = aggregate_events,
	.end = aggregate_end,
};

struct rs_error *rs_aggregate_sink_create(const struct rs_aggregate *aggregates, uint32_t n,
					  struct rs_sink **out)
{
	struct aggregate_sink *s;

	if (n > AGGREGATES_MAX)
		return rs_error_create(RS_USAGE, "more than %d aggregates", AGGREGATES_MAX);
	s = calloc(1, sizeof(*s));
	if (!s)
		return rs_error_no_memory();
	s->sink.ops = &aggregate_ops;
	s->aggregates = aggregates;
	s->n_aggregates = n;
	*out = &s->sink;
	return NULL;
}

void rs_aggregate_sink_destroy(struct rs_sink *sink)
{
	struct aggregate_sink *s = (struct aggregate_sink *)sink;

	if (!s)
		return;
	rs_map_deinit(&s->raw);
	rs_map_deinit(&s->merged);
	free(s->sorted);
	rs_arena_deinit(&s->raw_arena);
	rs_arena_deinit(&s->arena);
	free(s);
}
