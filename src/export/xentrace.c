/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes files of xentrace: windows of records, in Xen's format. A trace that was imported from
 * such a file has the file's windows and their offsets, and they are written unchanged. A window
 * waits until all of its records have been received and all windows before it are written.
 *
 *	records by time --> window of their CPU --> (complete, and its turn) --> file
 *
 * A live recording has no windows, and a damaged trace lacks some. Then this file makes windows, in
 * rounds over the CPUs as xentrace writes them. A round holds all records of its time.
 */
#include "export/export.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xen/layout.h"
#include "base/vector.h"

#define CPUS_MAX    4096u	 /* the most CPUs that a build of Xen can support */
#define ROUND_BYTES (256u << 10) /* of records in a round */
#define WAIT_MAX    (256u << 20) /* bytes of waiting windows; beyond it, rounds begin */
#define RECORD_MAX  (4u + 8u + RS_XEN_WORDS_MAX * 4u)
#define HEAD_WORDS  3

struct window {
	struct window *next;
	uint64_t offset; /* in the original file */
	uint32_t cpu;
	uint32_t want; /* bytes of its records in the original file */
	uint32_t have, room;
	uint8_t *bytes;
};

struct xentrace {
	struct rs_export export;
	char *path;
	int fd;
	uint64_t written;
	bool rounds;	      /* windows are made in rounds */
	struct window *first; /* the waiting windows, by offset */
	struct window *last;
	size_t waiting;			/* bytes of records in the waiting windows */
	struct window *round[CPUS_MAX]; /* of the current round */
	size_t round_bytes;
	struct window *open[CPUS_MAX]; /* the incomplete window of each CPU */
	int64_t skew[CPUS_MAX];	       /* of each CPU: what the import added to its stamps */
	bool was_back;		       /* back_tsc is the next record's original stamp */
	uint64_t back_tsc;
};

bool rs_export_xentrace_suits(const struct rs_input *input)
{
	const struct rs_input *part;
	bool any = false;

	for (uint32_t i = 0; (part = rs_input_part(input, i)); i++)
		any |= rs_input_is_xen(part);
	return any;
}

/* ---- windows -------------------------------------------------------------------------------- */

static struct window *window_make(uint32_t cpu, uint64_t offset, uint32_t want)
{
	struct window *window = calloc(1, sizeof(*window));

	if (window)
		*window = (struct window){ .cpu = cpu, .offset = offset, .want = want };
	return window;
}

static void window_free(struct window *window)
{
	if (window)
		free(window->bytes);
	free(window);
}

static bool window_put(struct window *window, const void *bytes, uint32_t n)
{
	if (!RS_VECTOR_RESERVE(window->bytes, window->room, (size_t)window->have + n))
		return false;
	memcpy(window->bytes + window->have, bytes, n);
	window->have += n;
	return true;
}

/* Writes a window, and frees it. */
static struct rs_error *window_write(struct xentrace *x, struct window *window)
{
	uint32_t head[HEAD_WORDS] = { RS_XEN_CPU_CHANGE | 2u << 28, window->cpu, window->have };
	struct rs_error *err = rs_export_write(x->fd, x->path, head, sizeof(head));

	if (!err)
		err = rs_export_write(x->fd, x->path, window->bytes, window->have);
	x->written += sizeof(head) + window->have;
	window_free(window);
	return err;
}

/* Inserts a window among the waiting windows, by offset, after those of the same offset. */
static void window_wait(struct xentrace *x, struct window *window)
{
	struct window **at = &x->first;

	if (x->last && x->last->offset <= window->offset)
		at = &x->last->next;
	while (*at && (*at)->offset <= window->offset)
		at = &(*at)->next;
	window->next = *at;
	*at = window;
	if (!window->next)
		x->last = window;
}

/* Removes the first waiting window, and returns it. */
static struct window *window_next(struct xentrace *x)
{
	struct window *window = x->first;

	x->first = window->next;
	if (!x->first)
		x->last = NULL;
	if (x->open[window->cpu] == window)
		x->open[window->cpu] = NULL;
	x->waiting -= window->have;
	return window;
}

/* Writes the windows that are complete and next in the file; at the end, all windows. */
static struct rs_error *windows_write(struct xentrace *x, bool end)
{
	struct rs_error *err = NULL;

	while (!err && x->first) {
		if (!end && (x->first->have < x->first->want || x->first->offset != x->written))
			break;
		err = window_write(x, window_next(x));
	}
	return err;
}

static bool round_put(struct xentrace *x, uint32_t cpu, const void *bytes, uint32_t n)
{
	if (!x->round[cpu])
		x->round[cpu] = window_make(cpu, 0, 0);
	x->round_bytes += n;
	return x->round[cpu] && window_put(x->round[cpu], bytes, n);
}

/* Writes the round, in the order of CPUs. */
static struct rs_error *round_write(struct xentrace *x)
{
	struct rs_error *err = NULL;

	for (uint32_t cpu = 0; x->round_bytes && cpu < CPUS_MAX; cpu++) {
		struct window *window = x->round[cpu];

		if (!window)
			continue;
		x->round[cpu] = NULL;
		if (err)
			window_free(window);
		else
			err = window_write(x, window);
	}
	x->round_bytes = 0;
	return err;
}

/* Abandons the original windows: moves the waiting records into a round. */
static struct rs_error *rounds_begin(struct xentrace *x)
{
	bool good = true;

	x->rounds = true;
	while (x->first) {
		struct window *window = window_next(x);

		good = good &&
		       (!window->have || round_put(x, window->cpu, window->bytes, window->have));
		window_free(window);
	}
	return good ? NULL : rs_error_no_memory();
}

/* ---- records -------------------------------------------------------------------------------- */

/* Begins a window: the records that follow on its CPU belong to it. */
static struct rs_error *window_begin(struct xentrace *x, const struct rs_xen_record *record)
{
	uint32_t cpu = record->words[0];
	struct window *window;
	uint64_t facts[2]; /* record.h */

	if (cpu >= CPUS_MAX) {
		x->export.tally.left_out++;
		return NULL;
	}
	memcpy(facts, record->words + record->n, sizeof(facts));
	x->skew[cpu] = (int64_t)facts[1];
	if (x->rounds)
		return NULL;
	window = window_make(cpu, facts[0], record->words[1]);
	if (!window)
		return rs_error_no_memory();
	window_wait(x, window);
	x->open[cpu] = window->want ? window : NULL;
	x->export.tally.records++;
	return NULL;
}

/* Writes a record in the format of Xen's buffers. Returns its bytes. */
static uint32_t record_make(const struct xentrace *x, const struct rs_view *view, uint8_t *to)
{
	const struct rs_xen_record *record = rs_view_xen(view);
	uint32_t head = record->event | (uint32_t)record->n << 28 | (uint32_t)record->stamped << 31;
	uint64_t tsc = x->was_back ? x->back_tsc : view->tsc;
	uint32_t bytes = sizeof(head);

	memcpy(to, &head, sizeof(head));
	if (record->stamped) {
		tsc -= (uint64_t)x->skew[view->cpu];
		memcpy(to + bytes, &tsc, sizeof(tsc));
		bytes += sizeof(tsc);
	}
	memcpy(to + bytes, record->words, record->n * sizeof(record->words[0]));
	return bytes + record->n * (uint32_t)sizeof(record->words[0]);
}

static struct rs_error *record_put(struct xentrace *x, const struct rs_view *view)
{
	uint8_t bytes[RECORD_MAX];
	uint32_t cpu = (uint32_t)view->cpu, n = record_make(x, view, bytes);
	struct window *window = x->open[cpu];
	struct rs_error *err = NULL;

	x->export.tally.records++;
	if (!x->rounds && (!window || x->waiting > WAIT_MAX)) {
		err = rounds_begin(x);
		window = NULL;
	}
	if (err)
		return err;
	if (!window) {
		if (!round_put(x, cpu, bytes, n))
			return rs_error_no_memory();
		return x->round_bytes >= ROUND_BYTES ? round_write(x) : NULL;
	}
	if (!window_put(window, bytes, n))
		return rs_error_no_memory();
	x->waiting += n;
	if (window->have >= window->want)
		x->open[cpu] = NULL;
	return NULL;
}

static struct rs_error *event_write(struct xentrace *x, const struct rs_view *view)
{
	const struct rs_xen_record *record = rs_view_xen(view);
	struct rs_error *err = NULL;

	if (view->event->id == RS_ID_CLOCK_BACK && view->stream->xen) {
		memcpy(&x->back_tsc, view->payload, sizeof(x->back_tsc));
		x->was_back = true;
		return NULL;
	}
	if (view->event->kind == RS_KIND_LOSS && !record)
		x->export.tally.lost += rs_view_loss(view).count;
	else if (!record || view->cpu < 0 || (uint32_t)view->cpu >= CPUS_MAX)
		x->export.tally.left_out++;
	else if (record->event == RS_XEN_CPU_CHANGE && record->n == 2)
		err = window_begin(x, record);
	else
		err = record_put(x, view);
	x->was_back &= !record; /* consumed by this record */
	return err;
}

/* ---- as a sink ------------------------------------------------------------------------------ */

static struct rs_error *xentrace_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct xentrace *x = (struct xentrace *)sink;
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++)
		err = event_write(x, &views[i]);
	return err ? err : windows_write(x, false);
}

static struct rs_error *xentrace_end(struct rs_sink *sink)
{
	struct xentrace *x = (struct xentrace *)sink;
	struct rs_error *err = windows_write(x, true);

	return rs_error_first(err, round_write(x));
}

static const struct rs_sink_ops xentrace_ops = {
	.name = "xentrace",
	.events = xentrace_events,
	.end = xentrace_end,
};

static void xentrace_destroy(struct rs_export *export)
{
	struct xentrace *x = (struct xentrace *)export;

	while (x->first) {
		struct window *next = x->first->next;

		window_free(x->first);
		x->first = next;
	}
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++)
		window_free(x->round[cpu]);
	if (x->fd >= 0)
		close(x->fd);
	free(x->path);
	free(x);
}

struct rs_error *rs_export_xentrace(const char *path, const struct rs_input *input,
				    const struct rs_export_options *options,
				    struct rs_export **export)
{
	struct xentrace *x = calloc(1, sizeof(*x));
	struct rs_error *err;

	(void)input;
	(void)options;
	if (!x)
		return rs_error_no_memory();
	x->fd = -1;
	x->export.sink.ops = &xentrace_ops;
	x->export.destroy = xentrace_destroy;
	x->path = strdup(path);
	err = x->path ? rs_export_open(path, &x->fd) : rs_error_no_memory();
	if (err)
		xentrace_destroy(&x->export);
	else
		*export = &x->export;
	return err;
}
