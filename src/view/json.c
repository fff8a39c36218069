/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events as JSON Lines, one object each. The type of a value does not depend on the value: what is
 * shown in hex is always a string, "0x..."; an enumeration and a name are always strings; every
 * other number is always a number. What is unknown is null. In a text that is not UTF-8, '?' stands
 * for each bad byte.
 */
#include "view/view.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "base/utf8.h"
#include "xen/layout.h"
#include <ringside/record.h>

json_t *rs_json_unsigned(uint64_t value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

json_t *rs_json_signed(int64_t value)
{
	return json_integer(value);
}

json_t *rs_json_hex(uint64_t value)
{
	char text[19];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

const char *rs_json_type(const struct rs_field *field)
{
	bool number = field->type != RS_TYPE_TEXT &&
		      (field->show == RS_SHOW_DEC || field->show == RS_SHOW_TSC);

	return number ? "number" : "string";
}

/* A key that stands behind another member of its object. */
static void key(struct rs_out *out, const char *name)
{
	rs_out_char(out, ',');
	rs_out_json(out, name, strlen(name));
	rs_out_char(out, ':');
}

static void known(struct rs_out *out, const char *name, int value)
{
	key(out, name);
	if (value < 0)
		rs_out_text(out, "null");
	else
		rs_out_dec(out, (uint64_t)value);
}

static void text(struct rs_out *out, const char *at, size_t len)
{
	char copy[RS_RECORD_PAYLOAD_MAX];

	if (len > sizeof(copy))
		len = sizeof(copy);
	memcpy(copy, at, len);
	rs_utf8_mend_bytes(copy, len);
	rs_out_json(out, copy, len);
}

static void nullable(struct rs_out *out, const char *name)
{
	if (name)
		text(out, name, strlen(name));
	else
		rs_out_text(out, "null");
}

static void times(struct rs_view_sink *s, const struct rs_view *view)
{
	struct rs_out *out = &s->out;

	rs_out_text(out, "{\"ts\":");
	if (s->options.cycles_only)
		rs_out_text(out, "null");
	else
		rs_out_signed(out, view->ts_ns);
	switch (s->options.time) {
	case RS_TIME_START:
		break;
	case RS_TIME_WALL:
		key(out, "time");
		rs_out_char(out, '"');
		rs_words_time(out, &s->options, view->ts_ns, view->tsc);
		rs_out_char(out, '"');
		break;
	case RS_TIME_TSC:
		key(out, "tsc");
		rs_out_dec(out, view->tsc);
		break;
	}
}

/* A value's name, or its number in its place: both are strings. */
static void named(struct rs_out *out, const char *name, const char *before, uint64_t value)
{
	if (name) {
		rs_out_json(out, name, strlen(name));
		return;
	}
	rs_out_char(out, '"');
	rs_out_text(out, before);
	rs_out_dec(out, value);
	rs_out_char(out, '"');
}

static void arg(struct rs_view_sink *s, const struct rs_view *view, const struct rs_field *field)
{
	struct rs_out *out = &s->out;
	const char *bytes;
	uint64_t value;
	size_t len;

	if (field->type == RS_TYPE_TEXT) {
		bytes = rs_view_text(view, field, &len);
		text(out, bytes, len);
		return;
	}
	value = rs_view_value(field, view->payload);
	switch (field->show) {
	case RS_SHOW_HEX:
		rs_out_char(out, '"');
		rs_out_hex(out, value);
		rs_out_char(out, '"');
		return;
	case RS_SHOW_NAME:
		named(out, rs_schema_name(view->stream->schema, (uint32_t)value), "#", value);
		return;
	case RS_SHOW_ENUM:
		named(out, rs_enum_name(field->values, value), "", value);
		return;
	case RS_SHOW_TSC:
		if (s->options.time == RS_TIME_TSC)
			rs_out_dec(out, value);
		else
			rs_out_signed(out, rs_clock_ns(view->stream->clock, value));
		return;
	case RS_SHOW_DEC:
		if (field->type >= RS_TYPE_S8)
			rs_out_signed(out, (int64_t)value);
		else
			rs_out_dec(out, value);
		return;
	}
}

/* The record as Xen wrote it, beside what was made of it. */
static void xen(struct rs_out *out, const struct rs_view *view)
{
	const struct rs_xen_record *record = rs_view_xen(view);

	if (!record)
		return;
	rs_out_line(out);
	known(out, "dom", view->stream->dom);
	key(out, "xen");
	rs_out_text(out, "{\"id\":");
	rs_out_dec(out, record->event);
	rs_out_text(out, ",\"words\":[");
	for (uint32_t i = 0; i < record->n; i++) {
		if (i)
			rs_out_char(out, ',');
		rs_out_dec(out, record->event == RS_XEN_WRAP_BUFFER ? 0 /* stale memory */
								    : record->words[i]);
	}
	rs_out_text(out, "]}");
}

static void event(struct rs_view_sink *s, const struct rs_view *view)
{
	const struct rs_stream *stream = view->stream;
	struct rs_out *out = &s->out;

	rs_out_line(out);
	times(s, view);
	known(out, "cpu", view->cpu);
	key(out, "probe");
	rs_out_json(out, view->event->probe, strlen(view->event->probe));
	key(out, "vm");
	nullable(out, stream->vm);
	known(out, "vcpu", stream->vcpu);
	known(out, "tid", stream->tid);
	if (rs_view_has_process(stream)) {
		known(out, "pid", stream->pid);
		key(out, "thread");
		nullable(out, stream->thread);
	}
	rs_out_text(out, ",\"args\":{");
	for (uint16_t i = 0; i < view->event->n_fields; i++) {
		const struct rs_field *field = &view->event->fields[i];

		if (i)
			rs_out_char(out, ',');
		rs_out_json(out, field->name, strlen(field->name));
		rs_out_char(out, ':');
		arg(s, view, field);
	}
	rs_out_char(out, '}');
	xen(out, view);
	rs_out_text(out, "}\n");
}

static struct rs_error *json_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct rs_view_sink *s = (struct rs_view_sink *)sink;

	n = rs_view_sink_allow(s, n);
	for (size_t i = 0; i < n; i++)
		event(s, &views[i]);
	return s->out.error ? rs_out_flush(&s->out) : NULL;
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
