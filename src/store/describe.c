/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptions in memory, and their lines on disk, written. Reading them is describe_read.c. */
#include "store/describe.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

void rs_describe_deinit(struct rs_describe *describe)
{
	for (uint32_t i = 0; describe->owns_schemas && i < describe->n_classes; i++)
		rs_schema_destroy(describe->classes[i]->schema);
	free(describe->clocks);
	free(describe->classes);
	free(describe->streams);
	free(describe->stream_class);
	free(describe->stream_end);
	free(describe->binaries);
	free(describe->threads);
	free(describe->domains);
	rs_arena_deinit(&describe->arena);
	*describe = (struct rs_describe){ 0 };
}

/* Makes room for one more pointer in a list; false: no memory. */
static bool more(void *list, uint32_t n)
{
	void **at;
	void *copy;

	if (n & (n - 1)) /* the room is always a power of two */
		return true;
	memcpy(&at, list, sizeof(at));
	copy = realloc(at, (n ? n * 2 : 1) * sizeof(void *));
	if (copy)
		memcpy(list, &copy, sizeof(copy));
	return copy != NULL;
}

/* Keeps a text that will be printed, or NULL: without controls or bad UTF-8, and no longer than a
 * name. False: no memory. */
static bool text_keep(struct rs_describe *describe, const char *text, const char **kept)
{
	size_t len = text ? strnlen(text, RS_NAME_MAX) : 0;
	char *copy = text ? rs_arena_text(&describe->arena, text, len) : NULL;

	if (copy)
		rs_utf8_mend(copy, len);
	*kept = copy;
	return copy || !text;
}

struct rs_error *rs_describe_add_clock(struct rs_describe *describe, const struct rs_clock *clock)
{
	struct rs_clock *copy = rs_arena_alloc(&describe->arena, sizeof(*copy));

	if (!copy || !more(&describe->clocks, describe->n_clocks))
		return rs_error_no_memory();
	*copy = *clock;
	describe->clocks[describe->n_clocks++] = copy;
	return NULL;
}

struct rs_error *rs_describe_add_class(struct rs_describe *describe, struct rs_schema *schema,
				       uint32_t clock_index)
{
	struct rs_class *class = rs_arena_alloc(&describe->arena, sizeof(*class));

	if (!class || !more(&describe->classes, describe->n_classes))
		return rs_error_no_memory();
	*class = (struct rs_class){ .index = describe->n_classes,
				    .schema = schema,
				    .clock = describe->clocks[clock_index],
				    .clock_index = clock_index };
	describe->classes[describe->n_classes++] = class;
	return NULL;
}

struct rs_error *rs_describe_add_stream(struct rs_describe *describe, uint32_t class_index,
					const struct rs_stream *stream)
{
	struct rs_stream *copy = rs_arena_alloc(&describe->arena, sizeof(*copy));
	struct rs_stream_end *end = rs_arena_alloc(&describe->arena, sizeof(*end));
	struct rs_class *class = describe->classes[class_index];

	if (!copy || !end || !more(&describe->stream_end, describe->n_streams) ||
	    !more(&describe->streams, describe->n_streams) ||
	    !more(&describe->stream_class, describe->n_streams))
		return rs_error_no_memory();
	*copy = *stream;
	copy->index = describe->n_streams;
	if (!text_keep(describe, stream->vm, &copy->vm) ||
	    !text_keep(describe, stream->thread, &copy->thread))
		return rs_error_no_memory();
	copy->schema = class->schema;
	copy->clock = class->clock;
	copy->xen = rs_schema_is_xen(class->schema);
	if (copy->xen)
		copy->dom = RS_UNKNOWN;
	describe->stream_class[describe->n_streams] = class;
	describe->stream_end[describe->n_streams] = end;
	describe->streams[describe->n_streams++] = copy;
	return NULL;
}

struct rs_error *rs_describe_add_thread(struct rs_describe *describe, uint32_t class_index,
					const struct rs_thread *thread)
{
	struct rs_thread_entry *entry = rs_arena_alloc(&describe->arena, sizeof(*entry));

	if (describe->n_threads >= RS_THREADS_MAX)
		return rs_error_create(RS_FAILED, "more than %u threads", RS_THREADS_MAX);
	if (!entry || !more(&describe->threads, describe->n_threads))
		return rs_error_no_memory();
	*entry = (struct rs_thread_entry){ .thread = *thread,
					   .class = describe->classes[class_index],
					   .number = describe->n_threads };
	if (!text_keep(describe, thread->vm, &entry->thread.vm))
		return rs_error_no_memory();
	entry->class->has_threads = true;
	describe->threads[describe->n_threads++] = entry;
	return NULL;
}

struct rs_error *rs_describe_add_domain(struct rs_describe *describe, uint32_t class_index,
					uint32_t dom, const char *vm)
{
	struct rs_domain *domain = rs_arena_alloc(&describe->arena, sizeof(*domain));

	if (describe->n_domains >= RS_DOMAINS_MAX)
		return rs_error_create(RS_FAILED, "more than %u domains", RS_DOMAINS_MAX);
	if (!domain || !more(&describe->domains, describe->n_domains))
		return rs_error_no_memory();
	*domain = (struct rs_domain){ .class = describe->classes[class_index], .dom = dom };
	if (!text_keep(describe, vm, &domain->vm))
		return rs_error_no_memory();
	describe->domains[describe->n_domains++] = domain;
	return NULL;
}

const char *rs_describe_domain(const struct rs_describe *describe, const struct rs_class *class,
			       uint32_t dom)
{
	for (uint32_t i = describe->n_domains; i-- > 0;) {
		const struct rs_domain *domain = describe->domains[i];

		if (domain->class == class && domain->dom == dom)
			return domain->vm;
	}
	return NULL;
}

struct rs_error *rs_describe_set_flight(struct rs_describe *describe,
					const struct rs_trace_flight *flight)
{
	struct rs_trace_flight copy = *flight;

	if (!text_keep(describe, flight->why ? flight->why : "", &copy.why))
		return rs_error_no_memory();
	describe->flight = copy;
	describe->has_flight = true;
	return NULL;
}

struct rs_error *rs_describe_add_binary(struct rs_describe *describe,
					const struct rs_trace_binary *binary)
{
	struct rs_trace_binary *copy = rs_arena_alloc(&describe->arena, sizeof(*copy));

	if (!copy || !more(&describe->binaries, describe->n_binaries))
		return rs_error_no_memory();
	if (!text_keep(describe, binary->role, &copy->role) ||
	    !text_keep(describe, binary->path, &copy->path) ||
	    !text_keep(describe, binary->hash_name, &copy->hash_name) ||
	    !text_keep(describe, binary->hash, &copy->hash) ||
	    !text_keep(describe, binary->build_id, &copy->build_id))
		return rs_error_no_memory();
	describe->binaries[describe->n_binaries++] = copy;
	return NULL;
}

/* ---- lines -------------------------------------------------------------------------------- */

/*
 * Writes {"key": value} as a line and takes the value. Without memory for it the line is empty,
 * and a reader says so.
 */
static void line(FILE *file, const char *key, json_t *value)
{
	json_t *outer = json_pack("{s:o}", key, value);

	json_dumpf(outer, file, JSON_COMPACT);
	fputc('\n', file);
	json_decref(outer);
}

/* A text that jansson takes: names were made valid UTF-8, the rest may come from the system. */
static json_t *text_json(const char *text)
{
	json_t *json = text ? json_string(text) : json_null();

	return json ? json : json_string("?");
}

void rs_describe_write_head(FILE *file, const struct rs_describe *describe)
{
	line(file, "ringside",
	     json_pack("{s:i, s:s, s:o, s:o}", "version", RS_DESCRIBE_VERSION, "uuid",
		       describe->uuid, "hostname", text_json(describe->hostname), "command",
		       text_json(describe->command)));
}

void rs_describe_write_clock(FILE *file, uint32_t index, const struct rs_clock *clock)
{
	line(file, "clock",
	     json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:s}", "index", (json_int_t)index,
		       "name", clock->name, "freq_hz", (json_int_t)clock->freq_hz, "origin",
		       (json_int_t)clock->origin, "wall_ns", (json_int_t)clock->wall_ns, "offset",
		       (json_int_t)clock->offset, "error_cycles", (json_int_t)clock->error_cycles,
		       "invariant", (int)clock->invariant, "freq_from", clock->freq_from));
}

void rs_describe_write_class(FILE *file, const struct rs_class *class)
{
	json_t *json = json_pack("{s:I, s:s, s:I}", "index", (json_int_t) class->index, "provider",
				 rs_schema_provider(class->schema), "clock",
				 (json_int_t) class->clock_index);

	if (rs_schema_is_xen(class->schema))
		json_object_set_new(json, "xen", json_true());
	line(file, "class", json);
}

void rs_describe_write_stream(FILE *file, const struct rs_stream *stream, uint32_t class_index)
{
	line(file, "stream",
	     json_pack("{s:I, s:I, s:o, s:o, s:i, s:i, s:i}", "index", (json_int_t)stream->index,
		       "class", (json_int_t)class_index, "vm", text_json(stream->vm), "thread",
		       text_json(stream->thread), "vcpu", stream->vcpu, "cpu", stream->cpu, "tid",
		       stream->tid));
}

void rs_describe_write_thread(FILE *file, const struct rs_thread_entry *entry)
{
	const struct rs_thread *thread = &entry->thread;

	line(file, "thread",
	     json_pack("{s:I, s:i, s:i, s:o, s:i, s:I}", "class", (json_int_t)entry->class->index,
		       "tid", thread->tid, "pid", thread->pid, "vm", text_json(thread->vm), "vcpu",
		       thread->vcpu, "from", (json_int_t)thread->from));
}

void rs_describe_write_domain(FILE *file, const struct rs_domain *domain)
{
	line(file, "domain",
	     json_pack("{s:I, s:I, s:o}", "class", (json_int_t)domain->class->index, "dom",
		       (json_int_t)domain->dom, "vm", text_json(domain->vm)));
}

void rs_describe_write_closed(FILE *file, int64_t at_ns)
{
	line(file, "closed", json_pack("{s:I}", "at_ns", (json_int_t)at_ns));
}

void rs_describe_write_flight(FILE *file, const struct rs_trace_flight *flight)
{
	bool whole = flight->whole_from_ns == INT64_MIN;

	line(file, "flight",
	     json_pack("{s:o, s:I, s:o}", "whole_from_ns",
		       whole ? json_null() : json_integer(flight->whole_from_ns), "at_ns",
		       (json_int_t)flight->at_ns, "why", text_json(flight->why)));
}

void rs_describe_write_end(FILE *file, uint32_t stream, const struct rs_stream_end *end)
{
	line(file, "end",
	     json_pack("{s:I, s:I, s:I, s:I}", "stream", (json_int_t)stream, "bytes",
		       (json_int_t)end->bytes, "records", (json_int_t)end->records, "lost",
		       (json_int_t)end->lost));
}

void rs_describe_write_binary(FILE *file, const struct rs_trace_binary *binary)
{
	line(file, "binary",
	     json_pack("{s:o, s:o, s:o, s:o, s:o}", "role", text_json(binary->role), "path",
		       text_json(binary->path), "hash_name", text_json(binary->hash_name), "hash",
		       text_json(binary->hash), "build_id", text_json(binary->build_id)));
}

static json_t *values_json(const struct rs_enum *values)
{
	json_t *list = json_array();

	for (; values && values->name; values++)
		json_array_append_new(list,
				      json_pack("[s, I]", values->name, (json_int_t)values->value));
	return list;
}

static json_t *fields_json(const struct rs_event *event)
{
	json_t *list = json_array();

	for (uint16_t i = 0; i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i];
		json_t *json = json_pack("{s:s, s:i, s:i, s:s}", "name", field->name, "type",
					 field->type, "show", field->show, "unit", field->unit);

		if (field->values) {
			json_object_set_new(json, "enum", json_string(field->values_name));
			json_object_set_new(json, "values", values_json(field->values));
		}
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *event_json(const struct rs_class *class, const struct rs_event *event)
{
	json_t *json =
		json_pack("{s:I, s:I, s:s, s:s, s:s, s:s, s:i, s:o}", "class",
			  (json_int_t) class->index, "id", (json_int_t)event->id, "class_name",
			  event->class_name, "function", event->function, "name", event->name,
			  "help", event->help, "kind", event->kind, "fields", fields_json(event));

	if (strcmp(event->provider, rs_schema_provider(class->schema)) != 0)
		json_object_set_new(json, "provider", json_string(event->provider));
	return json;
}

bool rs_describe_write_new(FILE *file, struct rs_class *class)
{
	const struct rs_schema *schema = class->schema;
	uint32_t events = rs_schema_count(schema), names = rs_schema_name_count(schema);
	bool any = class->events_told < events || class->names_told < names;

	for (; class->events_told < events; class->events_told++) {
		line(file, "event", event_json(class, rs_schema_event(schema, class->events_told)));
	}
	for (; class->names_told < names; class->names_told++) {
		uint32_t id;
		const char *text = rs_schema_name_at(schema, class->names_told, &id);

		line(file, "name",
		     json_pack("{s:I, s:I, s:o}", "class", (json_int_t) class->index, "id",
			       (json_int_t)id, "text", text_json(text)));
	}
	return any;
}
