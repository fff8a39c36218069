/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of exits: counts, times, causes, states of vCPUs, and long exits. */
#include "view/exits_parts.h"

#include <stdlib.h>

/* Sets of columns. In text, a reason or cause has a column for its VM if the rows are of all
 * threads, for its thread if each thread has rows, and neither if threads are combined. */
enum {
	OF_VM = 1u << 0,
	OF_TID = 1u << 1,
	LATENCY = 1u << 2,
	HIST = 1u << 3,
	CSV = 1u << 4,
	ALWAYS = 1u << 5,
};

static uint32_t row_sets(const struct rs_exits_show *show)
{
	if (rs_exits_is_sum(&show->choice))
		return ALWAYS;
	return ALWAYS | (show->choice.scope == RS_EXITS_ALL ? OF_VM : OF_TID);
}

/* ---- columns -------------------------------------------------------------------------------- */

#define WHOSE(type)                                                                                \
	{ "vm", "VM", RS_COLUMN_TEXT, rs_column_text, RS_COLUMN_AT(type, vm), 0, OF_VM, 8 },       \
		{ "pid", NULL, RS_COLUMN_NUMBER, rs_column_id, RS_COLUMN_AT(type, pid) },          \
		{ "tid",  "TID", RS_COLUMN_NUMBER, rs_column_id, RS_COLUMN_AT(type, tid), 0,       \
		  OF_TID, 8 },                                                                     \
	{                                                                                          \
		"vcpu", NULL, RS_COLUMN_NUMBER, rs_column_int, RS_COLUMN_AT(type, vcpu)            \
	}

/* ---- kvmexit's counts ----------------------------------------------------------------------- */

/* For all threads, kvmexit prints Intel's names as in the kernel's header. */
RS_COLUMN_GETTER(get_kvmexit_reason)
{
	const struct rs_exits_row *row = at;
	char reason[EXITS_REASON_MAX];
	bool prefix = column->arg && row->isa == RS_ISA_VMX && rs_exit_name(row->isa, row->code);

	exits_reason(row, reason);
	rs_cell_format(cell, "%s%s", prefix ? "EXIT_REASON_" : "", reason);
}

#define ROW(member)   RS_COLUMN_AT(struct rs_exits_row, member)
#define SCOPE(scope)  (1u << RS_EXITS_##scope)
#define BUT_ALL	      (~SCOPE(ALL))
#define KVMEXIT_WIDTH 35

static const struct rs_column count_columns[] = {
	{ NULL, "PID", RS_COLUMN_NUMBER, rs_column_id, ROW(pid), 0, SCOPE(ALL), 8 },
	{ NULL, "TID", RS_COLUMN_NUMBER, rs_column_id, ROW(tid), 0, SCOPE(ALL) | SCOPE(PID_TIDS),
	  8 },
	{ NULL, "TIDS", RS_COLUMN_NUMBER, rs_column_id, ROW(tid), 0, SCOPE(TIDS), 8 },
	{ NULL, "KVM_EXIT_REASON", RS_COLUMN_TEXT, get_kvmexit_reason, 1, 0, SCOPE(ALL),
	  KVMEXIT_WIDTH },
	{ NULL, "KVM_EXIT_REASON", RS_COLUMN_TEXT, get_kvmexit_reason, 0, 0, BUT_ALL,
	  KVMEXIT_WIDTH },
	{ NULL, "COUNT", RS_COLUMN_NUMBER, rs_column_u64, ROW(count), 0, 0, 8 },
	{ 0 },
};

static struct rs_table count_table(struct exits_page *page)
{
	return (struct rs_table){ .json = &page->json,
				  .columns = count_columns,
				  .sets = 1u << page->show->choice.scope,
				  .has_head = page->show->has_head,
				  .fixed = true };
}

static int by_count(const void *a, const void *b)
{
	const struct rs_exits_row *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->isa != y->isa)
		return x->isa < y->isa ? -1 : 1;
	if (x->nested != y->nested)
		return x->nested < y->nested ? -1 : 1;
	return (x->code > y->code) - (x->code < y->code);
}

struct rs_error *exits_counts(struct exits_page *page)
{
	struct rs_table table = count_table(page);
	struct rs_exits_row *rows;
	struct rs_error *err;
	size_t n;

	err = exits_rows(page, false, &rows, &n);
	if (err)
		return err;
	if (rs_exits_is_sum(&page->show->choice))
		qsort(rows, n, sizeof(*rows), by_count);
	rs_table_head(&table);
	for (size_t i = 0; i < n; i++) {
		if (rows[i].count)
			rs_table_row(&table, &rows[i]);
	}
	free(rows);
	return NULL;
}

/* ---- times ---------------------------------------------------------------------------------- */

RS_COLUMN_GETTER(get_from)
{
	const struct exits_page *page = report;

	rs_cell_number(cell, (uint64_t)(column->arg ? page->exits->to_ns : page->exits->from_ns));
}

RS_COLUMN_GETTER(get_isa)
{
	rs_cell_text(cell, rs_isa_name(*(const uint32_t *)(const void *)((const char *)at +
									 column->arg)));
}

RS_COLUMN_GETTER(get_name)
{
	const struct rs_exits_row *row = at;

	rs_cell_text(cell, rs_exit_text(row->isa, row->code, cell->room));
}

RS_COLUMN_GETTER(get_reason)
{
	exits_reason(at, cell->room);
	rs_cell_text(cell, cell->room);
}

RS_COLUMN_GETTER(get_count_share)
{
	const struct exits_page *page = report;
	const struct rs_exits_row *row = at;

	rs_cell_share(cell, row->count, page->all_count);
}

RS_COLUMN_GETTER(get_time_share)
{
	const struct exits_page *page = report;
	const struct rs_exits_row *row = at;

	if (row->entered)
		rs_cell_share(cell, exits_handled(&row->sum), page->all_ns);
}

/* The duration of an exit is unknown until an entry ends it. */
RS_COLUMN_GETTER(get_cost)
{
	if (((const struct rs_exits_row *)at)->entered)
		rs_column_u64(column, report, at, cell);
}

RS_COLUMN_GETTER(get_spread)
{
	const struct rs_exits_row *row = at;
	const struct rs_spread spread = { row->entered, row->sum.total_ns, row->min_ns, row->max_ns,
					  row->hist };

	rs_cell_spread(cell, &spread, column->arg);
}

RS_COLUMN_GETTER(get_hist)
{
	cell->known = true;
	cell->hist = ((const struct rs_exits_row *)at)->hist;
}

static const struct rs_column row_columns[] = {
	{ "from_ns", NULL, RS_COLUMN_SIGNED, get_from, 0, CSV },
	{ "to_ns", NULL, RS_COLUMN_SIGNED, get_from, 1, CSV },
	WHOSE(struct rs_exits_row),
	{ "isa", NULL, RS_COLUMN_TEXT, get_isa, ROW(isa) },
	{ "code", NULL, RS_COLUMN_NUMBER, rs_column_u32, ROW(code) },
	{ "nested", NULL, RS_COLUMN_BOOL, rs_column_u32, ROW(nested) },
	{ "reason", NULL, RS_COLUMN_TEXT, get_name },
	{ NULL, "REASON", RS_COLUMN_TEXT, get_reason, 0, 0, 0, 15 },
	{ "count", "COUNT", RS_COLUMN_NUMBER, rs_column_u64, ROW(count), 0, 0, 8 },
	{ NULL, "COUNT%", RS_COLUMN_SHARE, get_count_share },
	{ "entered", NULL, RS_COLUMN_NUMBER, rs_column_u64, ROW(entered), LATENCY },
	{ "total", "TOTAL", RS_COLUMN_TIME, get_cost, ROW(sum.total_ns), LATENCY },
	{ NULL, "SHARE%", RS_COLUMN_SHARE, get_time_share },
	RS_COLUMN_SPREAD(get_spread, LATENCY, LATENCY),
	{ "kernel", "KERNEL", RS_COLUMN_TIME, get_cost, ROW(sum.kernel_ns), LATENCY },
	{ "user", "USER", RS_COLUMN_TIME, get_cost, ROW(sum.user_ns), LATENCY },
	{ "poll", "POLL", RS_COLUMN_TIME, get_cost, ROW(sum.poll_ns), LATENCY },
	{ "off", "OFF", RS_COLUMN_TIME, get_cost, ROW(sum.off_ns), LATENCY },
	{ "hist", NULL, RS_COLUMN_HIST, get_hist, 0, HIST },
	{ 0 },
};

static struct rs_table table_of(struct exits_page *page, const struct rs_column *columns)
{
	return (struct rs_table){ .json = &page->json,
				  .form = page->show->form,
				  .columns = columns,
				  .report = page,
				  .sets = row_sets(page->show),
				  .has_head = page->show->has_head };
}

static bool asks_for_times(const struct rs_exits_show *show)
{
	return show->latency || show->hist || show->causes || show->shares;
}

static struct rs_table row_table(struct exits_page *page)
{
	struct rs_table table = table_of(page, row_columns);
	const struct rs_exits_show *show = page->show;
	/* the header of CSV may be printed before there is a result */
	bool latency = show->form == RS_TABLE_JSON ? page->exits->latency : asks_for_times(show);

	table.sets |= show->form == RS_TABLE_CSV ? CSV : 0;
	table.sets |= latency ? LATENCY : 0;
	table.sets |= latency && show->hist ? HIST : 0;
	return table;
}

void exits_head(struct exits_page *page)
{
	struct rs_table table =
		page->show->form == RS_TABLE_TEXT ? count_table(page) : row_table(page);

	rs_table_head(&table);
}

/* Text is sorted by time within each VM or thread; JSON and CSV by thread. */
struct rs_error *exits_times(struct exits_page *page)
{
	bool is_text = page->show->form == RS_TABLE_TEXT;
	struct rs_table table = row_table(page);
	struct rs_exits_row *rows;
	struct rs_error *err;
	size_t n;

	err = exits_rows(page, is_text, &rows, &n);
	if (err)
		return err;
	page->all_count = page->all_ns = 0;
	for (size_t i = 0; i < n; i++) {
		page->all_count += rows[i].count;
		page->all_ns += exits_handled(&rows[i].sum);
	}
	rs_table_rows(&table, rows, n, sizeof(*rows));
	free(rows);
	return NULL;
}

/* ---- causes --------------------------------------------------------------------------------- */

RS_COLUMN_GETTER(get_kind)
{
	rs_cell_text(cell, rs_cause_kind_name(((const struct rs_exits_cause *)at)->kind));
}

RS_COLUMN_GETTER(get_what)
{
	const struct rs_exits_cause *cause = at;

	rs_cell_text(cell, rs_cause_text(cause->kind, cause->key, cell->room));
}

RS_COLUMN_GETTER(get_cause_share)
{
	const struct exits_page *page = report;
	const struct rs_exits_cause *cause = at;

	if (cause->entered)
		rs_cell_share(cell, cause->total_ns, page->all_ns);
}

RS_COLUMN_GETTER(get_cause_time)
{
	const struct rs_exits_cause *cause = at;
	const struct rs_spread spread = { .n = cause->entered,
					  .total = cause->total_ns,
					  .max = cause->max_ns };

	if (column->arg == RS_SPREAD_MAX && cause->max_ns == RS_EXITS_MAX_UNKNOWN)
		return;
	if (column->arg)
		rs_cell_spread(cell, &spread, column->arg);
	else if (cause->entered)
		rs_cell_number(cell, cause->total_ns);
}

#define CAUSE(member) RS_COLUMN_AT(struct rs_exits_cause, member)

static const struct rs_column cause_columns[] = {
	WHOSE(struct rs_exits_cause),
	{ "kind", "KIND", RS_COLUMN_TEXT, get_kind, 0, 0, 0, 10 },
	{ "key", NULL, RS_COLUMN_NUMBER, rs_column_u64, CAUSE(key) },
	{ "what", "WHAT", RS_COLUMN_TEXT, get_what, 0, 0, 0, 15 },
	{ "count", "COUNT", RS_COLUMN_NUMBER, rs_column_u64, CAUSE(count), 0, 0, 8 },
	{ "entered", NULL, RS_COLUMN_NUMBER, rs_column_u64, CAUSE(entered) },
	{ "total", "TOTAL", RS_COLUMN_TIME, get_cause_time },
	{ NULL, "SHARE%", RS_COLUMN_SHARE, get_cause_share },
	{ "mean", "MEAN", RS_COLUMN_TIME, get_cause_time, RS_SPREAD_MEAN },
	{ "max", "MAX", RS_COLUMN_TIME, get_cause_time, RS_SPREAD_MAX },
	{ 0 },
};

struct rs_error *exits_causes(struct exits_page *page)
{
	bool is_text = page->show->form == RS_TABLE_TEXT;
	struct rs_table table = table_of(page, cause_columns);
	const struct rs_exits_cause *rows = page->exits->cause_rows;
	struct rs_exits_cause *merged = NULL;
	size_t n = page->exits->n_causes, shown;
	bool by_vm = is_text && table.sets & OF_VM;

	if (by_vm || rs_exits_is_sum(&page->show->choice)) {
		struct rs_error *err = rs_exits_merge_causes(page->exits, by_vm, &merged, &n);

		if (err)
			return err;
		rows = merged;
	}
	page->all_ns = 0;
	for (size_t i = 0; i < n; i++)
		page->all_ns += rows[i].total_ns;
	shown = is_text && page->show->top && page->show->top < n ? page->show->top : n;
	table.has_head = false;
	rs_table_rows(&table, rows, shown, sizeof(*rows));
	if (shown < n) {
		rs_out_line(&page->out);
		rs_out_dec(&page->out, n - shown);
		rs_out_text(&page->out, " more (--top 0 shows all)\n");
	}
	free(merged);
	return NULL;
}

/* ---- states of vCPUs -------------------------------------------------------------------- */

RS_COLUMN_GETTER(get_state)
{
	rs_cell_number(cell, ((const struct rs_exits_vcpu *)at)->ns[column->arg]);
}

RS_COLUMN_GETTER(get_state_share)
{
	const struct rs_exits_vcpu *vcpu = at;

	rs_cell_share(cell, vcpu->ns[column->arg], vcpu->wall_ns);
}

RS_COLUMN_GETTER(get_sched)
{
	if (((const struct rs_exits_vcpu *)at)->sched_known)
		rs_column_u64(column, report, at, cell);
}

RS_COLUMN_GETTER(get_ended)
{
	bool ended = ((const struct rs_exits_vcpu *)at)->ended;

	if (column->type == RS_COLUMN_BOOL)
		rs_cell_number(cell, ended);
	else
		rs_cell_text(cell, ended ? "ended" : "");
}

RS_COLUMN_GETTER(get_complete)
{
	rs_cell_number(cell, ((const struct rs_exits_vcpu *)at)->complete);
}

#define VCPU(member) RS_COLUMN_AT(struct rs_exits_vcpu, member)
#define STATE(state, key, head)                                                                    \
	{ key, NULL, RS_COLUMN_TIME, get_state, RS_VCPU_##state },                                 \
	{                                                                                          \
		NULL, head "%", RS_COLUMN_SHARE, get_state_share, RS_VCPU_##state                  \
	}

static const struct rs_column vcpu_columns[] = {
	{ "vm", "VM", RS_COLUMN_TEXT, rs_column_text, VCPU(vm), 0, 0, 8 },
	{ "vcpu", "VCPU", RS_COLUMN_NUMBER, rs_column_int, VCPU(vcpu) },
	{ "pid", NULL, RS_COLUMN_NUMBER, rs_column_id, VCPU(pid) },
	{ "tid", "TID", RS_COLUMN_NUMBER, rs_column_id, VCPU(tid), 0, 0, 8 },
	{ "ended", NULL, RS_COLUMN_BOOL, get_ended },
	{ "exits", "EXITS", RS_COLUMN_NUMBER, rs_column_u64, VCPU(exits), 0, 0, 8 },
	{ "wall", "WALL", RS_COLUMN_TIME, rs_column_u64, VCPU(wall_ns) },
	STATE(GUEST, "guest", "GUEST"),
	STATE(KERNEL, "kernel", "KERNEL"),
	STATE(USER, "user", "USER"),
	STATE(POLL, "poll", "POLL"),
	STATE(HALTED, "halted", "HALTED"),
	STATE(BLOCKED, "blocked", "BLOCKED"),
	STATE(WAIT, "wait", "WAIT"),
	STATE(UNKNOWN, "unknown", "UNKNOWN"),
	{ NULL, "", RS_COLUMN_TEXT, get_ended },
	{ "sched_run", NULL, RS_COLUMN_TIME, get_sched, VCPU(run_ns) },
	{ "sched_wait", NULL, RS_COLUMN_TIME, get_sched, VCPU(wait_ns) },
	{ "complete", NULL, RS_COLUMN_BOOL, get_complete },
	{ 0 },
};

void exits_vcpus(struct exits_page *page)
{
	struct rs_table table = table_of(page, vcpu_columns);

	table.has_head = false;
	rs_table_rows(&table, page->exits->vcpus, page->exits->n_vcpus,
		      sizeof(*page->exits->vcpus));
}

/* ---- long exits ----------------------------------------------------------------------------- */

RS_COLUMN_GETTER(get_long_reason)
{
	const struct rs_exits_long *exit = at;

	rs_cell_text(cell, rs_exit_text(exit->isa, exit->code, cell->room));
}

RS_COLUMN_GETTER(get_long_cause)
{
	const struct rs_exits_long *exit = at;

	if (exit->kind == RS_CAUSE_NONE)
		return;
	if (column->type == RS_COLUMN_NUMBER)
		rs_cell_number(cell, exit->key);
	else if (column->arg)
		rs_cell_text(cell, rs_cause_text(exit->kind, exit->key, cell->room));
	else
		rs_cell_text(cell, rs_cause_kind_name(exit->kind));
}

RS_COLUMN_GETTER(get_long_report)
{
	rs_cell_text(cell, "long-exit");
}

#define LONG(member) RS_COLUMN_AT(struct rs_exits_long, member)

const struct rs_column exits_long_columns[] = {
	{ "report", NULL, RS_COLUMN_TEXT, get_long_report },
	{ "ts", NULL, RS_COLUMN_SIGNED, rs_column_u64, LONG(ts_ns) },
	WHOSE(struct rs_exits_long),
	{ "isa", NULL, RS_COLUMN_TEXT, get_isa, LONG(isa) },
	{ "code", NULL, RS_COLUMN_NUMBER, rs_column_u32, LONG(code) },
	{ "nested", NULL, RS_COLUMN_BOOL, rs_column_u32, LONG(nested) },
	{ "reason", NULL, RS_COLUMN_TEXT, get_long_reason },
	{ "total", NULL, RS_COLUMN_TIME, rs_column_u64, LONG(cost.total_ns) },
	{ "kernel", NULL, RS_COLUMN_TIME, rs_column_u64, LONG(cost.kernel_ns) },
	{ "user", NULL, RS_COLUMN_TIME, rs_column_u64, LONG(cost.user_ns) },
	{ "poll", NULL, RS_COLUMN_TIME, rs_column_u64, LONG(cost.poll_ns) },
	{ "off", NULL, RS_COLUMN_TIME, rs_column_u64, LONG(cost.off_ns) },
	{ "rip", NULL, RS_COLUMN_HEX, rs_column_u64, LONG(rip) },
	{ "kind", NULL, RS_COLUMN_TEXT, get_long_cause },
	{ "key", NULL, RS_COLUMN_NUMBER, get_long_cause },
	{ "what", NULL, RS_COLUMN_TEXT, get_long_cause, 1 },
	{ 0 },
};
