/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates the assertions of a guest's programs during a replay. */
#include "script/asserts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang.h"

#define REPORTS_MAX 10 /* reported failures of one assertion; all are counted */

/* One assertion, as a program with one clause. The expression is the clause's predicate. */
struct one {
	const struct rs_event *event;
	/* NULL: not compiled yet, since the event carries the expression */
	struct rs_script *script;
	uint64_t held, failed, unknown;
};

struct rs_script_asserts {
	struct rs_sink sink;
	struct rs_sink *to;
	const struct rs_stream *stream;
	const struct rs_script_remarks *remarks;
	struct one *at;
	uint32_t n;
	struct rs_out out; /* output of these programs, which do not print */
	FILE *nowhere;
};

static void receive_report(void *ctx, const char *text)
{
	(void)ctx, (void)text;
}

/* ---- compiling ---------------------------------------------------------------------------- */

/* Composes "inline int n = args.n;" for each value, then the clause. */
static char *text_of(const struct rs_event *event, const char *expression, size_t len)
{
	static const char *const types[] = {
		[RS_TYPE_U8] = "uint8_t",   [RS_TYPE_U16] = "uint16_t", [RS_TYPE_U32] = "uint32_t",
		[RS_TYPE_U64] = "uint64_t", [RS_TYPE_S8] = "int8_t",	[RS_TYPE_S16] = "int16_t",
		[RS_TYPE_S32] = "int32_t",  [RS_TYPE_S64] = "int64_t"
	};
	size_t bytes;
	char *text;
	FILE *file = open_memstream(&text, &bytes);

	if (!file)
		return NULL;
	for (uint16_t i = 0; i < event->n_fields; i++) {
		if (!rs_type_is_tail(event->fields[i].type))
			fprintf(file, "inline %s %s = args.%s;\n", types[event->fields[i].type],
				event->fields[i].name, event->fields[i].name);
	}
	fprintf(file, "%s\n/%.*s/ { }\n", event->probe, (int)len, expression);
	return fclose(file) ? NULL : text;
}

static struct rs_error *compile(struct rs_script_asserts *asserts, struct one *one,
				const char *expression, size_t len)
{
	char *text = text_of(one->event, expression, len);
	const struct rs_script_config config = { .name = one->event->probe,
						 .text = text,
						 .len = text ? strlen(text) : 0,
						 .schemas = &asserts->stream->schema,
						 .n_schemas = 1 };
	const struct rs_script_io io = { .out = &asserts->out, .report = receive_report };
	struct rs_sink *sink;
	struct rs_error *err =
		text ? rs_script_compile(&config, &one->script) : rs_error_no_memory();

	if (!err)
		err = rs_script_start(one->script, &io, &sink);
	free(text);
	return rs_error_wrap(err, "cannot evaluate the assertion '%.*s'", (int)len, expression);
}

/* ---- events ------------------------------------------------------------------------------- */

/* Writes the names and values of an assertion's event. */
static void write_values(FILE *to, const struct rs_event *event, const struct rs_view *view)
{
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i];
		uint64_t value;

		if (rs_type_is_tail(field->type))
			continue;
		value = rs_field_value(field, view->payload);
		fprintf(to,
			field->show == RS_SHOW_HEX  ? "%s %s=0x%" PRIx64
			: field->type >= RS_TYPE_S8 ? "%s %s=%" PRId64
						    : "%s %s=%" PRIu64,
			i ? "," : ":", field->name, value);
	}
}

static void report_one(const struct rs_script_asserts *asserts, const struct one *one,
		       const struct rs_view *view, const char *expression, size_t len, bool unknown)
{
	char *values = NULL;
	size_t bytes;
	FILE *to;

	if (one->failed + one->unknown > REPORTS_MAX)
		return;
	to = open_memstream(&values, &bytes);
	if (to)
		write_values(to, one->event, view);
	if (to && !fclose(to))
		rs_script_remark(asserts->remarks, "%s:%s: '%.*s' %s%s", one->event->function,
				 one->event->name, (int)len, expression,
				 unknown ? "cannot be evaluated" : "does not hold", values);
	free(values);
}

/* Evaluates an assertion's event. Sets *continued if the view is passed on: it is no assertion, or
 * the assertion fails. */
static struct rs_error *evaluate(struct rs_script_asserts *asserts, const struct rs_view *view,
				 bool *continued)
{
	struct one *one = NULL;
	const char *expression;
	struct rs_error *err = NULL;
	bool holds = false, known;
	size_t len;

	*continued = true;
	for (uint32_t i = 0; i < asserts->n && !one; i++)
		one = asserts->at[i].event == view->event ? &asserts->at[i] : NULL;
	if (!one)
		return NULL;
	expression = rs_view_text(view, &one->event->fields[one->event->n_fields - 1], &len);
	if (!one->script)
		err = compile(asserts, one, expression, len);
	if (err)
		return err;
	known = rs_script_holds(one->script, view, &holds);
	one->held += known && holds;
	one->failed += known && !holds;
	one->unknown += !known;
	*continued = known && !holds;
	if (!known || !holds)
		report_one(asserts, one, view, expression, len, !known);
	return NULL;
}

static struct rs_error *asserts_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct rs_script_asserts *asserts = (struct rs_script_asserts *)sink;
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < n; i++) {
		bool continued;

		err = evaluate(asserts, &views[i], &continued);
		if (!err && continued)
			err = asserts->to->ops->events(asserts->to, &views[i], 1);
	}
	return err;
}

static const struct rs_sink_ops ops = { .name = "asserts", .events = asserts_events };

/* ---- beginning and end -------------------------------------------------------------------- */

struct rs_error *rs_script_asserts_create(const struct rs_stream *stream,
					  const struct rs_script_remarks *remarks,
					  struct rs_script_asserts **out)
{
	struct rs_script_asserts *asserts = calloc(1, sizeof(*asserts));
	struct rs_error *err;
	uint32_t n = rs_schema_count(stream->schema);

	if (!asserts)
		return rs_error_no_memory();
	*asserts = (struct rs_script_asserts){ .sink = { &ops },
					       .stream = stream,
					       .remarks = remarks };
	asserts->at = calloc(n + 1, sizeof(*asserts->at));
	asserts->nowhere = fopen("/dev/null", "we");
	err = asserts->at && asserts->nowhere ? rs_out_init(&asserts->out, fileno(asserts->nowhere))
					      : rs_error_no_memory();
	if (err) {
		if (asserts->nowhere)
			fclose(asserts->nowhere);
		free(asserts->at);
		free(asserts);
		return err;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct rs_event *event = rs_schema_event(stream->schema, i);

		if (rs_probe_match("guest:assert::", event) && event->n_tails)
			asserts->at[asserts->n++].event = event;
	}
	*out = asserts;
	return NULL;
}

void rs_script_asserts_destroy(struct rs_script_asserts *asserts)
{
	if (!asserts)
		return;
	for (uint32_t i = 0; i < asserts->n; i++)
		rs_script_destroy(asserts->at[i].script);
	rs_out_deinit(&asserts->out);
	fclose(asserts->nowhere);
	free(asserts->at);
	free(asserts);
}

struct rs_sink *rs_script_asserts_sink(struct rs_script_asserts *asserts, struct rs_sink *to)
{
	asserts->to = to;
	return &asserts->sink;
}

uint32_t rs_script_asserts_count(const struct rs_script_asserts *asserts)
{
	return asserts->n;
}

uint64_t rs_script_asserts_report(const struct rs_script_asserts *asserts)
{
	uint64_t held = 0, failed = 0, unknown = 0;

	for (uint32_t i = 0; i < asserts->n; i++) {
		held += asserts->at[i].held;
		failed += asserts->at[i].failed;
		unknown += asserts->at[i].unknown;
	}
	if (asserts->n)
		rs_script_remark(asserts->remarks,
				 "assertions in %u places: %" PRIu64 " held, %" PRIu64
				 " failed, %" PRIu64 " could not be evaluated",
				 asserts->n, held, failed, unknown);
	return failed + unknown;
}
