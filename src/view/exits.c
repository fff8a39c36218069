/* SPDX-License-Identifier: BSD-2-Clause */
/* Exits as text: kvmexit's banner and counts, the latency table, and what is asked for besides. */
#include "view/exits_parts.h"

#include <stdlib.h>

#define NS_PER_SEC 1000000000

/* ---- the banner ----------------------------------------------------------------------------- */

/* As kvmexit says whose exits they are; a list of tids as it prints one. */
static void whose(struct rs_out *out, const struct rs_exits_choice *choice)
{
	switch (choice->scope) {
	case RS_EXITS_ALL:
		rs_out_text(out, "all threads");
		break;
	case RS_EXITS_PID:
	case RS_EXITS_PID_TIDS:
	case RS_EXITS_VCPU:
		rs_out_text(out, "PID ");
		rs_out_signed(out, choice->pid);
		if (choice->scope == RS_EXITS_PID_TIDS)
			rs_out_text(out, " and its all threads");
		if (choice->scope == RS_EXITS_VCPU) {
			rs_out_text(out, " VCPU ");
			rs_out_signed(out, choice->vcpu);
		}
		break;
	case RS_EXITS_TID:
		rs_out_text(out, "TID ");
		rs_out_signed(out, choice->tid);
		break;
	case RS_EXITS_TIDS:
		rs_out_text(out, "TIDS [");
		for (size_t i = 0; i < choice->n_tids; i++) {
			rs_out_line(out);
			rs_out_text(out, i ? ", '" : "'");
			rs_out_signed(out, choice->tids[i]);
			rs_out_char(out, '\'');
		}
		rs_out_char(out, ']');
		break;
	case RS_EXITS_VM:
		rs_out_text(out, "VM ");
		rs_out_text(out, choice->vm);
		return;
	}
	if (choice->vm) {
		rs_out_text(out, " of VM ");
		rs_out_text(out, choice->vm);
	}
}

static void how_long(struct rs_out *out, uint64_t duration_ns)
{
	if (!duration_ns) {
		rs_out_text(out, "... Hit Ctrl-C to end.");
		return;
	}
	rs_out_text(out, " after sleeping ");
	rs_out_dec(out, duration_ns / NS_PER_SEC);
	if (duration_ns % NS_PER_SEC) {
		char fraction[16];

		snprintf(fraction, sizeof(fraction), ".%03u",
			 (unsigned int)(duration_ns % NS_PER_SEC / 1000000));
		rs_out_text(out, fraction);
	}
	rs_out_text(out, " secs.");
}

struct rs_error *rs_exits_banner(const struct rs_exits_show *show, uint64_t duration_ns)
{
	struct rs_out out;
	struct rs_error *err;

	if (show->form != RS_EXITS_TEXT)
		return NULL;
	err = rs_out_init(&out, show->fd);
	if (err)
		return err;
	rs_out_line(&out);
	rs_out_text(&out, "Display kvm exit reasons and statistics for ");
	whose(&out, &show->choice);
	rs_out_line(&out);
	if (show->trace) {
		rs_out_text(&out, " in ");
		rs_out_text(&out, show->trace);
		rs_out_char(&out, '.');
	} else {
		how_long(&out, duration_ns);
	}
	rs_out_char(&out, '\n');
	return rs_out_end(&out, NULL);
}

/* ---- kvmexit's counts ----------------------------------------------------------------------- */

#define REASON_COLUMN 35

/* Left, filled with blanks to the column's width, and one more. */
static void column(struct rs_out *out, const char *text, int width)
{
	char cell[128];

	snprintf(cell, sizeof(cell), "%-*s ", width, text);
	rs_out_text(out, cell);
}

static void column_number(struct rs_out *out, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	column(out, text, 8);
}

/* A process or a thread; those that a trace does not know are no numbers. */
static void column_id(struct rs_out *out, int id)
{
	if (id > 0)
		column_number(out, (uint64_t)id);
	else
		column(out, "-", 8);
}

static void counts_head(struct rs_out *out, const struct rs_exits_choice *choice)
{
	rs_out_line(out);
	if (choice->scope == RS_EXITS_ALL)
		rs_out_text(out, "PID      TID      ");
	else if (choice->scope == RS_EXITS_PID_TIDS)
		rs_out_text(out, "TID      ");
	else if (choice->scope == RS_EXITS_TIDS)
		rs_out_text(out, "TIDS     ");
	column(out, "KVM_EXIT_REASON", REASON_COLUMN);
	rs_out_text(out, "COUNT\n");
}

/* Over all threads kvmexit writes Intel's names as the kernel's header has them. */
static void counts_row(struct rs_out *out, const struct rs_exits_choice *choice,
		       const struct rs_exits_row *row)
{
	char reason[EXITS_REASON_MAX], prefixed[EXITS_REASON_MAX + 16], count[32];
	bool prefix = choice->scope == RS_EXITS_ALL && row->isa == RS_ISA_VMX &&
		      rs_exit_name(row->isa, row->code);

	exits_reason(row, reason);
	snprintf(prefixed, sizeof(prefixed), "%s%s", prefix ? "EXIT_REASON_" : "", reason);
	rs_out_line(out);
	if (choice->scope == RS_EXITS_ALL)
		column_id(out, row->pid);
	if (!rs_exits_is_sum(choice))
		column_id(out, row->tid);
	column(out, prefixed, REASON_COLUMN);
	snprintf(count, sizeof(count), "%-8llu\n", (unsigned long long)row->count);
	rs_out_text(out, count);
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

static struct rs_error *counts(struct exits_page *page)
{
	const struct rs_exits *exits = page->exits;
	const struct rs_exits_row *rows = exits->rows;
	struct rs_exits_row *merged = NULL;
	size_t n = exits->n_rows;
	struct rs_error *err = NULL;

	if (!page->show->has_head)
		counts_head(&page->out, &page->show->choice);
	if (rs_exits_is_sum(&page->show->choice)) {
		err = rs_exits_merge(exits, false, &merged, &n);
		if (err)
			return err;
		qsort(merged, n, sizeof(*merged), by_count);
		rows = merged;
	}
	for (size_t i = 0; i < n; i++) {
		if (rows[i].count)
			counts_row(&page->out, &page->show->choice, &rows[i]);
	}
	free(merged);
	return err;
}

/* ---- all that was asked for ----------------------------------------------------------------- */

struct rs_error *rs_exits_head(struct rs_exits_show *show)
{
	struct rs_out out;
	struct rs_error *err;

	if (show->form == RS_EXITS_JSON || (show->form == RS_EXITS_TEXT && show->latency))
		return NULL;
	err = rs_out_init(&out, show->fd);
	if (err)
		return err;
	if (show->form == RS_EXITS_TEXT)
		counts_head(&out, &show->choice);
	else
		exits_csv_head(&out, show);
	err = rs_out_end(&out, NULL);
	show->has_head = !err;
	return err;
}

static struct rs_error *text(struct exits_page *page)
{
	const struct rs_exits_show *show = page->show;
	struct rs_error *err = show->latency ? exits_latency(page) : counts(page);

	if (!err && show->hist)
		err = exits_hists(page);
	if (!err && show->causes)
		err = exits_causes(page);
	if (!err && show->shares)
		exits_shares(page);
	return err;
}

struct rs_error *rs_exits_print(const struct rs_exits_show *show, const struct rs_exits *exits)
{
	static struct rs_error *(*const forms[])(struct exits_page *) = {
		[RS_EXITS_TEXT] = text,
		[RS_EXITS_JSON] = exits_json,
		[RS_EXITS_CSV] = exits_csv,
	};
	struct rs_exits chosen;
	struct exits_page page = { .show = show, .exits = &chosen };
	struct rs_error *err;

	err = rs_exits_select(exits, &show->choice, &chosen);
	if (err)
		return err;
	err = rs_out_init(&page.out, show->fd);
	if (!err)
		err = rs_out_end(&page.out, forms[show->form](&page));
	rs_exits_unselect(&chosen);
	return err;
}

void exits_reason(const struct rs_exits_row *row, char text[EXITS_REASON_MAX])
{
	char name[RS_EXIT_TEXT_MAX];

	snprintf(text, EXITS_REASON_MAX, "%s%s", rs_exit_text(row->isa, row->code, name),
		 row->nested ? " (nested)" : "");
}
