/* SPDX-License-Identifier: BSD-2-Clause */
/* The exits sink: what it asks of its sources, and the partial aggregates that it gets. */
#include "analyze/exits_parts.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Keys of rs_kvm_aggregates, by place. */
enum { KEY_VM, KEY_PID, KEY_TID, KEY_VCPU, KEY_ISA, KEY_NESTED, KEY_CODE };
enum { KEY_STATE = KEY_ISA, KEY_KIND = KEY_ISA, KEY_KEY = KEY_NESTED, KEY_WHAT = 0 };

/* ---- partial rows --------------------------------------------------------------------------- */

static bool number(const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return end != text && !*end && !errno;
}

/* What is unknown is "-" or less than 0. */
static int known_number(const char *text, int unknown)
{
	uint64_t value;

	return number(text, &value) && value <= INT_MAX ? (int)value : unknown;
}

/* A thread's end is its last event: what comes under its tid then is another's. */
static struct rs_error *thread_of(struct exits_sink *s, const struct rs_partial *row,
				  struct thread **out)
{
	int pid = known_number(row->keys[KEY_PID], 0), tid = known_number(row->keys[KEY_TID], 0);
	struct place *place = exits_thread_place(s, EXITS_BY_PARTIALS, pid, tid), *by_tid;
	struct rs_error *err = NULL;
	const char *vm = row->keys[KEY_VM];
	int vcpu = known_number(row->keys[KEY_VCPU], RS_UNKNOWN);
	struct thread *t;

	*out = NULL;
	if (!place)
		return rs_error_no_memory();
	t = place->value;
	if (!t || t->ended) {
		err = exits_thread_new(s, &t);
		if (err || !t)
			return err;
		t->partial = true;
		t->pid = pid;
		t->tid = tid;
		place->value = t;
		by_tid = exits_thread_place(s, EXITS_BY_TID, 0, tid);
		if (!by_tid)
			return rs_error_no_memory();
		by_tid->value = t;
	}
	if (vcpu >= 0)
		t->vcpu = vcpu;
	if (*vm && strcmp(vm, "-") != 0 && (!t->vm || strcmp(t->vm, vm) != 0)) {
		t->vm = exits_name(s, vm);
		if (!t->vm)
			return rs_error_no_memory();
	}
	*out = t;
	return NULL;
}

static struct rs_error *nonsense(const struct rs_partial *row)
{
	return rs_error_create(RS_DAMAGED, "a source's row %llu of aggregate %u makes no sense",
			       (unsigned long long)row->count, row->aggregate);
}

/* The whole of the exits' times; its count is those that an entry ended. */
static struct rs_error *add_whole(struct exits_sink *s, struct cell *cell,
				  const struct rs_partial *row)
{
	struct amounts more = { .entered = row->count,
				.sum.total_ns = (uint64_t)row->sum,
				.min_ns = (uint64_t)row->min,
				.max_ns = (uint64_t)row->max };
	struct rs_error *err = NULL;

	if (row->hist) {
		err = exits_hist(s, &cell->recent);
		if (!err)
			rs_hist_add(cell->recent.hist, row->hist);
	}
	return err ? err : exits_amounts_add(s, &cell->recent, &more);
}

static struct rs_error *add_reason(struct exits_sink *s, struct thread *t,
				   const struct rs_partial *row)
{
	uint32_t isa = rs_isa_find(row->keys[KEY_ISA]);
	uint64_t code, nested;
	struct rs_error *err;
	struct cell *cell;

	if (!number(row->keys[KEY_CODE], &code) || code > UINT32_MAX ||
	    !number(row->keys[KEY_NESTED], &nested))
		return nonsense(row);
	err = exits_cell(s, t, isa, nested != 0, (uint32_t)code, &cell);
	if (err || !cell)
		return err;
	switch (row->aggregate) {
	case RS_KVM_EXITS:
		cell->recent.count += row->count;
		break;
	case RS_KVM_EXIT_NS:
		return add_whole(s, cell, row);
	case RS_KVM_KERNEL_NS:
		cell->recent.sum.kernel_ns += (uint64_t)row->sum;
		break;
	case RS_KVM_USER_NS:
		cell->recent.sum.user_ns += (uint64_t)row->sum;
		break;
	case RS_KVM_POLL_NS:
		cell->recent.sum.poll_ns += (uint64_t)row->sum;
		break;
	default:
		cell->recent.sum.off_ns += (uint64_t)row->sum;
		break;
	}
	return NULL;
}

static struct rs_error *add_time(struct thread *t, const struct rs_partial *row)
{
	const char *state = row->keys[KEY_STATE];

	if (!strcmp(state, RS_KVM_WALL)) {
		t->ns[RS_VCPU_STATES] += row->sum;
		t->has_wall = true;
		return NULL;
	}
	for (uint32_t i = 0; i < RS_VCPU_STATES; i++) {
		if (!strcmp(state, rs_vcpu_state_names[i])) {
			t->ns[i] += row->sum;
			return NULL;
		}
	}
	return nonsense(row);
}

static struct rs_error *add_sched(struct thread *t, const struct rs_partial *row)
{
	bool wait = !strcmp(row->keys[KEY_STATE], "wait");

	if (!wait && strcmp(row->keys[KEY_STATE], "run") != 0)
		return nonsense(row);
	t->sched_last[wait] += (uint64_t)row->sum;
	t->sched_lines++;
	return NULL;
}

static struct rs_error *add_cause(struct exits_sink *s, struct thread *t,
				  const struct rs_partial *row)
{
	uint64_t kind, key;
	struct rs_error *err;
	struct cause *cause;

	if (!number(row->keys[KEY_KIND], &kind) || !number(row->keys[KEY_KEY], &key) ||
	    kind > UINT32_MAX)
		return nonsense(row);
	err = exits_cause(s, t, (uint32_t)kind, key, &cause);
	if (err || !cause)
		return err;
	if (row->aggregate == RS_KVM_CAUSES) {
		cause->recent.count += row->count;
		return NULL;
	}
	cause->recent.entered += row->count;
	cause->recent.total_ns += (uint64_t)row->sum;
	if ((uint64_t)row->max > cause->recent.max_ns)
		cause->recent.max_ns = (uint64_t)row->max;
	return NULL;
}

static struct rs_error *exits_partial(struct rs_sink *sink, const struct rs_partial *row)
{
	struct exits_sink *s = (struct exits_sink *)sink;
	struct rs_error *err;
	struct thread *t;

	if (row->aggregate >= RS_KVM_AGGREGATES)
		return nonsense(row);
	s->has_partials = true;
	if (row->aggregate == RS_KVM_DROPPED) {
		s->dropped_live += row->count;
		return NULL;
	}
	err = thread_of(s, row, &t);
	if (err || !t)
		return err;
	switch (row->aggregate) {
	case RS_KVM_TIME_NS:
		return add_time(t, row);
	case RS_KVM_SCHED_NS:
		return add_sched(t, row);
	case RS_KVM_ENDED:
		t->ended = true;
		return NULL;
	case RS_KVM_CAUSES:
	case RS_KVM_CAUSE_NS:
		return add_cause(s, t, row);
	default:
		return add_reason(s, t, row);
	}
}

/* ---- the sink ------------------------------------------------------------------------------- */

static const struct rs_sink_ops exits_ops = {
	.name = "exits",
	.events = exits_events,
	.partial = exits_partial,
};

/* Causes are wanted for what long exits were about, too. */
static void ask(struct exits_sink *s)
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
	q->aggregates = rs_kvm_aggregates;
	q->n_aggregates = RS_KVM_AGGREGATES;
}

struct rs_error *rs_exits_sink_create(const struct rs_exits_options *options, struct rs_sink **sink)
{
	struct exits_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return rs_error_no_memory();
	s->sink.ops = &exits_ops;
	s->options = *options;
	ask(s);
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
