/* SPDX-License-Identifier: BSD-2-Clause */
/* The common parts of the text views: the stream, the time and the arguments of an event. */
#include "view/view.h"

#include "event/view.h"

#include <errno.h>
#include <stdio.h>
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

/* Writes a text that is usually short, for which a loop is faster than a call. */
static inline void brief(struct rs_out *out, const char *text)
{
	char *const begin = out->buffer + out->used, *at = begin;

	while (*text && at - begin < 8)
		*at++ = *text++;
	out->used += (size_t)(at - begin);
	if (__builtin_expect(*text, 0))
		rs_out_text(out, text);
}

void rs_words_stream(struct rs_out *out, const struct rs_stream *stream)
{
	if (!stream->vm && stream->vcpu < 0 && stream->thread && rs_view_has_process(stream)) {
		brief(out, stream->thread);
		rs_out_char(out, '-');
		rs_out_dec(out, (uint64_t)stream->tid);
		return;
	}
	if (!stream->vm && stream->vcpu < 0) {
		rs_out_char(out, '-');
		return;
	}
	brief(out, stream->vm ? stream->vm : "-");
	brief(out, "/v");
	if (stream->vcpu < 0)
		rs_out_char(out, '-');
	else
		rs_out_dec(out, (uint64_t)stream->vcpu);
}

void rs_words_wall(struct rs_out *out, int64_t ns)
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
	int64_t wall_ns;

	switch (options->time) {
	case RS_TIME_START:
		rs_out_seconds(out, ns);
		break;
	case RS_TIME_WALL:
		/* a damaged trace may claim any time of its beginning */
		if (__builtin_add_overflow(options->clock->wall_ns, ns, &wall_ns))
			rs_out_char(out, '-');
		else
			rs_words_wall(out, wall_ns);
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

/* ---- events ---------------------------------------------------------------------------------- */

#define ENUM_MAX 2048u /* values from here on are searched one by one */

struct word {
	const char *text; /* NULL: none */
	size_t bytes;
};

/* The format of a field, and the text before it. */
struct shown_field {
	const struct rs_field *field;
	uint32_t lead_at, lead_bytes; /* " name=", in the form's text */
	uint32_t n_words;
	struct word *words; /* an enumeration's, by value below n_words; NULL: none */
};

/* The common parts of the lines of all events of a kind, computed once. */
struct rs_words_form {
	struct rs_words_form *next; /* in its bucket */
	const struct rs_event *event;
	const char *text; /* the probe, then the leads, then room for a copy of RS_OUT_PIECE */
	uint32_t probe_bytes;
	uint16_t n_fields; /* the event may be freed earlier */
	struct shown_field fields[];
};

static void form_free(struct rs_words_form *form)
{
	for (uint16_t i = 0; i < form->n_fields; i++)
		free(form->fields[i].words);
	free(form);
}

/* Makes a table of an enumeration's names. If out of memory, there is no table, and rs_enum_name()
 * finds the names. */
static void words_make(struct shown_field *shown, const struct rs_enum *values)
{
	uint64_t most = 0;

	for (const struct rs_enum *v = values; v && v->name; v++)
		most = v->value < ENUM_MAX && v->value > most ? v->value : most;
	shown->words = values ? calloc(most + 1, sizeof(*shown->words)) : NULL;
	if (!shown->words)
		return;
	shown->n_words = (uint32_t)most + 1;
	for (const struct rs_enum *v = values; v->name; v++) {
		if (v->value < shown->n_words && !shown->words[v->value].text)
			shown->words[v->value] = (struct word){ v->name, strlen(v->name) };
	}
}

static struct rs_words_form *form_make(const struct rs_event *event)
{
	size_t bytes = strlen(event->probe) + 1 + RS_OUT_PIECE, used = 0;
	size_t head = sizeof(struct rs_words_form) + event->n_fields * sizeof(struct shown_field);
	struct rs_words_form *form;
	char *text;

	for (uint16_t i = 0; i < event->n_fields; i++)
		bytes += strlen(event->fields[i].name) + 2;
	form = calloc(1, head + bytes);
	if (!form)
		return NULL;
	text = (char *)form + head;
	form->event = event;
	form->n_fields = event->n_fields;
	form->text = text;
	used = form->probe_bytes = (uint32_t)strlen(event->probe);
	memcpy(text, event->probe, used);
	for (uint16_t i = 0; i < event->n_fields; i++) {
		struct shown_field *shown = &form->fields[i];

		shown->field = &event->fields[i];
		shown->lead_at = (uint32_t)used;
		used += (size_t)sprintf(text + used, " %s=", event->fields[i].name);
		shown->lead_bytes = (uint32_t)used - shown->lead_at;
		if (shown->field->show == RS_SHOW_ENUM)
			words_make(shown, shown->field->values);
	}
	return form;
}

/* Returns NULL if out of memory, which becomes the error of the output. */
static __attribute__((noinline)) struct rs_words_form *form_new(struct rs_view_sink *s,
								const struct rs_event *event)
{
	struct rs_words_form **place = &s->forms[event->index % RS_WORDS_FORMS];
	struct rs_words_form *form = form_make(event);

	if (!form) {
		s->out.error = s->out.error ? s->out.error : ENOMEM;
		return NULL;
	}
	form->next = *place;
	return *place = form;
}

static inline const struct rs_words_form *form_of(struct rs_view_sink *s,
						  const struct rs_event *event)
{
	const struct rs_words_form *form = s->forms[event->index % RS_WORDS_FORMS];

	while (form && form->event != event)
		form = form->next;
	return form ? form : form_new(s, event);
}

static void forms_free(struct rs_view_sink *s)
{
	for (uint32_t i = 0; i < RS_WORDS_FORMS; i++) {
		for (struct rs_words_form *form = s->forms[i], *next; form; form = next) {
			next = form->next;
			form_free(form);
		}
	}
}

static void enum_value(struct rs_out *out, const struct shown_field *shown, uint64_t value)
{
	const char *text;

	if (value < shown->n_words && shown->words[value].text) {
		rs_out_bytes(out, shown->words[value].text, shown->words[value].bytes);
		return;
	}
	text = value < shown->n_words ? NULL : rs_enum_name(shown->field->values, value);
	if (text)
		rs_out_text(out, text);
	else
		rs_out_dec(out, value);
}

static void stack(struct rs_out *out, const struct rs_view *view, const struct rs_field *field)
{
	uint32_t n;
	const uint8_t *at = rs_view_stack(view, field, &n);
	uint64_t address;

	rs_out_char(out, '[');
	for (uint32_t i = 0; i < n; i++) {
		memcpy(&address, at + i * sizeof(address), sizeof(address));
		if (i)
			rs_out_char(out, ' ');
		rs_out_hex(out, address);
	}
	rs_out_char(out, ']');
}

static void arg(struct rs_view_sink *s, const struct rs_view *view, const struct shown_field *shown)
{
	const struct rs_field *field = shown->field;
	struct rs_out *out = &s->out;
	const char *text;
	uint64_t value;
	size_t len;

	if (field->type == RS_TYPE_STACK) {
		stack(out, view, field);
		return;
	}
	if (field->type == RS_TYPE_TEXT) {
		text = rs_view_text(view, field, &len);
		rs_out_quoted(out, text, len, TEXT_MAX);
		return;
	}
	value = rs_view_value(field, view->payload);
	switch (field->show) {
	case RS_SHOW_HEX:
		rs_out_hex(out, value);
		return;
	case RS_SHOW_NAME:
		name(out, view, value);
		return;
	case RS_SHOW_ENUM:
		enum_value(out, shown, value);
		return;
	case RS_SHOW_TSC:
		rs_words_time(out, &s->options, rs_clock_ns(view->stream->clock, value), value);
		return;
	case RS_SHOW_DEC:
		if (field->type >= RS_TYPE_S8)
			rs_out_signed(out, (int64_t)value);
		else
			rs_out_dec(out, value);
		return;
	}
}

static void args(struct rs_view_sink *s, const struct rs_words_form *form,
		 const struct rs_view *view)
{
	const struct shown_field *shown = form->fields, *end = shown + form->n_fields;

	for (; shown < end; shown++) {
		rs_out_line(&s->out);
		rs_out_piece(&s->out, form->text + shown->lead_at, shown->lead_bytes);
		arg(s, view, shown);
	}
}

void rs_words_event(struct rs_view_sink *s, const struct rs_view *view)
{
	const struct rs_words_form *form = form_of(s, view->event);

	if (!form)
		return;
	rs_out_piece(&s->out, form->text, form->probe_bytes);
	args(s, form, view);
}

void rs_words_args(struct rs_view_sink *s, const struct rs_view *view)
{
	const struct rs_words_form *form = form_of(s, view->event);

	if (form)
		args(s, form, view);
}

void rs_view_sink_destroy(struct rs_sink *sink)
{
	struct rs_view_sink *view_sink = (struct rs_view_sink *)sink;

	if (!sink)
		return;
	forms_free(view_sink);
	rs_out_deinit(&view_sink->out);
	free(view_sink);
}
