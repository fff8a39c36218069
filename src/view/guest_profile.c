/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints a profile of a running guest. */
#include "view/guest_profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "base/duration.h"

/* A row as printed: of one vCPU, or of all. */
struct line {
	const struct rs_guest_row *row;
	const struct rs_guest_vcpu_row *vcpu; /* NULL: of all */
	uint64_t of;			      /* the number of samples that is 100 % */
};

struct report {
	const struct rs_guest_profile_show *show;
	const struct rs_guest_profile *p;
};

/* ---- columns -------------------------------------------------------------------------------- */

static const struct line *line_at(const void *at)
{
	return at;
}

static const char *const states[] = {
	[RS_NOW_RUNS] = "runs",
	[RS_NOW_HALTED] = "halted",
	[RS_NOW_NOT_STARTED] = "not started",
	[RS_NOW_STOPPED] = "stopped",
	[RS_NOW_GONE] = "gone",
};

RS_COLUMN_GETTER(get_vcpu)
{
	rs_cell_number(cell, line_at(at)->vcpu->vcpu);
}

RS_COLUMN_GETTER(get_state)
{
	rs_cell_text(cell, states[line_at(at)->vcpu->now]);
}

/* The share of the time that a vCPU's thread was on a CPU. */
RS_COLUMN_GETTER(get_cpu)
{
	const struct rs_guest_profile_show *show = ((const struct report *)report)->show;

	rs_cell_share(cell, line_at(at)->vcpu->samples * show->interval_ns, show->duration_ns);
}

RS_COLUMN_GETTER(get_samples)
{
	rs_cell_number(cell, line_at(at)->row->samples);
}

RS_COLUMN_GETTER(get_share)
{
	if (line_at(at)->row->samples)
		rs_cell_share(cell, line_at(at)->row->samples, line_at(at)->of);
}

RS_COLUMN_GETTER(get_handled)
{
	if (line_at(at)->row->samples)
		rs_cell_share(cell, line_at(at)->row->handled, line_at(at)->row->samples);
}

RS_COLUMN_GETTER(get_handled_samples)
{
	rs_cell_number(cell, line_at(at)->row->handled);
}

static bool is_known(const struct rs_guest_row *row)
{
	return row->samples || row->has_task || row->function;
}

RS_COLUMN_GETTER(get_mode)
{
	const struct rs_guest_row *row = line_at(at)->row;

	if (is_known(row) && !row->is_nested && !row->is_unplaced)
		rs_cell_text(cell, row->is_user ? "user" : "kernel");
}

RS_COLUMN_GETTER(get_pid)
{
	if (line_at(at)->row->has_task)
		rs_cell_number(cell, (uint64_t)line_at(at)->row->tgid);
}

RS_COLUMN_GETTER(get_task)
{
	rs_cell_text(cell, line_at(at)->row->task);
}

RS_COLUMN_GETTER(get_cr3)
{
	if (line_at(at)->row->cr3)
		rs_cell_number(cell, line_at(at)->row->cr3);
}

RS_COLUMN_GETTER(get_function)
{
	rs_cell_text(cell, line_at(at)->row->function);
}

RS_COLUMN_GETTER(get_module)
{
	rs_cell_text(cell, line_at(at)->row->module);
}

enum { SET_VCPU = 1, SET_SPACE = 2 };

static const struct rs_column columns[] = {
	{ "vcpu", "VCPU", RS_COLUMN_NUMBER, get_vcpu, .sets = SET_VCPU },
	{ "state", "STATE", RS_COLUMN_TEXT, get_state, .sets = SET_VCPU },
	{ "cpu", "CPU", RS_COLUMN_SHARE, get_cpu, .sets = SET_VCPU },
	{ "samples", "SAMPLES", RS_COLUMN_NUMBER, get_samples },
	{ "share", "SHARE", RS_COLUMN_SHARE, get_share },
	{ NULL, "HOST", RS_COLUMN_SHARE, get_handled },
	{ "handled", NULL, RS_COLUMN_NUMBER, get_handled_samples },
	{ "mode", "MODE", RS_COLUMN_TEXT, get_mode },
	{ "pid", "PID", RS_COLUMN_NUMBER, get_pid },
	{ "task", "TASK", RS_COLUMN_TEXT, get_task },
	{ "cr3", "CR3", RS_COLUMN_HEX, get_cr3, .text_sets = SET_SPACE },
	{ "function", "FUNCTION", RS_COLUMN_TEXT, get_function },
	{ "module", "MODULE", RS_COLUMN_TEXT, get_module },
	{ 0 },
};

/* ---- rows ----------------------------------------------------------------------------------- */

/* Fills the lines of each vCPU: its rows, the most frequent first, or its position if it was not
 * sampled. */
static size_t stall_lines(const struct report *r, struct line *lines)
{
	const struct rs_guest_profile *p = r->p;
	size_t n = 0, at = 0;

	for (size_t i = 0; i < p->n_vcpus; i++) {
		const struct rs_guest_vcpu_row *vcpu = &p->vcpus[i];
		uint32_t shown = 0;

		for (; at < p->n_rows && p->rows[at]->vcpu == vcpu->vcpu; at++)
			if (!r->show->top || shown++ < r->show->top)
				lines[n++] = (struct line){ p->rows[at], vcpu, vcpu->samples };
		if (!vcpu->samples || vcpu->now == RS_NOW_HALTED)
			lines[n++] = (struct line){ &vcpu->at, vcpu, 0 };
	}
	return n;
}

static size_t all_lines(const struct report *r, struct line *lines)
{
	const struct rs_guest_profile *p = r->p;
	uint64_t of = 0;
	size_t n = 0;

	for (size_t i = 0; i < p->n_rows; i++)
		of += p->rows[i]->samples;
	for (; n < p->n_rows && (!r->show->top || n < r->show->top); n++)
		lines[n] = (struct line){ p->rows[n], NULL, of };
	return n;
}

static bool any_space(const struct line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (lines[i].row->cr3)
			return true;
	return false;
}

/* Returns the number of rows without the limit. */
static struct rs_error *rows_put(struct rs_json *json, const struct report *r)
{
	struct line *lines = calloc(r->p->n_rows + r->p->n_vcpus + 1, sizeof(*lines));
	struct rs_table table = { .json = json,
				  .form = r->show->json ? RS_TABLE_JSON : RS_TABLE_TEXT,
				  .columns = columns,
				  .report = r,
				  .sets = r->show->stall ? SET_VCPU : 0 };
	size_t n;

	if (!lines)
		return rs_error_no_memory();
	n = r->show->stall ? stall_lines(r, lines) : all_lines(r, lines);
	if (any_space(lines, n))
		table.sets |= SET_SPACE;
	if (n)
		rs_table_rows(&table, lines, n, sizeof(*lines));
	free(lines);
	return NULL;
}

/* ---- the head ------------------------------------------------------------------------------- */

static uint64_t dropped(const struct rs_guest_sampler_counts *c)
{
	return c->changed + c->unread + c->hidden + c->refused;
}

static uint64_t each(uint64_t total, uint64_t n)
{
	return n ? total / n : 0;
}

static void line_put(struct rs_out *out, const char *name, const char *text)
{
	char head[16];

	snprintf(head, sizeof(head), "%-9s ", name);
	rs_out_line(out);
	rs_out_text(out, head);
	rs_out_long(out, text, strlen(text));
	rs_out_char(out, '\n');
}

static void head_text(struct rs_out *out, const struct rs_guest_profile_show *show)
{
	const struct rs_guest_sampler_counts *c = &show->counts;
	uint64_t all = c->samples + dropped(c);
	char a[RS_DURATION_TEXT_MAX], b[RS_DURATION_TEXT_MAX], text[256];

	line_put(out, "kernel", show->kernel ? show->kernel : "-");
	snprintf(text, sizeof(text), "%s of %s in %s, one in %s of a vCPU's time on a CPU",
		 RS_COUNT_OF(c->samples, "sample"), RS_COUNT_OF(show->n_vcpus, "vCPU"),
		 rs_duration_text(show->duration_ns, a), rs_duration_exact(show->interval_ns, b));
	line_put(out, "samples", text);
	snprintf(text, sizeof(text),
		 "%" PRIu64 " (%.2f %%): %" PRIu64 " changed while they were read, %" PRIu64
		 " not present, %" PRIu64 " encrypted, %" PRIu64 " because the buffer was full",
		 dropped(c), all ? 100.0 * (double)dropped(c) / (double)all : 0, c->changed,
		 c->unread, c->hidden, c->refused);
	line_put(out, "dropped", text);
	snprintf(text, sizeof(text), "%s a sample in the vCPU's thread, %s in this process",
		 rs_duration_text(each(c->cost_ns, c->ticks), a),
		 rs_duration_text(each(c->read_ns, c->ticks), b));
	line_put(out, "cost", text);
	snprintf(text, sizeof(text),
		 "sampled without stopping the guest; %" PRIu64
		 " of them end before their outermost frame",
		 c->cut);
	line_put(out, "stacks", text);
	rs_out_char(out, '\n');
}

static void head_json(struct rs_json *json, const struct rs_guest_profile_show *show)
{
	const struct rs_guest_sampler_counts *c = &show->counts;
	const struct {
		const char *key;
		uint64_t n;
	} numbers[] = {
		{ "vcpus", show->n_vcpus },
		{ "interval_ns", show->interval_ns },
		{ "duration_ns", show->duration_ns },
		{ "samples", c->samples },
		{ "dropped", dropped(c) },
		{ "changed", c->changed },
		{ "unread", c->unread },
		{ "encrypted", c->hidden },
		{ "refused", c->refused },
		{ "cut", c->cut },
		{ "ticks", c->ticks },
		{ "cost_ns", c->cost_ns },
		{ "read_ns", c->read_ns },
	};

	rs_json_open(json, '{');
	rs_json_text(rs_json_key(json, "report"), "profile");
	rs_json_text(rs_json_key(json, "vm"), show->vm);
	rs_json_unsigned(rs_json_key(json, "pid"), (uint64_t)show->pid);
	rs_json_text(rs_json_key(json, "kernel"), show->kernel);
	rs_json_bool(rs_json_key(json, "stopped"), false);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		rs_json_unsigned(rs_json_key(json, numbers[i].key), numbers[i].n);
	rs_json_open(rs_json_key(json, "rows"), '[');
}

struct rs_error *rs_guest_profile_print(const struct rs_guest_profile_show *show,
					const struct rs_guest_profile *p)
{
	const struct report r = { show, p };
	struct rs_out out;
	struct rs_json json = { .out = &out };
	struct rs_error *err = rs_out_init(&out, show->fd);

	if (err)
		return err;
	if (show->json)
		head_json(&json, show);
	else
		head_text(&out, show);
	err = rows_put(&json, &r);
	if (show->json) {
		rs_json_close(&json, ']');
		rs_json_close(&json, '}');
		rs_json_line_end(&json);
	}
	return rs_out_end(&out, err);
}
