/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints spans by name, or as a call tree. */
#include "view/spans.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SET_GUEST 1u /* the columns of guests' spans */

struct report {
	const struct rs_spans_show *show;
	const struct rs_spans *spans;
};

/* ---- names ---------------------------------------------------------------------------------- */

RS_COLUMN_GETTER(get_name)
{
	const struct rs_span_row *row = *(struct rs_span_row *const *)at;
	const struct rs_profile_resolver *resolver =
		((const struct report *)report)->show->resolver;
	struct rs_profile_frame frames[RS_PROFILE_INLINED_MAX];
	uint32_t n = 0;

	if (row->key.name) {
		rs_cell_text(cell, row->key.name);
		return;
	}
	if (!row->key.id && resolver && resolver->resolve)
		n = resolver->resolve(resolver->ctx, row->key.schema, &row->key.address, 0, frames,
				      RS_PROFILE_INLINED_MAX);
	if (n) /* the outermost function begins there */
		rs_cell_text(cell, frames[n - 1].function);
	else if (row->key.id)
		rs_cell_format(cell, "#%" PRIu32, row->key.id);
	else
		rs_cell_format(cell, "0x%" PRIx64, row->key.address);
}

RS_COLUMN_GETTER(get_provider)
{
	rs_cell_text(cell, rs_schema_provider((*(struct rs_span_row *const *)at)->key.schema));
}

/* ---- numbers -------------------------------------------------------------------------------- */

enum { COUNT, TOTAL, SELF, GUEST, CALLS, EXITS, DOUBTFUL };

RS_COLUMN_GETTER(get_number)
{
	const struct rs_span_row *row = *(struct rs_span_row *const *)at;
	uint64_t outside = row->calls_ns + row->exits_ns;

	switch (column->arg) {
	case COUNT:
		rs_cell_number(cell, row->count);
		return;
	case TOTAL:
		rs_cell_number(cell, row->total_ns);
		return;
	case SELF:
		rs_cell_number(cell, row->self_ns);
		return;
	case DOUBTFUL:
		rs_cell_number(cell, row->doubtful);
		return;
	}
	if (!row->timed) /* the trace lacks the vCPU's exits */
		return;
	if (column->arg == GUEST)
		rs_cell_number(cell, row->timed_ns > outside ? row->timed_ns - outside : 0);
	else
		rs_cell_number(cell, column->arg == CALLS ? row->calls_ns : row->exits_ns);
}

RS_COLUMN_GETTER(get_spread)
{
	const struct rs_span_row *row = *(struct rs_span_row *const *)at;
	const struct rs_spread spread = { row->count, row->sum_ns, row->min_ns, row->max_ns,
					  &row->hist };

	rs_cell_spread(cell, &spread, column->arg);
}

static const struct rs_column columns[] = {
	{ "name", "NAME", RS_COLUMN_TEXT, get_name },
	{ "provider", "PROVIDER", RS_COLUMN_TEXT, get_provider },
	{ "count", "COUNT", RS_COLUMN_NUMBER, get_number, COUNT },
	{ "total", "TOTAL", RS_COLUMN_TIME, get_number, TOTAL },
	{ "self", "SELF", RS_COLUMN_TIME, get_number, SELF },
	RS_COLUMN_SPREAD(get_spread, 0, 0),
	{ "guest", "GUEST", RS_COLUMN_TIME, get_number, GUEST, 0, SET_GUEST },
	{ "calls", "CALLS", RS_COLUMN_TIME, get_number, CALLS, 0, SET_GUEST },
	{ "exits", "EXITS", RS_COLUMN_TIME, get_number, EXITS, 0, SET_GUEST },
	{ "doubtful", NULL, RS_COLUMN_NUMBER, get_number, DOUBTFUL },
	{ 0 },
};

static void rows_put(struct rs_table *table, const struct report *r)
{
	table->sets = 0;
	for (size_t i = 0; i < r->spans->n_rows; i++) {
		if (r->spans->rows[i]->timed)
			table->sets = SET_GUEST;
	}
	rs_table_rows(table, r->spans->rows, r->spans->n_rows, sizeof(r->spans->rows[0]));
}

/* ---- the tree ------------------------------------------------------------------------------- */

#define INDENT_MAX 64u /* levels, as in print --tree; deeper names are at this one */

/* A node in the tree of times. The tree of counts has the same paths. */
struct tree_row {
	const struct rs_call_node *time;
	uint64_t count;
	const char *indented; /* the name */
};

RS_COLUMN_GETTER(get_tree)
{
	const struct tree_row *row = at;

	switch (column->arg) {
	case COUNT:
		rs_cell_number(cell, row->count);
		break;
	case TOTAL:
		rs_cell_number(cell, row->time->total);
		break;
	case SELF:
		rs_cell_number(cell, row->time->self);
		break;
	}
}

RS_COLUMN_GETTER(get_depth)
{
	rs_cell_number(cell, ((const struct tree_row *)at)->time->depth - 1);
}

/* In text, a name is indented by its depth. */
RS_COLUMN_GETTER(get_tree_name)
{
	const struct tree_row *row = at;

	rs_cell_text(cell, column->head ? row->indented : row->time->frame->function);
}

static const struct rs_column tree_columns[] = {
	{ "total", "TOTAL", RS_COLUMN_TIME, get_tree, TOTAL },
	{ "self", "SELF", RS_COLUMN_TIME, get_tree, SELF },
	{ "count", "COUNT", RS_COLUMN_NUMBER, get_tree, COUNT },
	{ "depth", NULL, RS_COLUMN_NUMBER, get_depth },
	{ NULL, "SPAN", RS_COLUMN_TEXT, get_tree_name },
	{ "span", NULL, RS_COLUMN_TEXT, get_tree_name },
	{ 0 },
};

/* Returns a node's name indented by its depth, NULL without memory. */
static char *indented_text(const struct rs_call_node *node)
{
	uint32_t depth = node->depth - 1 < INDENT_MAX ? node->depth - 1 : INDENT_MAX;
	char *text;

	return asprintf(&text, "%*s%s", (int)depth * 2, "", node->frame->function) < 0 ? NULL
										       : text;
}

static struct rs_error *tree_put(struct rs_table *table, const struct rs_profile *profile)
{
	struct rs_call_tree times, counts;
	struct rs_error *err = rs_call_tree_make(profile, RS_SPANS_TIME, &times);

	if (!err)
		err = rs_call_tree_make(profile, RS_SPANS_COUNT, &counts);
	else
		counts = (struct rs_call_tree){ 0 };
	table->columns = tree_columns;
	for (uint32_t pass = 0; !err && pass < 2; pass++) {
		for (const struct rs_call_node *node = rs_call_tree_next(&times.root); node;
		     node = rs_call_tree_next(node)) {
			const struct rs_call_node *same = rs_call_tree_same(&counts, node);
			char *text = indented_text(node);
			struct tree_row row = { node, same ? same->self : 0, text };

			if (!text) {
				err = rs_error_no_memory();
				break;
			}
			if (!pass)
				rs_table_measure(table, &row);
			else
				rs_table_row(table, &row);
			free(text);
		}
		if (!pass)
			rs_table_head(table);
	}
	rs_call_tree_deinit(&times);
	rs_call_tree_deinit(&counts);
	return err;
}

/* ---- the report ----------------------------------------------------------------------------- */

static void put_head(struct rs_json *json, const struct rs_spans_show *show,
		     const struct rs_spans *spans)
{
	const struct {
		const char *key;
		uint64_t n;
	} numbers[] = {
		{ "duration_ns", (uint64_t)spans->last_ns - (uint64_t)spans->first_ns },
		{ "lost", spans->lost },
		{ "open", spans->open },
		{ "unbegun", spans->unbegun },
		{ "too_deep", spans->too_deep },
	};

	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "report"), "spans");
	rs_json_text(rs_json_key(json, "trace"), show->trace);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		rs_json_unsigned(rs_json_key(json, numbers[i].key), numbers[i].n);
	rs_json_open(rs_json_key(json, "rows"), '[');
}

struct rs_error *rs_spans_print(const struct rs_spans_show *show, const struct rs_spans *spans,
				const struct rs_profile *profile)
{
	const struct report r = { show, spans };
	struct rs_out out;
	struct rs_json json = { .out = &out };
	struct rs_table table = {
		.json = &json, .form = show->form, .columns = columns, .report = &r
	};
	struct rs_error *err = rs_out_init(&out, show->fd);

	if (err)
		return err;
	if (show->form == RS_TABLE_JSON)
		put_head(&json, show, spans);
	if (show->tree)
		err = tree_put(&table, profile);
	else
		rows_put(&table, &r);
	if (show->form == RS_TABLE_JSON) {
		rs_json_close(&json, ']');
		rs_json_close(&json, '}');
		rs_json_line_end(&json);
	}
	return rs_out_end(&out, err);
}
