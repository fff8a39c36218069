/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes spans as a tree, with one line per event:
 *
 *	[58.197ms ] > entrypoint
 *	[58.294ms ]   > load_gdt
 *	[58.314ms ]   < load_gdt (20.0us)
 *
 * Each stream has a stack of its open spans. A record holds its span's depth, so the tree is
 * correct again after a loss. A duration that may include a loss is followed by a question mark.
 */
#include "view/view.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/duration.h"
#include <ringside/record.h>

#define LABEL_COLUMNS 16
#define DEPTH_MAX     64 /* deeper spans are shown at this depth, without a duration */

struct open_span {
	uint64_t name;
	int64_t since_ns;
	bool known, doubtful;
};

struct stack {
	struct stack *next; /* for a stream of another trace with the same index */
	const struct rs_stream *stream;
	uint32_t depth;
	struct open_span spans[DEPTH_MAX];
};

struct tree_sink {
	struct rs_view_sink view_sink;
	struct stack **stacks; /* by stream */
	size_t n_stacks;
};

static struct stack *stack_of(struct tree_sink *t, const struct rs_stream *stream)
{
	struct stack *stack;

	if (stream->index >= t->n_stacks) {
		size_t n = stream->index + 16;
		struct stack **more = realloc(t->stacks, n * sizeof(*more));

		if (!more)
			return NULL;
		memset(more + t->n_stacks, 0, (n - t->n_stacks) * sizeof(*more));
		t->stacks = more;
		t->n_stacks = n;
	}
	stack = t->stacks[stream->index];
	while (stack && stack->stream != stream)
		stack = stack->next;
	if (stack)
		return stack;
	stack = calloc(1, sizeof(*stack));
	if (!stack)
		return NULL;
	stack->stream = stream;
	stack->next = t->stacks[stream->index];
	return t->stacks[stream->index] = stack;
}

/* Writes a time since the start with up to three decimals, without trailing zeros: 58.197ms, 941us,
 * 1.5s. Returns its length. */
static int time_text(char *text, size_t bytes, int64_t ns)
{
	static const struct {
		int64_t ns;
		const char *unit;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" } };
	int64_t value = ns < 0 ? -ns : ns;
	size_t i = 0;
	int len;

	while (i < 3 && value < units[i].ns)
		i++;
	len = snprintf(text, bytes, "%s%lld.%03lld", ns < 0 ? "-" : "",
		       (long long)(value / units[i].ns),
		       (long long)(value % units[i].ns * 1000 / units[i].ns));
	while (text[len - 1] == '0')
		len--;
	if (text[len - 1] == '.')
		len--;
	return len + snprintf(text + len, bytes - (size_t)len, "%s", units[i].unit);
}

static void line_head(struct rs_view_sink *s, const struct rs_view *view, uint32_t depth)
{
	struct rs_out *out = &s->out;
	char text[48];
	int len;
	size_t from;

	rs_out_line(out);
	rs_out_char(out, '[');
	if (s->options.time == RS_TIME_START) {
		len = time_text(text, sizeof(text), view->ts_ns);
		rs_out_bytes(out, text, (size_t)len);
		for (; len < 9; len++)
			rs_out_char(out, ' ');
	} else {
		rs_words_time(out, &s->options, view->ts_ns, view->tsc);
	}
	rs_out_text(out, "] ");
	from = out->used;
	if (s->options.streams) {
		rs_out_text(out, rs_schema_provider(view->stream->schema));
		rs_out_char(out, ' ');
		if (!view->stream->vm && view->stream->thread)
			rs_out_text(out, view->stream->thread);
		else
			rs_words_stream(out, view->stream);
		while (out->used - from < LABEL_COLUMNS)
			rs_out_char(out, ' ');
		rs_out_char(out, ' ');
	}
	for (uint32_t i = 0; i < depth && i < DEPTH_MAX; i++)
		rs_out_text(out, "  ");
}

static void span_name(struct rs_out *out, const struct rs_view *view, uint64_t id)
{
	const char *text = rs_schema_name(view->stream->schema, (uint32_t)id);

	if (text) {
		rs_out_text(out, text);
	} else {
		rs_out_char(out, '#');
		rs_out_dec(out, id);
	}
}

static void begin(struct tree_sink *t, struct stack *stack, const struct rs_view *view)
{
	struct rs_out *out = &t->view_sink.out;
	struct rs_span span;

	memcpy(&span, view->payload, sizeof(span)); /* a payload has at least 16 bytes */
	span.depth = rs_span_depth(&span);
	line_head(&t->view_sink, view, span.depth);
	rs_out_text(out, "> ");
	span_name(out, view, span.name);
	if (span.arg || rs_schema_name_has_argument(view->stream->schema, span.name)) {
		rs_out_char(out, ' ');
		rs_out_dec(out, span.arg);
	}
	stack->depth = span.depth < DEPTH_MAX ? span.depth + 1 : DEPTH_MAX;
	if (span.depth < DEPTH_MAX)
		stack->spans[span.depth] =
			(struct open_span){ span.name, view->ts_ns, true, false };
}

static void end(struct tree_sink *t, struct stack *stack, const struct rs_view *view)
{
	struct rs_out *out = &t->view_sink.out;
	struct open_span *open;
	struct rs_span span;
	char text[RS_DURATION_TEXT_MAX];

	memcpy(&span, view->payload, sizeof(span));
	span.depth = rs_span_depth(&span);
	line_head(&t->view_sink, view, span.depth);
	rs_out_text(out, "< ");
	span_name(out, view, span.name);
	stack->depth = span.depth < DEPTH_MAX ? span.depth : DEPTH_MAX;
	if (span.depth >= DEPTH_MAX)
		return;
	open = &stack->spans[span.depth];
	if (!open->known || open->name != span.name)
		return; /* its beginning was lost, or is outside the selected time */
	rs_out_text(out, " (");
	if (view->ts_ns < open->since_ns) /* the clock went back */
		rs_out_char(out, '-');
	rs_out_text(out, rs_duration_text((uint64_t)llabs(view->ts_ns - open->since_ns), text));
	rs_out_text(out, open->doubtful ? "?)" : ")");
	open->known = false;
}

static void loss(struct stack *stack)
{
	for (uint32_t i = 0; i < DEPTH_MAX; i++)
		stack->spans[i].doubtful = true;
}

static void leaf(struct tree_sink *t, struct stack *stack, const struct rs_view *view)
{
	struct rs_out *out = &t->view_sink.out;
	const struct rs_event *event = view->event;

	line_head(&t->view_sink, view, stack->depth);
	rs_out_text(out, event->class_name);
	rs_out_char(out, ':');
	rs_out_text(out, event->function);
	rs_out_char(out, ':');
	rs_out_text(out, event->name);
	rs_words_args(&t->view_sink, view);
	if (event->kind == RS_KIND_LOSS)
		loss(stack);
}

static struct rs_error *tree_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct tree_sink *t = (struct tree_sink *)sink;
	struct rs_out *out = &t->view_sink.out;

	n = rs_view_sink_allow(&t->view_sink, n);
	for (size_t i = 0; i < n; i++) {
		struct stack *stack = stack_of(t, views[i].stream);

		if (!stack)
			return rs_error_no_memory();
		if (views[i].event->kind == RS_KIND_SPAN_BEGIN)
			begin(t, stack, &views[i]);
		else if (views[i].event->kind == RS_KIND_SPAN_END)
			end(t, stack, &views[i]);
		else
			leaf(t, stack, &views[i]);
		rs_out_char(out, '\n');
	}
	return out->error ? rs_out_flush(out) : NULL;
}

static struct rs_error *tree_end(struct rs_sink *sink)
{
	struct tree_sink *t = (struct tree_sink *)sink;

	for (size_t i = 0; i < t->n_stacks; i++) {
		for (struct stack *stack = t->stacks[i], *next; stack; stack = next) {
			next = stack->next;
			free(stack);
		}
	}
	free(t->stacks);
	t->stacks = NULL;
	t->n_stacks = 0;
	return rs_out_flush(&t->view_sink.out);
}

static const struct rs_sink_ops tree_ops = {
	.name = "tree",
	.events = tree_events,
	.end = tree_end,
};

struct rs_error *rs_tree_sink_create(const struct rs_view_options *options, struct rs_sink **sink)
{
	return rs_view_sink_create(sizeof(struct tree_sink), &tree_ops, options, sink);
}
