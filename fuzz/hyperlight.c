/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hostile file of Hyperlight: for any bytes, time does not go back, a stack lies in its payload,
 * and spans are nested.
 *
 *	input: the file
 */
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/heap.h"
#include "analyze/spans.h"
#include "import/hyperlight/trace.h"

#include "fuzz.h"

struct checks {
	struct rs_sink sink;
	struct rs_sink *heap, *spans;
	int64_t last_ns;
	uint32_t depth;
};

static void check(struct checks *c, const struct rs_view *view)
{
	const struct rs_event *event = view->event;
	struct rs_span span;
	uint32_t n;

	MUST(view->ts_ns >= c->last_ns);
	c->last_ns = view->ts_ns;
	MUST(view->payload_bytes >= event->fixed_bytes);
	if (event->tail_shift) {
		const uint8_t *at = rs_view_stack(view, &event->fields[event->n_fields - 1], &n);

		MUST(n <= RS_STACK_DEPTH_MAX &&
		     at + n * sizeof(uint64_t) <= view->payload + view->payload_bytes);
	}
	if (event->kind != RS_KIND_SPAN_BEGIN && event->kind != RS_KIND_SPAN_END)
		return;
	memcpy(&span, view->payload, sizeof(span));
	MUST(rs_schema_name(view->stream->schema, span.name));
	MUST(span.depth <= c->depth);
	c->depth = event->kind == RS_KIND_SPAN_BEGIN ? span.depth + 1 : span.depth;
}

static struct rs_error *checks_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct checks *c = (struct checks *)sink;
	struct rs_error *err;

	for (size_t i = 0; i < n; i++)
		check(c, &views[i]);
	err = c->heap->ops->events(c->heap, views, n);
	return err ? err : c->spans->ops->events(c->spans, views, n);
}

static const struct rs_sink_ops checks_ops = { .name = "checks", .events = checks_events };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct checks c = { .sink.ops = &checks_ops, .last_ns = INT64_MIN };
	size_t head = size < RS_HYPERLIGHT_HEAD_MAX ? size : RS_HYPERLIGHT_HEAD_MAX;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct rs_foreign *foreign;
	struct rs_spans spans;
	struct rs_heap heap;
	struct rs_error *err;

	MUST(fd >= 0 && write(fd, data + head, size - head) == (ssize_t)(size - head) &&
	     !lseek(fd, 0, SEEK_SET));
	fuzz_drop(rs_heap_sink_create(&c.heap));
	fuzz_drop(rs_spans_sink_create(&c.spans));
	err = rs_hyperlight_open_fd(fd, "fuzz", data, head, NULL, &foreign);
	MUST(!err);
	err = rs_run(&foreign->source, NULL, &c.sink, NULL);
	MUST(!err || rs_error_code(err) == RS_DAMAGED);
	fuzz_drop(err);
	rs_heap_collect(c.heap, &heap);
	MUST(heap.live.bytes == heap.allocated.bytes - heap.freed.bytes);
	fuzz_drop(rs_spans_collect(c.spans, &spans));
	MUST(!spans.unbegun);
	rs_source_destroy(&foreign->source);
	rs_heap_sink_destroy(c.heap);
	rs_spans_sink_destroy(c.spans);
	return 0;
}
