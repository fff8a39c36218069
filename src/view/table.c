/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the tables of all reports as text, JSON and CSV. */
#include "view/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/duration.h"
#include "base/utf8.h"

#define NS_PER_S   1000000000u
#define WIDTH_MAX  60 /* a longer cell moves the following cells to the right */
#define TIME_WIDTH 6  /* the width of most durations, so that successive tables align */

/* ---- cells ---------------------------------------------------------------------------------- */

void rs_cell_format(struct rs_cell *cell, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(cell->room, sizeof(cell->room), format, args);
	va_end(args);
	rs_cell_text(cell, cell->room);
}

void rs_cell_real(struct rs_cell *cell, double value)
{
	cell->known = true;
	cell->real = value;
}

void rs_cell_share(struct rs_cell *cell, uint64_t part, uint64_t of)
{
	if (of)
		rs_cell_real(cell, 100.0 * (double)part / (double)of);
}

void rs_cell_spread(struct rs_cell *cell, const struct rs_spread *spread, uint32_t arg)
{
	if (!spread->n)
		return;
	if (arg == RS_SPREAD_MEAN)
		rs_cell_number(cell, spread->total / spread->n);
	else if (arg == RS_SPREAD_MIN || arg == RS_SPREAD_MAX)
		rs_cell_number(cell, arg == RS_SPREAD_MIN ? spread->min : spread->max);
	else
		rs_cell_number(cell,
			       rs_hist_percentile(spread->hist, arg, spread->min, spread->max));
}

/* ---- members of rows ------------------------------------------------------------------------ */

#define MEMBER(type) (*(const type *)(const void *)((const char *)row + column->arg))

void rs_column_u64(const struct rs_column *column, const void *report, const void *row,
		   struct rs_cell *cell)
{
	(void)report;
	rs_cell_number(cell, MEMBER(uint64_t));
}

void rs_column_u32(const struct rs_column *column, const void *report, const void *row,
		   struct rs_cell *cell)
{
	(void)report;
	rs_cell_number(cell, MEMBER(uint32_t));
}

void rs_column_int(const struct rs_column *column, const void *report, const void *row,
		   struct rs_cell *cell)
{
	(void)report;
	rs_cell_known(cell, MEMBER(int), 0);
}

void rs_column_id(const struct rs_column *column, const void *report, const void *row,
		  struct rs_cell *cell)
{
	(void)report;
	rs_cell_known(cell, MEMBER(int), 1);
}

void rs_column_text(const struct rs_column *column, const void *report, const void *row,
		    struct rs_cell *cell)
{
	const char *text = MEMBER(char *);

	(void)report;
	rs_cell_text(cell, text && *text ? text : NULL);
}

/* ---- times ---------------------------------------------------------------------------------- */

static bool scale(uint64_t *to, uint64_t value, uint64_t by, uint64_t over)
{
	if (by && over)
		*to = (uint64_t)(((unsigned __int128)value * by + over / 2) / over);
	return by && over;
}

bool rs_table_ns(const struct rs_table_clock *clock, uint64_t ticks, uint64_t *ns)
{
	if (clock && !clock->ticks_are_ns)
		return scale(ns, ticks, NS_PER_S, clock->tsc_hz);
	*ns = ticks;
	return true;
}

bool rs_table_cycles(const struct rs_table_clock *clock, uint64_t ticks, uint64_t *cycles)
{
	if (clock->ticks_are_ns)
		return scale(cycles, ticks, clock->tsc_hz, NS_PER_S);
	*cycles = ticks;
	return true;
}

/* ---- selection of columns ------------------------------------------------------------------- */

static bool has_sets(uint32_t sets, const struct rs_table *table)
{
	return !sets || sets & table->sets;
}

static bool is_shown(const struct rs_table *table, const struct rs_column *column)
{
	if (!has_sets(column->sets, table))
		return false;
	if (table->form == RS_TABLE_TEXT)
		return column->head && has_sets(column->text_sets, table);
	return column->key && (column->type != RS_COLUMN_HIST || table->form == RS_TABLE_JSON);
}

static const struct rs_column *next_shown(const struct rs_table *table,
					  const struct rs_column *column)
{
	while ((column->key || column->head) && !is_shown(table, column))
		column++;
	return column->key || column->head ? column : NULL;
}

#define FOR_EACH_SHOWN(column, table)                                                              \
	for (const struct rs_column *column = next_shown(table, (table)->columns); column;         \
	     column = next_shown(table, column + 1))

/* ---- text ----------------------------------------------------------------------------------- */

static const char *time_text(const struct rs_table *table, struct rs_cell *cell)
{
	uint64_t ns;

	if (rs_table_ns(table->clock, cell->value, &ns))
		return rs_duration_text(ns, cell->room);
	snprintf(cell->room, sizeof(cell->room), "%" PRIu64, cell->value);
	return cell->room;
}

static const char *cell_text(const struct rs_table *table, const struct rs_column *column,
			     const void *row, struct rs_cell *cell)
{
	*cell = (struct rs_cell){ 0 };
	column->get(column, table->report, row, cell);
	if (!cell->known)
		return "-";
	switch (column->type) {
	case RS_COLUMN_TEXT:
		return cell->text;
	case RS_COLUMN_SIGNED:
		snprintf(cell->room, sizeof(cell->room), "%" PRId64, (int64_t)cell->value);
		break;
	case RS_COLUMN_HEX:
		snprintf(cell->room, sizeof(cell->room), "0x%" PRIx64, cell->value);
		break;
	case RS_COLUMN_REAL:
		snprintf(cell->room, sizeof(cell->room), "%.2f", cell->real);
		break;
	case RS_COLUMN_SHARE:
		snprintf(cell->room, sizeof(cell->room), "%.1f", cell->real);
		break;
	case RS_COLUMN_TIME:
		return time_text(table, cell);
	case RS_COLUMN_NUMBER:
	case RS_COLUMN_BOOL:
	case RS_COLUMN_HIST:
		snprintf(cell->room, sizeof(cell->room), "%" PRIu64, cell->value);
		break;
	}
	return cell->room;
}

static void widen(struct rs_table *table, const struct rs_column *column, const char *text)
{
	uint16_t *width = &table->widths[column - table->columns];
	int n = (int)rs_utf8_characters(text);

	assert(column - table->columns < RS_TABLE_COLUMNS_MAX);
	*width = *width < column->width ? column->width : *width;
	if (column->type == RS_COLUMN_TIME && *width < TIME_WIDTH)
		*width = TIME_WIDTH;
	if (!table->fixed && n > *width)
		*width = (uint16_t)(n < WIDTH_MAX ? n : WIDTH_MAX);
}

void rs_table_measure(struct rs_table *table, const void *row)
{
	struct rs_cell cell;

	if (table->form != RS_TABLE_TEXT)
		return;
	FOR_EACH_SHOWN(column, table)
	widen(table, column, cell_text(table, column, row, &cell));
}

static void put_blanks(struct rs_out *out, int n)
{
	for (; n > 0; n--)
		rs_out_char(out, ' ');
}

/* Writes the heads or a row. */
static void put_text_line(const struct rs_table *table, const void *row)
{
	struct rs_out *out = table->json->out;
	bool first = true;

	FOR_EACH_SHOWN(column, table)
	{
		struct rs_cell cell;
		const char *text = row ? cell_text(table, column, row, &cell) : column->head;
		int blanks = table->widths[column - table->columns] - (int)rs_utf8_characters(text);
		bool left = table->fixed || column->type == RS_COLUMN_TEXT;

		rs_out_line(out);
		put_blanks(out, first ? 0 : table->fixed ? 1 : 2);
		put_blanks(out, left ? 0 : blanks);
		rs_out_text(out, text);
		put_blanks(out, left ? blanks : 0);
		first = false;
	}
	while ((!row || !table->fixed) && out->used && out->buffer[out->used - 1] == ' ')
		out->used--;
	rs_out_char(out, '\n');
}

/* ---- JSON and CSV --------------------------------------------------------------------------- */

static void put_hist(struct rs_json *json, const struct rs_hist *hist)
{
	uint64_t slots[RS_HIST_LOG2_SLOTS];

	rs_hist_log2_slots(hist, slots);
	rs_json_open(json, '[');
	for (int i = 0; i < RS_HIST_LOG2_SLOTS; i++) {
		if (!slots[i])
			continue;
		rs_json_open(json, '{');
		rs_json_unsigned(rs_json_key(json, "from_ns"), i ? UINT64_C(1) << (i - 1) : 0);
		rs_json_unsigned(rs_json_key(json, "to_ns"), i ? (UINT64_C(1) << i) - 1 : 0);
		rs_json_unsigned(rs_json_key(json, "count"), slots[i]);
		rs_json_close(json, '}');
	}
	rs_json_close(json, ']');
}

static void put_json(struct rs_json *json, enum rs_column_type type, const struct rs_cell *cell)
{
	if (!cell->known) {
		rs_json_null(json);
		return;
	}
	switch (type) {
	case RS_COLUMN_TEXT:
		rs_json_text(json, cell->text);
		break;
	case RS_COLUMN_SIGNED:
		rs_json_signed(json, (int64_t)cell->value);
		break;
	case RS_COLUMN_HEX:
		rs_json_hex(json, cell->value);
		break;
	case RS_COLUMN_BOOL:
		rs_json_bool(json, cell->value);
		break;
	case RS_COLUMN_REAL:
	case RS_COLUMN_SHARE:
		rs_json_real(json, cell->real, 6);
		break;
	case RS_COLUMN_HIST:
		put_hist(json, cell->hist);
		break;
	case RS_COLUMN_NUMBER:
	case RS_COLUMN_TIME:
		rs_json_unsigned(json, cell->value);
		break;
	}
}

/* Writes a field, in quotes if it has a character that requires them (RFC 4180, 2.6). */
static void put_csv_text(struct rs_out *out, const char *text)
{
	bool quoted = strpbrk(text, ",\"\r\n") != NULL;

	if (quoted)
		rs_out_char(out, '"');
	for (; *text; text++) {
		rs_out_line(out);
		if (*text == '"')
			rs_out_char(out, '"');
		rs_out_char(out, *text);
	}
	if (quoted)
		rs_out_char(out, '"');
}

/* Writes a CSV value; most are the same as in JSON. */
static void put_csv(struct rs_json *json, enum rs_column_type type, const struct rs_cell *cell)
{
	json->follows = false;
	if (!cell->known)
		return;
	if (type == RS_COLUMN_TEXT)
		put_csv_text(json->out, cell->text);
	else if (type == RS_COLUMN_HEX)
		rs_out_hex(json->out, cell->value);
	else if (type == RS_COLUMN_BOOL)
		rs_out_dec(json->out, cell->value);
	else
		put_json(json, type, cell);
}

/* Writes a line of CSV or a row of JSON. */
struct data_line {
	const struct rs_table *table;
	bool is_head, follows;
};

static void put_value(struct data_line *line, const char *key, const char *unit,
		      enum rs_column_type type, const struct rs_cell *cell)
{
	struct rs_json *json = line->table->json;
	char name[64];

	snprintf(name, sizeof(name), "%s%s", key, unit);
	if (line->table->form == RS_TABLE_JSON) {
		put_json(rs_json_key(json, name), type, cell);
		return;
	}
	rs_out_line(json->out);
	if (line->follows)
		rs_out_char(json->out, ',');
	line->follows = true;
	if (line->is_head)
		rs_out_text(json->out, name);
	else
		put_csv(json, type, cell);
}

/* Writes a time in ns, and with a clock also in cycles. Either may be unknown. */
static void put_time(struct data_line *line, const char *key, const struct rs_cell *cell)
{
	const struct rs_table_clock *clock = line->table->clock;
	struct rs_cell shown = { 0 };

	if (clock) {
		shown.known = cell->known && rs_table_cycles(clock, cell->value, &shown.value);
		put_value(line, key, "_cycles", RS_COLUMN_TIME, &shown);
	}
	shown.known = cell->known && rs_table_ns(clock, cell->value, &shown.value);
	put_value(line, key, "_ns", RS_COLUMN_TIME, &shown);
}

static void put_values(const struct rs_table *table, const void *row)
{
	struct data_line line = { .table = table, .is_head = !row };
	struct rs_cell name = { 0 };

	if (table->name) {
		rs_cell_text(&name, table->name);
		put_value(&line, "table", "", RS_COLUMN_TEXT, &name);
	}
	FOR_EACH_SHOWN(column, table)
	{
		struct rs_cell cell = { 0 };

		if (row)
			column->get(column, table->report, row, &cell);
		if (column->type == RS_COLUMN_TIME)
			put_time(&line, column->key, &cell);
		else
			put_value(&line, column->key, "", column->type, &cell);
	}
}

/* ---- all forms ------------------------------------------------------------------------------ */

static void put_line(const struct rs_table *table, const void *row)
{
	struct rs_json *json = table->json;

	switch (table->form) {
	case RS_TABLE_TEXT:
		put_text_line(table, row);
		break;
	case RS_TABLE_JSON:
		rs_json_open(json, '{');
		put_values(table, row);
		rs_json_close(json, '}');
		break;
	case RS_TABLE_CSV:
		put_values(table, row);
		rs_json_line_end(json);
		break;
	}
}

void rs_table_head(struct rs_table *table)
{
	FOR_EACH_SHOWN(column, table)
	{
		if (column->head)
			widen(table, column, column->head);
	}
	if (table->form != RS_TABLE_JSON && !table->has_head)
		put_line(table, NULL);
	table->has_head = true;
}

void rs_table_row(const struct rs_table *table, const void *row)
{
	put_line(table, row);
}

void rs_table_rows(struct rs_table *table, const void *rows, size_t n, size_t bytes)
{
	for (size_t i = 0; i < n; i++)
		rs_table_measure(table, (const char *)rows + i * bytes);
	rs_table_head(table);
	for (size_t i = 0; i < n; i++)
		rs_table_row(table, (const char *)rows + i * bytes);
}

const void *rs_table_kind(const void *rows, size_t n, size_t bytes, int kind, size_t *n_of)
{
	const char *first = rows, *end = first + n * bytes;

	while (first < end && *(const int *)(const void *)first != kind)
		first += bytes;
	*n_of = 0;
	while (first + *n_of * bytes < end &&
	       *(const int *)(const void *)(first + *n_of * bytes) == kind)
		++*n_of;
	return first;
}
