/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the tally: the columns of its tables, and the facts of the whole trace. */
#include "view/tally.h"

#include <inttypes.h>
#include <stdio.h>

#include "event/exit_reason.h"

_Static_assert(offsetof(struct rs_tally_row, kind) == 0, "required by rs_table_kind()");

const char *rs_tally_kind_name(enum rs_tally_kind kind)
{
	static const char *const names[] = { [RS_TALLY_EXITS] = "exits",
					     [RS_TALLY_INTERRUPTS] = "interrupts",
					     [RS_TALLY_CPU] = "cpu" };

	return names[kind];
}

/* The data of one call. */
struct page {
	const struct rs_tally_show *show;
	const struct rs_tally *tally;
	struct rs_table_clock clock;
	bool has_ns, has_cycles;
	uint64_t ns, cycles; /* of the whole */
};

/* ---- columns -------------------------------------------------------------------------------- */

RS_COLUMN_GETTER(get_what)
{
	static const char *const interrupts[] = { "external", "injected", "handled" };
	static const char *const uses[] = { "vcpu", "idle", "others", "unknown" };
	const struct rs_tally_row *row = at;

	if (row->kind == RS_TALLY_INTERRUPTS)
		rs_cell_text(cell, interrupts[row->sub]);
	else if (row->kind == RS_TALLY_CPU)
		rs_cell_text(cell, uses[row->sub]);
	else if (row->sub == RS_TALLY_LOST)
		rs_cell_text(cell, "(unknown)");
	else
		rs_cell_text(cell, rs_exit_text(row->sub, (uint32_t)row->key, cell->room));
}

RS_COLUMN_GETTER(get_isa)
{
	const struct rs_tally_row *row = at;

	if (row->sub != RS_TALLY_LOST)
		rs_cell_text(cell, rs_isa_name(row->sub));
}

RS_COLUMN_GETTER(get_key)
{
	const struct rs_tally_row *row = at;

	if (row->kind != RS_TALLY_EXITS || row->sub != RS_TALLY_LOST)
		rs_cell_number(cell, row->key);
}

RS_COLUMN_GETTER(get_rate)
{
	const struct rs_tally_row *row = at;
	const struct page *page = report;

	if (page->has_ns && page->ns)
		rs_cell_real(cell, (double)row->count * 1e9 / (double)page->ns);
}

RS_COLUMN_GETTER(get_guest)
{
	const struct rs_tally_row *row = at;

	if (row->sub == RS_TALLY_VCPU && row->guest_known)
		rs_cell_number(cell, row->guest);
}

/* The time is unknown if no part of it was measured. */
RS_COLUMN_GETTER(get_time)
{
	const struct rs_tally_row *row = at;

	if (row->timed || row->total)
		rs_column_u64(column, report, at, cell);
}

/* The base is the time of the row's CPUs, or else of its vCPUs. */
RS_COLUMN_GETTER(get_share)
{
	const struct rs_tally_row *row = at;

	if (row->timed || row->total)
		rs_cell_share(cell, row->total - row->off, row->base);
}

/* A duration needs a begin and an end; the total includes parts without one of them. */
RS_COLUMN_GETTER(get_spread)
{
	const struct rs_tally_row *row = at;
	const struct rs_spread spread = { row->timed, row->total, row->min, row->max, row->hist };

	rs_cell_spread(cell, &spread, column->arg);
}

/* Sets of columns: the kind of table, and the keys of its rows. */
#define OF(kind) (1u << RS_TALLY_##kind)
#define BY(key)	 ((uint32_t)RS_TALLY_BY_##key << RS_TALLY_KINDS)

#define AT(member) RS_COLUMN_AT(struct rs_tally_row, member)

static const struct rs_column columns[] = {
	{ "cpu", "CPU", RS_COLUMN_NUMBER, rs_column_int, AT(cpu), .text_sets = BY(CPU) },
	{ "vm", "VM", RS_COLUMN_TEXT, rs_column_text, AT(vm), .text_sets = BY(VM) },
	{ "vcpu", "VCPU", RS_COLUMN_NUMBER, rs_column_int, AT(vcpu), .text_sets = BY(VCPU) },
	{ "reason", "REASON", RS_COLUMN_TEXT, get_what, .sets = OF(EXITS) },
	{ "isa", NULL, RS_COLUMN_TEXT, get_isa, .sets = OF(EXITS) },
	{ "code", NULL, RS_COLUMN_NUMBER, get_key, .sets = OF(EXITS) },
	{ "kind", "KIND", RS_COLUMN_TEXT, get_what, .sets = OF(INTERRUPTS) },
	{ "vector", "VECTOR", RS_COLUMN_NUMBER, get_key, .sets = OF(INTERRUPTS) },
	{ "use", "USE", RS_COLUMN_TEXT, get_what, .sets = OF(CPU) },
	{ "count", "COUNT", RS_COLUMN_NUMBER, rs_column_u64, AT(count) },
	{ "rate_hz", "RATE/S", RS_COLUMN_REAL, get_rate },
	{ "timed", NULL, RS_COLUMN_NUMBER, rs_column_u64, AT(timed) },
	{ "total", "TOTAL", RS_COLUMN_TIME, get_time, AT(total) },
	{ "share", "SHARE%", RS_COLUMN_SHARE, get_share, .sets = OF(EXITS) | OF(CPU) },
	{ "off", "OFF", RS_COLUMN_TIME, get_time, AT(off), .sets = OF(EXITS) },
	{ "guest", "GUEST", RS_COLUMN_TIME, get_guest, .sets = OF(CPU) },
	RS_COLUMN_SPREAD(get_spread, 0, OF(EXITS) | OF(INTERRUPTS)),
	{ 0 },
};

/* ---- totals --------------------------------------------------------------------------------- */

static void put_span(const struct page *p, struct rs_out *out)
{
	char line[256];

	rs_out_line(out);
	if (p->has_ns && p->has_cycles)
		snprintf(line, sizeof(line), "%.9f s, %" PRIu64 " cycles of %.6f MHz\n",
			 (double)p->ns / 1e9, p->cycles, (double)p->clock.tsc_hz / 1e6);
	else if (p->has_ns)
		snprintf(line, sizeof(line), "%.9f s\n", (double)p->ns / 1e9);
	else
		snprintf(line, sizeof(line),
			 "%" PRIu64 " cycles; all times are cycles: the TSC's frequency is not in "
			 "the trace (--freq)\n",
			 p->cycles);
	rs_out_text(out, line);
}

static void put_known(struct rs_json *json, const char *key, bool known, uint64_t value)
{
	rs_json_key(json, key);
	if (known)
		rs_json_unsigned(json, value);
	else
		rs_json_null(json);
}

static void put_json_head(const struct page *p, struct rs_json *json)
{
	const struct rs_tally *t = p->tally;

	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "report"), rs_tally_kind_name(p->show->kind));
	rs_json_text(rs_json_key(json, "trace"), p->show->trace);
	put_known(json, "freq_hz", p->clock.tsc_hz, p->clock.tsc_hz);
	put_known(json, "duration_cycles", p->has_cycles, p->cycles);
	put_known(json, "duration_ns", p->has_ns, p->ns);
	rs_json_unsigned(rs_json_key(json, "lost"), t->lost);
	rs_json_unsigned(rs_json_key(json, "contradictions"), t->contradictions);
	rs_json_open(rs_json_key(json, "rows"), '[');
}

static uint32_t table_sets(const struct rs_tally_show *show)
{
	uint32_t by = show->by;

	if (show->kind == RS_TALLY_CPU)
		by |= RS_TALLY_BY_CPU | RS_TALLY_BY_VM;
	return 1u << show->kind | by << RS_TALLY_KINDS;
}

struct rs_error *rs_tally_print(const struct rs_tally_show *show, const struct rs_tally *tally)
{
	struct page page = { .show = show,
			     .tally = tally,
			     .clock = { show->tsc_hz, tally->ticks_are_ns } };
	struct rs_out out;
	struct rs_json json = { .out = &out };
	struct rs_table table = { .json = &json,
				  .form = show->form,
				  .columns = columns,
				  .report = &page,
				  .clock = &page.clock,
				  .sets = table_sets(show) };
	const struct rs_tally_row *rows;
	struct rs_error *err;
	size_t n;

	page.has_ns = rs_table_ns(&page.clock, tally->ticks, &page.ns);
	page.has_cycles = rs_table_cycles(&page.clock, tally->ticks, &page.cycles);
	err = rs_out_init(&out, show->fd);
	if (err)
		return err;
	if (show->form == RS_TABLE_TEXT)
		put_span(&page, &out);
	else if (show->form == RS_TABLE_JSON)
		put_json_head(&page, &json);
	rows = rs_table_kind(tally->rows, tally->n_rows, sizeof(*rows), show->kind, &n);
	rs_table_rows(&table, rows, n, sizeof(*rows));
	if (show->form == RS_TABLE_JSON) {
		rs_json_close(&json, ']');
		rs_json_close(&json, '}');
		rs_json_line_end(&json);
	}
	return rs_out_end(&out, NULL);
}
