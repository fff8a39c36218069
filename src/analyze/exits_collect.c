/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects the exits sink's counts as rows, and adds the recent counts to the totals. */
#include "analyze/exits_parts.h"

#include <stdlib.h>
#include <string.h>

static const struct rs_hist nothing;

/* ---- selected threads ----------------------------------------------------------------------- */

/* Returns whether a thread is shown. One with counts of snapshots is not shown by its events. */
static bool is_shown(struct exits_sink *s, const struct thread *t)
{
	const struct place *place;

	if (t->is_live || !s->has_counts)
		return !t->is_hidden;
	place = rs_exits_thread_place(s, NULL, t->tid);
	return !place || !place->value;
}

/* Counts the exit that waits for its entry. */
static struct rs_error *count_pending(struct exits_sink *s, struct thread *t)
{
	struct rs_error *err;
	struct cell *cell;

	t->taken_exits = 0;
	if (!t->is_pending || t->is_counted)
		return NULL;
	t->is_counted = true;
	err = rs_exits_cell_of(s, t, t->isa, t->nested, t->code, &cell);
	if (!err && cell)
		cell->recent.count++;
	return err;
}

/* ---- reasons -------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct cell *x = *(struct cell *const *)a, *y = *(struct cell *const *)b;
	const int64_t xs[] = { x->thread->pid, x->thread->tid, x->thread->number,
			       x->isa,	       x->nested,      x->code };
	const int64_t ys[] = { y->thread->pid, y->thread->tid, y->thread->number,
			       y->isa,	       y->nested,      y->code };

	for (size_t i = 0; i < sizeof(xs) / sizeof(xs[0]); i++) {
		if (xs[i] != ys[i])
			return xs[i] < ys[i] ? -1 : 1;
	}
	return 0;
}

static void hist_fill(struct rs_hist *hist, const struct cell *cell, bool all)
{
	if (cell->recent.hist)
		rs_hist_add(hist, cell->recent.hist);
	if (all && cell->total.hist)
		rs_hist_add(hist, cell->total.hist);
}

static void row_fill(struct rs_exits_row *row, const struct cell *cell, bool all)
{
	struct amounts a = cell->recent;
	struct thread *t = cell->thread;

	a.hist = NULL;
	if (all) { /* without distributions, the sink is not needed */
		struct amounts total = cell->total;

		total.hist = NULL;
		rs_error_free(rs_exits_amounts_add(NULL, &a, &total));
	}
	*row = (struct rs_exits_row){ .vm = t->vm,
				      .pid = t->pid,
				      .tid = t->tid,
				      .vcpu = t->vcpu,
				      .isa = cell->isa,
				      .code = cell->code,
				      .nested = cell->nested,
				      .count = a.count,
				      .entered = a.entered,
				      .sum = a.sum,
				      .min_ns = a.min_ns,
				      .max_ns = a.max_ns,
				      .hist = &nothing };
	t->taken_exits += a.count;
}

static bool has_hist(const struct cell *cell, bool all)
{
	return cell->recent.hist || (all && cell->total.hist);
}

static bool is_some(const struct cell *cell, bool all)
{
	return cell->recent.count || cell->recent.entered ||
	       (all && (cell->total.count || cell->total.entered));
}

static struct rs_error *collect_rows(struct exits_sink *s, bool all, struct rs_exits *exits)
{
	size_t n = s->cells.n, hists = 0;
	struct cell **sorted = malloc((n + 1) * sizeof(*sorted));

	free(s->rows);
	free(s->hists);
	s->hists = NULL;
	s->rows = calloc(n + 1, sizeof(*s->rows));
	if (!sorted || !s->rows) {
		free(sorted);
		return rs_error_no_memory();
	}
	if (n)
		memcpy(sorted, s->cells.at, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_place);
	for (size_t i = 0; i < n; i++)
		hists += has_hist(sorted[i], all);
	if (hists)
		s->hists = calloc(hists, sizeof(*s->hists));
	if (hists && !s->hists) {
		free(sorted);
		return rs_error_no_memory();
	}
	for (size_t i = 0; i < n; i++) {
		struct rs_exits_row *row = &s->rows[exits->n_rows];

		if (!is_some(sorted[i], all) || !is_shown(s, sorted[i]->thread))
			continue;
		row_fill(row, sorted[i], all);
		exits->n_rows++;
		if (has_hist(sorted[i], all)) {
			hist_fill(&s->hists[--hists], sorted[i], all);
			row->hist = &s->hists[hists];
		}
	}
	exits->rows = s->rows;
	free(sorted);
	return NULL;
}

/* ---- vCPUs ---------------------------------------------------------------------------------- */

/* Returns whether the kernel traces entries: some thread has entered its guest, or no thread has
 * returned to its VMM or ended a halt. */
static bool has_entries(const struct exits_sink *s)
{
	bool left = false;

	for (size_t i = 0; i < s->threads.n; i++) {
		const struct thread *t = s->threads.at[i];

		if (t->is_live) /* the session has done so */
			continue;
		if (t->time.entered)
			return true;
		left |= t->time.left;
	}
	return !left;
}

/* Returns the times so far. entries: the kernel traces entries. */
static struct rs_vcpu_time time_now(const struct thread *t, bool entries, int64_t to_ns)
{
	struct rs_vcpu_time time = t->time;

	if (!t->is_live && !t->ended)
		rs_vcpu_end(&time, exits_stamp(to_ns));
	if (!t->is_live && !entries)
		rs_vcpu_merge_unknown(&time);
	return time;
}

/* Corrects negative growth. A wake-up turns time that was counted as the kernel's into polling, so
 * a state may shrink. The other states compensate, the largest first, so that the sum stays. */
static void settle_growth(int64_t grown[RS_VCPU_STATES])
{
	for (uint32_t i = 0; i < RS_VCPU_STATES; i++) {
		while (grown[i] < 0) {
			uint32_t largest = 0;
			int64_t part = -grown[i];

			for (uint32_t j = 1; j < RS_VCPU_STATES; j++)
				largest = grown[j] > grown[largest] ? j : largest;
			if (grown[largest] <= 0) {
				grown[i] = 0;
				break;
			}
			part = part < grown[largest] ? part : grown[largest];
			grown[largest] -= part;
			grown[i] += part;
		}
	}
}

static uint64_t since_reported(uint64_t now, uint64_t *reported, bool all)
{
	uint64_t before = all ? 0 : *reported;

	*reported = now;
	return now > before ? now - before : 0;
}

static void vcpu_fill(struct rs_exits_vcpu *vcpu, struct thread *t, bool entries, bool all,
		      int64_t to_ns)
{
	const struct rs_vcpu_time time = time_now(t, entries, to_ns);
	int64_t grown[RS_VCPU_STATES];

	for (uint32_t i = 0; i < RS_VCPU_STATES; i++) {
		if (all)
			t->reported_ns[i] = 0;
		grown[i] = (int64_t)(time.ns[i] - t->reported_ns[i]);
	}
	settle_growth(grown);
	*vcpu = (struct rs_exits_vcpu){
		.vm = t->vm,
		.pid = t->pid,
		.tid = t->tid,
		.vcpu = t->vcpu,
		.ended = t->ended,
		.wall_ns = since_reported(time.at - time.since, &t->reported_wall_ns, all),
		.exits = t->taken_exits,
		.unwoken = time.unwoken,
		.complete = t->complete && !time.missed && !time.lossy,
		.missed = time.missed,
		.early_ns = time.early_ns,
		.stall_ns = time.stall_ns,
		.woken_ns = time.woken_ns,
		.unended_run_ns = time.unended_run_ns,
		.unended_wait_ns = time.unended_wait_ns,
		.queued = time.queued,
		/* There is no difference to compute if the thread has ended, or if there is only
		 * one line. */
		.sched_known =
			!t->ended && (t->is_live ? t->sched_lines > 0 : all && t->sched_lines > 1),
		.run_ns = since_reported(t->sched_last[0] - t->sched_first[0],
					 &t->reported_sched[0], all),
		.wait_ns = since_reported(t->sched_last[1] - t->sched_first[1],
					  &t->reported_sched[1], all),
	};
	for (uint32_t i = 0; i < RS_VCPU_STATES; i++) {
		vcpu->ns[i] = (uint64_t)grown[i];
		t->reported_ns[i] += (uint64_t)grown[i];
	}
}

static int by_thread(const void *a, const void *b)
{
	const struct thread *x = *(struct thread *const *)a, *y = *(struct thread *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static struct rs_error *collect_vcpus(struct exits_sink *s, bool all, struct rs_exits *exits)
{
	size_t n = s->threads.n;
	struct thread **sorted = malloc((n + 1) * sizeof(*sorted));
	const bool entries = has_entries(s);

	free(s->vcpus);
	s->vcpus = calloc(n + 1, sizeof(*s->vcpus));
	if (!sorted || !s->vcpus) {
		free(sorted);
		return rs_error_no_memory();
	}
	if (n)
		memcpy(sorted, s->threads.at, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_thread);
	for (size_t i = 0; i < n; i++) {
		struct thread *t = sorted[i];

		if (!is_shown(s, t) || (t->end_taken && !all))
			continue;
		vcpu_fill(&s->vcpus[exits->n_vcpus++], t, entries, all, exits->to_ns);
		t->end_taken = t->ended;
	}
	exits->vcpus = s->vcpus;
	free(sorted);
	return NULL;
}

/* ---- causes --------------------------------------------------------------------------------- */

static int by_total(const void *a, const void *b)
{
	const struct rs_exits_cause *x = a, *y = b;
	const uint64_t xs[] = { y->total_ns,	  y->count, (uint64_t)x->pid,
				(uint64_t)x->tid, x->kind,  x->key };
	const uint64_t ys[] = { x->total_ns,	  x->count, (uint64_t)y->pid,
				(uint64_t)y->tid, y->kind,  y->key };

	for (size_t i = 0; i < sizeof(xs) / sizeof(xs[0]); i++) {
		if (xs[i] != ys[i])
			return xs[i] < ys[i] ? -1 : 1;
	}
	return 0;
}

/* Returns the maximum since the last collection. That of a live thread is known only if it has
 * grown. */
static uint64_t recent_max(const struct cause *c)
{
	if (!c->thread->is_live || c->recent.max_ns)
		return c->recent.max_ns;
	return c->recent.entered < 2 ? c->recent.total_ns : RS_EXITS_MAX_UNKNOWN;
}

static struct rs_error *collect_causes(struct exits_sink *s, bool all, struct rs_exits *exits)
{
	free(s->cause_rows);
	s->cause_rows = calloc(s->causes.n + 1, sizeof(*s->cause_rows));
	if (!s->cause_rows)
		return rs_error_no_memory();
	for (size_t i = 0; i < s->causes.n; i++) {
		struct cause *c = s->causes.at[i];
		struct rs_exits_cause *row = &s->cause_rows[exits->n_causes];
		const struct thread *t = c->thread;

		if (!is_shown(s, t))
			continue;
		*row = (struct rs_exits_cause){ .vm = t->vm,
						.pid = t->pid,
						.tid = t->tid,
						.vcpu = t->vcpu,
						.kind = c->kind,
						.key = c->key,
						.count = c->recent.count,
						.entered = c->recent.entered,
						.total_ns = c->recent.total_ns,
						.max_ns = recent_max(c) };
		c->total.count += c->recent.count;
		c->total.entered += c->recent.entered;
		c->total.total_ns += c->recent.total_ns;
		if (c->recent.max_ns > c->total.max_ns)
			c->total.max_ns = c->recent.max_ns;
		memset(&c->recent, 0, sizeof(c->recent));
		if (all) {
			row->count = c->total.count;
			row->entered = c->total.entered;
			row->total_ns = c->total.total_ns;
			row->max_ns = c->total.max_ns;
		}
		exits->n_causes += row->count || row->entered;
	}
	qsort(s->cause_rows, exits->n_causes, sizeof(*s->cause_rows), by_total);
	exits->cause_rows = s->cause_rows;
	return NULL;
}

/* ---- the result ----------------------------------------------------------------------------- */

/* Adds the recent counts to the totals, and clears them. */
static struct rs_error *fold(struct exits_sink *s)
{
	for (size_t i = 0; i < s->cells.n; i++) {
		struct cell *cell = s->cells.at[i];
		struct rs_hist *hist = cell->recent.hist;
		struct rs_error *err;

		if (!is_some(cell, false) || cell->thread->is_hidden)
			continue;
		err = rs_exits_amounts_add(s, &cell->total, &cell->recent);
		if (err)
			return err;
		cell->recent = (struct amounts){ .hist = hist };
		if (hist)
			memset(hist, 0, sizeof(*hist));
	}
	return NULL;
}

static int64_t start_of(const struct exits_sink *s)
{
	if (s->has_counts)
		return 0;
	return s->is_open ? s->opened_ns : s->first_ns;
}

struct rs_error *rs_exits_collect(struct rs_sink *sink, bool all, int64_t to_ns,
				  struct rs_exits *exits)
{
	struct exits_sink *s = (struct exits_sink *)sink;
	uint64_t dropped = s->dropped + (s->has_counts ? s->dropped_live : s->dropped_events);
	struct rs_exits e = { .latency = s->options.latency, .causes = s->options.causes };
	struct rs_error *err = NULL;

	e.from_ns = exits_time(all || !s->is_taken ? start_of(s) : s->taken_to_ns);
	e.to_ns = exits_time(to_ns ? to_ns : s->last_ns);
	if (e.to_ns < e.from_ns)
		e.to_ns = e.from_ns;
	for (size_t i = 0; !err && i < s->threads.n; i++)
		err = count_pending(s, s->threads.at[i]);
	if (!err)
		err = collect_rows(s, all, &e);
	if (!err)
		err = collect_vcpus(s, all, &e);
	if (!err)
		err = collect_causes(s, all, &e);
	if (!err)
		err = fold(s);
	if (err)
		return err;
	e.lost = since_reported(s->lost, &s->reported_lost, all);
	e.dropped = since_reported(dropped, &s->reported_dropped, all);
	s->taken_to_ns = e.to_ns;
	s->is_taken = true;
	*exits = e;
	return NULL;
}
