/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a session's counts from the mapped arrays while the programs write to them, without a
 * system call. A row is valid if the counters before and after it agree, so its sums are
 * consistent. Different rows may be of different instants.
 */
#include "base/now.h"
#include "kvm/session.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>

/* A thread writes for nanoseconds at a time, and cannot interfere this often. */
#define TRIES 1000

/* ---- threads --------------------------------------------------------------------------------- */

static struct rs_vcpu_time time_read(const struct rs_kvm_slot *slot)
{
	struct rs_vcpu_time time;
	uint32_t before;

	for (int i = 0; i < TRIES; i++) {
		/* Pairs with TIME_STEP() of the programs, which increments begun first and sets
		 * done last. */
		before = __atomic_load_n(&slot->done, __ATOMIC_ACQUIRE);
		memcpy(&time, (const void *)&slot->time, sizeof(time));
		/* Read the words before the other counter; pairs with the program's order. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&slot->begun, __ATOMIC_RELAXED) == before)
			break;
	}
	return time;
}

/* What of the scheduler's times is from before the watch. */
struct base {
	uint64_t run_ns, wait_ns;
};

static struct base base_of(const struct rs_kvm_session *s, const struct rs_kvm_known *known)
{
	const struct rs_kvm_slot *slot = rs_kvm_slot(s, known->slot);

	/* Pairs with base_correct() of the programs, which writes it last. */
	if (__atomic_load_n(&slot->departures, __ATOMIC_ACQUIRE) == 2)
		return (struct base){ slot->base_run_ns, slot->base_wait_ns };
	return (struct base){ known->base_run_ns, known->base_wait_ns };
}

static void thread_sched(const struct rs_kvm_session *s, const struct rs_kvm_known *known,
			 struct rs_kvm_thread *thread)
{
	const struct base base = base_of(s, known);
	uint64_t run = known->run_ns, wait = known->wait_ns;
	bool is_known = known->sched_known;

	if (s->gate == RS_KVM_OPEN)
		is_known = known->base_known && !thread->ended &&
			   rs_kvm_schedstat(thread->pid, thread->tid, &run, &wait);
	/* A base is less than 0 if Ringside has a little more time than the scheduler. */
	if (!is_known || (int64_t)(run - base.run_ns) < 0 || (int64_t)(wait - base.wait_ns) < 0)
		return;
	thread->run_ns = run - base.run_ns;
	thread->wait_ns = wait - base.wait_ns;
	thread->sched_known = true;
}

static void thread_time(const struct rs_kvm_session *s, const struct rs_kvm_known *known,
			struct rs_kvm_thread *thread)
{
	const struct rs_kvm_slot *slot = rs_kvm_slot(s, known->slot);

	thread_sched(s, known, thread);
	/* Read before the slot: the slot would show a switch after this read. */
	thread->asleep = known->asleep;
	if (s->gate == RS_KVM_OPEN && !slot->time.seen && !thread->ended)
		thread->asleep = rs_kvm_asleep(thread->pid, thread->tid);
	thread->time = time_read(slot);
	thread->complete = slot->departures == 2 && !slot->missed;
	thread->asleep &= !thread->time.seen;
	if (thread->asleep)
		rs_vcpu_asleep(&thread->time);
}

static void threads_read(struct rs_kvm_session *s)
{
	for (uint32_t i = 0; i < s->n_known; i++) {
		const struct rs_kvm_known *known = &s->known[i];
		const struct rs_kvm_slot *slot = rs_kvm_slot(s, known->slot);
		struct rs_kvm_thread *thread = &s->threads[i];

		*thread = (struct rs_kvm_thread){
			.pid = (int)slot->tgid,
			.tid = (int)slot->tid,
			.vcpu = slot->vcpu >= 0 ? slot->vcpu : known->vcpu,
			/* Pairs with on_thread_end(), which writes it last. */
			.ended = __atomic_load_n(&slot->ended, __ATOMIC_ACQUIRE),
		};
		memcpy(thread->vm, known->vm, sizeof(thread->vm));
		if (s->config.latency)
			thread_time(s, known, thread);
	}
}

/* Accounts the time since each thread's last step to its present state, as far as the kernel's
 * tracepoints distinguish the states. */
static void threads_until(struct rs_kvm_session *s, uint64_t now)
{
	bool entered = false, left = false;

	for (uint32_t i = 0; s->config.latency && i < s->n_known; i++) {
		struct rs_kvm_thread *thread = &s->threads[i];

		if (!thread->ended)
			rs_vcpu_end(&thread->time, now);
		entered |= thread->time.entered;
		left |= thread->time.left;
	}
	for (uint32_t i = 0; left && !entered && i < s->n_known; i++)
		rs_vcpu_merge_unknown(&s->threads[i].time);
}

/* ---- exits ----------------------------------------------------------------------------------- */

static void cell_read(const struct rs_kvm_cell *cell, struct rs_kvm_cell *copy)
{
	for (int i = 0; i < TRIES; i++) {
		/* Pairs with cell_cost(), which increments entered first and sets settled last. */
		uint64_t before = __atomic_load_n(&cell->settled, __ATOMIC_ACQUIRE);

		memcpy(copy, (const void *)cell, sizeof(*copy));
		/* Read the words before the other counter; pairs with the program's order. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&cell->entered, __ATOMIC_RELAXED) == before)
			break;
	}
	/* Read last, so that it is never less than entered. */
	copy->count = __atomic_load_n(&cell->count, __ATOMIC_RELAXED);
}

/* Returns the minimum and maximum of the exits that ended in an epoch. An exit that ended after the
 * epoch, but before the cell was read, is in the cell's sums. Its time is in the next epoch, and
 * counts in both. */
static struct rs_kvm_extent extent_of(const struct rs_kvm_cell *cell, uint32_t epoch)
{
	struct rs_kvm_extent both = { .min = UINT64_MAX };

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t at = (epoch + i) & 1;
		const struct rs_kvm_extent *one = &cell->extent[at];

		if (cell->epoch[at] != epoch + i)
			continue;
		if (one->min < both.min)
			both.min = one->min;
		if (one->max > both.max)
			both.max = one->max;
	}
	if (both.min > both.max) /* none ended */
		both.min = 0;
	return both;
}

static void exit_fill(const struct rs_kvm_session *s, uint32_t at, uint32_t epoch,
		      const struct rs_kvm_cell *cell, struct rs_kvm_exit *row)
{
	struct rs_kvm_extent extent = extent_of(cell, epoch);

	*row = (struct rs_kvm_exit){
		.thread = s->known_of[cell->slot] - 1,
		.isa = RS_KVM_WHAT_ISA(cell->what),
		.code = RS_KVM_WHAT_CODE(cell->what),
		.nested = RS_KVM_WHAT_NESTED(cell->what),
		.count = cell->count,
		.entered = cell->entered,
		.sum = cell->sum,
		.min_ns = extent.min,
		.max_ns = extent.max,
		.hist = s->config.latency ? rs_kvm_element(&s->hists, at) : NULL,
	};
}

/* Returns the reason of a place in the row of a thread with this isa, or 0. The inverse of
 * rs_kvm_place(). */
static uint64_t what_at(uint32_t isa, uint32_t place)
{
	static const struct {
		uint32_t isa, first, n, at;
	} rows[] = {
#define RS_ISA_PLACES(NAME, first, n, at) { RS_ISA_##NAME, first, n, at },
#include <ringside/event/isa.def>
	};
	uint32_t nested = place >= RS_KVM_ROW_NESTED;
	uint32_t at = place - 1 - nested * RS_KVM_ROW_HARDWARE;

	if (place >= RS_KVM_ROW_RETURNS)
		return rs_kvm_what(RS_ISA_USER, 0, place - RS_KVM_ROW_RETURNS);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].isa == isa && at - rows[i].at < rows[i].n)
			return rs_kvm_what(isa, nested, rows[i].first + (at - rows[i].at));
	}
	return 0;
}

static struct rs_error *exit_add(struct rs_kvm_session *s, uint32_t *n, struct rs_kvm_exit **row)
{
	if (!RS_VECTOR_RESERVE(s->exits, s->n_exits_max, *n + 1))
		return rs_error_no_memory();
	*row = &s->exits[(*n)++];
	return NULL;
}

static struct rs_error *counts_read(struct rs_kvm_session *s, uint32_t *n)
{
	struct rs_kvm_exit *row;
	struct rs_error *err;

	for (uint32_t i = 0; s->config.only_count && i < s->n_known; i++) {
		const struct rs_kvm_slot *slot = rs_kvm_slot(s, s->known[i].slot);

		for (uint32_t place = 1; place < RS_KVM_ROW; place++) {
			uint64_t what,
				count = __atomic_load_n(&slot->count[place], __ATOMIC_RELAXED);

			if (!count)
				continue;
			err = exit_add(s, n, &row);
			if (err)
				return err;
			what = what_at(slot->isa, place);
			*row = (struct rs_kvm_exit){ .thread = i,
						     .isa = RS_KVM_WHAT_ISA(what),
						     .code = RS_KVM_WHAT_CODE(what),
						     .nested = RS_KVM_WHAT_NESTED(what),
						     .count = count };
		}
	}
	return NULL;
}

static struct rs_error *exits_read(struct rs_kvm_session *s, uint32_t epoch, uint32_t *n)
{
	struct rs_error *err;
	struct rs_kvm_cell copy;
	struct rs_kvm_exit *row;

	*n = 0;
	err = counts_read(s, n);
	/* Blocks are assigned in order, but are not all in use: continue after an unused one. */
	for (uint32_t at = RS_KVM_BLOCK; !err && at < s->cells.n; at++) {
		const struct rs_kvm_cell *cell = rs_kvm_cell(s, at);

		/* Pairs with cell_make(), which writes it last. */
		if (!__atomic_load_n(&cell->what, __ATOMIC_ACQUIRE)) {
			at |= RS_KVM_BLOCK - 1; /* a block is used from its start */
			continue;
		}
		cell_read(cell, &copy);
		if (!copy.count || copy.slot > s->threads_max || !s->known_of[copy.slot])
			continue;
		err = exit_add(s, n, &row);
		if (!err)
			exit_fill(s, at, epoch, &copy, row);
	}
	return err;
}

/* ---- causes ---------------------------------------------------------------------------------- */

static void cause_read(const struct rs_kvm_cause_row *row, struct rs_kvm_cause_row *copy)
{
	for (int i = 0; i < TRIES; i++) {
		/* Pairs with cause_settle(), which increments entered first and sets settled
		 * last. */
		uint64_t before = __atomic_load_n(&row->settled, __ATOMIC_ACQUIRE);

		memcpy(copy, (const void *)row, sizeof(*copy));
		/* Read the words before the other counter; pairs with the program's order. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&row->entered, __ATOMIC_RELAXED) == before)
			break;
	}
	copy->count = __atomic_load_n(&row->count, __ATOMIC_RELAXED);
}

static struct rs_error *causes_read(struct rs_kvm_session *s, uint32_t *n)
{
	struct rs_kvm_cause_row copy;

	*n = 0;
	for (uint32_t at = RS_KVM_BLOCK; s->config.causes && at < s->causes.n; at++) {
		const struct rs_kvm_cause_row *row = rs_kvm_element(&s->causes, at);

		/* Pairs with cause_find(), which writes it last. */
		if (!__atomic_load_n(&row->slot, __ATOMIC_ACQUIRE)) {
			at |= RS_KVM_BLOCK - 1;
			continue;
		}
		cause_read(row, &copy);
		if (!copy.count || copy.slot > s->threads_max || !s->known_of[copy.slot])
			continue;
		if (!RS_VECTOR_RESERVE(s->cause_rows, s->n_causes_max, *n + 1))
			return rs_error_no_memory();
		s->cause_rows[(*n)++] = (struct rs_kvm_cause){
			.thread = s->known_of[copy.slot] - 1,
			.kind = copy.kind,
			.key = copy.key,
			.count = copy.count,
			.entered = copy.entered,
			.total_ns = copy.total_ns,
			.max_ns = copy.max_ns,
		};
	}
	return NULL;
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void dropped_read(const struct rs_kvm_session *s, struct rs_kvm_snapshot *snapshot)
{
	for (uint32_t i = 0; i < s->n_cpus; i++) {
		const struct rs_kvm_cpu *cpu = rs_kvm_cpu(s, i);

		snapshot->dropped_threads += cpu->dropped_threads;
		snapshot->dropped_exits += cpu->dropped_exits;
		snapshot->dropped_causes += cpu->dropped_causes;
		snapshot->dropped_records += cpu->refused;
	}
}

/* Reads the time after all else, so that no thread's time is ahead of it. */
static void now_read(struct rs_kvm_session *s, struct rs_kvm_snapshot *snapshot)
{
	snapshot->now_ns = s->gate == RS_KVM_OPEN ? rs_now_ns(CLOCK_MONOTONIC) : s->closed_ns;
	threads_until(s, snapshot->now_ns);
	snapshot->threads = s->threads;
	snapshot->n_threads = s->n_known;
}

struct rs_error *rs_kvm_threads(struct rs_kvm_session *s, struct rs_kvm_snapshot *snapshot)
{
	struct rs_error *err = rs_kvm_refresh(s);

	if (err)
		return err;
	*snapshot = (struct rs_kvm_snapshot){ .opened_ns = s->opened_ns };
	threads_read(s);
	now_read(s, snapshot);
	return NULL;
}

struct rs_error *rs_kvm_snapshot(struct rs_kvm_session *s, struct rs_kvm_snapshot *snapshot)
{
	struct rs_kvm_control *control = (void *)s->control.mem;
	struct rs_kvm_snapshot got = { .opened_ns = s->opened_ns };
	struct rs_error *err = rs_kvm_refresh(s);
	uint32_t epoch = control->epoch;

	if (err)
		return err;
	/*
	 * From here on, programs write minimum and maximum for the next snapshot. A program that
	 * has read the old epoch finishes its writes long before the cells are read, because
	 * threads are read first.
	 */
	__atomic_store_n(&control->epoch, epoch + 1, __ATOMIC_SEQ_CST);
	threads_read(s);
	err = exits_read(s, epoch, &got.n_exits);
	if (!err)
		err = causes_read(s, &got.n_causes);
	if (err)
		return err;
	now_read(s, &got);
	dropped_read(s, &got);
	got.exits = s->exits;
	got.causes = s->cause_rows;
	*snapshot = got;
	return NULL;
}
