/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes events as JSON Lines, one object per event. The type of a value does not depend on the
 * value. A number that is shown in hexadecimal is a string, "0x..."; enumerations and names are
 * strings; other numbers are numbers. An unknown value is null. A '?' replaces each byte of a text
 * that is not UTF-8.
 */
#include "view/view.h"

#include "base/json.h"
#include "event/view_json.h"
#include "xen/layout.h"

const char *rs_json_type(const struct rs_field *field)
{
	bool number = !rs_type_is_tail(field->type) &&
		      (field->show == RS_SHOW_DEC || field->show == RS_SHOW_TSC);

	if (field->type == RS_TYPE_STACK)
		return "array";
	return number ? "number" : "string";
}

static void write_times(struct rs_json *json, struct rs_view_sink *s, const struct rs_view *view)
{
	rs_json_key(json, "ts");
	if (s->options.cycles_only)
		rs_json_null(json);
	else
		rs_json_signed(json, view->ts_ns);
	switch (s->options.time) {
	case RS_TIME_START:
		break;
	case RS_TIME_WALL:
		rs_json_raw(rs_json_key(json, "time"), "\"");
		rs_words_time(&s->out, &s->options, view->ts_ns, view->tsc);
		rs_out_char(&s->out, '"');
		break;
	case RS_TIME_TSC:
		rs_json_unsigned(rs_json_key(json, "tsc"), view->tsc);
		break;
	}
}

/* Writes the record as Xen wrote it, in addition to the decoded event. */
static void write_xen(struct rs_json *json, const struct rs_view *view)
{
	const struct rs_xen_record *record = rs_view_xen(view);

	if (!record)
		return;
	rs_json_known(rs_json_key(json, "dom"), view->stream->dom);
	rs_json_open(rs_json_key(json, "xen"), '{');
	rs_json_unsigned(rs_json_key(json, "id"), record->event);
	rs_json_open(rs_json_key(json, "words"), '[');
	for (uint32_t i = 0; i < record->n; i++) /* the words of a wrap record are stale memory */
		rs_json_unsigned(json, record->event == RS_XEN_WRAP_BUFFER ? 0 : record->words[i]);
	rs_json_close(json, ']');
	rs_json_close(json, '}');
}

static void write_event(struct rs_view_sink *s, const struct rs_view *view)
{
	const struct rs_stream *stream = view->stream;
	struct rs_json writer = { .out = &s->out }, *json = &writer;

	rs_json_open(json, '{');
	write_times(json, s, view);
	rs_json_known(rs_json_key(json, "cpu"), view->cpu);
	rs_json_text(rs_json_key(json, "probe"), view->event->probe);
	rs_json_text(rs_json_key(json, "vm"), stream->vm);
	rs_json_known(rs_json_key(json, "vcpu"), stream->vcpu);
	rs_json_known(rs_json_key(json, "tid"), stream->tid);
	if (rs_view_has_process(stream)) {
		rs_json_known(rs_json_key(json, "pid"), stream->pid);
		rs_json_text(rs_json_key(json, "thread"), stream->thread);
	}
	rs_view_json_args(rs_json_key(json, "args"), view, s->options.time == RS_TIME_TSC);
	write_xen(json, view);
	rs_json_close(json, '}');
	rs_json_line_end(json);
}

static struct rs_error *json_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct rs_view_sink *s = (struct rs_view_sink *)sink;

	n = rs_view_sink_allow(s, n);
	for (size_t i = 0; i < n; i++)
		write_event(s, &views[i]);
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
