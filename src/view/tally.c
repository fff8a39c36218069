/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints a tally as text, CSV or JSON. */
#include "view/tally.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/duration.h"
#include "base/out.h"
#include "base/utf8.h"
#include "event/exit_reason.h"
#include "view/view.h"

#define CELLS	 24
#define CELL_MAX 96
#define NS_PER_S 1000000000u

const char *rs_tally_kind_name(enum rs_tally_kind kind)
{
	static const char *const names[] = { [RS_TALLY_EXITS] = "exits",
					     [RS_TALLY_INTERRUPTS] = "interrupts",
					     [RS_TALLY_CPU] = "cpu" };

	return names[kind];
}

/* ---- ticks as cycles and ns ----------------------------------------------------------------- */

static uint64_t scale(uint64_t value, uint64_t by, uint64_t over)
{
	return (uint64_t)(((unsigned __int128)value * by + over / 2) / over);
}

struct page {
	const struct rs_tally_show *show;
	const struct rs_tally *tally;
	bool has_ns, has_cycles;
};

static uint64_t ns_of(const struct page *p, uint64_t ticks)
{
	return p->tally->ticks_are_ns ? ticks : scale(ticks, NS_PER_S, p->show->tsc_hz);
}

static uint64_t cycles_of(const struct page *p, uint64_t ticks)
{
	return p->tally->ticks_are_ns ? scale(ticks, p->show->tsc_hz, NS_PER_S) : ticks;
}

static double seconds(const struct page *p)
{
	return p->tally->ticks_are_ns ? (double)p->tally->ticks / NS_PER_S
				      : (double)p->tally->ticks / (double)p->show->tsc_hz;
}

/* ---- what a row says ------------------------------------------------------------------------ */

/* A value of a row, for all three forms. */
struct cell {
	enum { NONE, NUMBER, REAL, NAME, TICKS } type; /* NONE: not known */
	uint64_t number;
	double real;
	char name[CELL_MAX];
};

/* One of JSON and CSV; of TICKS two, with _cycles and _ns behind the name. */
struct column {
	const char *key, *head; /* head NULL: not in the text */
	void (*fill)(const struct page *p, const struct rs_tally_row *row, struct cell *cell);
	uint32_t kinds; /* bits; 0: all */
};

static void number(struct cell *cell, uint64_t value)
{
	*cell = (struct cell){ .type = NUMBER, .number = value };
}

static void ticks(struct cell *cell, uint64_t value)
{
	*cell = (struct cell){ .type = TICKS, .number = value };
}

static void fill_cpu(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	if (row->cpu >= 0)
		number(cell, (uint64_t)row->cpu);
}

static void fill_vm(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	if (!row->vm || !*row->vm)
		return;
	cell->type = NAME;
	snprintf(cell->name, sizeof(cell->name), "%s", row->vm);
	rs_utf8_mend_bytes(cell->name, strlen(cell->name));
}

static void fill_vcpu(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	if (row->vcpu >= 0)
		number(cell, (uint64_t)row->vcpu);
}

static void fill_what(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	static const char *const interrupts[] = { "external", "injected", "handled" };
	static const char *const uses[] = { "vcpu", "idle", "others", "unknown" };
	char reason[RS_EXIT_TEXT_MAX];

	(void)p;
	cell->type = NAME;
	if (row->kind == RS_TALLY_INTERRUPTS)
		snprintf(cell->name, sizeof(cell->name), "%s", interrupts[row->sub]);
	else if (row->kind == RS_TALLY_CPU)
		snprintf(cell->name, sizeof(cell->name), "%s", uses[row->sub]);
	else if (row->sub == RS_TALLY_LOST)
		snprintf(cell->name, sizeof(cell->name), "(unknown)");
	else
		snprintf(cell->name, sizeof(cell->name), "%s",
			 rs_exit_text(row->sub, (uint32_t)row->key, reason));
}

static void fill_isa(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	if (row->sub == RS_TALLY_LOST)
		return;
	cell->type = NAME;
	snprintf(cell->name, sizeof(cell->name), "%s", rs_isa_name(row->sub));
}

static void fill_key(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	if (row->kind != RS_TALLY_EXITS || row->sub != RS_TALLY_LOST)
		number(cell, row->key);
}

static void fill_count(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	number(cell, row->count);
}

static void fill_rate(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	if (!p->has_ns || !p->tally->ticks)
		return;
	*cell = (struct cell){ .type = REAL, .real = (double)row->count / seconds(p) };
}

static void fill_timed(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	number(cell, row->timed);
}

static void fill_total(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	ticks(cell, row->total);
}

static void fill_off(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	ticks(cell, row->off);
}

static void fill_guest(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	if (row->sub == RS_TALLY_VCPU)
		ticks(cell, row->guest);
}

/* In percent: of the time of the CPUs, else the vCPUs, that the row is about. */
static void fill_share(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	if (!row->base || row->kind == RS_TALLY_INTERRUPTS)
		return;
	*cell = (struct cell){
		.type = REAL, .real = 100.0 * (double)(row->total - row->off) / (double)row->base
	};
}

static void fill_min(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	if (row->timed)
		ticks(cell, row->min);
}

/* Of those timed: what was not seen to its end is in total, but no duration. */
static void fill_mean(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	if (row->timed && row->kind != RS_TALLY_CPU)
		ticks(cell, row->total / row->timed);
}

static void percentile(const struct rs_tally_row *row, uint32_t permille, struct cell *cell)
{
	if (row->timed)
		ticks(cell, rs_hist_percentile(row->hist, permille, row->min, row->max));
}

static void fill_p50(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	percentile(row, 500, cell);
}

static void fill_p95(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	percentile(row, 950, cell);
}

static void fill_p99(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	percentile(row, 990, cell);
}

static void fill_max(const struct page *p, const struct rs_tally_row *row, struct cell *cell)
{
	(void)p;
	if (row->timed)
		ticks(cell, row->max);
}

#define OF(kind) (1u << RS_TALLY_##kind)

static const struct column columns[] = {
	{ "cpu", "CPU", fill_cpu, 0 },
	{ "vm", "VM", fill_vm, 0 },
	{ "vcpu", "VCPU", fill_vcpu, 0 },
	{ "reason", "REASON", fill_what, OF(EXITS) },
	{ "isa", NULL, fill_isa, OF(EXITS) },
	{ "code", NULL, fill_key, OF(EXITS) },
	{ "kind", "KIND", fill_what, OF(INTERRUPTS) },
	{ "vector", "VECTOR", fill_key, OF(INTERRUPTS) },
	{ "use", "USE", fill_what, OF(CPU) },
	{ "count", "COUNT", fill_count, 0 },
	{ "rate_hz", "RATE/S", fill_rate, 0 },
	{ "timed", NULL, fill_timed, 0 },
	{ "total", "TOTAL", fill_total, 0 },
	{ "share", "SHARE%", fill_share, OF(EXITS) | OF(CPU) },
	{ "off", "OFF", fill_off, OF(EXITS) },
	{ "guest", "GUEST", fill_guest, OF(CPU) },
	{ "min", "MIN", fill_min, 0 },
	{ "mean", "MEAN", fill_mean, OF(EXITS) | OF(INTERRUPTS) },
	{ "p50", "P50", fill_p50, 0 },
	{ "p95", "P95", fill_p95, 0 },
	{ "p99", "P99", fill_p99, 0 },
	{ "max", "MAX", fill_max, 0 },
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* Whose a row is, is shown as far as it was asked for. */
static bool is_shown(const struct page *p, const struct column *c)
{
	uint32_t by = p->show->by;

	if (c->kinds && !(c->kinds >> p->show->kind & 1))
		return false;
	if (p->show->kind == RS_TALLY_CPU)
		by |= RS_TALLY_BY_CPU | RS_TALLY_BY_VM;
	if (c->fill == fill_cpu)
		return by & RS_TALLY_BY_CPU;
	if (c->fill == fill_vm)
		return by & (RS_TALLY_BY_VM | RS_TALLY_BY_VCPU);
	return c->fill != fill_vcpu || by & RS_TALLY_BY_VCPU;
}

/* ---- text ----------------------------------------------------------------------------------- */

static void cell_text(const struct page *p, const struct cell *cell, char text[CELL_MAX])
{
	char duration[RS_DURATION_TEXT_MAX];

	switch (cell->type) {
	case NONE:
		snprintf(text, CELL_MAX, "-");
		break;
	case NUMBER:
		snprintf(text, CELL_MAX, "%" PRIu64, cell->number);
		break;
	case REAL:
		snprintf(text, CELL_MAX, "%.2f", cell->real);
		break;
	case NAME:
		snprintf(text, CELL_MAX, "%s", cell->name);
		break;
	case TICKS:
		if (p->has_ns)
			snprintf(text, CELL_MAX, "%s",
				 rs_duration_text(ns_of(p, cell->number), duration));
		else
			snprintf(text, CELL_MAX, "%" PRIu64, cell->number);
		break;
	}
}

static bool is_left(const struct column *c)
{
	return c->fill == fill_vm || c->fill == fill_what;
}

/* The head, or a row; twice: for the widths of the columns, and to write them. */
static void text_line(const struct page *p, const struct rs_tally_row *row, int widths[COLUMNS],
		      struct rs_out *out)
{
	bool first = true;

	for (size_t i = 0; i < COLUMNS; i++) {
		const struct column *c = &columns[i];
		struct cell cell = { 0 };
		char text[CELL_MAX], padded[2 * CELL_MAX];
		int n;

		if (!c->head || !is_shown(p, c))
			continue;
		if (row) {
			c->fill(p, row, &cell);
			cell_text(p, &cell, text);
		} else {
			snprintf(text, sizeof(text), "%s", c->head);
		}
		n = (int)strlen(text);
		if (!out) {
			widths[i] = n > widths[i] ? n : widths[i];
			continue;
		}
		snprintf(padded, sizeof(padded), is_left(c) ? "%s%-*s" : "%s%*s", first ? "" : " ",
			 widths[i], text);
		rs_out_text(out, padded);
		first = false;
	}
	if (out) {
		while (out->used && out->buffer[out->used - 1] == ' ')
			out->used--;
		rs_out_char(out, '\n');
	}
}

static void text_span(const struct page *p, struct rs_out *out)
{
	char line[256];

	rs_out_line(out);
	if (p->has_ns && p->has_cycles)
		snprintf(line, sizeof(line), "%.9f s, %" PRIu64 " cycles of %.6f MHz\n", seconds(p),
			 cycles_of(p, p->tally->ticks), (double)p->show->tsc_hz / 1e6);
	else if (p->has_ns)
		snprintf(line, sizeof(line), "%.9f s\n", seconds(p));
	else
		snprintf(line, sizeof(line),
			 "%" PRIu64 " cycles; all times are cycles: the TSC's frequency is not in "
			 "the trace (--freq)\n",
			 p->tally->ticks);
	rs_out_text(out, line);
}

static bool is_of(const struct page *p, size_t i)
{
	return p->tally->rows[i].kind == p->show->kind;
}

static struct rs_error *print_text(const struct page *p, struct rs_out *out)
{
	int widths[COLUMNS] = { 0 };

	text_span(p, out);
	text_line(p, NULL, widths, NULL);
	for (size_t i = 0; i < p->tally->n_rows; i++) {
		if (is_of(p, i))
			text_line(p, &p->tally->rows[i], widths, NULL);
	}
	rs_out_line(out);
	text_line(p, NULL, widths, out);
	for (size_t i = 0; i < p->tally->n_rows; i++) {
		rs_out_line(out);
		if (is_of(p, i))
			text_line(p, &p->tally->rows[i], widths, out);
	}
	return NULL;
}

/* ---- CSV and JSON --------------------------------------------------------------------------- */

/* Of ticks two values, of which one may not be known. */
struct value {
	char key[32];
	struct cell cell;
};

static size_t values_of(const struct page *p, const struct rs_tally_row *row,
			struct value values[2 * COLUMNS])
{
	size_t n = 0;

	for (size_t i = 0; i < COLUMNS; i++) {
		const struct column *c = &columns[i];
		struct cell cell = { 0 };
		bool is_time = c->fill == fill_total || c->fill == fill_off ||
			       c->fill == fill_guest || c->fill == fill_min ||
			       c->fill == fill_mean || c->fill == fill_p50 || c->fill == fill_p95 ||
			       c->fill == fill_p99 || c->fill == fill_max;

		if (!is_shown(p, c) && c->kinds)
			continue;
		if (row && is_shown(p, c))
			c->fill(p, row, &cell);
		if (!is_time) {
			snprintf(values[n].key, sizeof(values[n].key), "%s", c->key);
			values[n++].cell = cell;
			continue;
		}
		snprintf(values[n].key, sizeof(values[n].key), "%s_cycles", c->key);
		values[n].cell = (struct cell){ 0 };
		if (cell.type == TICKS && p->has_cycles)
			number(&values[n].cell, cycles_of(p, cell.number));
		n++;
		snprintf(values[n].key, sizeof(values[n].key), "%s_ns", c->key);
		values[n].cell = (struct cell){ 0 };
		if (cell.type == TICKS && p->has_ns)
			number(&values[n].cell, ns_of(p, cell.number));
		n++;
	}
	return n;
}

static void csv_text(struct rs_out *out, const char *text)
{
	bool quoted = strpbrk(text, ",\"\r\n") != NULL;

	if (quoted)
		rs_out_char(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			rs_out_char(out, '"');
		rs_out_char(out, *text);
	}
	if (quoted)
		rs_out_char(out, '"');
}

static void csv_line(struct rs_out *out, const struct value *values, size_t n, bool head)
{
	char text[64];

	rs_out_line(out);
	for (size_t i = 0; i < n; i++) {
		const struct cell *cell = &values[i].cell;

		if (i)
			rs_out_char(out, ',');
		if (head) {
			rs_out_text(out, values[i].key);
		} else if (cell->type == NAME) {
			csv_text(out, cell->name);
		} else if (cell->type == NUMBER) {
			rs_out_dec(out, cell->number);
		} else if (cell->type == REAL) {
			snprintf(text, sizeof(text), "%.6f", cell->real);
			rs_out_text(out, text);
		}
	}
	rs_out_char(out, '\n');
}

static struct rs_error *print_csv(const struct page *p, struct rs_out *out)
{
	struct value values[2 * COLUMNS];
	size_t n = values_of(p, NULL, values);

	csv_line(out, values, n, true);
	for (size_t i = 0; i < p->tally->n_rows; i++) {
		if (!is_of(p, i))
			continue;
		n = values_of(p, &p->tally->rows[i], values);
		csv_line(out, values, n, false);
	}
	return NULL;
}

static json_t *cell_json(const struct cell *cell)
{
	switch (cell->type) {
	case NUMBER:
		return rs_json_unsigned(cell->number);
	case REAL:
		return json_real(cell->real);
	case NAME:
		return json_string(cell->name);
	default:
		return json_null();
	}
}

static json_t *row_json(const struct page *p, const struct rs_tally_row *row)
{
	struct value values[2 * COLUMNS];
	size_t n = values_of(p, row, values);
	json_t *object = json_object();

	for (size_t i = 0; i < n; i++)
		json_object_set_new(object, values[i].key, cell_json(&values[i].cell));
	return object;
}

static json_t *known_json(bool known, uint64_t value)
{
	return known ? rs_json_unsigned(value) : json_null();
}

static struct rs_error *print_json(const struct page *p, struct rs_out *out)
{
	const struct rs_tally *t = p->tally;
	json_t *report = json_object(), *rows = json_array();
	char *name = strdup(p->show->trace), *text;

	if (name)
		rs_utf8_mend_bytes(name, strlen(name));
	json_object_set_new(report, "report", json_string(rs_tally_kind_name(p->show->kind)));
	json_object_set_new(report, "trace", json_string(name ? name : ""));
	free(name);
	json_object_set_new(report, "freq_hz", known_json(p->show->tsc_hz, p->show->tsc_hz));
	json_object_set_new(report, "duration_cycles",
			    known_json(p->has_cycles, p->has_cycles ? cycles_of(p, t->ticks) : 0));
	json_object_set_new(report, "duration_ns",
			    known_json(p->has_ns, p->has_ns ? ns_of(p, t->ticks) : 0));
	json_object_set_new(report, "lost", rs_json_unsigned(t->lost));
	json_object_set_new(report, "contradictions", rs_json_unsigned(t->contradictions));
	json_object_set_new(report, "rows", rows);
	for (size_t i = 0; i < t->n_rows; i++) {
		if (is_of(p, i))
			json_array_append_new(rows, row_json(p, &t->rows[i]));
	}
	text = json_dumps(report, JSON_COMPACT);
	json_decref(report);
	if (!text)
		return rs_error_no_memory();
	rs_out_long(out, text, strlen(text));
	rs_out_line(out);
	rs_out_char(out, '\n');
	free(text);
	return NULL;
}

struct rs_error *rs_tally_print(const struct rs_tally_show *show, const struct rs_tally *tally)
{
	static struct rs_error *(*const forms[])(const struct page *, struct rs_out *) = {
		[RS_TALLY_TEXT] = print_text,
		[RS_TALLY_JSON] = print_json,
		[RS_TALLY_CSV] = print_csv,
	};
	const struct page page = { .show = show,
				   .tally = tally,
				   .has_ns = tally->ticks_are_ns || show->tsc_hz,
				   .has_cycles = !tally->ticks_are_ns || show->tsc_hz };
	struct rs_error *err, *flush_err;
	struct rs_out out;

	err = rs_out_init(&out, show->fd);
	if (err)
		return err;
	err = forms[show->form](&page, &out);
	flush_err = rs_out_flush(&out);
	rs_out_deinit(&out);
	if (!err)
		return flush_err;
	rs_error_free(flush_err);
	return err;
}
