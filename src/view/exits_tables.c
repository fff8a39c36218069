/* SPDX-License-Identifier: BSD-2-Clause */
/* How long exits took, what they were about, and where each vCPU's time went, as tables of text. */
#include "view/exits_parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/duration.h"

#define NAME_COLUMN_MIN	   15
#define NAME_COLUMN_MAX	   40 /* a longer name pushes what follows it to the right */
#define TIME_COLUMN	   8
#define DISTRIBUTION_STARS 40

/* ---- cells ---------------------------------------------------------------------------------- */

/* Columns on a terminal: bytes that begin a UTF-8 sequence. */
static int columns(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

static void blanks(struct rs_out *out, int n)
{
	for (; n > 0; n--)
		rs_out_char(out, ' ');
}

static void left(struct rs_out *out, const char *text, int width)
{
	rs_out_text(out, text);
	blanks(out, width - columns(text));
}

/* A blank before it. */
static void right(struct rs_out *out, const char *text, int width)
{
	rs_out_char(out, ' ');
	blanks(out, width - columns(text));
	rs_out_text(out, text);
}

static void right_dec(struct rs_out *out, uint64_t value, int width)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	right(out, text, width);
}

static void right_time(struct rs_out *out, uint64_t ns)
{
	char text[RS_DURATION_TEXT_MAX];

	right(out, rs_duration_text(ns, text), TIME_COLUMN);
}

static void right_share(struct rs_out *out, uint64_t part, uint64_t of)
{
	uint64_t tenths = exits_permille(part, of);
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%" PRIu64, tenths / 10, tenths % 10);
	right(out, of ? text : "-", 6);
}

static int widest(int width, const char *text)
{
	int n = columns(text);

	if (n > NAME_COLUMN_MAX)
		n = NAME_COLUMN_MAX;
	return n > width ? n : width;
}

/* What stands before a reason or a cause: its VM, over all threads; its thread, where each has rows
 * of its own; nothing where they are added together. */
enum whose { WHOSE_NONE, WHOSE_VM, WHOSE_TID };

static enum whose whose(const struct rs_exits_show *show)
{
	if (rs_exits_is_sum(&show->choice))
		return WHOSE_NONE;
	return show->choice.scope == RS_EXITS_ALL ? WHOSE_VM : WHOSE_TID;
}

static const char *vm_text(const char *vm)
{
	return vm ? vm : "-";
}

static void whose_head(struct rs_out *out, enum whose who, int width)
{
	if (who == WHOSE_VM)
		left(out, "VM", width + 1);
	else if (who == WHOSE_TID)
		left(out, "TID", 9);
}

static void whose_cell(struct rs_out *out, enum whose who, int width, const char *vm, int tid)
{
	char text[16];

	if (who == WHOSE_VM) {
		left(out, vm_text(vm), width);
		rs_out_char(out, ' ');
	} else if (who == WHOSE_TID) {
		snprintf(text, sizeof(text), "%d", tid);
		left(out, text, 9);
	}
}

/* ---- latency -------------------------------------------------------------------------------- */

static int by_whose_and_time(const void *a, const void *b)
{
	const struct rs_exits_row *x = a, *y = b;
	uint64_t xs = exits_handled(&x->sum), ys = exits_handled(&y->sum);
	int vm = strcmp(vm_text(x->vm), vm_text(y->vm));

	if (vm)
		return vm;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (xs != ys)
		return xs > ys ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->code > y->code) - (x->code < y->code);
}

struct rs_error *exits_rows(const struct exits_page *page, bool by_vm, struct rs_exits_row **rows,
			    size_t *n)
{
	const struct rs_exits *exits = page->exits;
	struct rs_error *err = NULL;

	if (by_vm || rs_exits_is_sum(&page->show->choice)) {
		err = rs_exits_merge(exits, by_vm, rows, n);
	} else {
		*rows = malloc((exits->n_rows + 1) * sizeof(**rows));
		*n = exits->n_rows;
		if (!*rows)
			return rs_error_no_memory();
		if (*n)
			memcpy(*rows, exits->rows, *n * sizeof(**rows));
	}
	if (err)
		return err;
	for (size_t i = 0; i < *n; i++) {
		if (by_vm) /* a VM's rows stay together whatever threads they have in common */
			(*rows)[i].tid = 0;
		else if (rs_exits_is_sum(&page->show->choice))
			(*rows)[i].vm = NULL, (*rows)[i].tid = 0;
	}
	qsort(*rows, *n, sizeof(**rows), by_whose_and_time);
	return NULL;
}

static void latency_head(struct rs_out *out, enum whose who, int vm_width, int width)
{
	static const char *const times[] = { "MIN", "MEAN",   "P50",  "P95",  "P99",
					     "MAX", "KERNEL", "USER", "POLL", "OFF" };

	rs_out_line(out);
	whose_head(out, who, vm_width);
	left(out, "REASON", width);
	right(out, "COUNT", 10);
	right(out, "%", 6);
	right(out, "TOTAL", TIME_COLUMN);
	right(out, "TIME%", 6);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		right(out, times[i], TIME_COLUMN);
	rs_out_char(out, '\n');
}

static void latency_times(struct rs_out *out, const struct rs_exits_row *row)
{
	static const uint32_t permille[] = { 500, 950, 990 };

	right_time(out, row->min_ns);
	right_time(out, row->sum.total_ns / row->entered);
	for (size_t i = 0; i < sizeof(permille) / sizeof(permille[0]); i++)
		right_time(out,
			   rs_hist_percentile(row->hist, permille[i], row->min_ns, row->max_ns));
	right_time(out, row->max_ns);
	right_time(out, row->sum.kernel_ns);
	right_time(out, row->sum.user_ns);
	right_time(out, row->sum.poll_ns);
	right_time(out, row->sum.off_ns);
}

struct rs_error *exits_latency(struct exits_page *page)
{
	enum whose who = whose(page->show);
	uint64_t count = 0, handled = 0;
	int width = NAME_COLUMN_MIN, vm_width = 8;
	char reason[EXITS_REASON_MAX];
	struct rs_exits_row *rows;
	struct rs_error *err;
	size_t n;

	err = exits_rows(page, who == WHOSE_VM, &rows, &n);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		exits_reason(&rows[i], reason);
		width = widest(width, reason);
		vm_width = widest(vm_width, vm_text(rows[i].vm));
		count += rows[i].count;
		handled += exits_handled(&rows[i].sum);
	}
	latency_head(&page->out, who, vm_width, width);
	for (size_t i = 0; i < n; i++) {
		const struct rs_exits_row *row = &rows[i];

		rs_out_line(&page->out);
		whose_cell(&page->out, who, vm_width, row->vm, row->tid);
		exits_reason(row, reason);
		left(&page->out, reason, width);
		right_dec(&page->out, row->count, 10);
		right_share(&page->out, row->count, count);
		if (row->entered) {
			right_time(&page->out, row->sum.total_ns);
			right_share(&page->out, exits_handled(&row->sum), handled);
			latency_times(&page->out, row);
		} else {
			right(&page->out, "-", TIME_COLUMN);
		}
		rs_out_char(&page->out, '\n');
	}
	free(rows);
	return NULL;
}

/* ---- distributions -------------------------------------------------------------------------- */

/* print_log2_hist() of bcc's libbpf-tools/trace_helpers.c: a line for each power of two up to the
 * largest that was seen, 0 and 1 together; narrower where the numbers are wide. */
#define WIDE_FROM 33

static void hist_print(struct rs_out *out, const struct rs_hist *hist)
{
	uint64_t slots[RS_HIST_LOG2_SLOTS], most = 0;
	int last = 0, stars = DISTRIBUTION_STARS, wide;
	char line[160];

	rs_hist_log2_slots(hist, slots);
	slots[1] += slots[0];
	for (int i = 1; i < RS_HIST_LOG2_SLOTS; i++) {
		last = slots[i] ? i : last;
		most = slots[i] > most ? slots[i] : most;
	}
	wide = last > WIDE_FROM;
	stars = wide ? stars / 2 : stars;
	snprintf(line, sizeof(line), "%*s%-*s : count    distribution\n", wide ? 15 : 5, "",
		 wide ? 29 : 19, "nsecs");
	rs_out_text(out, line);
	for (int i = 1; i <= last; i++) {
		uint64_t low = i == 1 ? 0 : UINT64_C(1) << (i - 1), high = (UINT64_C(1) << i) - 1;
		int filled = (int)((__uint128_t)slots[i] * (unsigned int)stars / most);

		rs_out_line(out);
		snprintf(line, sizeof(line), "%*" PRIu64 " -> %-*" PRIu64 " : %-8" PRIu64 " |",
			 wide ? 20 : 10, low, wide ? 20 : 10, high, slots[i]);
		rs_out_text(out, line);
		for (int star = 0; star < stars; star++)
			rs_out_char(out, star < filled ? '*' : ' ');
		rs_out_text(out, "|\n");
	}
}

struct rs_error *exits_hists(struct exits_page *page)
{
	enum whose who = whose(page->show);
	char reason[EXITS_REASON_MAX], tid[24];
	struct rs_exits_row *rows;
	struct rs_error *err;
	size_t n;

	err = exits_rows(page, who == WHOSE_VM, &rows, &n);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		if (!rows[i].entered)
			continue;
		exits_reason(&rows[i], reason);
		rs_out_line(&page->out);
		rs_out_char(&page->out, '\n');
		rs_out_text(&page->out, reason);
		if (who == WHOSE_VM) {
			rs_out_text(&page->out, ", VM ");
			rs_out_text(&page->out, vm_text(rows[i].vm));
		} else if (who == WHOSE_TID) {
			snprintf(tid, sizeof(tid), ", TID %d", rows[i].tid);
			rs_out_text(&page->out, tid);
		}
		rs_out_char(&page->out, '\n');
		hist_print(&page->out, rows[i].hist);
	}
	free(rows);
	return NULL;
}

/* ---- causes --------------------------------------------------------------------------------- */

static void causes_head(struct rs_out *out, enum whose who, int vm_width, int kind_width, int width)
{
	rs_out_line(out);
	rs_out_char(out, '\n');
	whose_head(out, who, vm_width);
	left(out, "KIND", kind_width);
	left(out, "WHAT", width);
	right(out, "COUNT", 10);
	right(out, "TOTAL", TIME_COLUMN);
	right(out, "TIME%", 6);
	right(out, "MEAN", TIME_COLUMN);
	right(out, "MAX", TIME_COLUMN);
	rs_out_char(out, '\n');
}

static struct rs_error *cause_rows(const struct exits_page *page, enum whose who,
				   struct rs_exits_cause **rows, size_t *n)
{
	const struct rs_exits *exits = page->exits;

	if (who != WHOSE_TID)
		return rs_exits_merge_causes(exits, who == WHOSE_VM, rows, n);
	*rows = malloc((exits->n_causes + 1) * sizeof(**rows));
	*n = exits->n_causes;
	if (!*rows)
		return rs_error_no_memory();
	if (*n)
		memcpy(*rows, exits->cause_rows, *n * sizeof(**rows));
	return NULL;
}

static void cause_line(struct exits_page *page, const struct rs_exits_cause *c, uint64_t total)
{
	right_dec(&page->out, c->count, 10);
	if (c->entered) {
		right_time(&page->out, c->total_ns);
		right_share(&page->out, c->total_ns, total);
		right_time(&page->out, c->total_ns / c->entered);
		right_time(&page->out, c->max_ns);
	} else {
		right(&page->out, "-", TIME_COLUMN);
	}
	rs_out_char(&page->out, '\n');
}

struct rs_error *exits_causes(struct exits_page *page)
{
	enum whose who = whose(page->show);
	int width = NAME_COLUMN_MIN, vm_width = 8, kind_width = 10;
	struct rs_exits_cause *rows;
	char text[RS_CAUSE_TEXT_MAX];
	struct rs_error *err;
	uint64_t total = 0;
	size_t n, shown;

	err = cause_rows(page, who, &rows, &n);
	if (err)
		return err;
	shown = page->show->top && page->show->top < n ? page->show->top : n;
	for (size_t i = 0; i < n; i++)
		total += rows[i].total_ns;
	for (size_t i = 0; i < shown; i++) {
		kind_width = widest(kind_width, rs_cause_kind_name(rows[i].kind));
		width = widest(width, rs_cause_text(rows[i].kind, rows[i].key, text));
		vm_width = widest(vm_width, vm_text(rows[i].vm));
	}
	kind_width++;
	causes_head(&page->out, who, vm_width, kind_width, width);
	for (size_t i = 0; i < shown; i++) {
		rs_out_line(&page->out);
		whose_cell(&page->out, who, vm_width, rows[i].vm, rows[i].tid);
		left(&page->out, rs_cause_kind_name(rows[i].kind), kind_width);
		left(&page->out, rs_cause_text(rows[i].kind, rows[i].key, text), width);
		cause_line(page, &rows[i], total);
	}
	if (shown < n) {
		rs_out_line(&page->out);
		rs_out_dec(&page->out, n - shown);
		rs_out_text(&page->out, " more (--top 0 shows all)\n");
	}
	free(rows);
	return NULL;
}

/* ---- where the time went -------------------------------------------------------------------- */

void exits_shares(struct exits_page *page)
{
	static const char *const heads[RS_VCPU_STATES] = {
		[RS_VCPU_UNKNOWN] = "UNKNOWN%", [RS_VCPU_GUEST] = "GUEST%",
		[RS_VCPU_KERNEL] = "KERNEL%",	[RS_VCPU_USER] = "USER%",
		[RS_VCPU_POLL] = "POLL%",	[RS_VCPU_HALTED] = "HALTED%",
		[RS_VCPU_BLOCKED] = "BLOCKED%", [RS_VCPU_WAIT] = "WAIT%",
	};
	const struct rs_exits *exits = page->exits;
	struct rs_out *out = &page->out;
	char text[32];
	int width = 8;

	for (size_t i = 0; i < exits->n_vcpus; i++)
		width = widest(width, vm_text(exits->vcpus[i].vm));
	rs_out_line(out);
	rs_out_char(out, '\n');
	left(out, "VM", width);
	right(out, "VCPU", 4);
	right(out, "TID", 8);
	right(out, "EXITS", 10);
	right(out, "WALL", TIME_COLUMN);
	for (uint32_t s = 1; s <= RS_VCPU_STATES; s++) /* the unknown last */
		right(out, heads[s % RS_VCPU_STATES], 8);
	rs_out_char(out, '\n');
	for (size_t i = 0; i < exits->n_vcpus; i++) {
		const struct rs_exits_vcpu *v = &exits->vcpus[i];

		rs_out_line(out);
		left(out, vm_text(v->vm), width);
		snprintf(text, sizeof(text), "%d", v->vcpu);
		right(out, v->vcpu < 0 ? "-" : text, 4);
		right_dec(out, (uint64_t)v->tid, 8);
		right_dec(out, v->exits, 10);
		right_time(out, v->wall_ns);
		for (uint32_t s = 1; s <= RS_VCPU_STATES; s++) {
			rs_out_text(out, "  ");
			right_share(out, v->ns[s % RS_VCPU_STATES], v->wall_ns);
		}
		if (v->ended)
			rs_out_text(out, " ended");
		rs_out_char(out, '\n');
	}
}
