/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes Trace Event Format: the JSON that Chrome's about:tracing, Perfetto and speedscope open
 * ("Trace Event Format", The Chromium Authors).
 *
 *	process		a VM; another one for the streams of no VM
 *	thread		a stream: a vCPU, a thread, a CPU
 *	B, E		a span's begin and end; they nest within a thread
 *	i		any other event, with its arguments; a loss among them
 *	M		names of processes and threads, before their first event
 *
 * Viewers close a span by the last B of its thread. So an end whose begin is not in the trace is
 * left out, and a span whose end was lost ends at the next span event that shows that it was over:
 * one of a lower depth, or one of its own depth that begins a span or ends one of another name.
 *
 * Memory grows with streams and with the spans that are open at a time, not with the trace.
 */
#include "export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vector.h"
#include "event/view_json.h"
#include <ringside/record.h>

#define NO_VM "host"

struct open_span {
	uint32_t depth, name; /* of its record */
};

/* The process and thread of a stream in the file. */
struct track {
	const struct rs_stream *stream;
	uint32_t pid, tid;
	/* Spans with a B, the outermost first. Depths rise, with gaps where begins are missing. */
	struct open_span *open;
	uint32_t n_open, open_room;
};

struct process {
	const char *vm;
	uint32_t pid;
};

struct chrome {
	struct rs_export export;
	struct rs_out out;
	struct rs_json json;
	struct rs_map tracks, processes;
	int64_t last_ns;
};

bool rs_export_chrome_suits(const struct rs_input *input)
{
	(void)input;
	return true;
}

/* ---- processes and threads ------------------------------------------------------------------ */

static bool same_stream(const void *item, const void *key)
{
	return ((const struct track *)item)->stream == key;
}

static bool same_vm(const void *item, const void *key)
{
	return !strcmp(((const struct process *)item)->vm, key);
}

/* Begins an event: writes its phase, process and thread. */
static struct rs_json *event_begin(struct chrome *c, const char *phase, const struct track *track)
{
	struct rs_json *json = &c->json;

	rs_out_line(&c->out);
	rs_out_text(&c->out, json->follows ? ",\n" : "\n"); /* a line for each event */
	json->follows = false;
	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "ph"), phase);
	rs_json_unsigned(rs_json_key(json, "pid"), track->pid);
	rs_json_unsigned(rs_json_key(json, "tid"), track->tid);
	return json;
}

/* Names a process or a thread. */
static void name_event(struct chrome *c, const struct track *track, const char *what,
		       const char *name)
{
	struct rs_json *json = event_begin(c, "M", track);

	rs_json_text(rs_json_key(json, "name"), what);
	rs_json_open(rs_json_key(json, "args"), '{');
	rs_json_text(rs_json_key(json, "name"), name);
	rs_json_close(json, '}');
	rs_json_close(json, '}');
}

static void thread_name(const struct rs_stream *stream, char *name, size_t bytes)
{
	if (stream->vcpu >= 0)
		snprintf(name, bytes, "vCPU %d", stream->vcpu);
	else if (stream->thread)
		snprintf(name, bytes, "%s", stream->thread);
	else if (stream->tid >= 0)
		snprintf(name, bytes, "thread %d", stream->tid);
	else if (stream->cpu >= 0)
		snprintf(name, bytes, "CPU %d", stream->cpu);
	else
		snprintf(name, bytes, "stream %" PRIu32, stream->index);
}

static struct rs_error *process_of(struct chrome *c, const char *vm, struct process **out,
				   bool *is_new)
{
	uint64_t hash = rs_hash_bytes(vm, strlen(vm));
	struct process *p = rs_map_find(&c->processes, hash, same_vm, vm);

	*is_new = !p;
	if (!p) {
		if (rs_map_reserve(&c->processes))
			p = malloc(sizeof(*p));
		if (!p)
			return rs_error_no_memory();
		*p = (struct process){ .vm = vm, .pid = (uint32_t)c->processes.used + 1 };
		rs_map_add(&c->processes, hash, p);
	}
	*out = p;
	return NULL;
}

/* Finds or creates the track of a stream, and names it in the file. */
static struct rs_error *track_of(struct chrome *c, const struct rs_stream *stream,
				 struct track **out)
{
	uint64_t hash = rs_hash_pair((uintptr_t)stream, 0);
	struct track *track = rs_map_find(&c->tracks, hash, same_stream, stream);
	struct process *process;
	struct rs_error *err;
	char name[64];
	bool is_new;

	*out = track;
	if (track)
		return NULL;
	err = process_of(c, stream->vm ? stream->vm : NO_VM, &process, &is_new);
	if (err)
		return err;
	track = rs_map_reserve(&c->tracks) ? malloc(sizeof(*track)) : NULL;
	if (!track)
		return rs_error_no_memory();
	*track = (struct track){ .stream = stream,
				 .pid = process->pid,
				 .tid = (uint32_t)c->tracks.used + 1 };
	rs_map_add(&c->tracks, hash, track);
	if (is_new)
		name_event(c, track, "process_name", process->vm);
	thread_name(stream, name, sizeof(name));
	name_event(c, track, "thread_name", name);
	*out = track;
	return NULL;
}

/* ---- events --------------------------------------------------------------------------------- */

/* Times are in microseconds, with three decimals for ns. */
static void put_time(struct chrome *c, struct rs_json *json, int64_t ts_ns)
{
	uint64_t ns = ts_ns < 0 ? -(uint64_t)ts_ns : (uint64_t)ts_ns;
	char text[32];

	snprintf(text, sizeof(text), "%s%" PRIu64 ".%03" PRIu64, ts_ns < 0 ? "-" : "", ns / 1000,
		 ns % 1000);
	rs_json_raw(rs_json_key(json, "ts"), text);
	c->last_ns = ts_ns;
}

static void span_end(struct chrome *c, struct track *track, int64_t ts_ns)
{
	struct rs_json *json = event_begin(c, "E", track);

	put_time(c, json, ts_ns);
	rs_json_close(json, '}');
	track->n_open--;
}

static void span_begin(struct chrome *c, struct track *track, const struct rs_view *view,
		       const struct rs_span *span)
{
	const char *name = rs_schema_name(view->stream->schema, span->name);
	struct rs_json *json = event_begin(c, "B", track);
	char number[16];

	snprintf(number, sizeof(number), "#%" PRIu32, span->name);
	put_time(c, json, view->ts_ns);
	rs_json_text(rs_json_key(json, "name"), name ? name : number);
	rs_json_text(rs_json_key(json, "cat"), view->event->provider);
	rs_json_open(rs_json_key(json, "args"), '{');
	rs_json_unsigned(rs_json_key(json, "arg"), span->arg);
	rs_json_close(json, '}');
	rs_json_close(json, '}');
	track->open[track->n_open++] = (struct open_span){ span->depth, span->name };
}

static void instant(struct chrome *c, const struct track *track, const struct rs_view *view)
{
	struct rs_json *json = event_begin(c, "i", track);

	put_time(c, json, view->ts_ns);
	rs_json_text(rs_json_key(json, "name"), view->event->probe);
	rs_json_text(rs_json_key(json, "cat"), view->event->provider);
	rs_json_text(rs_json_key(json, "s"), "t"); /* drawn within its thread */
	rs_view_json_args(rs_json_key(json, "args"), view, false);
	rs_json_close(json, '}');
}

/* Writes a span's begin or end. Its depth shows which spans of its thread have ended. */
static struct rs_error *put_span(struct chrome *c, struct track *track, const struct rs_view *view)
{
	bool ends = view->event->kind == RS_KIND_SPAN_END, is_open;
	const struct open_span *last;
	struct rs_span span;

	memcpy(&span, view->payload, sizeof(span)); /* a payload has 16 bytes at least */
	span.depth = rs_span_depth(&span);
	while (track->n_open && track->open[track->n_open - 1].depth >= (uint64_t)span.depth + ends)
		span_end(c, track, view->ts_ns);
	if (!ends) {
		if (!RS_VECTOR_RESERVE(track->open, track->open_room, track->n_open + 1))
			return rs_error_no_memory();
		span_begin(c, track, view, &span);
		return NULL;
	}
	last = track->n_open ? &track->open[track->n_open - 1] : NULL;
	is_open = last && last->depth == span.depth;
	if (!is_open || last->name != span.name) {
		c->export.tally.records--;
		c->export.tally.left_out++;
	}
	if (is_open)
		span_end(c, track, view->ts_ns);
	return NULL;
}

/* Writes one event. */
static struct rs_error *put(struct chrome *c, const struct rs_view *view)
{
	struct track *track;
	struct rs_error *err = track_of(c, view->stream, &track);

	if (err)
		return err;
	c->export.tally.records++;
	if (view->event->kind == RS_KIND_LOSS)
		c->export.tally.lost += rs_view_loss(view).count;
	if (view->event->kind == RS_KIND_SPAN_BEGIN || view->event->kind == RS_KIND_SPAN_END)
		return put_span(c, track, view);
	instant(c, track, view);
	return NULL;
}

static struct rs_error *chrome_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct chrome *c = (struct chrome *)sink;
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++)
		err = put(c, &views[i]);
	return err || !c->out.error ? err : rs_out_flush(&c->out);
}

/* Ends the spans that are still open, at the last event's time, and the file. */
static struct rs_error *chrome_end(struct rs_sink *sink)
{
	struct chrome *c = (struct chrome *)sink;
	struct track *track;
	size_t at = 0;

	while ((track = rs_map_next(&c->tracks, &at))) {
		while (track->n_open)
			span_end(c, track, c->last_ns);
	}
	rs_out_line(&c->out);
	rs_out_char(&c->out, '\n');
	rs_json_close(&c->json, ']');
	rs_json_close(&c->json, '}');
	rs_json_line_end(&c->json);
	return rs_out_flush(&c->out);
}

static void chrome_destroy(struct rs_export *export)
{
	struct chrome *c = (struct chrome *)export;
	struct track *track;
	void *item;

	for (size_t at = 0; (track = rs_map_next(&c->tracks, &at));) {
		free(track->open);
		free(track);
	}
	for (size_t at = 0; (item = rs_map_next(&c->processes, &at));)
		free(item);
	rs_map_deinit(&c->tracks);
	rs_map_deinit(&c->processes);
	close(c->out.fd);
	rs_out_deinit(&c->out);
	free(c);
}

static const struct rs_sink_ops chrome_ops = {
	.name = "chrome",
	.events = chrome_events,
	.end = chrome_end,
};

struct rs_error *rs_export_chrome(const char *path, const struct rs_input *input,
				  const struct rs_export_options *options,
				  struct rs_export **export)
{
	struct chrome *c;
	struct rs_error *err;
	int fd;

	(void)options;
	if (input && rs_input_cycles_only(input))
		return rs_error_create(
			RS_USAGE, "chrome: its times need the clock's frequency, which is not in "
				  "the trace (--freq)");
	c = calloc(1, sizeof(*c));
	if (!c)
		return rs_error_no_memory();
	err = rs_export_open(path, &fd);
	if (!err) {
		err = rs_out_init(&c->out, fd);
		if (err)
			close(fd);
	}
	if (err) {
		free(c);
		return err;
	}
	c->json.out = &c->out;
	c->export.sink.ops = &chrome_ops;
	c->export.destroy = chrome_destroy;
	rs_json_open(&c->json, '{');
	rs_json_text(rs_json_key(&c->json, "displayTimeUnit"), "ns");
	rs_json_open(rs_json_key(&c->json, "traceEvents"), '[');
	*export = &c->export;
	return NULL;
}
