/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the events of a trace by probe. */
#include "view/events.h"

struct report {
	const struct rs_events_show *show;
	const struct rs_events *events;
};

/* ---- columns -------------------------------------------------------------------------------- */

static uint64_t duration_ns(const struct rs_events *events)
{
	return (uint64_t)events->last_ns - (uint64_t)events->first_ns;
}

RS_COLUMN_GETTER(get_share)
{
	rs_cell_share(cell, ((const struct rs_events_row *)at)->count,
		      ((const struct report *)report)->events->count);
}

/* Events at a single time have no rate. */
RS_COLUMN_GETTER(get_rate)
{
	const struct report *r = report;
	uint64_t ns = duration_ns(r->events);

	if (ns && !r->show->cycles_only)
		rs_cell_real(cell,
			     (double)((const struct rs_events_row *)at)->count * 1e9 / (double)ns);
}

enum { FIRST, LAST };

RS_COLUMN_GETTER(get_time)
{
	const struct rs_events_row *row = at;
	int64_t ns = column->arg == FIRST ? row->first_ns : row->last_ns;

	if (((const struct report *)report)->show->cycles_only)
		return;
	cell->known = true;
	if (column->head)
		rs_cell_format(cell, "%.9f", (double)ns / 1e9);
	else
		cell->value = (uint64_t)ns;
}

#define AT(member) RS_COLUMN_AT(struct rs_events_row, member)

/* Times are relative to the trace's start, as in print: seconds in text, ns in JSON and CSV. */
static const struct rs_column columns[] = {
	{ "probe", "PROBE", RS_COLUMN_TEXT, rs_column_text, AT(probe) },
	{ "count", "COUNT", RS_COLUMN_NUMBER, rs_column_u64, AT(count) },
	{ "share", "SHARE%", RS_COLUMN_SHARE, get_share },
	{ "rate_hz", "RATE/S", RS_COLUMN_REAL, get_rate },
	{ NULL, "FIRST", RS_COLUMN_TEXT, get_time, FIRST },
	{ NULL, "LAST", RS_COLUMN_TEXT, get_time, LAST },
	{ "first_ns", NULL, RS_COLUMN_SIGNED, get_time, FIRST },
	{ "last_ns", NULL, RS_COLUMN_SIGNED, get_time, LAST },
	{ 0 },
};

/* ---- the report ----------------------------------------------------------------------------- */

static void put_head(struct rs_json *json, const struct rs_events_show *show,
		     const struct rs_events *events)
{
	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "report"), "events");
	rs_json_text(rs_json_key(json, "trace"), show->trace);
	rs_json_key(json, "duration_ns");
	if (show->cycles_only)
		rs_json_null(json);
	else
		rs_json_unsigned(json, duration_ns(events));
	rs_json_unsigned(rs_json_key(json, "lost"), events->lost);
	rs_json_open(rs_json_key(json, "rows"), '[');
}

struct rs_error *rs_events_print(const struct rs_events_show *show, const struct rs_events *events)
{
	const struct report r = { show, events };
	struct rs_out out;
	struct rs_json json = { .out = &out };
	struct rs_table table = {
		.json = &json, .form = show->form, .columns = columns, .report = &r
	};
	struct rs_error *err = rs_out_init(&out, show->fd);

	if (err)
		return err;
	if (show->form == RS_TABLE_JSON)
		put_head(&json, show, events);
	rs_table_rows(&table, events->rows, events->n_rows, sizeof(*events->rows));
	if (show->form == RS_TABLE_JSON) {
		rs_json_close(&json, ']');
		rs_json_close(&json, '}');
		rs_json_line_end(&json);
	}
	return rs_out_end(&out, NULL);
}
