/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the stacks of a guest's tasks. */
#include "cli/inspect_stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/insight.h"

#define ROWS_MAX (RS_LINUX_FRAMES_MAX * RS_SYMBOL_FRAMES_MAX)

struct printing {
	struct rs_json *json;
	const struct rs_inspect_stacks *what;
	struct rs_stacks *stacks;
	struct rs_linux_stack stack;
	struct rs_insight_frame *rows;
	uint32_t n_rows;
};

/* Returns the processor that runs a task, or NULL. */
static const struct rs_linux_vcpu *vcpu_of(const struct rs_inspect_stacks *what, uint64_t task)
{
	for (uint32_t i = 0; i < what->n_vcpus; i++) {
		uint64_t base, address = 0;
		uint32_t cpu;
		struct rs_error *err = rs_linux_cpu(what->kernel, &what->vcpus[i], &cpu, &base);

		if (!err)
			err = rs_linux_current(what->kernel, base, &address);
		rs_error_free(err);
		if (!err && address == task)
			return &what->vcpus[i];
	}
	return NULL;
}

static void text_copy(char to[RS_CELL_TEXT_MAX], const char *from)
{
	snprintf(to, RS_CELL_TEXT_MAX, "%s", from ? from : "");
}

/* Makes the rows of a frame: one for each of its (inlined) functions, or one. */
static void rows_add(struct printing *p, uint32_t i)
{
	struct rs_frame frames[RS_SYMBOL_FRAMES_MAX];
	uint32_t n = rs_stacks_lookup(p->stacks, &p->stack, i, frames, RS_SYMBOL_FRAMES_MAX);

	for (uint32_t f = 0; f < (n ? n : 1) && p->n_rows < ROWS_MAX; f++) {
		struct rs_insight_frame *row = &p->rows[p->n_rows++];

		*row = (struct rs_insight_frame){ .frame = i,
						  .is_kernel = i < p->stack.n_kernel,
						  .at = p->stack.frames[i] };
		if (!n)
			continue;
		row->inlined = frames[f].inlined;
		row->offset = frames[f].offset;
		row->line = frames[f].line;
		text_copy(row->function, frames[f].function);
		text_copy(row->file, frames[f].file);
		text_copy(row->module, frames[f].module);
	}
}

static void put_ends(struct printing *p)
{
	const struct {
		const char *key, *text, *why;
	} ends[] = { { "kernel_end", "kernel frames end: ", p->stack.kernel_why },
		     { "user_end", "user frames end: ", p->stack.user_why } };

	for (uint32_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (p->what->is_json && *ends[i].why) {
			rs_json_text(rs_json_key(p->json, ends[i].key), ends[i].why);
		} else if (p->what->is_json) {
			rs_json_null(rs_json_key(p->json, ends[i].key));
		} else if (*ends[i].why) {
			rs_out_text(p->json->out, ends[i].text);
			rs_out_text(p->json->out, ends[i].why);
			rs_out_char(p->json->out, '\n');
		}
	}
}

static void put_head(struct printing *p, const struct rs_linux_task *task)
{
	char text[96];

	if (p->what->is_json) {
		rs_json_open(p->json, '{');
		rs_json_signed(rs_json_key(p->json, "pid"), task->tgid);
		rs_json_signed(rs_json_key(p->json, "tid"), task->pid);
		rs_json_text(rs_json_key(p->json, "task"), task->comm);
		rs_json_open(rs_json_key(p->json, "frames"), '[');
		return;
	}
	rs_out_line(p->json->out);
	snprintf(text, sizeof(text), "task %d of process %d, ", task->pid, task->tgid);
	rs_out_text(p->json->out, text);
	rs_out_text(p->json->out, task->comm);
	rs_out_char(p->json->out, '\n');
}

static void put_stack(struct printing *p, const struct rs_linux_task *task)
{
	struct rs_table table = { .json = p->json,
				  .form = p->what->is_json ? RS_TABLE_JSON : RS_TABLE_TEXT,
				  .columns = rs_insight_frame_columns };

	p->n_rows = 0;
	for (uint32_t i = 0; i < p->stack.n; i++)
		rows_add(p, i);
	put_head(p, task);
	if (p->n_rows)
		rs_table_rows(&table, p->rows, p->n_rows, sizeof(*p->rows));
	if (p->what->is_json)
		rs_json_close(p->json, ']');
	put_ends(p);
	if (p->what->is_json)
		rs_json_close(p->json, '}');
}

/* Keeps the reason why a stack is incomplete. A task that has ended has no stack, which is not an
 * error. */
static void incomplete_keep(const struct rs_linux_task *task, const struct rs_linux_stack *stack,
			    struct rs_error **incomplete)
{
	const char *why = *stack->kernel_why ? stack->kernel_why : stack->user_why;

	if (*why && !strchr("ZX", task->state))
		*incomplete = rs_error_first(*incomplete,
					     rs_error_create(RS_DAMAGED,
							     "task %d: its stack is incomplete: %s",
							     task->pid, why));
}

static struct rs_error *put_all(struct printing *p, struct rs_linux_tasks *tasks,
				struct rs_error **incomplete)
{
	const struct rs_inspect_stacks *what = p->what;
	uint32_t shown = 0;

	for (uint32_t i = 0; i < tasks->n; i++) {
		const struct rs_linux_task *task = &tasks->tasks[i];
		struct rs_error *err;

		if (what->pid && task->tgid != what->pid)
			continue;
		err = rs_stacks_read(p->stacks, task, vcpu_of(what, task->address), &p->stack);
		if (err)
			return err;
		if (!what->is_json && shown++)
			rs_out_char(p->json->out, '\n');
		put_stack(p, task);
		incomplete_keep(task, &p->stack, incomplete);
		shown += what->is_json;
	}
	if (!shown && tasks->damage) {
		struct rs_error *damage = tasks->damage;

		tasks->damage = NULL;
		return rs_error_wrap(damage, "process %d was not found", what->pid);
	}
	return shown ? NULL : rs_error_create(RS_USAGE, "the guest has no process %d", what->pid);
}

struct rs_error *rs_inspect_put_stacks(struct rs_json *json, const struct rs_inspect_stacks *what,
				       struct rs_error **incomplete)
{
	struct printing p = { .json = json, .what = what };
	struct rs_linux_tasks tasks = { 0 };
	struct rs_error *err = rs_linux_tasks_read(what->kernel, &tasks);

	if (!err)
		err = rs_stacks_create(what->kernel, what->symfs, &p.stacks);
	if (!err && !(p.rows = calloc(ROWS_MAX, sizeof(*p.rows))))
		err = rs_error_no_memory();
	if (!err && what->is_json)
		rs_json_open(rs_json_key(json, "stacks"), '[');
	if (!err)
		err = put_all(&p, &tasks, incomplete);
	if (!err && what->is_json)
		rs_json_close(json, ']');
	free(p.rows);
	rs_stacks_destroy(p.stacks);
	if (!err) {
		*incomplete = rs_error_first(*incomplete, tasks.damage);
		tasks.damage = NULL;
	}
	rs_linux_tasks_deinit(&tasks);
	return err;
}
