/* SPDX-License-Identifier: BSD-2-Clause */
/* The Xen reports as text, JSON and CSV: each writes the same cells. */
#include "view/xen_table.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

/* The rows of a table, one after the other: they are sorted by kind. */
static const struct rs_xen_row *rows_of(const struct rs_xen_result *result, enum rs_xen_kind kind,
					size_t *n)
{
	size_t first = 0, end;

	while (first < result->n_rows && result->rows[first].kind != kind)
		first++;
	for (end = first; end < result->n_rows && result->rows[end].kind == kind; end++)
		;
	*n = end - first;
	return result->rows + first;
}

static bool wanted(const struct rs_xen_show *show, const struct xen_table *table)
{
	return show->kinds >> table->kind & 1;
}

/* ---- text ----------------------------------------------------------------------------------- */

#define CELL_MAX XEN_CELL_TEXT_MAX

static void time_text(uint64_t ns, char text[CELL_MAX])
{
	static const struct {
		uint64_t below, ns;
		const char *unit;
	} units[] = {
		{ 10000, 1, "ns" },
		{ UINT64_C(10000000), 1000, "us" },
		{ UINT64_C(10000000000), 1000000, "ms" },
		{ UINT64_MAX, 1000000000, "s" },
	};
	size_t i = 0;

	while (ns >= units[i].below && units[i].below != UINT64_MAX)
		i++;
	if (units[i].ns == 1)
		snprintf(text, CELL_MAX, "%" PRIu64 "ns", ns);
	else
		snprintf(text, CELL_MAX, "%.1f%s", (double)ns / (double)units[i].ns, units[i].unit);
}

static const char *cell_text(const struct xen_column *column, const struct xen_cell *cell,
			     char text[CELL_MAX])
{
	if (!cell->known)
		return "-";
	switch (column->show) {
	case XEN_NAME:
		return cell->text;
	case XEN_NUMBER:
		snprintf(text, CELL_MAX, "%" PRIu64, cell->value);
		break;
	case XEN_HEXADECIMAL:
		snprintf(text, CELL_MAX, "0x%" PRIx64, cell->value);
		break;
	case XEN_PERMILLE:
		snprintf(text, CELL_MAX, "%" PRIu64 ".%" PRIu64 "%%", cell->value / 10,
			 cell->value % 10);
		break;
	case XEN_TIME:
		time_text(cell->value, text);
		break;
	}
	return text;
}

static void pad(struct rs_out *out, size_t n)
{
	while (n--)
		rs_out_char(out, ' ');
}

/* Names stand on the left, numbers on the right. */
static void put(struct rs_out *out, const struct xen_column *column, const char *text, size_t width,
		bool last)
{
	size_t len = strlen(text), room = width > len ? width - len : 0;

	if (column->show != XEN_NAME)
		pad(out, room);
	rs_out_text(out, text);
	if (column->show == XEN_NAME && !last)
		pad(out, room);
}

static bool is_last(const struct xen_column *column)
{
	for (column++; column->key; column++) {
		if (column->head)
			return false;
	}
	return true;
}

static void line(struct rs_out *out, const struct xen_table *table, const struct xen_cell *cells,
		 const size_t *widths)
{
	char text[CELL_MAX];
	bool any = false;

	rs_out_line(out);
	for (size_t i = 0; table->columns[i].key; i++) {
		const struct xen_column *c = &table->columns[i];

		if (!c->head)
			continue;
		if (any)
			rs_out_text(out, "  ");
		any = true;
		put(out, c, cells ? cell_text(c, &cells[i], text) : c->head, widths[i], is_last(c));
	}
	rs_out_char(out, '\n');
}

static void text_table(struct rs_out *out, const struct rs_xen_result *result,
		       const struct xen_table *table, const struct rs_xen_row *rows, size_t n)
{
	size_t widths[XEN_COLUMNS_MAX] = { 0 };
	char text[CELL_MAX];

	for (size_t i = 0; table->columns[i].key; i++)
		widths[i] = table->columns[i].head ? strlen(table->columns[i].head) : 0;
	for (size_t at = 0; at < n; at++) {
		struct xen_cell cells[XEN_COLUMNS_MAX] = { 0 };

		table->fill(result, &rows[at], cells);
		for (size_t i = 0; table->columns[i].key; i++) {
			size_t len = strlen(cell_text(&table->columns[i], &cells[i], text));

			widths[i] = len > widths[i] ? len : widths[i];
		}
	}
	rs_out_line(out);
	rs_out_text(out, table->title);
	rs_out_char(out, '\n');
	line(out, table, NULL, widths);
	for (size_t at = 0; at < n; at++) {
		struct xen_cell cells[XEN_COLUMNS_MAX] = { 0 };

		if (table->fill(result, &rows[at], cells))
			line(out, table, cells, widths);
	}
}

static void text(struct rs_out *out, const struct rs_xen_show *show,
		 const struct rs_xen_result *result)
{
	bool any = show->interval_ns != 0;

	if (any) {
		rs_out_line(out);
		rs_out_text(out, "FROM ");
		rs_out_seconds(out, result->from_ns);
		rs_out_text(out, "s TO ");
		rs_out_seconds(out, result->to_ns);
		rs_out_text(out, "s\n");
	}
	for (size_t i = 0; i < xen_tables_count; i++) {
		const struct xen_table *table = &xen_tables[i];
		const struct rs_xen_row *rows;
		size_t n;

		if (!wanted(show, table))
			continue;
		rows = rows_of(result, table->kind, &n);
		if (!n)
			continue;
		rs_out_line(out);
		if (any)
			rs_out_char(out, '\n');
		text_table(out, result, table, rows, n);
		any = true;
	}
	rs_out_line(out);
	if (show->interval_ns)
		rs_out_char(out, '\n');
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *cell_json(const struct xen_column *column, const struct xen_cell *cell)
{
	if (!cell->known)
		return json_null();
	switch (column->show) {
	case XEN_NAME:
		return json_string(cell->text);
	case XEN_HEXADECIMAL:
		return rs_json_hex(cell->value);
	default:
		return rs_json_unsigned(cell->value);
	}
}

static void json_rows(json_t *list, const struct rs_xen_result *result,
		      const struct xen_table *table)
{
	const struct rs_xen_row *rows;
	size_t n;

	rows = rows_of(result, table->kind, &n);
	for (size_t at = 0; at < n; at++) {
		struct xen_cell cells[XEN_COLUMNS_MAX] = { 0 };
		json_t *object = json_object();

		table->fill(result, &rows[at], cells);
		json_object_set_new(object, "table", json_string(table->name));
		for (size_t i = 0; table->columns[i].key; i++)
			json_object_set_new(object, table->columns[i].key,
					    cell_json(&table->columns[i], &cells[i]));
		json_array_append_new(list, object);
	}
}

static int dump(const char *bytes, size_t n, void *ctx)
{
	rs_out_long(ctx, bytes, n);
	return 0;
}

static struct rs_error *json(struct rs_out *out, const struct rs_xen_show *show,
			     const struct rs_xen_result *result)
{
	json_t *object = json_object(), *list = json_array(), *trace = json_string(show->trace);
	int failed;

	json_object_set_new(object, "report", json_string(show->report));
	/* a name that is no UTF-8 makes no text of JSON */
	json_object_set_new(object, "trace", trace ? trace : json_null());
	json_object_set_new(object, "from_ns", rs_json_signed(result->from_ns));
	json_object_set_new(object, "duration_ns",
			    rs_json_unsigned((uint64_t)(result->to_ns - result->from_ns)));
	json_object_set_new(object, "lost", rs_json_unsigned(result->lost));
	json_object_set_new(object, "contradictions", rs_json_unsigned(result->contradictions));
	json_object_set_new(object, "dropped", rs_json_unsigned(result->refused));
	for (size_t i = 0; i < xen_tables_count; i++) {
		if (wanted(show, &xen_tables[i]))
			json_rows(list, result, &xen_tables[i]);
	}
	json_object_set_new(object, "rows", list);
	failed = json_dump_callback(object, dump, out, JSON_COMPACT);
	json_decref(object);
	rs_out_line(out);
	rs_out_char(out, '\n');
	return failed ? rs_error_no_memory() : NULL;
}

/* ---- CSV ------------------------------------------------------------------------------------ */

/* No name of ours has a quote or a line's end in it. */
static void csv_cell(struct rs_out *out, const struct xen_column *column,
		     const struct xen_cell *cell)
{
	bool quoted = column->show == XEN_NAME && strpbrk(cell->text, ",\" ");

	if (!cell->known)
		return;
	if (quoted)
		rs_out_char(out, '"');
	if (column->show == XEN_NAME)
		rs_out_text(out, cell->text);
	else
		rs_out_dec(out, cell->value);
	if (quoted)
		rs_out_char(out, '"');
}

/* Of an interval each row says which. */
static void csv_interval(struct rs_out *out, const struct rs_xen_result *result)
{
	rs_out_char(out, ',');
	rs_out_signed(out, result->from_ns);
	rs_out_char(out, ',');
	rs_out_signed(out, result->to_ns);
}

static void csv_table(struct rs_out *out, const struct rs_xen_show *show,
		      const struct rs_xen_result *result, const struct xen_table *table)
{
	const struct rs_xen_row *rows;
	size_t n;

	rows = rows_of(result, table->kind, &n);
	if (!n)
		return;
	rs_out_line(out);
	rs_out_text(out, "table");
	if (show->interval_ns)
		rs_out_text(out, ",from_ns,to_ns");
	for (size_t i = 0; table->columns[i].key; i++) {
		rs_out_char(out, ',');
		rs_out_text(out, table->columns[i].key);
	}
	rs_out_char(out, '\n');
	for (size_t at = 0; at < n; at++) {
		struct xen_cell cells[XEN_COLUMNS_MAX] = { 0 };

		table->fill(result, &rows[at], cells);
		rs_out_line(out);
		rs_out_text(out, table->name);
		if (show->interval_ns)
			csv_interval(out, result);
		for (size_t i = 0; table->columns[i].key; i++) {
			rs_out_char(out, ',');
			csv_cell(out, &table->columns[i], &cells[i]);
		}
		rs_out_char(out, '\n');
	}
}

/* ---- all of it ------------------------------------------------------------------------------ */

struct rs_error *rs_xen_print(const struct rs_xen_show *show, const struct rs_xen_result *result)
{
	struct rs_error *err, *flush_err;
	struct rs_out out;

	err = rs_out_init(&out, show->fd);
	if (err)
		return err;
	switch (show->form) {
	case RS_XEN_TEXT:
		text(&out, show, result);
		break;
	case RS_XEN_JSON:
		err = json(&out, show, result);
		break;
	case RS_XEN_CSV:
		for (size_t i = 0; i < xen_tables_count; i++) {
			if (wanted(show, &xen_tables[i]))
				csv_table(&out, show, result, &xen_tables[i]);
		}
		break;
	}
	flush_err = rs_out_flush(&out);
	rs_out_deinit(&out);
	if (!err)
		return flush_err;
	rs_error_free(flush_err);
	return err;
}
