/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the allocations of programs. */
#include "view/heap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A line of the table of stacks: a path of the profile. */
struct stack_row {
	const struct rs_profile_path *path;
	const struct rs_profile *profile;
	const char *text; /* outermost;...;innermost */
	int64_t difference[RS_HEAP_VALUES];
};

struct report {
	const struct rs_heap_show *show;
	uint64_t total; /* of the sort value of the stacks */
};

/* ---- columns -------------------------------------------------------------------------------- */

RS_COLUMN_GETTER(get_amount)
{
	rs_cell_number(cell, ((const struct stack_row *)at)->path->amounts[column->arg]);
}

RS_COLUMN_GETTER(get_share)
{
	const struct report *r = report;

	rs_cell_share(cell, ((const struct stack_row *)at)->path->amounts[r->show->by], r->total);
}

RS_COLUMN_GETTER(get_difference)
{
	cell->known = true;
	cell->value = (uint64_t)((const struct stack_row *)at)->difference[column->arg];
}

#define AT(member) RS_COLUMN_AT(struct stack_row, member)

/* In text, the stack follows its row, with a line for each function. */
static const struct rs_column stack_columns[] = {
	{ "peak_bytes", "PEAK_BYTES", RS_COLUMN_NUMBER, get_amount, RS_HEAP_PEAK_SPACE },
	{ "peak", "PEAK", RS_COLUMN_NUMBER, get_amount, RS_HEAP_PEAK_OBJECTS },
	{ "live_bytes", "LIVE_BYTES", RS_COLUMN_NUMBER, get_amount, RS_HEAP_INUSE_SPACE },
	{ "live", "LIVE", RS_COLUMN_NUMBER, get_amount, RS_HEAP_INUSE_OBJECTS },
	{ "bytes", "BYTES", RS_COLUMN_NUMBER, get_amount, RS_HEAP_ALLOC_SPACE },
	{ "allocations", "ALLOCATIONS", RS_COLUMN_NUMBER, get_amount, RS_HEAP_ALLOC_OBJECTS },
	{ "share", "SHARE%", RS_COLUMN_SHARE, get_share },
	{ "stack", NULL, RS_COLUMN_TEXT, rs_column_text, AT(text) },
	{ 0 },
};

static const struct rs_column difference_columns[] = {
	{ "peak_bytes", "PEAK_BYTES", RS_COLUMN_SIGNED, get_difference, RS_HEAP_PEAK_SPACE },
	{ "peak", "PEAK", RS_COLUMN_SIGNED, get_difference, RS_HEAP_PEAK_OBJECTS },
	{ "live_bytes", "LIVE_BYTES", RS_COLUMN_SIGNED, get_difference, RS_HEAP_INUSE_SPACE },
	{ "live", "LIVE", RS_COLUMN_SIGNED, get_difference, RS_HEAP_INUSE_OBJECTS },
	{ "bytes", "BYTES", RS_COLUMN_SIGNED, get_difference, RS_HEAP_ALLOC_SPACE },
	{ "allocations", "ALLOCATIONS", RS_COLUMN_SIGNED, get_difference, RS_HEAP_ALLOC_OBJECTS },
	{ "stack", NULL, RS_COLUMN_TEXT, rs_column_text, AT(text) },
	{ 0 },
};

RS_COLUMN_GETTER(get_end)
{
	const struct rs_heap_moment *moment = at;

	cell->known = true;
	if (column->head)
		rs_cell_format(cell, "%.9f", (double)moment->end_ns / 1e9);
	else
		cell->value = (uint64_t)moment->end_ns;
}

#define MOMENT(member) RS_COLUMN_AT(struct rs_heap_moment, member)

static const struct rs_column moment_columns[] = {
	{ NULL, "UNTIL", RS_COLUMN_TEXT, get_end },
	{ "until_ns", NULL, RS_COLUMN_SIGNED, get_end },
	{ "live_bytes", "LIVE_BYTES", RS_COLUMN_NUMBER, rs_column_u64, MOMENT(live_bytes) },
	{ "most_bytes", "MOST_BYTES", RS_COLUMN_NUMBER, rs_column_u64, MOMENT(most_bytes) },
	{ "allocations", "ALLOCATIONS", RS_COLUMN_NUMBER, rs_column_u64, MOMENT(allocations) },
	{ "frees", "FREES", RS_COLUMN_NUMBER, rs_column_u64, MOMENT(frees) },
	{ 0 },
};

RS_COLUMN_GETTER(get_lifetime)
{
	const struct rs_heap *heap = at;
	const struct rs_spread spread = { heap->n_lifetimes, heap->lifetimes_ns,
					  heap->lifetime_min_ns, heap->lifetime_max_ns,
					  &heap->lifetimes };

	rs_cell_spread(cell, &spread, column->arg);
}

RS_COLUMN_GETTER(get_lifetimes)
{
	rs_cell_number(cell, ((const struct rs_heap *)at)->n_lifetimes);
}

static const struct rs_column lifetime_columns[] = {
	{ "freed", "FREED", RS_COLUMN_NUMBER, get_lifetimes },
	RS_COLUMN_SPREAD(get_lifetime, 0, 0),
	{ 0 },
};

/* ---- rows ----------------------------------------------------------------------------------- */

/* Formats a path: its functions, the outermost first. */
static char *path_text(const struct rs_profile *profile, const struct rs_profile_path *path)
{
	size_t bytes = 1, at = 0;
	char *text;

	for (uint32_t i = 0; i < path->n; i++)
		bytes += strlen(profile->frames[path->frames[i]]->function) + 1;
	text = malloc(bytes);
	for (uint32_t i = 0; text && i < path->n; i++)
		at += (size_t)sprintf(text + at, "%s%s", i ? ";" : "",
				      profile->frames[path->frames[i]]->function);
	return text;
}

/* Writes the functions of a row, the innermost first. */
static void put_frames(struct rs_out *out, const struct stack_row *row)
{
	char text[64];

	for (uint32_t i = row->path->n; i-- > 0;) {
		const struct rs_profile_frame *frame = row->profile->frames[row->path->frames[i]];

		rs_out_line(out);
		rs_out_text(out, i + 1 == row->path->n ? "    " : "      < ");
		rs_out_long(out, frame->function, strlen(frame->function));
		rs_out_line(out);
		if (frame->file) {
			snprintf(text, sizeof(text), ":%u)", frame->line);
			rs_out_text(out, " (");
			rs_out_long(out, frame->file, strlen(frame->file));
			rs_out_line(out);
			rs_out_text(out, text);
		}
		rs_out_text(out, frame->inlined ? " inlined" : "");
		rs_out_text(out, frame->by_fp ? " [frame pointer]\n" : "\n");
	}
}

static void stack_row_put(struct rs_table *table, const struct stack_row *row)
{
	rs_table_row(table, row);
	if (table->form == RS_TABLE_TEXT)
		put_frames(table->json->out, row);
}

static struct rs_error *stacks_put(struct rs_table *table, struct rs_profile *profile,
				   uint32_t most)
{
	uint32_t n = most && most < profile->n_paths ? most : profile->n_paths;

	table->columns = stack_columns;
	for (uint32_t pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < n; i++) {
			struct stack_row row = { .path = profile->paths[i], .profile = profile };
			char *text = path_text(profile, row.path);

			if (!text)
				return rs_error_no_memory();
			row.text = text;
			if (!pass)
				rs_table_measure(table, &row);
			else
				stack_row_put(table, &row);
			free(text);
		}
		if (!pass)
			rs_table_head(table);
	}
	return NULL;
}

/* Writes the live bytes over time, in at most `most` intervals of equal length. */
static void moments_put(struct rs_table *table, const struct rs_heap *heap, uint32_t most)
{
	size_t step = most ? (heap->n_moments + most - 1) / most : 0;

	table->columns = moment_columns;
	for (uint32_t pass = 0; step && pass < 2; pass++) {
		for (size_t i = 0; i < heap->n_moments; i += step) {
			struct rs_heap_moment sum = heap->moments[i];

			for (size_t j = i + 1; j < i + step && j < heap->n_moments; j++) {
				const struct rs_heap_moment *m = &heap->moments[j];

				sum.end_ns = m->end_ns;
				sum.live_bytes = m->live_bytes;
				sum.allocations += m->allocations;
				sum.frees += m->frees;
				if (m->most_bytes > sum.most_bytes)
					sum.most_bytes = m->most_bytes;
			}
			if (!pass)
				rs_table_measure(table, &sum);
			else
				rs_table_row(table, &sum);
		}
		if (!pass)
			rs_table_head(table);
	}
}

/* ---- the report ----------------------------------------------------------------------------- */

struct number {
	const char *key, *text;
	uint64_t (*get)(const struct rs_heap *heap);
};

#define NUMBER(name, expression)                                                                   \
	static uint64_t name(const struct rs_heap *heap)                                           \
	{                                                                                          \
		return expression;                                                                 \
	}
NUMBER(allocations, rs_heap_count(&heap->allocated))
NUMBER(allocated_bytes, heap->allocated.bytes)
NUMBER(frees, rs_heap_count(&heap->freed))
NUMBER(freed_bytes, heap->freed.bytes)
NUMBER(live, rs_heap_count(&heap->live))
NUMBER(live_bytes, heap->live.bytes)
NUMBER(peak, rs_heap_count(&heap->peak))
NUMBER(peak_bytes, heap->peak.bytes)
NUMBER(reallocs, heap->reallocs)
NUMBER(double_frees, heap->double_frees)
NUMBER(unknown_frees, heap->unknown_frees)
NUMBER(again, heap->again)
NUMBER(interval, heap->interval_bytes)
NUMBER(lost, heap->lost)

static const struct number numbers[] = {
	{ "allocations", "allocations", allocations },
	{ "bytes", "bytes allocated", allocated_bytes },
	{ "frees", "frees", frees },
	{ "freed_bytes", "bytes freed", freed_bytes },
	{ "peak", "allocations live at the peak", peak },
	{ "peak_bytes", "bytes live at the peak", peak_bytes },
	{ "live", "allocations live at the end", live },
	{ "live_bytes", "bytes live at the end", live_bytes },
	{ "reallocations", "reallocations", reallocs },
	{ "double_frees", "double frees", double_frees },
	{ "unknown_frees", "frees of unknown addresses", unknown_frees },
	{ "missing_frees", "allocations of addresses that were live", again },
	{ "interval_bytes", "bytes between samples, on average", interval },
	{ "lost", "records lost", lost },
	{ 0 },
};

/* Writes the totals. The last ones are written only if they are not 0. */
static void numbers_text(struct rs_out *out, const struct rs_heap *heap)
{
	char text[96];

	for (const struct number *n = numbers; n->key; n++) {
		if (!n->get(heap) && n - numbers >= 8)
			continue;
		snprintf(text, sizeof(text), "%14" PRIu64 "  %s", n->get(heap), n->text);
		rs_out_line(out);
		rs_out_text(out, text);
		if (n->get == peak_bytes) {
			snprintf(text, sizeof(text), ", at %.9f", (double)heap->peak_ns / 1e9);
			rs_out_text(out, text);
		}
		rs_out_char(out, '\n');
	}
}

static void numbers_json(struct rs_json *json, const struct rs_heap_show *show,
			 const struct rs_heap *heap)
{
	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "report"), "memory");
	rs_json_text(rs_json_key(json, "trace"), show->trace);
	rs_json_unsigned(rs_json_key(json, "duration_ns"),
			 (uint64_t)heap->last_ns - (uint64_t)heap->first_ns);
	for (const struct number *n = numbers; n->key; n++)
		rs_json_unsigned(rs_json_key(json, n->key), n->get(heap));
	rs_json_signed(rs_json_key(json, "peak_ns"), heap->peak_ns);
}

/* Begins a table of n rows. Returns whether it is shown. A table without rows is not shown, and CSV
 * has only the table of stacks. */
static bool part_begin(struct rs_table *table, const char *key, size_t n)
{
	if (table->form == RS_TABLE_JSON)
		rs_json_open(rs_json_key(table->json, key), '[');
	else if (table->form == RS_TABLE_TEXT && n)
		rs_out_char(table->json->out, '\n');
	table->has_head = false;
	memset(table->widths, 0, sizeof(table->widths));
	return n && table->form != RS_TABLE_CSV;
}

static void part_end(const struct rs_table *table)
{
	if (table->form == RS_TABLE_JSON)
		rs_json_close(table->json, ']');
}

static uint64_t total_of(const struct rs_profile *profile, uint32_t value)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < profile->n_paths; i++)
		total += profile->paths[i]->amounts[value];
	return total;
}

struct rs_error *rs_heap_print(const struct rs_heap_show *show, const struct rs_heap *heap,
			       struct rs_profile *profile)
{
	struct report r = { show, total_of(profile, show->by) };
	struct rs_out out;
	struct rs_json json = { .out = &out };
	struct rs_table table = { .json = &json, .form = show->form, .report = &r };
	struct rs_error *err = rs_out_init(&out, show->fd);

	if (err)
		return err;
	rs_profile_sort(profile, show->by);
	if (show->form == RS_TABLE_JSON)
		numbers_json(&json, show, heap);
	else if (show->form == RS_TABLE_TEXT)
		numbers_text(&out, heap);
	if (part_begin(&table, "moments", heap->n_moments))
		moments_put(&table, heap, show->intervals);
	part_end(&table);
	table.columns = lifetime_columns;
	if (part_begin(&table, "lifetimes", heap->n_lifetimes))
		rs_table_rows(&table, heap, 1, sizeof(*heap));
	part_end(&table);
	if (part_begin(&table, "rows", profile->n_paths) || show->form == RS_TABLE_CSV)
		err = stacks_put(&table, profile, show->most);
	part_end(&table);
	if (show->form == RS_TABLE_JSON) {
		rs_json_close(&json, '}');
		rs_json_line_end(&json);
	}
	return rs_out_end(&out, err);
}

/* ---- differences ---------------------------------------------------------------------------- */

static int by_text(const void *left, const void *right)
{
	return strcmp(((const struct stack_row *)left)->text,
		      ((const struct stack_row *)right)->text);
}

static int by_difference(const void *left, const void *right, void *ctx)
{
	const struct stack_row *a = left, *b = right;
	uint32_t value = *(const uint32_t *)ctx;
	int64_t x = llabs(a->difference[value]), y = llabs(b->difference[value]);

	return x != y ? (x > y ? -1 : 1) : strcmp(a->text, b->text);
}

/* Adds the paths of a profile as rows, with their amounts times `sign`. */
static struct rs_error *rows_add(struct stack_row *rows, size_t *n,
				 const struct rs_profile *profile, int64_t sign)
{
	for (uint32_t i = 0; i < profile->n_paths; i++) {
		struct stack_row *row = &rows[*n];

		*row = (struct stack_row){ .path = profile->paths[i],
					   .profile = profile,
					   .text = path_text(profile, profile->paths[i]) };
		if (!row->text)
			return rs_error_no_memory();
		for (uint32_t v = 0; v < RS_HEAP_VALUES; v++)
			row->difference[v] = sign * (int64_t)row->path->amounts[v];
		(*n)++;
	}
	return NULL;
}

/* Joins the rows of equal stacks, and drops those without a difference. Returns the new number of
 * rows. */
static size_t rows_join(struct stack_row *rows, size_t n)
{
	size_t kept = 0;

	qsort(rows, n, sizeof(*rows), by_text);
	for (size_t i = 0, end; i < n; i = end) {
		struct stack_row sum = rows[i];
		bool differs = false;

		for (end = i + 1; end < n && !strcmp(rows[end].text, sum.text); end++) {
			for (uint32_t v = 0; v < RS_HEAP_VALUES; v++)
				sum.difference[v] += rows[end].difference[v];
			free((char *)(uintptr_t)rows[end].text);
		}
		for (uint32_t v = 0; v < RS_HEAP_VALUES; v++)
			differs |= sum.difference[v] != 0;
		if (differs)
			rows[kept++] = sum;
		else
			free((char *)(uintptr_t)sum.text);
	}
	return kept;
}

static void difference_put(const struct rs_heap_show *show, struct rs_out *out,
			   const struct stack_row *rows, size_t n)
{
	struct rs_json json = { .out = out };
	struct rs_table table = { .json = &json,
				  .form = show->form,
				  .columns = difference_columns };

	if (show->form == RS_TABLE_JSON) {
		rs_json_open(&json, '{');
		rs_json_text(rs_json_key(&json, "report"), "memory");
		rs_json_text(rs_json_key(&json, "trace"), show->trace);
		rs_json_open(rs_json_key(&json, "rows"), '[');
	}
	for (size_t i = 0; i < n; i++)
		rs_table_measure(&table, &rows[i]);
	rs_table_head(&table);
	for (size_t i = 0; i < n; i++)
		stack_row_put(&table, &rows[i]);
	if (show->form == RS_TABLE_JSON) {
		rs_json_close(&json, ']');
		rs_json_close(&json, '}');
		rs_json_line_end(&json);
	}
}

struct rs_error *rs_heap_print_difference(const struct rs_heap_show *show,
					  const struct rs_profile *before,
					  const struct rs_profile *after)
{
	size_t room = (size_t)before->n_paths + after->n_paths, n = 0;
	struct stack_row *rows = calloc(room + 1, sizeof(*rows));
	uint32_t value = show->by;
	struct rs_error *err = rows ? rows_add(rows, &n, before, -1) : rs_error_no_memory();
	struct rs_out out;

	if (!err)
		err = rows_add(rows, &n, after, 1);
	if (!err)
		n = rows_join(rows, n);
	if (!err)
		err = rs_out_init(&out, show->fd);
	if (!err) {
		qsort_r(rows, n, sizeof(*rows), by_difference, &value);
		difference_put(show, &out, rows, show->most && show->most < n ? show->most : n);
		err = rs_out_end(&out, NULL);
	}
	for (size_t i = 0; i < n; i++)
		free((char *)(uintptr_t)rows[i].text);
	free(rows);
	return err;
}
