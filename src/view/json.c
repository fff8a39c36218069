/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events as JSON Lines, one object each. Integers that a double can't hold are strings; unknown
 * is null; a text that is no UTF-8 has its bad bytes replaced.
 */
#include "view/view.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "xen/layout.h"
#include <ringside/record.h>

#define EXACT_MAX (INT64_C(1) << 53)

json_t *rs_json_unsigned(uint64_t value)
{
	char text[24];

	if (value <= (uint64_t)EXACT_MAX)
		return json_integer((json_int_t)value);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return json_string(text);
}

json_t *rs_json_signed(int64_t value)
{
	char text[24];

	if (value >= -EXACT_MAX && value <= EXACT_MAX)
		return json_integer(value);
	snprintf(text, sizeof(text), "%lld", (long long)value);
	return json_string(text);
}

static json_t *known_json(int value)
{
	return value < 0 ? json_null() : json_integer(value);
}

static json_t *text_json(const char *text, size_t len)
{
	char copy[RS_RECORD_PAYLOAD_MAX];

	if (len > sizeof(copy))
		len = sizeof(copy);
	memcpy(copy, text, len);
	rs_utf8_mend_bytes(copy, len);
	return json_stringn(copy, len);
}

static json_t *time_json(const struct rs_view_sink *s, int64_t ns, uint64_t tsc)
{
	switch (s->options.time) {
	case RS_TIME_WALL:
		return rs_json_signed(s->options.clock->wall_ns + ns);
	case RS_TIME_TSC:
		return rs_json_unsigned(tsc);
	case RS_TIME_START:
		break;
	}
	return rs_json_signed(ns);
}

static json_t *arg_json(const struct rs_view_sink *s, const struct rs_view *view,
			const struct rs_field *field)
{
	const char *text = NULL;
	uint64_t value;
	size_t len;

	if (field->type == RS_TYPE_TEXT) {
		text = rs_view_text(view, field, &len);
		return text_json(text, len);
	}
	value = rs_field_value(field, view->payload);
	if (field->show == RS_SHOW_NAME)
		text = rs_schema_name(view->stream->schema, (uint32_t)value);
	else if (field->show == RS_SHOW_ENUM)
		text = rs_enum_name(field->values, value);
	else if (field->show == RS_SHOW_TSC)
		return time_json(s, rs_clock_ns(view->stream->clock, value), value);
	if (text)
		return json_string(text);
	return field->type >= RS_TYPE_S8 ? rs_json_signed((int64_t)value) : rs_json_unsigned(value);
}

/* The record as Xen wrote it, beside what was made of it. */
static void xen_json(json_t *line, const struct rs_view *view)
{
	const struct rs_xen_record *record = rs_view_xen(view);
	json_t *xen, *words;

	if (!record)
		return;
	xen = json_object();
	words = json_array();
	for (uint32_t i = 0; i < record->n; i++)
		json_array_append_new(words, json_integer(record->event == RS_XEN_WRAP_BUFFER
								  ? 0 /* stale memory */
								  : record->words[i]));
	json_object_set_new(xen, "id", json_integer(record->event));
	json_object_set_new(xen, "words", words);
	json_object_set_new(line, "dom", known_json(view->stream->dom));
	json_object_set_new(line, "xen", xen);
}

static struct rs_error *event(struct rs_view_sink *s, const struct rs_view *view)
{
	const struct rs_stream *stream = view->stream;
	json_t *line = json_object(), *args = json_object();
	size_t len;

	json_object_set_new(line, "ts", time_json(s, view->ts_ns, view->tsc));
	json_object_set_new(line, "cpu", known_json(view->cpu));
	json_object_set_new(line, "probe", json_string(view->event->probe));
	json_object_set_new(line, "vm", stream->vm ? json_string(stream->vm) : json_null());
	json_object_set_new(line, "vcpu", known_json(stream->vcpu));
	json_object_set_new(line, "tid", known_json(stream->tid));
	for (uint16_t i = 0; i < view->event->n_fields; i++) {
		const struct rs_field *field = &view->event->fields[i];

		json_object_set_new(args, field->name, arg_json(s, view, field));
	}
	json_object_set_new(line, "args", args);
	xen_json(line, view);
	rs_out_line(&s->out);
	len = json_dumpb(line, s->out.buffer + s->out.used, RS_OUT_BYTES - s->out.used - 1,
			 JSON_COMPACT);
	if (len > RS_OUT_BYTES - s->out.used - 1) { /* escapes made it long: with all the room */
		rs_error_free(rs_out_flush(&s->out));
		len = json_dumpb(line, s->out.buffer, RS_OUT_BYTES - 1, JSON_COMPACT);
	}
	json_decref(line);
	if (!len || len > RS_OUT_BYTES - s->out.used - 1)
		return rs_error_no_memory();
	s->out.used += len;
	rs_out_char(&s->out, '\n');
	return NULL;
}

static struct rs_error *json_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct rs_view_sink *s = (struct rs_view_sink *)sink;
	struct rs_error *err = NULL;

	n = rs_view_sink_allow(s, n);
	for (size_t i = 0; !err && i < n; i++)
		err = event(s, &views[i]);
	if (!err && s->out.error)
		err = rs_out_flush(&s->out);
	return err;
}

static struct rs_error *json_end(struct rs_sink *sink)
{
	return rs_out_flush(&((struct rs_view_sink *)sink)->out);
}

static const struct rs_sink_ops json_ops = {
	.name = "json",
	.events = json_events,
	.end = json_end,
};

struct rs_error *rs_json_sink_create(const struct rs_view_options *options, struct rs_sink **sink)
{
	return rs_view_sink_create(sizeof(struct rs_view_sink), &json_ops, options, sink);
}
