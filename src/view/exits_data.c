/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exits for programs: JSON, one object a result; CSV with a head, quoted as RFC 4180 says, one line
 * a row; and long exits, a line each. What is unknown is null, or empty.
 */
#include "view/exits_parts.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/duration.h"
#include "base/utf8.h"
#include "kvm/aggregates.h"

#define LINE_MAX_BYTES 2048

static const struct {
	const char *name;
	uint32_t permille;
} percentiles[] = { { "p50_ns", 500 }, { "p95_ns", 950 }, { "p99_ns", 990 } };
#define PERCENTILES (sizeof(percentiles) / sizeof(percentiles[0]))

/* ---- JSON ----------------------------------------------------------------------------------- */

static void set(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, rs_json_unsigned(value));
}

/* A name as JSON takes it: what is no UTF-8 is mended. */
static json_t *name_json(const char *name)
{
	json_t *json;
	char *copy;

	if (!name)
		return json_null();
	copy = strdup(name);
	if (!copy)
		return NULL;
	rs_utf8_mend_bytes(copy, strlen(copy));
	json = json_string(copy);
	free(copy);
	return json;
}

static void set_whose(json_t *object, const char *vm, int pid, int tid, int vcpu)
{
	json_object_set_new(object, "vm", name_json(vm));
	json_object_set_new(object, "pid", pid > 0 ? json_integer(pid) : json_null());
	json_object_set_new(object, "tid", tid > 0 ? json_integer(tid) : json_null());
	json_object_set_new(object, "vcpu", vcpu >= 0 ? json_integer(vcpu) : json_null());
}

static void set_reason(json_t *object, uint32_t isa, uint32_t code, uint32_t nested)
{
	char reason[RS_EXIT_TEXT_MAX];

	json_object_set_new(object, "reason", json_string(rs_exit_text(isa, code, reason)));
	json_object_set_new(object, "isa", json_string(rs_isa_name(isa)));
	set(object, "code", code);
	json_object_set_new(object, "nested", json_boolean(nested));
}

static void set_cost(json_t *object, const struct rs_vcpu_cost *cost)
{
	set(object, "total_ns", cost->total_ns);
	set(object, "kernel_ns", cost->kernel_ns);
	set(object, "user_ns", cost->user_ns);
	set(object, "poll_ns", cost->poll_ns);
	set(object, "off_ns", cost->off_ns);
}

static json_t *hist_json(const struct rs_hist *hist)
{
	uint64_t slots[RS_HIST_LOG2_SLOTS];
	json_t *list = json_array();

	rs_hist_log2_slots(hist, slots);
	for (int i = 0; i < RS_HIST_LOG2_SLOTS; i++) {
		json_t *slot;

		if (!slots[i])
			continue;
		slot = json_object();
		set(slot, "from_ns", i ? UINT64_C(1) << (i - 1) : 0);
		set(slot, "to_ns", i ? (UINT64_C(1) << i) - 1 : 0);
		set(slot, "count", slots[i]);
		json_array_append_new(list, slot);
	}
	return list;
}

static json_t *row_json(const struct exits_page *page, const struct rs_exits_row *row)
{
	json_t *object = json_object();

	set_whose(object, row->vm, row->pid, row->tid, row->vcpu);
	set_reason(object, row->isa, row->code, row->nested);
	set(object, "count", row->count);
	if (!page->exits->latency)
		return object;
	set(object, "entered", row->entered);
	set_cost(object, &row->sum);
	if (row->entered) {
		set(object, "min_ns", row->min_ns);
		set(object, "mean_ns", row->sum.total_ns / row->entered);
		for (size_t i = 0; i < PERCENTILES; i++)
			set(object, percentiles[i].name,
			    rs_hist_percentile(row->hist, percentiles[i].permille, row->min_ns,
					       row->max_ns));
		set(object, "max_ns", row->max_ns);
	}
	if (page->show->hist)
		json_object_set_new(object, "hist", hist_json(row->hist));
	return object;
}

static json_t *vcpu_json(const struct rs_exits_vcpu *v)
{
	json_t *object = json_object();

	set_whose(object, v->vm, v->pid, v->tid, v->vcpu);
	json_object_set_new(object, "ended", json_boolean(v->ended));
	set(object, "exits", v->exits);
	set(object, "wall_ns", v->wall_ns);
	for (uint32_t i = 0; i < RS_VCPU_STATES; i++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_ns", rs_vcpu_state_names[i]);
		set(object, key, v->ns[i]);
	}
	if (v->sched_known) {
		set(object, "sched_run_ns", v->run_ns);
		set(object, "sched_wait_ns", v->wait_ns);
	}
	return object;
}

static json_t *cause_json(const struct rs_exits_cause *c)
{
	json_t *object = json_object();
	char text[RS_CAUSE_TEXT_MAX];

	set_whose(object, c->vm, c->pid, c->tid, c->vcpu);
	json_object_set_new(object, "kind", json_string(rs_cause_kind_name(c->kind)));
	set(object, "key", c->key);
	json_object_set_new(object, "what", json_string(rs_cause_text(c->kind, c->key, text)));
	set(object, "count", c->count);
	set(object, "entered", c->entered);
	set(object, "total_ns", c->total_ns);
	set(object, "max_ns", c->max_ns);
	return object;
}

/* Writes json and a newline, and frees it. */
static struct rs_error *json_print(struct rs_out *out, json_t *json)
{
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	if (!text)
		return rs_error_no_memory();
	rs_out_long(out, text, strlen(text));
	rs_out_line(out);
	rs_out_char(out, '\n');
	free(text);
	return NULL;
}

/* Rows as they are where each thread has its own, else added together, as the text has them. */
static struct rs_error *data_rows(const struct exits_page *page, struct rs_exits_row **merged,
				  const struct rs_exits_row **rows, size_t *n)
{
	*merged = NULL;
	*rows = page->exits->rows;
	*n = page->exits->n_rows;
	if (rs_exits_is_sum(&page->show->choice)) {
		struct rs_error *err = rs_exits_merge(page->exits, false, merged, n);

		if (err)
			return err;
		*rows = *merged;
	}
	return NULL;
}

static struct rs_error *causes_json(const struct exits_page *page, json_t *list)
{
	const struct rs_exits_cause *rows = page->exits->cause_rows;
	struct rs_exits_cause *merged = NULL;
	size_t n = page->exits->n_causes;
	struct rs_error *err = NULL;

	if (rs_exits_is_sum(&page->show->choice)) {
		err = rs_exits_merge_causes(page->exits, false, &merged, &n);
		rows = merged;
	}
	for (size_t i = 0; !err && i < n; i++)
		json_array_append_new(list, cause_json(&rows[i]));
	free(merged);
	return err;
}

struct rs_error *exits_json(struct exits_page *page)
{
	const struct rs_exits *exits = page->exits;
	json_t *report = json_object(), *rows_list = json_array(), *list;
	const struct rs_exits_row *rows;
	struct rs_exits_row *merged;
	struct rs_error *err;
	size_t n;

	json_object_set_new(report, "report", json_string("exits"));
	json_object_set_new(report, "trace", name_json(page->show->trace));
	json_object_set_new(report, "from_ns", rs_json_signed(exits->from_ns));
	json_object_set_new(report, "to_ns", rs_json_signed(exits->to_ns));
	set(report, "duration_ns", (uint64_t)(exits->to_ns - exits->from_ns));
	set(report, "lost", exits->lost);
	set(report, "dropped", exits->dropped);
	json_object_set_new(report, "rows", rows_list);
	err = data_rows(page, &merged, &rows, &n);
	for (size_t i = 0; !err && i < n; i++)
		json_array_append_new(rows_list, row_json(page, &rows[i]));
	free(merged);
	if (!err && exits->latency) {
		list = json_array();
		for (size_t i = 0; i < exits->n_vcpus; i++)
			json_array_append_new(list, vcpu_json(&exits->vcpus[i]));
		json_object_set_new(report, "vcpus", list);
	}
	if (!err && page->show->causes) {
		list = json_array();
		err = causes_json(page, list);
		json_object_set_new(report, "causes", list);
	}
	if (!err)
		return json_print(&page->out, report);
	json_decref(report);
	return err;
}

/* ---- CSV ------------------------------------------------------------------------------------ */

/* In quotes where it has what a field may not have (RFC 4180, 2.6). */
static void field_text(struct rs_out *out, const char *text)
{
	bool quoted = strpbrk(text, ",\"\r\n") != NULL;

	rs_out_line(out);
	if (quoted)
		rs_out_char(out, '"');
	for (size_t n = 0; *text && n < LINE_MAX_BYTES; text++, n++) {
		if (*text == '"')
			rs_out_char(out, '"');
		rs_out_char(out, *text);
	}
	if (quoted)
		rs_out_char(out, '"');
	rs_out_char(out, ',');
}

static void field_known(struct rs_out *out, int value, int least)
{
	if (value >= least)
		rs_out_signed(out, value);
	rs_out_char(out, ',');
}

static bool has_latency(const struct rs_exits_show *show)
{
	return show->latency || show->hist || show->causes || show->shares;
}

void exits_csv_head(struct rs_out *out, const struct rs_exits_show *show)
{
	rs_out_line(out);
	rs_out_text(out, "from_ns,to_ns,vm,pid,tid,vcpu,isa,code,nested,reason,count");
	if (has_latency(show)) {
		rs_out_text(out, ",entered,total_ns,min_ns,mean_ns");
		for (size_t i = 0; i < PERCENTILES; i++) {
			rs_out_char(out, ',');
			rs_out_text(out, percentiles[i].name);
		}
		rs_out_text(out, ",max_ns,kernel_ns,user_ns,poll_ns,off_ns");
	}
	rs_out_char(out, '\n');
}

static void csv_latency(struct rs_out *out, const struct rs_exits_row *row)
{
	const uint64_t costs[] = { row->max_ns, row->sum.kernel_ns, row->sum.user_ns,
				   row->sum.poll_ns, row->sum.off_ns };
	uint64_t mean = row->entered ? row->sum.total_ns / row->entered : 0;
	const uint64_t begin[] = { row->entered, row->sum.total_ns, row->min_ns, mean };

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
		rs_out_char(out, ',');
		rs_out_dec(out, begin[i]);
	}
	for (size_t i = 0; i < PERCENTILES; i++) {
		rs_out_char(out, ',');
		rs_out_dec(out, rs_hist_percentile(row->hist, percentiles[i].permille, row->min_ns,
						   row->max_ns));
	}
	for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		rs_out_char(out, ',');
		rs_out_dec(out, costs[i]);
	}
}

struct rs_error *exits_csv(struct exits_page *page)
{
	struct rs_out *out = &page->out;
	const struct rs_exits_row *rows;
	struct rs_exits_row *merged;
	struct rs_error *err;
	size_t n;

	if (!page->show->has_head)
		exits_csv_head(out, page->show);
	err = data_rows(page, &merged, &rows, &n);
	for (size_t i = 0; !err && i < n; i++) {
		const struct rs_exits_row *row = &rows[i];
		char reason[RS_EXIT_TEXT_MAX];

		rs_out_line(out);
		rs_out_signed(out, page->exits->from_ns);
		rs_out_char(out, ',');
		rs_out_signed(out, page->exits->to_ns);
		rs_out_char(out, ',');
		field_text(out, row->vm ? row->vm : "");
		field_known(out, row->pid, 1);
		field_known(out, row->tid, 1);
		field_known(out, row->vcpu, 0);
		field_text(out, rs_isa_name(row->isa));
		rs_out_dec(out, row->code);
		rs_out_text(out, row->nested ? ",1," : ",0,");
		field_text(out, rs_exit_text(row->isa, row->code, reason));
		rs_out_dec(out, row->count);
		if (has_latency(page->show))
			csv_latency(out, row);
		rs_out_char(out, '\n');
	}
	free(merged);
	return err;
}

/* ---- long exits ----------------------------------------------------------------------------- */

static struct rs_error *long_json(struct rs_out *out, const struct rs_exits_long *exit)
{
	json_t *object = json_object();
	char text[RS_CAUSE_TEXT_MAX];

	json_object_set_new(object, "report", json_string("long-exit"));
	json_object_set_new(object, "ts", rs_json_signed(exit->ts_ns));
	set_whose(object, exit->vm, exit->pid, exit->tid, exit->vcpu);
	set_reason(object, exit->isa, exit->code, exit->nested);
	set_cost(object, &exit->cost);
	json_object_set_new(object, "rip", rs_json_hex(exit->rip));
	if (exit->kind != RS_CAUSE_NONE) {
		json_object_set_new(object, "kind", json_string(rs_cause_kind_name(exit->kind)));
		set(object, "key", exit->key);
		json_object_set_new(object, "what",
				    json_string(rs_cause_text(exit->kind, exit->key, text)));
	}
	return json_print(out, object);
}

static void part(struct rs_out *out, const char *name, uint64_t ns)
{
	char text[RS_DURATION_TEXT_MAX];

	rs_out_char(out, ' ');
	rs_out_text(out, name);
	rs_out_char(out, '=');
	rs_out_text(out, rs_duration_text(ns, text));
}

/* TIME VM/vV TID REASON total= kernel= user= poll= off= rip= what= */
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
	rs_words_who(out, &stream);
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
	struct rs_error *err;
	struct rs_out out;

	err = rs_out_init(&out, show->fd);
	if (err)
		return err;
	rs_out_line(&out);
	if (show->form == RS_EXITS_JSON)
		err = long_json(&out, exit);
	else
		long_text(&out, exit);
	return rs_out_end(&out, err);
}
