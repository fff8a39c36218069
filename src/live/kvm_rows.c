/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns a session's cumulative counts into rows of differences. */
#include "live/kvm_rows.h"

#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum stage { STAGE_BEGIN, STAGE_EXITS, STAGE_CAUSES, STAGE_TIMES, STAGE_SCHED, STAGE_ENDED };

/* ---- the query ------------------------------------------------------------------------------ */

static bool same_aggregate(const struct rs_aggregate *a, const struct rs_aggregate *b)
{
	if (a->n_keys != b->n_keys || a->hist != b->hist || !a->value != !b->value)
		return false;
	if (a->value && strcmp(a->value, b->value) != 0)
		return false;
	for (uint32_t i = 0; i < a->n_keys; i++) {
		if (strcmp(a->keys[i], b->keys[i]) != 0)
			return false;
	}
	return true;
}

bool kvm_rows_ask(struct kvm_rows *rows, const struct rs_query *query)
{
	struct rs_query all;
	uint32_t known = 0;

	for (uint32_t k = 0; k < RS_KVM_AGGREGATES; k++)
		rows->asked[k] = -1;
	rs_query_init(&all);
	rows->query = *query;
	/* These are of single events; what was counted has none. */
	if (query->from_ns != all.from_ns || query->to_ns != all.to_ns || query->cpus.some ||
	    query->predicate)
		return false;
	for (uint32_t i = 0; i < query->n_aggregates; i++) {
		for (uint32_t k = 0; k < RS_KVM_AGGREGATES; k++) {
			if (!same_aggregate(&query->aggregates[i], &rs_kvm_aggregates[k]))
				continue;
			rows->asked[k] = (int)i;
			known++;
			break;
		}
	}
	if (known == query->n_aggregates)
		return known != 0;
	for (uint32_t k = 0; k < RS_KVM_AGGREGATES; k++)
		rows->asked[k] = -1;
	return false;
}

/* ---- what was given ------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
	const struct given_key *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

/* Finds or makes, zeroed but for its key; NULL without memory. */
static void *given_of(struct kvm_rows *rows, const struct given_key *key, size_t bytes)
{
	void *const *found = tfind(key, &rows->given, by_key);
	struct given_key *made;

	if (found)
		return *found;
	made = calloc(1, bytes);
	if (!made)
		return NULL;
	*made = *key;
	if (!tsearch(made, &rows->given, by_key)) {
		free(made);
		return NULL;
	}
	return made;
}

static void given_free(void *node)
{
	struct given_key *key = node;

	if (key->kind >= RS_CAUSE_KINDS)
		free(((struct given_exit *)node)->hist);
	free(node);
}

void kvm_rows_deinit(struct kvm_rows *rows)
{
	tdestroy(rows->given, given_free);
	free(rows->threads);
	free(rows->exits);
	free(rows->causes);
	free(rows->exit_order);
	free(rows->cause_order);
}

/* ---- a snapshot ----------------------------------------------------------------------------- */

static bool room_for(struct kvm_rows *rows, const struct rs_kvm_snapshot *snapshot)
{
	if (snapshot->n_threads > rows->threads_room) {
		uint32_t room = snapshot->n_threads * 2;
		struct given_thread *more = reallocarray(rows->threads, room, sizeof(*more));

		if (!more)
			return false;
		memset(more + rows->threads_room, 0, (room - rows->threads_room) * sizeof(*more));
		rows->threads = more;
		rows->threads_room = room;
	}
	if (snapshot->n_exits > rows->exits_room) {
		rows->exits_room = 0;
		free(rows->exits);
		free(rows->exit_order);
		rows->exits = calloc(snapshot->n_exits, 2 * sizeof(*rows->exits));
		rows->exit_order = calloc(snapshot->n_exits, 2 * sizeof(*rows->exit_order));
		if (!rows->exits || !rows->exit_order)
			return false;
		rows->exits_room = snapshot->n_exits * 2;
	}
	if (snapshot->n_causes > rows->causes_room) {
		rows->causes_room = 0;
		free(rows->causes);
		free(rows->cause_order);
		rows->causes = calloc(snapshot->n_causes, 2 * sizeof(*rows->causes));
		rows->cause_order = calloc(snapshot->n_causes, 2 * sizeof(*rows->cause_order));
		if (!rows->causes || !rows->cause_order)
			return false;
		rows->causes_room = snapshot->n_causes * 2;
	}
	return true;
}

static int by_thread(const void *a, const void *b)
{
	const struct given_order *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static bool see_exits(struct kvm_rows *rows, const struct rs_kvm_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->n_exits; i++) {
		const struct rs_kvm_exit *row = &snapshot->exits[i];
		const struct given_key key = { row->thread,
					       RS_CAUSE_KINDS + (row->isa << 1 | row->nested),
					       row->code };
		struct given_exit *given = given_of(rows, &key, sizeof(*given));

		if (given && row->hist && !given->hist)
			given->hist = calloc(1, sizeof(*given->hist));
		if (!given || (row->hist && !given->hist))
			return false;
		if (row->max_ns && (!given->max_ns || row->min_ns < given->min_ns))
			given->min_ns = row->min_ns;
		if (row->max_ns > given->max_ns)
			given->max_ns = row->max_ns;
		rows->exits[i] = given;
		rows->exit_order[i] = (struct given_order){ row->thread, i };
	}
	if (snapshot->n_exits)
		qsort(rows->exit_order, snapshot->n_exits, sizeof(*rows->exit_order), by_thread);
	return true;
}

static bool see_causes(struct kvm_rows *rows, const struct rs_kvm_snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->n_causes; i++) {
		const struct rs_kvm_cause *row = &snapshot->causes[i];
		const struct given_key key = { row->thread, row->kind, row->key };

		rows->causes[i] = given_of(rows, &key, sizeof(struct given_cause));
		if (!rows->causes[i])
			return false;
		rows->cause_order[i] = (struct given_order){ row->thread, i };
	}
	if (snapshot->n_causes)
		qsort(rows->cause_order, snapshot->n_causes, sizeof(*rows->cause_order), by_thread);
	return true;
}

struct rs_error *kvm_rows_see(struct kvm_rows *rows, const struct rs_kvm_snapshot *snapshot)
{
	rows->snapshot = (struct rs_kvm_snapshot){ 0 };
	if (!room_for(rows, snapshot) || !see_exits(rows, snapshot) || !see_causes(rows, snapshot))
		return rs_error_no_memory();
	rows->snapshot = *snapshot;
	return NULL;
}

/* ---- rows that grew ------------------------------------------------------------------------- */

/* A row of the thread at hand, its further keys to come; NULL: it is not asked for. */
static struct rs_partial *put(struct kvm_rows *rows, enum rs_kvm_aggregate aggregate)
{
	struct rs_partial *partial;

	if (rows->asked[aggregate] < 0)
		return NULL;
	partial = &rows->queue[rows->queue_n++];
	*partial = (struct rs_partial){ .aggregate = (uint32_t)rows->asked[aggregate],
					.keys = { rows->vm, rows->pid, rows->tid, rows->vcpu } };
	return partial;
}

static struct rs_partial *put_exit(struct kvm_rows *rows, enum rs_kvm_aggregate aggregate,
				   const struct rs_kvm_exit *row)
{
	struct rs_partial *partial = put(rows, aggregate);

	if (partial) {
		partial->keys[4] = rs_isa_name(row->isa);
		partial->keys[5] = row->nested ? "1" : "0";
		partial->keys[6] = rows->key;
	}
	return partial;
}

static void put_part(struct kvm_rows *rows, enum rs_kvm_aggregate aggregate,
		     const struct rs_kvm_exit *row, uint64_t entered, uint64_t ns)
{
	struct rs_partial *partial = ns ? put_exit(rows, aggregate, row) : NULL;

	if (partial) {
		partial->count = entered;
		partial->sum = (int64_t)ns;
	}
}

static void exit_costs(struct kvm_rows *rows, const struct rs_kvm_exit *row,
		       struct given_exit *given)
{
	uint64_t entered = row->entered - given->entered;
	struct rs_partial *partial = put_exit(rows, RS_KVM_EXIT_NS, row);

	if (partial) {
		partial->count = entered;
		partial->sum = (int64_t)(row->sum.total_ns - given->sum.total_ns);
		partial->min = (int64_t)given->min_ns;
		partial->max = (int64_t)given->max_ns;
		if (given->hist) {
			struct rs_hist now = *row->hist; /* it goes on growing */

			rows->hist = now;
			rs_hist_subtract(&rows->hist, given->hist);
			*given->hist = now;
			partial->hist = &rows->hist;
		}
	}
	put_part(rows, RS_KVM_KERNEL_NS, row, entered, row->sum.kernel_ns - given->sum.kernel_ns);
	put_part(rows, RS_KVM_USER_NS, row, entered, row->sum.user_ns - given->sum.user_ns);
	put_part(rows, RS_KVM_POLL_NS, row, entered, row->sum.poll_ns - given->sum.poll_ns);
	put_part(rows, RS_KVM_OFF_NS, row, entered, row->sum.off_ns - given->sum.off_ns);
	given->entered = row->entered;
	given->sum = row->sum;
	given->min_ns = given->max_ns = 0;
}

static void one_exit(struct kvm_rows *rows, uint32_t at)
{
	const struct rs_kvm_exit *row = &rows->snapshot.exits[at];
	struct given_exit *given = rows->exits[at];
	struct rs_partial *partial = NULL;

	snprintf(rows->key, sizeof(rows->key), "%" PRIu32, row->code);
	if (row->count > given->count)
		partial = put_exit(rows, RS_KVM_EXITS, row);
	if (partial)
		partial->count = row->count - given->count;
	given->count = row->count;
	if (row->entered > given->entered)
		exit_costs(rows, row, given);
}

static struct rs_partial *put_cause(struct kvm_rows *rows, enum rs_kvm_aggregate aggregate)
{
	struct rs_partial *partial = put(rows, aggregate);

	if (partial) {
		partial->keys[4] = rows->number;
		partial->keys[5] = rows->key;
	}
	return partial;
}

static void one_cause(struct kvm_rows *rows, uint32_t at)
{
	const struct rs_kvm_cause *row = &rows->snapshot.causes[at];
	struct given_cause *given = rows->causes[at];
	struct rs_partial *partial = NULL;

	snprintf(rows->number, sizeof(rows->number), "%" PRIu32, row->kind);
	snprintf(rows->key, sizeof(rows->key), "%" PRIu64, row->key);
	if (row->count > given->count)
		partial = put_cause(rows, RS_KVM_CAUSES);
	if (partial)
		partial->count = row->count - given->count;
	partial = row->entered > given->entered ? put_cause(rows, RS_KVM_CAUSE_NS) : NULL;
	if (partial) {
		partial->count = row->entered - given->entered;
		partial->sum = (int64_t)(row->total_ns - given->total_ns);
		partial->max = (int64_t)row->max_ns;
	}
	given->count = row->count;
	given->entered = row->entered;
	given->total_ns = row->total_ns;
}

static void put_time(struct kvm_rows *rows, enum rs_kvm_aggregate aggregate, const char *state,
		     uint64_t now_ns, uint64_t *given_ns)
{
	struct rs_partial *partial = now_ns != *given_ns ? put(rows, aggregate) : NULL;

	if (partial) {
		partial->keys[4] = state;
		partial->count = 1;
		partial->sum = (int64_t)(now_ns - *given_ns);
	}
	*given_ns = now_ns;
}

static void times(struct kvm_rows *rows, const struct rs_kvm_thread *thread,
		  struct given_thread *given)
{
	for (uint32_t state = 0; state < RS_VCPU_STATES; state++)
		put_time(rows, RS_KVM_TIME_NS, rs_vcpu_state_names[state], thread->time.ns[state],
			 &given->ns[state]);
	put_time(rows, RS_KVM_TIME_NS, RS_KVM_WALL, thread->time.at - thread->time.since,
		 &given->wall_ns);
}

static void sched(struct kvm_rows *rows, const struct rs_kvm_thread *thread,
		  struct given_thread *given)
{
	if (!thread->sched_known)
		return;
	put_time(rows, RS_KVM_SCHED_NS, "run", thread->run_ns, &given->run_ns);
	put_time(rows, RS_KVM_SCHED_NS, "wait", thread->wait_ns, &given->wait_ns);
}

static void ended(struct kvm_rows *rows, const struct rs_kvm_thread *thread,
		  struct given_thread *given)
{
	struct rs_partial *partial =
		thread->ended && !given->ended ? put(rows, RS_KVM_ENDED) : NULL;

	if (partial)
		partial->count = partial->sum = 1;
	given->ended = thread->ended;
}

static void dropped(struct kvm_rows *rows)
{
	const struct {
		const char *what;
		uint64_t n;
	} now[] = {
		{ "threads", rows->snapshot.dropped_threads },
		{ "exits", rows->snapshot.dropped_exits },
		{ "causes", rows->snapshot.dropped_causes },
	};

	for (size_t i = 0; i < sizeof(now) / sizeof(now[0]); i++) {
		struct rs_partial *partial =
			now[i].n > rows->given_dropped[i] ? put(rows, RS_KVM_DROPPED) : NULL;

		if (partial) {
			memset(partial->keys, 0, sizeof(partial->keys));
			partial->keys[0] = now[i].what;
			partial->count = now[i].n - rows->given_dropped[i];
		}
		rows->given_dropped[i] = now[i].n;
	}
}

#define HOLD_NS UINT64_C(2000000000)

/* ---- a round -------------------------------------------------------------------------------- */

void kvm_rows_begin(struct kvm_rows *rows, bool last)
{
	rows->last = last;
	rows->thread = rows->exit = rows->cause = 0;
	rows->stage = STAGE_BEGIN;
	rows->queue_n = rows->queue_at = 0;
}

/* The keys of the thread at hand. False: the query does not want it, or not yet. A vCPU's number is
 * a key: what is given before it is known would stay a row of its own. */
static bool begin_thread(struct kvm_rows *rows, const struct rs_kvm_thread *thread,
			 struct given_thread *given)
{
	static const struct rs_event event;
	const struct rs_stream stream = { .vm = thread->vm, .vcpu = thread->vcpu };
	const struct rs_view view = { .event = &event, .stream = &stream };

	if (thread->vcpu < 0 && !given->held_ns)
		given->held_ns = rows->snapshot.now_ns;
	if (thread->vcpu < 0 && !thread->ended && !rows->last &&
	    rows->snapshot.now_ns - given->held_ns < HOLD_NS)
		return false;
	snprintf(rows->vm, sizeof(rows->vm), "%s", thread->vm[0] ? thread->vm : "-");
	snprintf(rows->pid, sizeof(rows->pid), "%d", thread->pid);
	snprintf(rows->tid, sizeof(rows->tid), "%d", thread->tid);
	snprintf(rows->vcpu, sizeof(rows->vcpu), "%d", thread->vcpu);
	return rs_query_match(&rows->query, &view,
			      RS_PUSHED_PROBES | RS_PUSHED_TIME | RS_PUSHED_CPUS |
				      RS_PUSHED_PREDICATE);
}

/* Goes on to the next thread, past what there is of this one. */
static void leave_thread(struct kvm_rows *rows)
{
	const struct rs_kvm_snapshot *s = &rows->snapshot;

	while (rows->exit < s->n_exits && rows->exit_order[rows->exit].thread == rows->thread)
		rows->exit++;
	while (rows->cause < s->n_causes && rows->cause_order[rows->cause].thread == rows->thread)
		rows->cause++;
	rows->thread++;
	rows->stage = STAGE_BEGIN;
}

/* One step within a thread: it may put rows. */
static void step(struct kvm_rows *rows)
{
	const struct rs_kvm_snapshot *s = &rows->snapshot;
	const struct rs_kvm_thread *thread = &s->threads[rows->thread];
	struct given_thread *given = &rows->threads[rows->thread];

	switch ((enum stage)rows->stage) {
	case STAGE_BEGIN:
		if (!begin_thread(rows, thread, given)) {
			leave_thread(rows);
			return;
		}
		break;
	case STAGE_EXITS:
		if (rows->exit < s->n_exits &&
		    rows->exit_order[rows->exit].thread == rows->thread) {
			one_exit(rows, rows->exit_order[rows->exit++].at);
			return;
		}
		break;
	case STAGE_CAUSES:
		if (rows->cause < s->n_causes &&
		    rows->cause_order[rows->cause].thread == rows->thread) {
			one_cause(rows, rows->cause_order[rows->cause++].at);
			return;
		}
		break;
	case STAGE_TIMES:
		times(rows, thread, given);
		break;
	case STAGE_SCHED:
		sched(rows, thread, given);
		break;
	case STAGE_ENDED:
		ended(rows, thread, given);
		leave_thread(rows);
		return;
	}
	rows->stage++;
}

const struct rs_partial *kvm_rows_next(struct kvm_rows *rows)
{
	if (rows->queue_at == rows->queue_n)
		rows->queue_at = rows->queue_n = 0;
	while (!rows->queue_n && rows->thread < rows->snapshot.n_threads)
		step(rows);
	if (!rows->queue_n && rows->thread == rows->snapshot.n_threads) {
		rows->thread++;
		dropped(rows);
	}
	return rows->queue_at < rows->queue_n ? &rows->queue[rows->queue_at++] : NULL;
}
