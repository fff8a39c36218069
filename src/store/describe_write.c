/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Formats the lines of a description in memory. Only the growth of the text can fail; the partial
 * line is then removed.
 */
#include "store/describe.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/vector.h"
#include "store/check.h"

#define LINES_BYTES (32u << 10) /* allocated when the trace is created, while there is memory */

/* ---- one line ------------------------------------------------------------------------------ */

static void add(void *ctx, const char *bytes, size_t len)
{
	struct rs_lines *lines = ctx;

	if (!RS_VECTOR_RESERVE(lines->text, lines->room, lines->bytes + len))
		lines->failed = true;
	if (lines->failed)
		return;
	memcpy(lines->text + lines->bytes, bytes, len);
	lines->bytes += len;
}

bool rs_lines_init(struct rs_lines *lines)
{
	struct rs_error *err;

	*lines = (struct rs_lines){ .text = malloc(LINES_BYTES), .room = LINES_BYTES };
	err = lines->text ? rs_out_init_put(&lines->out, add) : rs_error_no_memory();
	if (!err)
		return true;
	rs_error_free(err);
	rs_lines_deinit(lines);
	return false;
}

void rs_lines_deinit(struct rs_lines *lines)
{
	rs_out_deinit(&lines->out);
	free(lines->text);
	*lines = (struct rs_lines){ 0 };
}

struct line {
	struct rs_lines *lines;
	struct rs_json json;
	size_t begin;
};

static void number(struct line *l, const char *key, int64_t value)
{
	rs_json_signed(rs_json_key(&l->json, key), value);
}

static void text(struct line *l, const char *key, const char *value)
{
	rs_json_text(rs_json_key(&l->json, key), value);
}

static void flag(struct line *l, const char *key, bool value)
{
	rs_json_bool(rs_json_key(&l->json, key), value);
}

static void open(struct line *l, const char *key, char bracket)
{
	rs_json_open(rs_json_key(&l->json, key), bracket);
}

static struct line begin(struct rs_lines *lines, const char *key)
{
	struct line l = { .lines = lines, .json.out = &lines->out, .begin = lines->bytes };

	lines->out.ctx = lines;
	lines->failed = false;
	rs_json_open(&l.json, '{');
	open(&l, key, '{');
	return l;
}

static bool end(struct line *l)
{
	struct rs_lines *lines = l->lines;

	rs_json_close(&l->json, '}');
	rs_json_close(&l->json, '}');
	rs_json_line_end(&l->json);
	rs_out_write(&lines->out);
	if (lines->failed)
		lines->bytes = l->begin;
	else
		lines->check = rs_describe_check(lines->check, lines->text + l->begin,
						 lines->bytes - l->begin);
	return !lines->failed;
}

/* ---- the lines of each kind ---------------------------------------------------------------- */

static bool write_head(struct rs_lines *lines, const struct rs_describe *describe, uint32_t i)
{
	struct line l = begin(lines, "ringside");

	(void)i;
	number(&l, "version", RS_DESCRIBE_VERSION);
	text(&l, "uuid", describe->uuid);
	text(&l, "hostname", describe->hostname);
	text(&l, "command", describe->command);
	return end(&l);
}

static bool write_clock(struct rs_lines *lines, const struct rs_describe *describe, uint32_t i)
{
	const struct rs_clock *clock = describe->clocks[i];
	struct line l = begin(lines, "clock");

	number(&l, "index", i);
	text(&l, "name", clock->name);
	number(&l, "freq_hz", (int64_t)clock->freq_hz);
	number(&l, "origin", (int64_t)clock->origin);
	number(&l, "wall_ns", clock->wall_ns);
	number(&l, "offset", clock->offset);
	number(&l, "error_cycles", (int64_t)clock->error_cycles);
	flag(&l, "invariant", clock->invariant);
	text(&l, "freq_from", clock->freq_from);
	return end(&l);
}

static bool write_class(struct rs_lines *lines, const struct rs_describe *describe, uint32_t i)
{
	const struct rs_class *class = describe->classes[i];
	struct line l = begin(lines, "class");

	number(&l, "index", class->index);
	text(&l, "provider", rs_schema_provider(class->schema));
	number(&l, "clock", class->clock_index);
	if (rs_schema_is_xen(class->schema))
		flag(&l, "xen", true);
	return end(&l);
}

static bool write_stream(struct rs_lines *lines, const struct rs_describe *describe, uint32_t i)
{
	const struct rs_stream *stream = describe->streams[i];
	struct line l = begin(lines, "stream");

	number(&l, "index", stream->index);
	number(&l, "class", describe->stream_class[i]->index);
	text(&l, "vm", stream->vm);
	text(&l, "thread", stream->thread);
	number(&l, "vcpu", stream->vcpu);
	number(&l, "cpu", stream->cpu);
	number(&l, "tid", stream->tid);
	return end(&l);
}

static bool write_thread(struct rs_lines *lines, const struct rs_describe *describe, uint32_t i)
{
	const struct rs_thread *thread = &describe->threads[i]->thread;
	struct line l = begin(lines, "thread");

	number(&l, "class", describe->threads[i]->class->index);
	number(&l, "tid", thread->tid);
	number(&l, "pid", thread->pid);
	text(&l, "vm", thread->vm);
	if (thread->name)
		text(&l, "name", thread->name);
	number(&l, "vcpu", thread->vcpu);
	number(&l, "from", (int64_t)thread->from);
	return end(&l);
}

static bool write_domain(struct rs_lines *lines, const struct rs_describe *describe, uint32_t i)
{
	const struct rs_domain *domain = describe->domains[i];
	struct line l = begin(lines, "domain");

	number(&l, "class", domain->class->index);
	number(&l, "dom", domain->dom);
	text(&l, "vm", domain->vm);
	return end(&l);
}

static bool write_binary(struct rs_lines *lines, const struct rs_describe *describe, uint32_t i)
{
	const struct rs_trace_binary *binary = describe->binaries[i];
	struct line l = begin(lines, "binary");

	text(&l, "role", binary->role);
	text(&l, "path", binary->path);
	text(&l, "hash_name", binary->hash_name);
	text(&l, "hash", binary->hash);
	text(&l, "build_id", binary->build_id);
	number(&l, "load", (int64_t)binary->load);
	return end(&l);
}

static bool write_flight(struct rs_lines *lines, const struct rs_describe *describe, uint32_t i)
{
	const struct rs_trace_flight *flight = &describe->flight;
	struct line l = begin(lines, "flight");

	(void)i;
	if (flight->whole_from_ns == INT64_MIN)
		text(&l, "whole_from_ns", NULL);
	else
		number(&l, "whole_from_ns", flight->whole_from_ns);
	number(&l, "at_ns", flight->at_ns);
	text(&l, "why", flight->why);
	return end(&l);
}

static bool write_closed(struct rs_lines *lines, const struct rs_describe *describe, uint32_t i)
{
	struct line l = begin(lines, "closed");

	(void)i;
	number(&l, "at_ns", describe->closed_ns);
	return end(&l);
}

static bool write_end(struct rs_lines *lines, const struct rs_describe *describe, uint32_t i)
{
	const struct rs_stream_end *ended = describe->stream_end[i];
	struct line l;

	if (!ended->known)
		return true;
	l = begin(lines, "end");
	number(&l, "stream", i);
	number(&l, "bytes", (int64_t)ended->bytes);
	number(&l, "records", (int64_t)ended->records);
	number(&l, "lost", (int64_t)ended->lost);
	return end(&l);
}

static void put_values(struct line *l, const struct rs_field *field)
{
	text(l, "enum", field->values_name);
	open(l, "values", '[');
	for (const struct rs_enum *value = field->values; value->name; value++) {
		rs_json_open(&l->json, '[');
		rs_json_text(&l->json, value->name);
		rs_json_signed(&l->json, (int64_t)value->value);
		rs_json_close(&l->json, ']');
	}
	rs_json_close(&l->json, ']');
}

static bool write_event(struct rs_lines *lines, const struct rs_class *class, uint32_t i)
{
	const struct rs_event *event = rs_schema_event(class->schema, i);
	struct line l = begin(lines, "event");

	number(&l, "class", class->index);
	number(&l, "id", (int64_t)event->id);
	text(&l, "class_name", event->class_name);
	text(&l, "function", event->function);
	text(&l, "name", event->name);
	text(&l, "help", event->help);
	number(&l, "kind", event->kind);
	open(&l, "fields", '[');
	for (uint16_t f = 0; f < event->n_fields; f++) {
		const struct rs_field *field = &event->fields[f];

		rs_json_open(&l.json, '{');
		text(&l, "name", field->name);
		number(&l, "type", field->type);
		number(&l, "show", field->show);
		text(&l, "unit", field->unit);
		if (field->values)
			put_values(&l, field);
		rs_json_close(&l.json, '}');
	}
	rs_json_close(&l.json, ']');
	if (strcmp(event->provider, rs_schema_provider(class->schema)) != 0)
		text(&l, "provider", event->provider);
	return end(&l);
}

static bool write_name(struct rs_lines *lines, const struct rs_class *class, uint32_t i)
{
	struct line l = begin(lines, "name");
	uint32_t id;
	const char *named = rs_schema_name_at(class->schema, i, &id);

	number(&l, "class", class->index);
	number(&l, "id", id);
	text(&l, "text", named);
	if (rs_schema_name_has_argument(class->schema, id))
		flag(&l, "argument", true);
	return end(&l);
}

/* ---- all of them --------------------------------------------------------------------------- */

/* Adds the lines of what was added to a class's schema since the last call, and counts them in the
 * class. */
static bool write_schema(struct rs_lines *lines, struct rs_class *class, bool *any)
{
	uint32_t events = rs_schema_count(class->schema);
	uint32_t names = rs_schema_name_count(class->schema);

	for (; class->events_written < events; class->events_written++, *any = true) {
		if (!write_event(lines, class, class->events_written))
			return false;
	}
	for (; class->names_written < names; class->names_written++, *any = true) {
		if (!write_name(lines, class, class->names_written))
			return false;
	}
	return true;
}

static bool write_schemas(struct rs_describe *describe, struct rs_lines *lines, bool *any)
{
	for (uint32_t i = 0; i < describe->n_classes; i++) {
		if (!write_schema(lines, describe->classes[i], any))
			return false;
	}
	return true;
}

bool rs_describe_write(struct rs_describe *describe, uint32_t written[RS_LINE_KINDS],
		       struct rs_lines *lines, bool *schema)
{
	const struct {
		uint32_t n;
		bool (*write)(struct rs_lines *lines, const struct rs_describe *describe,
			      uint32_t i);
		bool in_metadata;
	} kinds[RS_LINE_KINDS] = {
		[RS_LINE_HEAD] = { 1, write_head, true },
		[RS_LINE_CLOCKS] = { describe->n_clocks, write_clock, true },
		[RS_LINE_CLASSES] = { describe->n_classes, write_class, true },
		[RS_LINE_STREAMS] = { describe->n_streams, write_stream, false },
		[RS_LINE_THREADS] = { describe->n_threads, write_thread, false },
		[RS_LINE_DOMAINS] = { describe->n_domains, write_domain, false },
		[RS_LINE_BINARIES] = { describe->n_binaries, write_binary, true },
		[RS_LINE_FLIGHT] = { describe->has_flight, write_flight, false },
		[RS_LINE_CLOSED] = { describe->has_closed, write_closed, false },
		[RS_LINE_ENDS] = { describe->has_ends ? describe->n_streams : 0, write_end, false },
	};

	for (uint32_t kind = 0; kind < RS_LINE_KINDS; kind++) {
		for (; written[kind] < kinds[kind].n; written[kind]++) {
			if (!kinds[kind].write(lines, describe, written[kind]))
				return false;
			*schema |= kinds[kind].in_metadata;
		}
		if (kind == RS_LINE_CLASSES && !write_schemas(describe, lines, schema))
			return false;
	}
	*schema |= describe->metadata_stale;
	describe->metadata_stale = false;
	return true;
}

bool rs_describe_write_schemas(struct rs_describe *describe, struct rs_lines *lines)
{
	bool any = false;

	return write_schemas(describe, lines, &any);
}

bool rs_describe_write_owner(struct rs_lines *lines, uint32_t stream, const struct rs_owner *owner)
{
	struct line l = begin(lines, "owner");

	number(&l, "stream", stream);
	text(&l, "vm", owner->vm);
	text(&l, "thread", owner->thread);
	number(&l, "vcpu", owner->vcpu);
	number(&l, "tid", owner->tid);
	number(&l, "from", (int64_t)owner->from);
	return end(&l);
}

bool rs_describe_write_stream(const struct rs_describe *describe, struct rs_lines *lines,
			      uint32_t stream)
{
	return write_stream(lines, describe, stream);
}

bool rs_describe_write_end(const struct rs_describe *describe, struct rs_lines *lines,
			   uint32_t stream)
{
	return write_end(lines, describe, stream);
}
