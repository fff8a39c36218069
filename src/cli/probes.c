/* SPDX-License-Identifier: BSD-2-Clause */
/* Iterates over the probes of the catalogue or of traces, each once. */
#include "cli/probes.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "input/open.h"
#include "base/vector.h"
#include <ringside/reader.h>

/* The schemas of traces, each once. */
struct schemas {
	struct rs_sink sink;
	const struct rs_schema **at;
	uint32_t n, room;
};

static bool same_probe(const struct rs_event *a, const struct rs_event *b)
{
	if (strcmp(a->probe, b->probe) != 0 || a->n_fields != b->n_fields)
		return false;
	for (uint16_t i = 0; i < a->n_fields; i++) {
		const struct rs_field *x = &a->fields[i], *y = &b->fields[i];

		if (x->type != y->type || x->show != y->show || strcmp(x->name, y->name) != 0 ||
		    strcmp(x->unit, y->unit) != 0)
			return false;
	}
	return true;
}

/* Returns whether an earlier schema has the same probe. Each trace, and each stream with a separate
 * clock, has its own schema. */
static bool is_listed(const struct rs_schema **before, uint32_t n, const struct rs_event *event)
{
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t j = 0; j < rs_schema_count(before[i]); j++) {
			if (same_probe(rs_schema_event(before[i], j), event))
				return true;
		}
	}
	return false;
}

/* Passes the probes of a schema that none of the n earlier schemas has. */
static struct rs_error *probes_of_schema(const struct rs_schema **schemas, uint32_t n,
					 rs_cli_probe_fn *each, void *context)
{
	uint32_t count = rs_schema_count(schemas[n]);
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < count; i++) {
		const struct rs_event *event = rs_schema_event(schemas[n], i);

		if (!is_listed(schemas, n, event))
			err = each(event, context);
	}
	return err;
}

static struct rs_error *probes_of_schemas(const struct schemas *schemas, rs_cli_probe_fn *each,
					  void *context)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < schemas->n; i++)
		err = probes_of_schema(schemas->at, i, each, context);
	return err;
}

struct rs_error *rs_cli_probes_of_catalogue(rs_cli_probe_fn *each, void *context)
{
	const char *provider;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && (provider = rs_catalogue_provider(i)); i++) {
		struct rs_schema *schema;

		err = rs_schema_create_catalogue(provider, &schema);
		if (err)
			break;
		err = probes_of_schema((const struct rs_schema *[]){ schema }, 0, each, context);
		rs_schema_destroy(schema);
	}
	return err;
}

static struct rs_error *add_schema(struct schemas *schemas, const struct rs_stream *stream)
{
	if (!RS_VECTOR_RESERVE(schemas->at, schemas->room, schemas->n + 1))
		return rs_error_no_memory();
	rs_input_schema(stream, schemas->at, &schemas->n);
	return NULL;
}

static struct rs_error *schemas_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct rs_error *err = NULL;

	for (size_t i = 0; i < n && !err; i++)
		err = add_schema((struct schemas *)sink, views[i].stream);
	return err;
}

/* Reads a Xen file to its end, because its streams become known only as it is read. */
static struct rs_error *add_input(struct schemas *schemas, const struct rs_input *input)
{
	static const struct rs_sink_ops ops = { .name = "probes", .events = schemas_events };
	const struct rs_stream *stream;
	struct rs_error *err = NULL;

	schemas->sink.ops = &ops;
	if (input->foreign && !input->foreign->n_streams)
		return rs_run(input->source, NULL, &schemas->sink, &rs_cli_stop);
	for (uint32_t i = 0; !err && (stream = rs_input_stream(input, i)); i++)
		err = add_schema(schemas, stream);
	return err;
}

/* The traces need no common clock, so each one is opened separately. */
struct rs_error *rs_cli_probes_of_traces(const char *const *paths, uint32_t n,
					 rs_cli_probe_fn *each, void *context)
{
	struct rs_input *inputs = calloc(n, sizeof(*inputs));
	struct schemas schemas = { 0 };
	struct rs_error *err = inputs ? NULL : rs_error_no_memory(), *each_err;

	for (uint32_t i = 0; !err && i < n; i++) {
		err = rs_open_with(paths[i], NULL, NULL, &inputs[i]);
		if (!err)
			err = add_input(&schemas, &inputs[i]);
	}
	each_err = probes_of_schemas(&schemas, each, context);
	free(schemas.at);
	for (uint32_t i = 0; inputs && i < n; i++)
		rs_input_close(&inputs[i]);
	free(inputs);
	if (!err)
		return each_err;
	rs_error_free(each_err);
	return err;
}

struct rs_error *rs_cli_probes_of_trace(const char *path, rs_cli_probe_fn *each, void *context)
{
	struct schemas schemas = { 0 };
	struct rs_trace *trace;
	struct rs_error *err = rs_trace_open(path, &trace);

	if (err)
		return err;
	for (uint32_t i = 0; !err && i < rs_trace_stream_count(trace); i++)
		err = add_schema(&schemas, rs_trace_stream(trace, i));
	if (!err)
		err = probes_of_schemas(&schemas, each, context);
	free(schemas.at);
	rs_trace_close(trace);
	return err;
}
