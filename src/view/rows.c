/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of an aggregate: a table whose columns are as wide as they must be, or JSON Lines. */
#include "view/view.h"

#include <jansson.h>

#include "base/utf8.h"
#include "event/query.h"

#define COLUMN_MAX 60 /* a longer key pushes what follows it to the right */

/* Columns on a terminal: bytes that begin a UTF-8 sequence. */
static size_t columns(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static void padded(struct rs_out *out, const char *text, size_t width)
{
	rs_out_text(out, text);
	for (size_t n = columns(text); n < width; n++)
		rs_out_char(out, ' ');
	rs_out_char(out, ' ');
}

static void number(struct rs_out *out, int64_t value)
{
	size_t from;

	rs_out_char(out, ' ');
	from = out->used;
	rs_out_signed(out, value);
	for (size_t len = out->used - from; len < 12; len++) {
		memmove(out->buffer + from + 1, out->buffer + from, out->used - from);
		out->buffer[from] = ' ';
		out->used++;
	}
}

static void print_table(struct rs_out *out, const struct rs_aggregate *aggregate,
			const struct rs_partial *rows, size_t n)
{
	size_t widths[RS_AGGREGATE_KEYS_MAX];

	for (uint32_t k = 0; k < aggregate->n_keys; k++) {
		widths[k] = columns(aggregate->keys[k]);
		for (size_t i = 0; i < n; i++) {
			size_t width = columns(rows[i].keys[k]);

			if (width > widths[k] && width <= COLUMN_MAX)
				widths[k] = width;
		}
	}
	for (uint32_t k = 0; k < aggregate->n_keys; k++)
		padded(out, aggregate->keys[k], widths[k]);
	rs_out_text(out, aggregate->value ? "        count          sum          min          max\n"
					  : "        count\n");
	for (size_t i = 0; i < n; i++) {
		rs_out_line(out);
		for (uint32_t k = 0; k < aggregate->n_keys; k++)
			padded(out, rows[i].keys[k], widths[k]);
		number(out, (int64_t)rows[i].count);
		if (aggregate->value) {
			number(out, rows[i].sum);
			number(out, rows[i].min);
			number(out, rows[i].max);
		}
		rs_out_char(out, '\n');
	}
}

static struct rs_error *print_json(struct rs_out *out, const struct rs_aggregate *aggregate,
				   const struct rs_partial *row)
{
	json_t *line = json_object();
	size_t len;

	for (uint32_t k = 0; k < aggregate->n_keys; k++)
		json_object_set_new(line, aggregate->keys[k], json_string(row->keys[k]));
	json_object_set_new(line, "count", rs_json_unsigned(row->count));
	if (aggregate->value) {
		json_object_set_new(line, "sum", rs_json_signed(row->sum));
		json_object_set_new(line, "min", rs_json_signed(row->min));
		json_object_set_new(line, "max", rs_json_signed(row->max));
	}
	rs_out_line(out);
	len = json_dumpb(line, out->buffer + out->used, RS_OUT_LINE - 1, JSON_COMPACT);
	json_decref(line);
	if (!len || len >= RS_OUT_LINE)
		return rs_error_no_memory();
	out->used += len;
	rs_out_char(out, '\n');
	return NULL;
}

struct rs_error *rs_rows_print(int fd, bool json, const struct rs_aggregate *aggregate,
			       const struct rs_partial *rows, size_t n)
{
	struct rs_error *err;
	struct rs_out out;

	err = rs_out_init(&out, fd);
	if (err)
		return err;
	if (!json)
		print_table(&out, aggregate, rows, n);
	for (size_t i = 0; json && !err && i < n; i++)
		err = print_json(&out, aggregate, &rows[i]);
	return rs_out_end(&out, err);
}
