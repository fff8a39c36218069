/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes events as lines of text: TIME [CPU] VM/vV PROBE arg=value ... */
#include "view/view.h"

#include <stdlib.h>

static void event(struct rs_view_sink *s, const struct rs_view *view)
{
	struct rs_out *out = &s->out;

	rs_out_line(out);
	rs_words_time(out, &s->options, view->ts_ns, view->tsc);
	rs_out_text(out, " [");
	if (view->cpu >= 0)
		rs_out_dec(out, (uint64_t)view->cpu);
	else
		rs_out_char(out, '-');
	rs_out_text(out, "] ");
	rs_words_stream(out, view->stream);
	rs_out_char(out, ' ');
	rs_words_event(s, view);
	rs_out_char(out, '\n');
}

static struct rs_error *text_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct rs_view_sink *s = (struct rs_view_sink *)sink;

	n = rs_view_sink_allow(s, n);
	for (size_t i = 0; i < n; i++)
		event(s, &views[i]);
	return s->out.error ? rs_out_flush(&s->out) : NULL;
}

static struct rs_error *text_end(struct rs_sink *sink)
{
	return rs_out_flush(&((struct rs_view_sink *)sink)->out);
}

static const struct rs_sink_ops text_ops = {
	.name = "text",
	.events = text_events,
	.end = text_end,
};

struct rs_error *rs_text_sink_create(const struct rs_view_options *options, struct rs_sink **sink)
{
	return rs_view_sink_create(sizeof(struct rs_view_sink), &text_ops, options, sink);
}
