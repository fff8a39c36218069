/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the Xen reports. Each consists of one or more tables. */
#include "view/xen_tables.h"

_Static_assert(offsetof(struct rs_xen_row, kind) == 0, "required by rs_table_kind()");

static void put_json_head(struct rs_json *json, const struct rs_xen_show *show,
			  const struct rs_xen_result *result)
{
	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "report"), show->report);
	rs_json_text(rs_json_key(json, "trace"), show->trace);
	rs_json_signed(rs_json_key(json, "from_ns"), result->from_ns);
	rs_json_unsigned(rs_json_key(json, "duration_ns"),
			 (uint64_t)(result->to_ns - result->from_ns));
	rs_json_unsigned(rs_json_key(json, "lost"), result->lost);
	rs_json_unsigned(rs_json_key(json, "contradictions"), result->contradictions);
	rs_json_unsigned(rs_json_key(json, "dropped"), result->refused);
	rs_json_open(rs_json_key(json, "rows"), '[');
}

static void put_interval(struct rs_out *out, const struct rs_xen_result *result)
{
	rs_out_line(out);
	rs_out_text(out, "FROM ");
	rs_out_seconds(out, result->from_ns);
	rs_out_text(out, "s TO ");
	rs_out_seconds(out, result->to_ns);
	rs_out_text(out, "s\n");
}

/* Writes a table's title, after a blank line unless it is the first. */
static void put_title(struct rs_out *out, const char *title, bool any)
{
	rs_out_line(out);
	rs_out_text(out, any ? "\n" : "");
	rs_out_text(out, title);
	rs_out_char(out, '\n');
}

static void put_tables(struct rs_json *json, const struct rs_xen_show *show,
		       const struct rs_xen_result *result)
{
	bool is_text = show->form == RS_TABLE_TEXT, is_csv = show->form == RS_TABLE_CSV;
	bool any = show->interval_ns != 0;

	for (size_t i = 0; i < xen_tables_count; i++) {
		struct rs_table table = {
			.json = json,
			.form = show->form,
			.columns = xen_tables[i].columns,
			.report = result,
			.name = xen_tables[i].name,
			.sets = 1 | (is_csv && show->interval_ns ? XEN_TABLE_INTERVAL : 0)
		};
		const struct rs_xen_row *rows;
		size_t n;

		rows = rs_table_kind(result->rows, result->n_rows, sizeof(*rows),
				     xen_tables[i].kind, &n);
		if (!n || !(show->kinds >> xen_tables[i].kind & 1))
			continue;
		if (is_text)
			put_title(json->out, xen_tables[i].title, any);
		rs_table_rows(&table, rows, n, sizeof(*rows));
		any = true;
	}
}

struct rs_error *rs_xen_print(const struct rs_xen_show *show, const struct rs_xen_result *result)
{
	bool is_text = show->form == RS_TABLE_TEXT, is_json = show->form == RS_TABLE_JSON;
	struct rs_out out;
	struct rs_json json = { .out = &out };
	struct rs_error *err;

	err = rs_out_init(&out, show->fd);
	if (err)
		return err;
	if (is_text && show->interval_ns)
		put_interval(&out, result);
	if (is_json)
		put_json_head(&json, show, result);
	put_tables(&json, show, result);
	rs_out_line(&out);
	if (is_text && show->interval_ns)
		rs_out_char(&out, '\n');
	if (is_json) {
		rs_json_close(&json, ']');
		rs_json_close(&json, '}');
		rs_json_line_end(&json);
	}
	return rs_out_end(&out, NULL);
}
