/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of `ringside top`, as lines of text for any size of screen:
 *
 *	title, totals
 *	sort, filter, warnings
 *	list: a line for each VM or vCPU       scrolls with the selection
 *	reasons (or causes) of the selected line
 *	keys
 */
#include "view/top.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/duration.h"

#define NAME_MIN   8
#define NAME_MAX   48
#define FIXED	   66 /* columns of a list's line without the name */
#define FRAME	   6  /* lines for title, choice, two heads, rule and keys */
#define NUMBER_MAX 24

static const char *const sort_names[RS_TOP_SORTS] = {
	[RS_TOP_BY_EXITS] = "exits", [RS_TOP_BY_GUEST] = "guest", [RS_TOP_BY_KERNEL] = "kernel",
	[RS_TOP_BY_USER] = "user",   [RS_TOP_BY_POLL] = "poll",	  [RS_TOP_BY_HALTED] = "halted",
	[RS_TOP_BY_WAIT] = "wait",   [RS_TOP_BY_NAME] = "name",
};

/* The states with a column, and its head. */
static const struct {
	enum rs_vcpu_state state;
	const char *head;
} shares[] = {
	{ RS_VCPU_GUEST, "GUEST" }, { RS_VCPU_KERNEL, "KERN" }, { RS_VCPU_USER, "USER" },
	{ RS_VCPU_POLL, "POLL" },   { RS_VCPU_HALTED, "HALT" }, { RS_VCPU_BLOCKED, "BLOCK" },
	{ RS_VCPU_WAIT, "WAIT" },
};
#define N_SHARES (sizeof(shares) / sizeof(shares[0]))

static const char *const help_lines[] = {
	"up, down, page up, page down, home   select a VM or a vCPU",
	"s, S   sort VMs by the next, the previous column; vCPUs stay under their VM",
	"f      filter VMs by name: a word, or a glob such as web-*; Enter sets it, Esc cancels",
	"p      pause, resume",
	"v      show only VMs, or VMs with their vCPUs",
	"c      below: show causes of exits (ports, addresses, MSRs), or reasons",
	"q      quit",
	"",
	"GUEST  runs in the guest           POLL   halted, KVM spins for the wake-up",
	"KERN   an exit handled by KVM      HALT   halted, asleep",
	"USER   an exit handled by the VMM  BLOCK  asleep in the VMM",
	"                                   WAIT   could run, waits for a CPU",
	"All are percentages of the time that Ringside observed the vCPU in the interval.",
};

/* ---- words ----------------------------------------------------------------------------------- */

/* Cuts UTF-8 text to a number of characters, in place. A character counts as one column. */
static void cut(char *text, int columns)
{
	for (; *text; text++) {
		if (((unsigned char)*text & 0xc0) == 0x80)
			continue;
		if (columns-- == 0) {
			*text = '\0';
			return;
		}
	}
}

static int columns_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void line_add(struct rs_top_page *page, enum rs_top_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void line_add(struct rs_top_page *page, enum rs_top_style style, const char *format, ...)
{
	struct rs_top_line *line = &page->line[page->lines];
	va_list args;

	va_start(args, format);
	vsnprintf(line->text, sizeof(line->text), format, args);
	va_end(args);
	for (char *c = line->text; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?'; /* a VM's name must not control the terminal */
	}
	cut(line->text, page->columns);
	line->style = style;
	page->lines++;
}

/* Writes a rate in at most nine columns: "1234567", "12.3M". Returns text. */
static const char *rate_text(uint64_t n, uint64_t interval_ns, char text[NUMBER_MAX])
{
	double rate = interval_ns ? (double)n * 1e9 / (double)interval_ns : 0;

	if (rate >= 1e9)
		snprintf(text, NUMBER_MAX, "%.2fG", rate / 1e9);
	else if (rate >= 1e7)
		snprintf(text, NUMBER_MAX, "%.2fM", rate / 1e6);
	else if (rate > 0 && rate < 10)
		snprintf(text, NUMBER_MAX, "%.1f", rate);
	else
		snprintf(text, NUMBER_MAX, "%.0f", rate);
	return text;
}

static const char *percent_text(uint64_t part, uint64_t whole, char text[NUMBER_MAX])
{
	if (!whole)
		snprintf(text, NUMBER_MAX, "-");
	else
		snprintf(text, NUMBER_MAX, "%.1f", 100.0 * (double)part / (double)whole);
	return text;
}

/* ---- the list -------------------------------------------------------------------------------- */

static int name_columns(const struct rs_top_page *page)
{
	int n = page->columns - FIXED;

	return n < NAME_MIN ? NAME_MIN : n > NAME_MAX ? NAME_MAX : n;
}

/* Writes the name of a VM, indented for its vCPUs, in the width of the column. */
static void name_text(const struct rs_top_row *row, int columns, char *text, size_t room)
{
	char name[RS_KVM_VM_MAX + 8];
	int pad;

	snprintf(name, sizeof(name), "%s%s", row->is_vm ? "" : "  ", row->vm ? row->vm : "-");
	cut(name, columns);
	pad = columns - columns_of(name);
	snprintf(text, room, "%s%*s", name, pad, "");
}

static void row_line(struct rs_top_page *page, const struct rs_top_row *row, bool selected,
		     uint64_t interval_ns)
{
	char name[4 * NAME_MAX + 8], rate[NUMBER_MAX], vcpu[NUMBER_MAX] = "*", tid[NUMBER_MAX];
	char percents[N_SHARES * 8 + 1] = "";
	size_t used = 0;

	name_text(row, name_columns(page), name, sizeof(name));
	if (!row->is_vm && row->vcpu >= 0)
		snprintf(vcpu, sizeof(vcpu), "%d", row->vcpu);
	else if (!row->is_vm)
		snprintf(vcpu, sizeof(vcpu), "-");
	snprintf(tid, sizeof(tid), "%d", row->is_vm ? row->pid : row->tid);
	for (size_t i = 0; i < N_SHARES; i++) {
		char share[NUMBER_MAX];

		percent_text(row->ns[shares[i].state], row->wall_ns, share);
		used += (size_t)snprintf(percents + used, sizeof(percents) - used, " %5.5s", share);
	}
	line_add(page, selected ? RS_TOP_SELECTED : RS_TOP_PLAIN, "%c%s %4s %7s %9s%s%s",
		 selected ? '>' : ' ', name, vcpu, tid, rate_text(row->exits, interval_ns, rate),
		 percents, row->ended ? " ended" : "");
}

static void list_head(struct rs_top_page *page)
{
	char heads[N_SHARES * 8 + 1] = "";
	size_t used = 0;

	for (size_t i = 0; i < N_SHARES; i++)
		used += (size_t)snprintf(heads + used, sizeof(heads) - used, " %5s",
					 shares[i].head);
	line_add(page, RS_TOP_HEAD, " %-*s %4s %7s %9s%s", name_columns(page), "VM", "VCPU",
		 "PID/TID", "EXITS/S", heads);
}

static size_t row_find(const struct rs_top_row *rows, size_t n, int pid, int tid)
{
	for (size_t i = 0; i < n; i++) {
		if (rows[i].pid == pid && (rows[i].is_vm ? !tid : rows[i].tid == tid))
			return i;
	}
	return n;
}

/* Returns the index of the selected line. If the line is gone, selects its VM or the first line. */
static size_t selected_row(struct rs_top *top, const struct rs_top_row *rows, size_t n)
{
	size_t at = row_find(rows, n, top->pid, top->tid);

	if (at < n || !n)
		return at;
	if (row_find(rows, n, top->pid, 0) < n) /* the list no longer has vCPUs */
		at = row_find(rows, n, top->pid, 0);
	else
		at = 0;
	top->pid = rows[at].pid;
	top->tid = rows[at].tid;
	return at;
}

static void list_lines(struct rs_top *top, const struct rs_top_row *rows, size_t n, size_t room,
		       uint64_t interval_ns, struct rs_top_page *page)
{
	size_t at = selected_row(top, rows, n);

	if (at < top->first)
		top->first = at;
	if (at < n && at >= top->first + room)
		top->first = at - room + 1;
	if (top->first + room > n)
		top->first = n > room ? n - room : 0;
	for (size_t i = top->first; i < n && i < top->first + room; i++)
		row_line(page, &rows[i], i == at, interval_ns);
	if (!n)
		line_add(page, RS_TOP_PLAIN, "  %s",
			 *top->filter ? "no VM matches the filter (f changes it)"
				      : "no vCPU has exited yet");
}

/* ---- below the list: exits of the selected line ---------------------------------------------- */

static bool selected_has(const struct rs_top *top, int pid, int tid)
{
	return pid == top->pid && (!top->tid || tid == top->tid);
}

static uint64_t handled_ns(const struct rs_exits_row *row)
{
	return row->sum.kernel_ns + row->sum.user_ns;
}

static int reason_compare(const void *pa, const void *pb)
{
	const struct rs_exits_row *a = pa, *b = pb;

	if (handled_ns(a) != handled_ns(b))
		return handled_ns(a) < handled_ns(b) ? 1 : -1;
	return (a->count < b->count) - (a->count > b->count);
}

/* The duration of an exit is unknown until an entry ends it. */
static const char *cost_text(const struct rs_exits_row *row, uint64_t ns,
			     char text[RS_DURATION_TEXT_MAX])
{
	return row->entered ? rs_duration_text(ns, text) : "-";
}

static void reason_line(struct rs_top_page *page, const struct rs_exits_row *row, uint64_t all,
			uint64_t wall_ns, uint64_t interval_ns)
{
	char reason[RS_EXIT_TEXT_MAX], text[RS_EXIT_TEXT_MAX + 16], rate[NUMBER_MAX];
	char share[NUMBER_MAX], time[NUMBER_MAX], mean[RS_DURATION_TEXT_MAX];
	char p99[RS_DURATION_TEXT_MAX], max[RS_DURATION_TEXT_MAX];
	uint64_t high = rs_hist_percentile(row->hist, 990, row->min_ns, row->max_ns);

	snprintf(text, sizeof(text), "%s%s", rs_exit_text(row->isa, row->code, reason),
		 row->nested ? " (nested)" : "");
	line_add(page, RS_TOP_PLAIN, " %-28.28s %9s %6s %6s %8s %8s %8s", text,
		 rate_text(row->count, interval_ns, rate), percent_text(row->count, all, share),
		 percent_text(handled_ns(row), wall_ns, time),
		 cost_text(row, row->entered ? row->sum.total_ns / row->entered : 0, mean),
		 cost_text(row, high, p99), cost_text(row, row->max_ns, max));
}

/* Adds up the rows of the selection by reason. */
static struct rs_error *reasons_of(const struct rs_top *top, const struct rs_exits *exits,
				   struct rs_exits_row **rows, size_t *n)
{
	struct rs_exits_row *mine = calloc(exits->n_rows + 1, sizeof(*mine));
	struct rs_exits some = *exits;
	struct rs_error *err;

	if (!mine)
		return rs_error_no_memory();
	some.rows = mine;
	some.n_rows = 0;
	for (size_t i = 0; i < exits->n_rows; i++) {
		if (selected_has(top, exits->rows[i].pid, exits->rows[i].tid))
			mine[some.n_rows++] = exits->rows[i];
	}
	err = rs_exits_merge(&some, false, rows, n);
	free(mine);
	return err;
}

static struct rs_error *reason_lines(const struct rs_top *top, const struct rs_exits *exits,
				     uint64_t wall_ns, uint64_t interval_ns, int until,
				     struct rs_top_page *page)
{
	struct rs_exits_row *rows;
	struct rs_error *err;
	uint64_t all = 0;
	size_t n;

	line_add(page, RS_TOP_HEAD, " %-28s %9s %6s %6s %8s %8s %8s", "REASON", "EXITS/S", "COUNT%",
		 "SHARE%", "MEAN", "P99", "MAX");
	err = reasons_of(top, exits, &rows, &n);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		all += rows[i].count;
	qsort(rows, n, sizeof(*rows), reason_compare);
	for (size_t i = 0; i < n && page->lines < until; i++)
		reason_line(page, &rows[i], all, wall_ns, interval_ns);
	free(rows);
	return NULL;
}

/* Causes are sorted by time. Each vCPU has its own rows. */
static void cause_lines(const struct rs_top *top, const struct rs_exits *exits,
			uint64_t interval_ns, int until, struct rs_top_page *page)
{
	line_add(page, RS_TOP_HEAD, " %4s %-12s %-28s %9s %8s %8s", "VCPU", "CAUSE", "", "EXITS/S",
		 "MEAN", "MAX");
	for (size_t i = 0; i < exits->n_causes && page->lines < until; i++) {
		const struct rs_exits_cause *cause = &exits->cause_rows[i];
		char key[RS_CAUSE_TEXT_MAX], rate[NUMBER_MAX], mean[NUMBER_MAX], max[NUMBER_MAX];

		if (!selected_has(top, cause->pid, cause->tid))
			continue;
		line_add(page, RS_TOP_PLAIN, " %4d %-12s %-28.28s %9s %8s %8s", cause->vcpu,
			 rs_cause_kind_name(cause->kind),
			 rs_cause_text(cause->kind, cause->key, key),
			 rate_text(cause->count, interval_ns, rate),
			 rs_duration_text(cause->entered ? cause->total_ns / cause->entered : 0,
					  mean),
			 cause->max_ns == RS_EXITS_MAX_UNKNOWN
				 ? "-"
				 : rs_duration_text(cause->max_ns, max));
	}
}

static struct rs_error *why_lines(const struct rs_top *top, const struct rs_exits *exits,
				  const struct rs_top_row *row, uint64_t interval_ns, int until,
				  struct rs_top_page *page)
{
	char title[RS_KVM_VM_MAX + 64], rule[RS_TOP_COLUMNS_MAX + 1];

	if (row->is_vm)
		snprintf(title, sizeof(title), "%s, all its vCPUs", row->vm ? row->vm : "-");
	else
		snprintf(title, sizeof(title), "%s, vCPU %d", row->vm ? row->vm : "-", row->vcpu);
	memset(rule, '-', sizeof(rule) - 1);
	rule[sizeof(rule) - 1] = '\0';
	line_add(page, RS_TOP_PLAIN, "-- %s: %s %s", title,
		 top->causes ? "exit causes" : "exit reasons", rule);
	if (!top->causes)
		return reason_lines(top, exits, row->wall_ns, interval_ns, until, page);
	if (exits->causes)
		cause_lines(top, exits, interval_ns, until, page);
	else
		line_add(page, RS_TOP_PLAIN, " causes are not recorded");
	return NULL;
}

/* ---- the page -------------------------------------------------------------------------------- */

static void title_lines(const struct rs_top *top, const struct rs_exits *exits,
			const struct rs_top_row *rows, size_t n, const struct rs_top_about *about,
			struct rs_top_page *page)
{
	uint64_t all = 0, vms = 0;
	char rate[NUMBER_MAX];

	for (size_t i = 0; i < n; i++) {
		all += rows[i].is_vm ? rows[i].exits : 0;
		vms += rows[i].is_vm;
	}
	line_add(page, RS_TOP_PLAIN, "ringside top  %s  %s  %s, %s, %s exits/s, of %.1f s",
		 about->host, about->clock, RS_COUNT_OF(vms, "VM"),
		 RS_COUNT_OF(exits->n_vcpus, "vCPU"), rate_text(all, about->interval_ns, rate),
		 (double)about->interval_ns / 1e9);
	if (top->is_typing)
		line_add(page, RS_TOP_HEAD, "filter VMs by name: %s_", top->typing);
	else if (exits->lost || exits->dropped)
		line_add(page, RS_TOP_WARNING, "%s lost, %s not counted because a table was full",
			 RS_COUNT_OF(exits->lost, "record"), RS_COUNT_OF(exits->dropped, "exit"));
	else
		line_add(page, about->note ? RS_TOP_WARNING : RS_TOP_PLAIN,
			 "sort: %s  filter: %s%s%s%s", sort_names[top->sort],
			 *top->filter ? top->filter : "none", top->paused ? "  PAUSED" : "",
			 about->note ? "  " : "", about->note ? about->note : "");
}

static struct rs_error *body_lines(struct rs_top *top, const struct rs_exits *exits,
				   const struct rs_top_row *rows, size_t n,
				   const struct rs_top_about *about, int lines,
				   struct rs_top_page *page)
{
	size_t room = (size_t)(lines - FRAME), list = n, at;

	/* The list takes at most half of the page; the rest is for the reasons. */
	if (list > (room + 1) / 2)
		list = (room + 1) / 2;
	if (!list)
		list = 1;
	list_head(page);
	list_lines(top, rows, n, list, about->interval_ns, page);
	at = row_find(rows, n, top->pid, top->tid);
	if (at == n)
		return NULL;
	return why_lines(top, exits, &rows[at], about->interval_ns, lines - 1, page);
}

static int clamp(int value, int least, int most)
{
	return value < least ? least : value > most ? most : value;
}

struct rs_error *rs_top_page(struct rs_top *top, const struct rs_exits *exits,
			     const struct rs_top_about *about, int columns, int lines,
			     struct rs_top_page *page)
{
	struct rs_top_row *rows;
	struct rs_error *err;
	size_t n;

	lines = clamp(lines, RS_TOP_LINES_MIN, RS_TOP_LINES_MAX);
	page->columns = clamp(columns, RS_TOP_COLUMNS_MIN, RS_TOP_COLUMNS_MAX);
	page->lines = 0;
	err = rs_top_rows(top, exits, &rows, &n);
	if (err)
		return err;
	title_lines(top, exits, rows, n, about, page);
	if (top->help) {
		for (size_t i = 0; i < sizeof(help_lines) / sizeof(help_lines[0]); i++) {
			if (page->lines < lines - 1)
				line_add(page, RS_TOP_PLAIN, "%s", help_lines[i]);
		}
	} else {
		err = body_lines(top, exits, rows, n, about, lines, page);
	}
	free(rows);
	while (page->lines < lines - 1)
		line_add(page, RS_TOP_PLAIN, "%s", "");
	line_add(page, RS_TOP_HEAD,
		 "q quit  h help  s sort  f filter  p pause  v VMs  c causes  up/down select");
	return err;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void typing_key(struct rs_top *top, int key)
{
	size_t len = strlen(top->typing);

	if (key == RS_TOP_KEY_ENTER)
		memcpy(top->filter, top->typing, sizeof(top->filter));
	if (key == RS_TOP_KEY_ENTER || key == RS_TOP_KEY_ESCAPE)
		top->is_typing = false;
	else if (key == RS_TOP_KEY_ERASE && len)
		top->typing[len - 1] = '\0';
	else if (key >= ' ' && key < 0x7f && len + 1 < sizeof(top->typing))
		top->typing[len] = (char)key;
}

static void select_move(struct rs_top *top, const struct rs_exits *exits, long by)
{
	struct rs_top_row *rows;
	size_t n, at;
	long to;

	if (rs_top_rows(top, exits, &rows, &n)) /* no memory: the selection stays */
		return;
	if (n) {
		at = selected_row(top, rows, n);
		to = (long)at + by;
		to = to < 0 ? 0 : to >= (long)n ? (long)n - 1 : to;
		top->pid = rows[to].pid;
		top->tid = rows[to].tid;
	}
	free(rows);
}

bool rs_top_key(struct rs_top *top, const struct rs_exits *exits, int key)
{
	const long page = 10;

	if (top->is_typing) {
		typing_key(top, key);
		return false;
	}
	switch (key) {
	case 'q':
		return true;
	case 's':
		top->sort = (top->sort + 1) % RS_TOP_SORTS;
		break;
	case 'S':
		top->sort = (top->sort + RS_TOP_SORTS - 1) % RS_TOP_SORTS;
		break;
	case 'f':
		top->is_typing = true;
		memcpy(top->typing, top->filter, sizeof(top->typing));
		break;
	case 'p':
		top->paused = !top->paused;
		break;
	case 'v':
		top->vms = !top->vms;
		break;
	case 'c':
		top->causes = !top->causes;
		break;
	case 'h':
		top->help = !top->help;
		break;
	case RS_TOP_KEY_ESCAPE:
		top->help = false;
		break;
	case RS_TOP_KEY_UP:
		select_move(top, exits, -1);
		break;
	case RS_TOP_KEY_DOWN:
		select_move(top, exits, 1);
		break;
	case RS_TOP_KEY_PAGE_UP:
		select_move(top, exits, -page);
		break;
	case RS_TOP_KEY_PAGE_DOWN:
		select_move(top, exits, page);
		break;
	case RS_TOP_KEY_HOME:
		select_move(top, exits, -(long)RS_TOP_LINES_MAX * RS_TOP_LINES_MAX);
		break;
	default:
		break;
	}
	return false;
}
