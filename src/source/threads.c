/* SPDX-License-Identifier: BSD-2-Clause */
/* Assigns the events of a shared stream to the streams of their threads. */
#include "source/threads.h"

#include "base/map.h"
#include "base/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The most tids without a line that get a stream. The events of further tids keep their file's
 * stream. */
#define UNKNOWN_MAX 65536u

struct unknown {
	const struct rs_class *class;
	struct rs_stream stream;
};

struct rs_threads {
	const struct rs_describe *describe;
	struct rs_map unknown; /* by class and tid */
};

void rs_idle_init(struct rs_idle *idle, const struct rs_stream *file)
{
	/* Linux's name: init_idle(), kernel/sched/core.c. */
	snprintf(idle->name, sizeof(idle->name), "swapper/%d", file->cpu);
	idle->stream = *file;
	idle->stream.thread = idle->name;
	idle->stream.cpu = RS_UNKNOWN;
	idle->stream.tid = 0;
	idle->stream.pid = 0;
	idle->stream.mixed = false;
}

struct rs_error *rs_threads_create(const struct rs_describe *describe, struct rs_threads **out)
{
	struct rs_threads *threads = calloc(1, sizeof(*threads));

	if (!threads)
		return rs_error_no_memory();
	threads->describe = describe;
	*out = threads;
	return NULL;
}

void rs_threads_destroy(struct rs_threads *threads)
{
	struct unknown *unknown;
	size_t at = 0;

	if (!threads)
		return;
	while ((unknown = rs_map_next(&threads->unknown, &at)))
		free(unknown);
	rs_map_deinit(&threads->unknown);
	free(threads);
}

/* Returns the first entry of a class, or of a later one. */
static uint32_t first_of(const struct rs_describe *describe, uint32_t class_index)
{
	return (uint32_t)RS_SEARCH(i, describe->n_threads,
				   describe->threads[i]->class->index < class_index);
}

void rs_threads_of_class(struct rs_threads *threads, const struct rs_class *class,
			 struct rs_threads_class *of_class)
{
	const struct rs_describe *describe = threads->describe;
	uint32_t first = first_of(describe, class->index);
	uint32_t end = first_of(describe, class->index + 1);

	*of_class = (struct rs_threads_class){
		.threads = threads,
		.class = class,
		/* without entries, there is no array to point into */
		.entries = end > first ? describe->threads + first : NULL,
		.n = end - first,
		.has_idle = !strcmp(rs_schema_provider(class->schema), RS_FTRACE_PROVIDER)
	};
}

/* Returns the number of entries of lower tids, and of this tid up to the stamp. */
static uint32_t place(const struct rs_threads_class *c, int tid, uint64_t stamp)
{
	return (uint32_t)RS_SEARCH(i, c->n, c->entries[i]->thread.tid < tid ||
						    (c->entries[i]->thread.tid == tid &&
						     c->entries[i]->thread.from <= stamp));
}

static bool is_of(const struct rs_threads_class *c, uint32_t at, int tid)
{
	return at < c->n && c->entries[at]->thread.tid == tid;
}

static bool same_class_and_tid(const void *item, const void *key)
{
	const struct unknown *x = item, *y = key;

	return x->class == y->class && x->stream.tid == y->stream.tid;
}

/* Returns the stream of a tid that no line describes, or NULL without memory, or if there are too
 * many. */
static const struct rs_stream *unknown_stream(const struct rs_threads_class *c, int tid)
{
	struct rs_threads *threads = c->threads;
	const struct rs_describe *describe = threads->describe;
	struct unknown key = { .class = c->class, .stream = { .tid = tid } };
	uint64_t hash = rs_hash_pair(c->class->index, (uint64_t)tid);
	struct unknown *made = rs_map_find(&threads->unknown, hash, same_class_and_tid, &key);

	if (made)
		return &made->stream;
	if (threads->unknown.used < UNKNOWN_MAX && rs_map_reserve(&threads->unknown))
		made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	*made = key;
	made->stream = (struct rs_stream){
		.index = describe->n_streams + describe->n_threads + describe->n_owners +
			 (uint32_t)threads->unknown.used,
		.vcpu = RS_UNKNOWN,
		.cpu = RS_UNKNOWN,
		.tid = tid,
		.schema = c->class->schema,
		.clock = c->class->clock,
	};
	rs_map_add(&threads->unknown, hash, made);
	return &made->stream;
}

/* Finds a tid's stream at a stamp, and the range of stamps for which it is valid. */
static void lookup(struct rs_threads_class *c, const struct rs_stream *file, int tid,
		   uint64_t stamp)
{
	uint32_t next = place(c, tid, stamp); /* the first entry that begins later */
	bool begun = next > 0 && is_of(c, next - 1, tid), later = is_of(c, next, tid);

	c->tid = tid;
	c->from = 0;
	c->to = UINT64_MAX;
	if (begun) {
		c->stream = &c->entries[next - 1]->stream;
		/* The first entry is also valid before its stamp, so the lookup need not be
		 * repeated there. */
		if (next > 1 && is_of(c, next - 2, tid))
			c->from = c->entries[next - 1]->thread.from;
		if (later)
			c->to = c->entries[next]->thread.from;
	} else if (later) {
		c->stream = &c->entries[next]->stream;
		c->to = c->entries[next]->thread.from;
	} else {
		c->stream = unknown_stream(c, tid);
		if (!c->stream)
			c->stream = file;
	}
}

const struct rs_stream *rs_threads_find(struct rs_threads_class *c, const struct rs_stream *file,
					const struct rs_event *event, const uint8_t *payload,
					uint64_t stamp)
{
	const struct rs_field *field = event->fields;
	uint32_t tid;

	if (!event->n_fields || field->type != RS_TYPE_U32 || strcmp(field->name, "tid") != 0)
		return file;
	memcpy(&tid, payload, sizeof(tid));
	if (tid > INT32_MAX || (!tid && (!c->has_idle || file->cpu < 0)))
		return file;
	if (!tid && !c->idle.stream.schema)
		rs_idle_init(&c->idle, file);
	if (!tid)
		return &c->idle.stream;
	if ((int)tid != c->tid || stamp < c->from || stamp >= c->to)
		lookup(c, file, (int)tid, stamp);
	return c->stream;
}
