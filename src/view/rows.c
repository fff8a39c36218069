/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the rows of an aggregate as a table, or as JSON Lines. */
#include "analyze/aggregate.h"
#include "view/table.h"
#include "view/view.h"

#include <ctype.h>
#include <stdio.h>

RS_COLUMN_GETTER(get_key)
{
	const struct rs_aggregate_row *row = at;

	rs_cell_text(cell, row->keys[column->arg]);
}

static __int128 value_at(const struct rs_column *column, const void *row)
{
	return *(const __int128 *)(const void *)((const char *)row + column->arg);
}

/* A value above the range of unsigned 64-bit numbers, or below that of signed ones, is unknown. */
RS_COLUMN_GETTER(get_value)
{
	__int128 value = value_at(column, at);

	if (value >= INT64_MIN && value <= UINT64_MAX)
		rs_cell_number(cell, (uint64_t)value);
}

#define AT(member) RS_COLUMN_AT(struct rs_aggregate_row, member)
#define VALUES	   2u /* the set of the columns of an aggregate with a value */

static const struct rs_column columns[] = {
	{ "count", "COUNT", RS_COLUMN_NUMBER, rs_column_u64, AT(count) },
	{ "sum", "SUM", RS_COLUMN_SIGNED, get_value, AT(sum), VALUES },
	{ "min", "MIN", RS_COLUMN_SIGNED, get_value, AT(min), VALUES },
	{ "max", "MAX", RS_COLUMN_SIGNED, get_value, AT(max), VALUES },
	{ 0 },
};

#define HEAD_MAX 64

/* Makes the columns of the keys. All column heads are in capitals. */
static void add_keys(struct rs_column *keys, char (*heads)[HEAD_MAX],
		     const struct rs_aggregate *aggregate)
{
	for (uint32_t k = 0; k < aggregate->n_keys; k++) {
		snprintf(heads[k], HEAD_MAX, "%s", aggregate->keys[k]);
		for (char *c = heads[k]; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		keys[k] = (struct rs_column){ aggregate->keys[k], heads[k], RS_COLUMN_TEXT, get_key,
					      k };
	}
}

/* Sets the types of the columns of values to those of a row, since a column may have both. */
static void set_types(struct rs_column *column, const struct rs_aggregate_row *row)
{
	for (; column->key; column++) {
		if (column->get == get_value)
			column->type =
				value_at(column, row) < 0 ? RS_COLUMN_SIGNED : RS_COLUMN_NUMBER;
	}
}

struct rs_error *rs_rows_print(int fd, bool json, const struct rs_aggregate *aggregate,
			       const struct rs_aggregate_row *rows, size_t n)
{
	struct rs_column all[RS_AGGREGATE_KEYS_MAX + sizeof(columns) / sizeof(columns[0])];
	char heads[RS_AGGREGATE_KEYS_MAX][HEAD_MAX];
	struct rs_out out;
	struct rs_json writer = { .out = &out };
	struct rs_table table = { .json = &writer,
				  .form = json ? RS_TABLE_JSON : RS_TABLE_TEXT,
				  .columns = all,
				  .sets = 1 | (aggregate->value ? VALUES : 0) };
	struct rs_error *err;

	add_keys(all, heads, aggregate);
	memcpy(all + aggregate->n_keys, columns, sizeof(columns));
	err = rs_out_init(&out, fd);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		set_types(all + aggregate->n_keys, &rows[i]);
		rs_table_measure(&table, &rows[i]);
	}
	rs_table_head(&table);
	for (size_t i = 0; i < n; i++) {
		set_types(all + aggregate->n_keys, &rows[i]);
		rs_table_row(&table, &rows[i]);
		if (json)
			rs_json_line_end(&writer);
	}
	return rs_out_end(&out, NULL);
}
