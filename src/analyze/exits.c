/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the exits sink: its query, and the counts of a live session's snapshots. */
#include "analyze/exits_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- snapshots ------------------------------------------------------------------------------ */

/* A thread without a vCPU number stays hidden at most this long, so that its first rows have the
 * number. */
#define HIDDEN_NS UINT64_C(2000000000)

static bool is_hidden(struct thread *t, const struct rs_kvm_counts *counts, uint32_t index)
{
	const struct rs_kvm_thread *from = &counts->snapshot->threads[index];
	uint64_t now = counts->snapshot->now_ns;

	if (!counts->wanted[index])
		return true;
	if (from->vcpu >= 0 || from->ended || counts->last)
		return false;
	if (!t->hidden_ns)
		t->hidden_ns = now;
	return now - t->hidden_ns < HIDDEN_NS;
}

static struct rs_error *thread_fill(struct exits_sink *s, struct thread *t,
				    const struct rs_kvm_counts *counts, uint32_t index)
{
	const struct rs_kvm_thread *from = &counts->snapshot->threads[index];

	t->vcpu = from->vcpu >= 0 ? from->vcpu : t->vcpu;
	if (from->vm[0] && (!t->vm || strcmp(t->vm, from->vm) != 0)) {
		t->vm = rs_exits_name_copy(s, from->vm);
		if (!t->vm)
			return rs_error_no_memory();
	}
	t->time = from->time;
	t->complete = from->complete;
	if (from->sched_known) {
		t->sched_last[0] = from->run_ns;
		t->sched_last[1] = from->wait_ns;
		t->sched_lines = 1;
	}
	t->ended = from->ended;
	t->is_hidden = is_hidden(t, counts, index);
	return NULL;
}

/* Creates the thread of a new index. *out is NULL if there are too many. */
static struct rs_error *thread_begin(struct exits_sink *s, const struct rs_kvm_thread *from,
				     struct thread **out)
{
	struct rs_error *err = rs_exits_thread_make(s, out);
	struct place *place;

	if (err || !*out)
		return err;
	place = rs_exits_thread_place(s, NULL, from->tid);
	if (!place)
		return rs_error_no_memory();
	place->value = *out;
	(*out)->is_live = true;
	(*out)->pid = from->pid;
	(*out)->tid = from->tid;
	return NULL;
}

static struct rs_error *add_threads(struct exits_sink *s, const struct rs_kvm_counts *counts)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; !err && i < counts->snapshot->n_threads; i++) {
		struct thread *t = NULL;

		if (i == s->live.n) {
			err = thread_begin(s, &counts->snapshot->threads[i], &t);
			if (!err && !rs_exits_list_add(&s->live, t))
				err = rs_error_no_memory();
		}
		if (!err && s->live.at[i])
			err = thread_fill(s, s->live.at[i], counts, i);
	}
	return err;
}

/* Adds the growth of the snapshot's distribution, which continues to grow. */
static struct rs_error *add_hist(struct exits_sink *s, struct cell *cell,
				 const struct rs_hist *hist)
{
	struct rs_error *err = rs_exits_hist_make(s, &cell->recent);
	struct rs_hist now = *hist, grown = now;

	if (!err)
		err = rs_exits_hist_make(s, &cell->previous);
	if (err)
		return err;
	rs_hist_subtract(&grown, cell->previous.hist);
	rs_hist_add(cell->recent.hist, &grown);
	*cell->previous.hist = now;
	return NULL;
}

/* Adds the times of the exits that entries have ended since the last snapshot. The mean replaces an
 * unknown minimum and maximum. */
static struct rs_error *add_times(struct exits_sink *s, struct cell *cell,
				  const struct rs_kvm_exit *row)
{
	struct amounts *previous = &cell->previous;
	struct amounts grown = {
		.entered = row->entered - previous->entered,
		.sum = { .total_ns = row->sum.total_ns - previous->sum.total_ns,
			 .kernel_ns = row->sum.kernel_ns - previous->sum.kernel_ns,
			 .user_ns = row->sum.user_ns - previous->sum.user_ns,
			 .poll_ns = row->sum.poll_ns - previous->sum.poll_ns,
			 .off_ns = row->sum.off_ns - previous->sum.off_ns },
		.min_ns = row->min_ns,
		.max_ns = row->max_ns,
	};
	struct rs_error *err;

	if (!grown.max_ns)
		grown.min_ns = grown.max_ns = grown.sum.total_ns / grown.entered;
	err = rs_exits_amounts_add(s, &cell->recent, &grown);
	previous->entered = row->entered;
	previous->sum = row->sum;
	return err || !row->hist ? err : add_hist(s, cell, row->hist);
}

static struct rs_error *add_exit(struct exits_sink *s, const struct rs_kvm_exit *row)
{
	struct thread *t = s->live.at[row->thread];
	struct amounts *previous;
	struct rs_error *err;
	struct cell *cell;

	if (!t)
		return NULL;
	err = rs_exits_cell_of(s, t, row->isa, row->nested, row->code, &cell);
	if (err || !cell)
		return err;
	previous = &cell->previous;
	cell->recent.count += row->count - previous->count;
	previous->count = row->count;
	return row->entered > previous->entered ? add_times(s, cell, row) : NULL;
}

static struct rs_error *add_cause(struct exits_sink *s, const struct rs_kvm_cause *row)
{
	struct thread *t = s->live.at[row->thread];
	struct rs_error *err;
	struct cause *cause;

	if (!t)
		return NULL;
	err = rs_exits_cause_of(s, t, row->kind, row->key, &cause);
	if (err || !cause)
		return err;
	cause->recent.count += row->count - cause->previous.count;
	cause->recent.entered += row->entered - cause->previous.entered;
	cause->recent.total_ns += row->total_ns - cause->previous.total_ns;
	/* A snapshot has the maximum since the session began, which is recent if it has grown. */
	if (row->max_ns > cause->total.max_ns)
		cause->recent.max_ns = row->max_ns;
	cause->previous.count = row->count;
	cause->previous.entered = row->entered;
	cause->previous.total_ns = row->total_ns;
	return NULL;
}

/* Adds the counts of a snapshot. The session's code in this process wrote the arrays, so indexes
 * need no check. */
static struct rs_error *exits_counts(struct rs_sink *sink, const struct rs_counts *given)
{
	const struct rs_kvm_counts *counts = (const struct rs_kvm_counts *)given;
	const struct rs_kvm_snapshot *snapshot;
	struct exits_sink *s = (struct exits_sink *)sink;
	struct rs_error *err;

	if (given->kind != RS_COUNTS_KVM)
		return NULL;
	snapshot = counts->snapshot;
	s->has_counts = true;
	s->dropped_live =
		snapshot->dropped_threads + snapshot->dropped_exits + snapshot->dropped_causes;
	err = add_threads(s, counts);
	for (uint32_t i = 0; !err && i < snapshot->n_exits; i++)
		err = add_exit(s, &snapshot->exits[i]);
	for (uint32_t i = 0; !err && i < snapshot->n_causes; i++)
		err = add_cause(s, &snapshot->causes[i]);
	return err;
}

/* ---- the sink ------------------------------------------------------------------------------- */

static const struct rs_sink_ops exits_ops = {
	.name = "exits",
	.events = rs_exits_events,
	.counts = exits_counts,
};

/* Fills in the query. Long exits need causes too, because a report of a long exit shows its
 * cause. */
static void query_fill(struct exits_sink *s)
{
	static const char *const always[] = { "kvm:*::exit", "kvm:vcpu::*", "kvm:session::*" };
	static const char *const time[] = { "kvm:sched::*" };
	static const char *const causes[] = { "kvm:io::*", "kvm:cpu::*", "kvm:mmu::*",
					      "kvm:arm64::*" };
	const struct rs_exits_options *o = &s->options;
	struct rs_query *q = &s->query;

	rs_query_init(q);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		q->globs[q->n_globs++] = always[i];
	q->globs[q->n_globs++] = time[0];
	for (size_t i = 0; (o->causes || o->than_ns) && i < sizeof(causes) / sizeof(causes[0]); i++)
		q->globs[q->n_globs++] = causes[i];
	q->counts = RS_COUNTS_KVM;
}

struct rs_error *rs_exits_sink_create(const struct rs_exits_options *options, struct rs_sink **sink)
{
	struct exits_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return rs_error_no_memory();
	s->sink.ops = &exits_ops;
	s->options = *options;
	query_fill(s);
	*sink = &s->sink;
	return NULL;
}

void rs_exits_sink_destroy(struct rs_sink *sink)
{
	struct exits_sink *s = (struct exits_sink *)sink;

	if (!s)
		return;
	rs_map_deinit(&s->by_tid);
	rs_map_deinit(&s->by_reason);
	rs_map_deinit(&s->by_cause);
	free(s->threads.at);
	free(s->live.at);
	free(s->cells.at);
	free(s->causes.at);
	free(s->rows);
	free(s->hists);
	free(s->vcpus);
	free(s->cause_rows);
	rs_arena_deinit(&s->arena);
	free(s);
}

const struct rs_query *rs_exits_query(const struct rs_sink *sink)
{
	return &((const struct exits_sink *)sink)->query;
}
