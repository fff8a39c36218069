/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints exits: kvmexit's banner, then the requested tables and distributions. */
#include "view/exits_parts.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/duration.h"

#define NS_PER_SEC 1000000000

/* ---- the banner ----------------------------------------------------------------------------- */

/* Writes the scope of the exits, as kvmexit does; a list of tids has Python's syntax. */
static void write_scope(struct rs_out *out, const struct rs_exits_choice *choice)
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

	if (show->form != RS_TABLE_TEXT)
		return NULL;
	err = rs_out_init(&out, show->fd);
	if (err)
		return err;
	rs_out_line(&out);
	rs_out_text(&out, "Display kvm exit reasons and statistics for ");
	write_scope(&out, &show->choice);
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

/* ---- rows ----------------------------------------------------------------------------------- */

static const char *vm_text(const char *vm)
{
	return vm ? vm : "-";
}

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

static struct rs_error *copy_rows(const struct rs_exits *exits, struct rs_exits_row **rows,
				  size_t *n)
{
	*rows = malloc((exits->n_rows + 1) * sizeof(**rows));
	*n = exits->n_rows;
	if (!*rows)
		return rs_error_no_memory();
	if (*n)
		memcpy(*rows, exits->rows, *n * sizeof(**rows));
	return NULL;
}

struct rs_error *exits_rows(const struct exits_page *page, bool by_time, struct rs_exits_row **rows,
			    size_t *n)
{
	const struct rs_exits_choice *choice = &page->show->choice;
	bool is_sum = rs_exits_is_sum(choice), by_vm = by_time && choice->scope == RS_EXITS_ALL;
	struct rs_error *err = by_vm || is_sum ? rs_exits_merge(page->exits, by_vm, rows, n)
					       : copy_rows(page->exits, rows, n);

	if (err || !by_time)
		return err;
	for (size_t i = 0; i < *n; i++) {
		if (by_vm || is_sum) /* a VM's rows stay together */
			(*rows)[i].tid = 0;
		if (is_sum)
			(*rows)[i].vm = NULL;
	}
	qsort(*rows, *n, sizeof(**rows), by_whose_and_time);
	return NULL;
}

/* ---- distributions -------------------------------------------------------------------------- */

/* print_log2_hist() of bcc's libbpf-tools/trace_helpers.c: a line for each power of two up to the
 * largest that occurred, with 0 and 1 on one line; narrower for wide numbers. */
#define WIDE_FROM	   33
#define DISTRIBUTION_STARS 40

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

static struct rs_error *hists(struct exits_page *page)
{
	const struct rs_exits_choice *choice = &page->show->choice;
	char reason[EXITS_REASON_MAX], tid[24];
	struct rs_out *out = &page->out;
	struct rs_exits_row *rows;
	struct rs_error *err;
	size_t n;

	err = exits_rows(page, true, &rows, &n);
	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		if (!rows[i].entered)
			continue;
		exits_reason(&rows[i], reason);
		rs_out_line(out);
		rs_out_char(out, '\n');
		rs_out_text(out, reason);
		if (choice->scope == RS_EXITS_ALL) {
			rs_out_text(out, ", VM ");
			rs_out_text(out, vm_text(rows[i].vm));
		} else if (!rs_exits_is_sum(choice)) {
			snprintf(tid, sizeof(tid), ", TID %d", rows[i].tid);
			rs_out_text(out, tid);
		}
		rs_out_char(out, '\n');
		hist_print(out, rows[i].hist);
	}
	free(rows);
	return NULL;
}

/* ---- the requested tables ------------------------------------------------------------------- */

struct rs_error *rs_exits_head(struct rs_exits_show *show)
{
	struct exits_page page = { .show = show, .json = { .out = &page.out } };
	struct rs_error *err;

	if (show->form == RS_TABLE_JSON || (show->form == RS_TABLE_TEXT && show->latency))
		return NULL;
	err = rs_out_init(&page.out, show->fd);
	if (err)
		return err;
	exits_head(&page);
	err = rs_out_end(&page.out, NULL);
	show->has_head = !err;
	return err;
}

static void blank_line(struct exits_page *page)
{
	rs_out_line(&page->out);
	rs_out_char(&page->out, '\n');
}

static struct rs_error *print_text(struct exits_page *page)
{
	const struct rs_exits_show *show = page->show;
	struct rs_error *err = show->latency ? exits_times(page) : exits_counts(page);

	if (!err && show->hist)
		err = hists(page);
	if (!err && show->causes) {
		blank_line(page);
		err = exits_causes(page);
	}
	if (!err && show->shares) {
		blank_line(page);
		exits_vcpus(page);
	}
	return err;
}

static void json_list(struct rs_json *json, const char *key)
{
	rs_json_open(rs_json_key(json, key), '[');
}

static struct rs_error *print_json(struct exits_page *page)
{
	const struct rs_exits *exits = page->exits;
	struct rs_json *json = &page->json;
	struct rs_error *err;

	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "report"), "exits");
	rs_json_text(rs_json_key(json, "trace"), page->show->trace);
	rs_json_signed(rs_json_key(json, "from_ns"), exits->from_ns);
	rs_json_signed(rs_json_key(json, "to_ns"), exits->to_ns);
	rs_json_unsigned(rs_json_key(json, "duration_ns"),
			 (uint64_t)(exits->to_ns - exits->from_ns));
	rs_json_unsigned(rs_json_key(json, "lost"), exits->lost);
	rs_json_unsigned(rs_json_key(json, "dropped"), exits->dropped);
	json_list(json, "rows");
	err = exits_times(page);
	rs_json_close(json, ']');
	if (exits->latency) {
		json_list(json, "vcpus");
		exits_vcpus(page);
		rs_json_close(json, ']');
	}
	if (!err && page->show->causes) {
		json_list(json, "causes");
		err = exits_causes(page);
		rs_json_close(json, ']');
	}
	rs_json_close(json, '}');
	rs_json_line_end(json);
	return err;
}

struct rs_error *rs_exits_print(const struct rs_exits_show *show, const struct rs_exits *exits)
{
	static struct rs_error *(*const forms[])(struct exits_page *) = {
		[RS_TABLE_TEXT] = print_text,
		[RS_TABLE_JSON] = print_json,
		[RS_TABLE_CSV] = exits_times,
	};
	struct rs_exits chosen;
	struct exits_page page = { .show = show, .exits = &chosen, .json = { .out = &page.out } };
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

/* ---- long exits ----------------------------------------------------------------------------- */

static void part(struct rs_out *out, const char *name, uint64_t ns)
{
	char text[RS_DURATION_TEXT_MAX];

	rs_out_char(out, ' ');
	rs_out_text(out, name);
	rs_out_char(out, '=');
	rs_out_text(out, rs_duration_text(ns, text));
}

/* Writes a line: TIME VM/vV TID REASON total= kernel= user= poll= off= rip= CAUSE */
static void long_text(struct rs_out *out, const struct rs_exits_long *exit)
{
	const struct rs_exits_row row = { .isa = exit->isa,
					  .code = exit->code,
					  .nested = exit->nested };
	const struct rs_stream stream = { .vm = exit->vm, .vcpu = exit->vcpu, .tid = exit->tid };
	char reason[EXITS_REASON_MAX], what[RS_CAUSE_TEXT_MAX];

	rs_out_line(out);
	rs_out_seconds(out, exit->ts_ns);
	rs_out_char(out, ' ');
	rs_words_stream(out, &stream);
	rs_out_text(out, " tid ");
	rs_out_signed(out, exit->tid);
	rs_out_char(out, ' ');
	exits_reason(&row, reason);
	rs_out_text(out, reason);
	part(out, "total", exit->cost.total_ns);
	part(out, "kernel", exit->cost.kernel_ns);
	part(out, "user", exit->cost.user_ns);
	part(out, "poll", exit->cost.poll_ns);
	part(out, "off", exit->cost.off_ns);
	rs_out_text(out, " rip=");
	rs_out_hex(out, exit->rip);
	if (exit->kind != RS_CAUSE_NONE) {
		rs_out_char(out, ' ');
		rs_out_text(out, rs_cause_kind_name(exit->kind));
		rs_out_char(out, ' ');
		rs_out_text(out, rs_cause_text(exit->kind, exit->key, what));
	}
	rs_out_char(out, '\n');
}

struct rs_error *rs_exits_print_long(const struct rs_exits_show *show,
				     const struct rs_exits_long *exit)
{
	struct rs_out out;
	struct rs_json json = { .out = &out };
	const struct rs_table table = { .json = &json,
					.form = RS_TABLE_JSON,
					.columns = exits_long_columns };
	struct rs_error *err;

	err = rs_out_init(&out, show->fd);
	if (err)
		return err;
	if (show->form == RS_TABLE_JSON) {
		rs_table_row(&table, exit);
		rs_json_line_end(&json);
	} else {
		long_text(&out, exit);
	}
	return rs_out_end(&out, NULL);
}

void exits_reason(const struct rs_exits_row *row, char text[EXITS_REASON_MAX])
{
	char name[RS_EXIT_TEXT_MAX];

	snprintf(text, EXITS_REASON_MAX, "%s%s", rs_exit_text(row->isa, row->code, name),
		 row->nested ? " (nested)" : "");
}
