/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exporters of profiles: a trace's memory, spans or samples, in the formats of profile.h. The
 * file is written when the trace has ended.
 */
#include "export/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/heap.h"
#include "analyze/spans.h"
#include "export/export.h"
#include "export/samples.h"

struct profile_export {
	struct rs_export export;
	const struct rs_export_options *options;
	rs_profile_write_fn *write;
	struct rs_sink *heap, *spans; /* NULL: not requested */
	bool of_samples;	      /* asked for */
	struct rs_profile samples;
	const struct rs_event *sample; /* the last event that is a sample */
	int fd;
};

static const struct rs_profile_value sample_values[] = { { "time", "nanoseconds" },
							 { "samples", "count" } };
#define N_SAMPLE_VALUES (sizeof(sample_values) / sizeof(sample_values[0]))

/* Returns whether a producer has samples of a guest's tasks. */
static bool has_samples(const struct rs_schema *schema)
{
	const struct rs_event *event;

	for (uint32_t i = 0; (event = rs_schema_event(schema, i)); i++)
		if (rs_sample_is(event))
			return true;
	return false;
}

bool rs_export_profile_suits(const struct rs_input *input)
{
	const struct rs_stream *stream;

	for (uint32_t i = 0; (stream = rs_input_stream(input, i)); i++) {
		if (rs_schema_find(stream->schema, RS_ID_MEMORY_ALLOC) ||
		    rs_schema_find(stream->schema, RS_ID_SPAN_BEGIN) || has_samples(stream->schema))
			return true;
	}
	return false;
}

const struct rs_profile_format rs_profile_formats[] = {
	{ "folded", rs_profile_write_folded },	     { "flame", rs_profile_write_flame },
	{ "pprof", rs_profile_write_pprof },	     { "speedscope", rs_profile_write_speedscope },
	{ "callgrind", rs_profile_write_callgrind }, { 0 },
};

const struct rs_profile_format *rs_profile_format_find(const char *name)
{
	const struct rs_profile_format *format = rs_profile_formats;

	while (format->name && strcmp(format->name, name) != 0)
		format++;
	return format->name ? format : NULL;
}

struct rs_error *rs_profile_write_file(const char *path, const struct rs_profile *profile,
				       const struct rs_profile_what *what,
				       rs_profile_write_fn *write)
{
	struct rs_out out;
	struct rs_error *err;
	int fd;

	err = rs_export_open(path, &fd);
	if (err)
		return err;
	err = rs_out_init(&out, fd);
	if (!err)
		err = rs_out_end(&out, write(profile, what, &out));
	close(fd);
	return rs_error_wrap(err, "%s", path);
}

/* ---- events --------------------------------------------------------------------------------- */

static struct rs_error *profile_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct profile_export *p = (struct profile_export *)sink;
	struct rs_error *err = NULL;

	if (p->heap)
		err = p->heap->ops->events(p->heap, views, n);
	if (!err && p->spans)
		err = p->spans->ops->events(p->spans, views, n);
	for (size_t i = 0; p->of_samples && !err && i < n; i++) {
		if (views[i].event != p->sample && !rs_sample_is(views[i].event))
			continue;
		p->sample = views[i].event;
		err = rs_sample_add(&p->samples, &views[i]);
	}
	return err;
}

/* Finds a value by its name; without a name, the default. */
static struct rs_error *value_find(const struct rs_profile *profile, const char *name,
				   uint32_t usual, uint32_t *value)
{
	char have[128] = "";
	size_t at = 0;

	for (*value = 0; name && *value < profile->n_values; (*value)++) {
		if (!strcmp(profile->values[*value].name, name))
			return NULL;
		at += (size_t)snprintf(have + at, sizeof(have) - at, "%s%s", *value ? ", " : "",
				       profile->values[*value].name);
	}
	*value = usual;
	return name ? rs_error_create(RS_USAGE, "unknown value '%s': expected one of %s", name,
				      have)
		    : NULL;
}

static const char *const lacks[] = {
	[RS_EXPORT_EITHER] = "neither memory events nor spans nor samples",
	[RS_EXPORT_MEMORY] = "no memory events (--of memory)",
	[RS_EXPORT_SPANS] = "no spans (--of spans)",
	[RS_EXPORT_SAMPLES] = "no samples (--of samples)",
};

static struct rs_error *profile_write(struct profile_export *p, const struct rs_profile *profile,
				      uint32_t usual)
{
	struct rs_profile_what what = { .title = p->options->title };
	struct rs_error *err = value_find(profile, p->options->value, usual, &what.value);
	struct rs_out out;

	if (!err && !profile->n_paths)
		err = rs_error_create(RS_USAGE, "the trace has %s", lacks[p->options->of]);
	if (!err)
		err = rs_out_init(&out, p->fd);
	if (err)
		return err;
	p->export.tally.records = profile->n_paths;
	return rs_out_end(&out, p->write(profile, &what, &out));
}

static struct rs_error *profile_end(struct rs_sink *sink)
{
	struct profile_export *p = (struct profile_export *)sink;
	struct rs_profile profile = { 0 };
	struct rs_spans spans = { 0 };
	struct rs_heap heap = { 0 };
	struct rs_error *err = NULL;

	if (p->heap)
		rs_heap_collect(p->heap, &heap);
	if (p->spans)
		err = rs_spans_collect(p->spans, &spans);
	p->export.tally.lost = p->heap ? heap.lost : spans.lost;
	if (!err && !heap.records && (p->samples.n_paths || p->options->of == RS_EXPORT_SAMPLES)) {
		err = profile_write(p, &p->samples, 0);
	} else if (!err && (heap.records || !p->spans)) {
		err = rs_heap_profile(&heap, p->options->resolver, &profile);
		if (!err)
			err = profile_write(p, &profile, RS_HEAP_PEAK_SPACE);
	} else if (!err) {
		err = rs_spans_profile(&spans, p->options->resolver, &profile);
		if (!err)
			err = profile_write(p, &profile, RS_SPANS_TIME);
	}
	rs_profile_deinit(&profile);
	return err;
}

static const struct rs_sink_ops profile_ops = {
	.name = "profile",
	.events = profile_events,
	.end = profile_end,
};

/* ---- creation ------------------------------------------------------------------------------- */

static void profile_destroy(struct rs_export *export)
{
	struct profile_export *p = (struct profile_export *)export;

	rs_heap_sink_destroy(p->heap);
	rs_spans_sink_destroy(p->spans);
	rs_profile_deinit(&p->samples);
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

static struct rs_error *profile_create(const char *path, const struct rs_export_options *options,
				       rs_profile_write_fn *write, struct rs_export **export)
{
	struct profile_export *p = calloc(1, sizeof(*p));
	struct rs_error *err = NULL;

	if (!p)
		return rs_error_no_memory();
	p->export.sink.ops = &profile_ops;
	p->export.destroy = profile_destroy;
	p->options = options;
	p->write = write;
	p->fd = -1;
	p->of_samples = options->of == RS_EXPORT_EITHER || options->of == RS_EXPORT_SAMPLES;
	rs_profile_init(&p->samples, sample_values, N_SAMPLE_VALUES);
	if (options->of == RS_EXPORT_EITHER || options->of == RS_EXPORT_MEMORY)
		err = rs_heap_sink_create(&p->heap);
	if (!err && (options->of == RS_EXPORT_EITHER || options->of == RS_EXPORT_SPANS))
		err = rs_spans_sink_create(&p->spans);
	if (!err)
		err = rs_export_open(path, &p->fd);
	if (err)
		profile_destroy(&p->export);
	else
		*export = &p->export;
	return err;
}

struct rs_error *rs_export_folded(const char *path, const struct rs_input *input,
				  const struct rs_export_options *options,
				  struct rs_export **export)
{
	(void)input;
	return profile_create(path, options, rs_profile_write_folded, export);
}

struct rs_error *rs_export_flame(const char *path, const struct rs_input *input,
				 const struct rs_export_options *options, struct rs_export **export)
{
	(void)input;
	return profile_create(path, options, rs_profile_write_flame, export);
}

struct rs_error *rs_export_pprof(const char *path, const struct rs_input *input,
				 const struct rs_export_options *options, struct rs_export **export)
{
	(void)input;
	return profile_create(path, options, rs_profile_write_pprof, export);
}

struct rs_error *rs_export_speedscope(const char *path, const struct rs_input *input,
				      const struct rs_export_options *options,
				      struct rs_export **export)
{
	(void)input;
	return profile_create(path, options, rs_profile_write_speedscope, export);
}

struct rs_error *rs_export_callgrind(const char *path, const struct rs_input *input,
				     const struct rs_export_options *options,
				     struct rs_export **export)
{
	(void)input;
	return profile_create(path, options, rs_profile_write_callgrind, export);
}
