/* SPDX-License-Identifier: BSD-2-Clause */
/* The words that the terminal views share: who, when, and an event's arguments. */
#include "view/view.h"

#include <stdlib.h>
#include <time.h>

#define NS_PER_SEC INT64_C(1000000000)
#define TEXT_MAX   4096 /* bytes of a text shown in a line */

struct rs_error *rs_view_sink_create(size_t bytes, const struct rs_sink_ops *ops,
				     const struct rs_view_options *options, struct rs_sink **sink)
{
	struct rs_view_sink *view_sink = calloc(1, bytes);
	struct rs_error *err;

	if (!view_sink)
		return rs_error_no_memory();
	view_sink->sink.ops = ops;
	view_sink->options = *options;
	err = rs_out_init(&view_sink->out, options->fd);
	if (err)
		free(view_sink);
	else
		*sink = &view_sink->sink;
	return err;
}

void rs_view_sink_destroy(struct rs_sink *sink)
{
	struct rs_view_sink *view_sink = (struct rs_view_sink *)sink;

	if (!sink)
		return;
	rs_out_deinit(&view_sink->out);
	free(view_sink);
}

size_t rs_view_sink_allow(struct rs_view_sink *view_sink, size_t n)
{
	uint64_t left = view_sink->options.limit - view_sink->shown;

	if (view_sink->options.limit && n >= left) {
		n = left;
		*view_sink->options.stop = true;
	}
	view_sink->shown += n;
	return n;
}

void rs_words_who(struct rs_out *out, const struct rs_stream *stream)
{
	if (!stream->vm && stream->vcpu < 0) {
		rs_out_char(out, '-');
		return;
	}
	rs_out_text(out, stream->vm ? stream->vm : "-");
	rs_out_text(out, "/v");
	if (stream->vcpu < 0)
		rs_out_char(out, '-');
	else
		rs_out_dec(out, (uint64_t)stream->vcpu);
}

static void wall(struct rs_out *out, int64_t ns)
{
	int64_t rest = ns % NS_PER_SEC;
	time_t seconds = (time_t)(ns / NS_PER_SEC);
	char text[64];
	struct tm tm;
	size_t len;

	if (rest < 0) {
		rest += NS_PER_SEC;
		seconds--;
	}
	gmtime_r(&seconds, &tm);
	len = strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	rs_out_bytes(out, text, len);
	/* ".123456789" of "1.123456789" */
	rs_out_seconds(out, NS_PER_SEC + rest);
	memmove(out->buffer + out->used - 11, out->buffer + out->used - 10, 10);
	out->used--;
	rs_out_char(out, 'Z');
}

void rs_words_time(struct rs_out *out, const struct rs_view_options *options, int64_t ns,
		   uint64_t tsc)
{
	switch (options->time) {
	case RS_TIME_START:
		rs_out_seconds(out, ns);
		break;
	case RS_TIME_WALL:
		wall(out, options->clock->wall_ns + ns);
		break;
	case RS_TIME_TSC:
		rs_out_dec(out, tsc);
		break;
	}
}

static void name(struct rs_out *out, const struct rs_view *view, uint64_t id)
{
	const char *text = rs_schema_name(view->stream->schema, (uint32_t)id);

	if (text) {
		rs_out_quoted(out, text, strlen(text), TEXT_MAX);
	} else {
		rs_out_char(out, '#');
		rs_out_dec(out, id);
	}
}

static void arg(struct rs_out *out, const struct rs_view_options *options,
		const struct rs_view *view, const struct rs_field *field)
{
	const char *text;
	uint64_t value;
	size_t len;

	if (field->type == RS_TYPE_TEXT) {
		text = rs_view_text(view, field, &len);
		rs_out_quoted(out, text, len, TEXT_MAX);
		return;
	}
	value = rs_field_value(field, view->payload);
	switch (field->show) {
	case RS_SHOW_HEX:
		rs_out_hex(out, value);
		return;
	case RS_SHOW_NAME:
		name(out, view, value);
		return;
	case RS_SHOW_ENUM:
		text = rs_enum_name(field->values, value);
		if (text)
			rs_out_text(out, text);
		else
			rs_out_dec(out, value);
		return;
	case RS_SHOW_TSC:
		rs_words_time(out, options, rs_clock_ns(view->stream->clock, value), value);
		return;
	case RS_SHOW_DEC:
		if (field->type >= RS_TYPE_S8)
			rs_out_signed(out, (int64_t)value);
		else
			rs_out_dec(out, value);
		return;
	}
}

void rs_words_args(struct rs_out *out, const struct rs_view_options *options,
		   const struct rs_view *view)
{
	const struct rs_event *event = view->event;

	for (uint16_t i = 0; i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i];

		rs_out_line(out);
		rs_out_char(out, ' ');
		rs_out_text(out, field->name);
		rs_out_char(out, '=');
		arg(out, options, view, field);
	}
}
