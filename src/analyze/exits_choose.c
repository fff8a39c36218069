/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects rows of exits, merges those of a reason, and verifies that times add up. */
#include "analyze/exits.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ringside/source.h>

/* ---- the choice ----------------------------------------------------------------------------- */

bool rs_exits_is_sum(const struct rs_exits_choice *choice)
{
	switch (choice->scope) {
	case RS_EXITS_PID:
	case RS_EXITS_VCPU:
	case RS_EXITS_TID:
	case RS_EXITS_VM:
		return true;
	case RS_EXITS_ALL:
	case RS_EXITS_PID_TIDS:
	case RS_EXITS_TIDS:
		break;
	}
	return false;
}

static bool is_listed(const struct rs_exits_choice *choice, int tid)
{
	for (size_t i = 0; i < choice->n_tids; i++) {
		if (choice->tids[i] == tid)
			return true;
	}
	return false;
}

bool rs_exits_chosen(const struct rs_exits_choice *choice, const char *vm, int pid, int tid,
		     int vcpu)
{
	if (choice->vm && (!vm || fnmatch(choice->vm, vm, 0) != 0))
		return false;
	switch (choice->scope) {
	case RS_EXITS_PID:
	case RS_EXITS_PID_TIDS:
		return pid == choice->pid;
	case RS_EXITS_VCPU:
		return pid == choice->pid && vcpu == choice->vcpu;
	case RS_EXITS_TID:
		return tid == choice->tid;
	case RS_EXITS_TIDS:
		return is_listed(choice, tid);
	case RS_EXITS_ALL:
	case RS_EXITS_VM:
		break;
	}
	return true;
}

struct rs_error *rs_exits_select(const struct rs_exits *exits, const struct rs_exits_choice *choice,
				 struct rs_exits *chosen)
{
	struct rs_exits_row *rows = calloc(exits->n_rows + 1, sizeof(*rows));
	struct rs_exits_vcpu *vcpus = calloc(exits->n_vcpus + 1, sizeof(*vcpus));
	struct rs_exits_cause *causes = calloc(exits->n_causes + 1, sizeof(*causes));
	struct rs_exits e = *exits;

	if (!rows || !vcpus || !causes) {
		free(rows);
		free(vcpus);
		free(causes);
		return rs_error_no_memory();
	}
	e.n_rows = e.n_vcpus = e.n_causes = 0;
	for (size_t i = 0; i < exits->n_rows; i++) {
		const struct rs_exits_row *r = &exits->rows[i];

		if (rs_exits_chosen(choice, r->vm, r->pid, r->tid, r->vcpu))
			rows[e.n_rows++] = *r;
	}
	for (size_t i = 0; i < exits->n_vcpus; i++) {
		const struct rs_exits_vcpu *v = &exits->vcpus[i];

		if (rs_exits_chosen(choice, v->vm, v->pid, v->tid, v->vcpu))
			vcpus[e.n_vcpus++] = *v;
	}
	for (size_t i = 0; i < exits->n_causes; i++) {
		const struct rs_exits_cause *c = &exits->cause_rows[i];

		if (rs_exits_chosen(choice, c->vm, c->pid, c->tid, c->vcpu))
			causes[e.n_causes++] = *c;
	}
	e.rows = rows;
	e.vcpus = vcpus;
	e.cause_rows = causes;
	*chosen = e;
	return NULL;
}

void rs_exits_unselect(struct rs_exits *chosen)
{
	free((void *)chosen->rows);
	free((void *)chosen->vcpus);
	free((void *)chosen->cause_rows);
	*chosen = (struct rs_exits){ 0 };
}

/* ---- merging rows --------------------------------------------------------------------------- */

static int compare_vms(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static int by_reason(const struct rs_exits_row *x, const struct rs_exits_row *y)
{
	const uint32_t xs[] = { x->isa, x->nested, x->code };
	const uint32_t ys[] = { y->isa, y->nested, y->code };

	for (size_t i = 0; i < sizeof(xs) / sizeof(xs[0]); i++) {
		if (xs[i] != ys[i])
			return xs[i] < ys[i] ? -1 : 1;
	}
	return 0;
}

static int compare_reasons(const void *a, const void *b)
{
	return by_reason(a, b);
}

static int compare_vms_and_reasons(const void *a, const void *b)
{
	const struct rs_exits_row *x = a, *y = b;
	int vm = compare_vms(x->vm, y->vm);

	return vm ? vm : by_reason(x, y);
}

/* Adds from to `to`, whose histogram is hist. */
static void merge_into(struct rs_exits_row *to, const struct rs_exits_row *from,
		       struct rs_hist *hist)
{
	if (compare_vms(to->vm, from->vm))
		to->vm = NULL;
	if (to->pid != from->pid)
		to->pid = 0;
	if (to->tid != from->tid)
		to->tid = 0;
	if (to->vcpu != from->vcpu)
		to->vcpu = RS_UNKNOWN;
	if (from->entered && (!to->entered || from->min_ns < to->min_ns))
		to->min_ns = from->min_ns;
	if (from->max_ns > to->max_ns)
		to->max_ns = from->max_ns;
	to->count += from->count;
	to->entered += from->entered;
	rs_exits_cost_add(&to->sum, &from->sum);
	rs_hist_add(hist, from->hist);
}

struct rs_error *rs_exits_merge(const struct rs_exits *exits, bool by_vm,
				struct rs_exits_row **merged, size_t *n)
{
	int (*compare)(const void *, const void *) =
		by_vm ? compare_vms_and_reasons : compare_reasons;
	size_t n_rows = exits->n_rows, groups = 0, at = 0;
	struct rs_exits_row *sorted = malloc((n_rows + 1) * sizeof(*sorted)), *rows;
	struct rs_hist *hists;

	if (!sorted)
		return rs_error_no_memory();
	if (n_rows)
		memcpy(sorted, exits->rows, n_rows * sizeof(*sorted));
	qsort(sorted, n_rows, sizeof(*sorted), compare);
	for (size_t i = 0; i < n_rows; i++)
		groups += !i || compare(&sorted[i - 1], &sorted[i]);
	rows = calloc(1, (groups + 1) * sizeof(*rows) + groups * sizeof(*hists));
	if (!rows) {
		free(sorted);
		return rs_error_no_memory();
	}
	hists = (struct rs_hist *)(rows + groups + 1);
	for (size_t i = 0; i < n_rows; i++) {
		if (i && !compare(&sorted[i - 1], &sorted[i])) {
			merge_into(&rows[at - 1], &sorted[i], &hists[at - 1]);
			continue;
		}
		rows[at] = sorted[i];
		hists[at] = *sorted[i].hist;
		rows[at].hist = &hists[at];
		at++;
	}
	free(sorted);
	*merged = rows;
	*n = groups;
	return NULL;
}

/* ---- merging causes ------------------------------------------------------------------------- */

static int by_cause(const struct rs_exits_cause *x, const struct rs_exits_cause *y)
{
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

static int compare_causes(const void *a, const void *b)
{
	return by_cause(a, b);
}

static int compare_vms_and_causes(const void *a, const void *b)
{
	const struct rs_exits_cause *x = a, *y = b;
	int vm = compare_vms(x->vm, y->vm);

	return vm ? vm : by_cause(x, y);
}

static int by_total(const void *a, const void *b)
{
	const struct rs_exits_cause *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return compare_vms_and_causes(a, b);
}

struct rs_error *rs_exits_merge_causes(const struct rs_exits *exits, bool by_vm,
				       struct rs_exits_cause **merged, size_t *n)
{
	int (*compare)(const void *, const void *) =
		by_vm ? compare_vms_and_causes : compare_causes;
	struct rs_exits_cause *rows = malloc((exits->n_causes + 1) * sizeof(*rows));
	size_t at = 0;

	if (!rows)
		return rs_error_no_memory();
	if (exits->n_causes)
		memcpy(rows, exits->cause_rows, exits->n_causes * sizeof(*rows));
	qsort(rows, exits->n_causes, sizeof(*rows), compare);
	for (size_t i = 0; i < exits->n_causes; i++) {
		struct rs_exits_cause *to = at ? &rows[at - 1] : NULL;

		if (!to || compare(to, &rows[i])) {
			rows[at++] = rows[i];
			continue;
		}
		if (compare_vms(to->vm, rows[i].vm))
			to->vm = NULL;
		to->pid = to->pid == rows[i].pid ? to->pid : 0;
		to->tid = to->tid == rows[i].tid ? to->tid : 0;
		to->vcpu = to->vcpu == rows[i].vcpu ? to->vcpu : RS_UNKNOWN;
		to->count += rows[i].count;
		to->entered += rows[i].entered;
		to->total_ns += rows[i].total_ns;
		if (rows[i].max_ns > to->max_ns)
			to->max_ns = rows[i].max_ns;
	}
	qsort(rows, at, sizeof(*rows), by_total);
	*merged = rows;
	*n = at;
	return NULL;
}

/* ---- verification --------------------------------------------------------------------------- */

/* Ringside and schedstat may differ by this part of the wall time. */
#define RUNNABLE_PARTS 100
/* This part of the runnable time may be charged differently. */
#define CHARGE_PARTS 8

static struct rs_error *differ(const struct rs_exits_vcpu *v, const char *what, uint64_t ours,
			       const char *whose, uint64_t theirs)
{
	char vcpu[16] = "?";

	if (v->vcpu >= 0)
		snprintf(vcpu, sizeof(vcpu), "%d", v->vcpu);
	return rs_error_create(RS_FAILED,
			       "the time of %s vCPU %s (pid %d, tid %d) does not add up: %s %llu "
			       "ns, %s %llu ns",
			       v->vm ? v->vm : "-", vcpu, v->pid, v->tid, what,
			       (unsigned long long)ours, whose, (unsigned long long)theirs);
}

/* How much schedstat's time on a CPU or waiting may be below and above ours. */
struct slack {
	uint64_t below_ns, above_ns;
};

static bool agree(uint64_t ours, uint64_t theirs, const struct slack *slack)
{
	return ours > theirs ? ours - theirs <= slack->below_ns : theirs - ours <= slack->above_ns;
}

/*
 * The scheduler's clock differs from Ringside's stamps at both ends of a sleep, by long times if a
 * hypervisor below this kernel takes its CPUs away:
 *
 * A sleep begins, for the scheduler, at the wake-up of a thread that is to run next, if one was
 * woken before, so schedstat may have less time on the CPU (rs_vcpu_early()).
 *
 * A sleep ends when the woken thread is enqueued, for Ringside at sched_wakeup. Between the two,
 * the waker may send an interrupt to the thread's CPU (ttwu_do_activate()), so schedstat may have
 * more waiting and less sleep.
 *
 * Neither explains a difference if Ringside missed the event at that end of a sleep. Without the
 * proof that it missed none, a sleep begins at most a tick earlier. With it, the same time may be
 * missing from what schedstat had when the watch began, as base_correct() computes it.
 *
 * schedstat counts a wait when it ends (sched_info_arrive() in kernel/sched/stats.h), and time on a
 * CPU at ticks, which come late if a hypervisor below takes the CPU away. So it may lack what
 * follows a thread's last event, and may have all of a wait that began before the watch. How much
 * that is is unknown.
 */
static struct slack slack_of(const struct rs_exits_vcpu *v, uint64_t slack_ns)
{
	struct slack slack = { slack_ns + v->unended_run_ns, slack_ns };

	if (!v->missed)
		slack.below_ns += v->early_ns;
	if (v->complete) {
		slack.below_ns += v->stall_ns;
		slack.above_ns += v->early_ns + v->stall_ns;
	}
	if (!v->unwoken)
		slack.above_ns += v->ns[RS_VCPU_HALTED] + v->ns[RS_VCPU_BLOCKED];
	if (v->queued)
		slack.above_ns = UINT64_MAX;
	return slack;
}

/*
 * The scheduler charges a preempted thread until the wake-up that preempts it, not until the switch
 * (rq_clock_skip_update() in kernel/sched/core.c), so part of the time that Ringside counts as
 * running is waiting there, a little for each switch.
 *
 * In the same way it charges a woken thread from its wake-up on, if that preempts the thread on the
 * CPU or the idle thread. The part of the waiting that follows a wake-up may thus be running there:
 * all of it, if a hypervisor below this kernel runs the CPU only later.
 *
 * A CPU that is taken away at a switch, after the scheduler has read its clock, adds that time to
 * one of the two there, and to the other here. So running and waiting are compared each alone only
 * if an arrival or a departure may have been missed, which would also confuse them.
 */
static struct rs_error *check_schedstat(const struct rs_exits_vcpu *v, uint64_t on_cpu,
					uint64_t slack_ns)
{
	uint64_t wait = v->ns[RS_VCPU_WAIT], all = v->run_ns + v->wait_ns;
	struct slack slack = slack_of(v, slack_ns), run, waits;

	slack.below_ns += v->unended_wait_ns;
	if (!agree(on_cpu + wait, all, &slack))
		return differ(v, "on a CPU or waiting for one", on_cpu + wait, "by schedstat", all);
	if (v->complete)
		return NULL;
	slack_ns += all / CHARGE_PARTS;
	slack = slack_of(v, slack_ns);
	run = (struct slack){ slack.below_ns, slack_ns + v->woken_ns };
	if (!agree(on_cpu, v->run_ns, &run))
		return differ(v, "on a CPU", on_cpu, "by schedstat", v->run_ns);
	waits = (struct slack){ slack_ns + v->woken_ns + v->unended_wait_ns, slack.above_ns };
	if (!agree(wait, v->wait_ns, &waits))
		return differ(v, "waiting for a CPU", wait, "by schedstat", v->wait_ns);
	return NULL;
}

static struct rs_error *check_vcpu(const struct rs_exits_vcpu *v, uint64_t slack_ns)
{
	uint64_t sum = 0, on_cpu = v->ns[RS_VCPU_GUEST] + v->ns[RS_VCPU_KERNEL] +
				   v->ns[RS_VCPU_USER] + v->ns[RS_VCPU_POLL];

	for (uint32_t i = 0; i < RS_VCPU_STATES; i++)
		sum += v->ns[i];
	if (sum > v->wall_ns ? sum - v->wall_ns > slack_ns : v->wall_ns - sum > slack_ns)
		return differ(v, "its states are", sum, "it was watched for", v->wall_ns);
	if (!v->sched_known)
		return NULL;
	return check_schedstat(v, on_cpu,
			       slack_ns + v->ns[RS_VCPU_UNKNOWN] + v->wall_ns / RUNNABLE_PARTS);
}

struct rs_error *rs_exits_check(const struct rs_exits *exits, uint64_t slack_ns)
{
	struct rs_error *err = NULL;

	if (!exits->latency) /* without latencies there are no times */
		return NULL;
	for (size_t i = 0; !err && i < exits->n_vcpus; i++)
		err = check_vcpu(&exits->vcpus[i], slack_ns);
	return err;
}
