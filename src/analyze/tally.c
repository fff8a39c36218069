/* SPDX-License-Identifier: BSD-2-Clause */
/* The tally's CPUs, vCPUs and rows, and what happens to them, whatever the hypervisor is. */
#include "analyze/tally_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- tables --------------------------------------------------------------------------------- */

static uint32_t bucket(uint64_t a, uint64_t b)
{
	uint64_t both = (a ^ b << 29 ^ b >> 35) * UINT64_C(0x9e3779b97f4a7c15); /* spreads */

	return (uint32_t)(both >> 40) % TALLY_BUCKETS;
}

static bool same(struct tally_who x, struct tally_who y)
{
	return x.a == y.a && x.b == y.b;
}

/* Zeroed memory; NULL above the limit, or without memory. */
static void *made(struct tally_sink *s, uint32_t *n, uint32_t limit, size_t bytes)
{
	void *at;

	if (*n == limit) {
		s->refused++;
		return NULL;
	}
	at = rs_arena_alloc(&s->arena, bytes);
	s->no_memory |= !at;
	*n += at != NULL;
	return at;
}

struct tally_cpu *tally_cpu(struct tally_sink *s, struct tally_who who, int cpu)
{
	struct tally_cpu **at = &s->cpus[bucket(who.a, who.b)], *c;

	for (c = *at; c; c = c->next) {
		if (same(c->who, who))
			return c;
	}
	c = made(s, &s->n_cpus, TALLY_CPUS_MAX, sizeof(*c));
	if (!c)
		return NULL;
	*c = (struct tally_cpu){ .next = *at,
				 .all = s->all_cpus,
				 .who = who,
				 .cpu = cpu,
				 .since = s->first,
				 .last = s->first,
				 .use = RS_TALLY_UNKNOWN };
	*at = s->all_cpus = c;
	return c;
}

struct tally_vcpu *tally_vcpu(struct tally_sink *s, struct tally_who who, uint64_t now)
{
	struct tally_vcpu **at = &s->vcpus[bucket(who.a, who.b)], *v;

	for (v = *at; v; v = v->next) {
		if (same(v->who, who))
			return v;
	}
	v = made(s, &s->n_vcpus, TALLY_VCPUS_MAX, sizeof(*v));
	if (!v)
		return NULL;
	*v = (struct tally_vcpu){ .next = *at,
				  .all = s->all_vcpus,
				  .who = who,
				  .vcpu = RS_UNKNOWN,
				  .exit_cpu = RS_UNKNOWN };
	rs_vcpu_begin(&v->time, now);
	*at = s->all_vcpus = v;
	return v;
}

void tally_vcpu_know(struct tally_sink *s, struct tally_vcpu *v, struct tally_who who)
{
	struct tally_vcpu **at = &s->vcpus[bucket(v->who.a, v->who.b)], *other;

	for (other = s->vcpus[bucket(who.a, who.b)]; other; other = other->next) {
		if (same(other->who, who))
			return;
	}
	while (*at != v)
		at = &(*at)->next;
	*at = v->next;
	v->who = who;
	at = &s->vcpus[bucket(who.a, who.b)];
	v->next = *at;
	*at = v;
}

struct tally_row *tally_row(struct tally_sink *s, enum rs_tally_kind kind, int cpu,
			    const struct tally_vcpu *owner, uint32_t sub, uint64_t key)
{
	uint64_t a = (uint64_t)(uintptr_t)owner ^ (uint64_t)(uint32_t)cpu << 16 ^ (uint64_t)kind;
	struct tally_row **at = &s->rows[bucket(a, key ^ (uint64_t)sub << 33)], *r;

	for (r = *at; r; r = r->next) {
		if (r->owner == owner && r->row.cpu == cpu && r->row.kind == kind &&
		    r->row.sub == sub && r->row.key == key)
			return r;
	}
	r = made(s, &s->n_rows, TALLY_ROWS_MAX, sizeof(*r));
	if (!r)
		return NULL;
	*r = (struct tally_row){ .next = *at,
				 .all = s->all_rows,
				 .owner = owner,
				 .row = { .kind = kind, .cpu = cpu, .sub = sub, .key = key } };
	*at = s->all_rows = r;
	return r;
}

const char *tally_name(struct tally_sink *s, const char *name, size_t len)
{
	const char *copy = rs_arena_text(&s->arena, name, len);

	s->no_memory |= !copy;
	return copy;
}

void tally_time(struct tally_sink *s, struct tally_row *row, uint64_t total, uint64_t off)
{
	struct rs_tally_row *r;

	if (!row)
		return;
	if (!row->hist)
		row->hist = rs_arena_alloc(&s->arena, sizeof(*row->hist));
	if (!row->hist) {
		s->no_memory = true;
		return;
	}
	r = &row->row;
	row->hist->count[rs_hist_bucket(total)]++;
	if (!r->timed || total < r->min)
		r->min = total;
	if (total > r->max)
		r->max = total;
	r->timed++;
	r->total += total;
	r->off += off;
}

/* ---- CPUs ----------------------------------------------------------------------------------- */

/* Ends a turn, whose end was seen or not. */
static void spend(struct tally_sink *s, struct tally_cpu *c, uint64_t now, bool whole)
{
	struct tally_row *row;

	if (now <= c->since)
		return;
	row = tally_row(s, RS_TALLY_CPU, c->cpu, c->use == RS_TALLY_VCPU ? c->owner : NULL, c->use,
			0);
	if (!row)
		return;
	row->row.count++;
	if (whole)
		tally_time(s, row, now - c->since, 0);
	else
		row->row.total += now - c->since;
	c->since = now;
}

void tally_turn(struct tally_sink *s, struct tally_cpu *c, enum rs_tally_use use,
		struct tally_vcpu *owner, uint64_t now)
{
	if (c->told && c->use == use && c->owner == owner)
		return;
	spend(s, c, now, c->whole && c->use != RS_TALLY_UNKNOWN);
	c->told = true;
	c->whole = true;
	c->since = now;
	c->use = use;
	c->owner = owner;
}

void tally_had(struct tally_cpu *c, enum rs_tally_use use, struct tally_vcpu *owner)
{
	if (c->told)
		return;
	c->told = true;
	c->use = use;
	c->owner = owner;
}

void tally_cpu_lost(struct tally_sink *s, struct tally_cpu *c, uint64_t now)
{
	spend(s, c, c->last, false);
	c->use = RS_TALLY_UNKNOWN;
	c->owner = NULL;
	spend(s, c, now, false);
	c->told = c->whole = false;
	c->last = now;
}

/* ---- vCPUs ---------------------------------------------------------------------------------- */

static void settle(struct tally_sink *s, struct tally_vcpu *v, const struct rs_vcpu_cost *cost)
{
	struct tally_row *row;

	if (!v->pending)
		return;
	v->pending = false;
	row = tally_row(s, RS_TALLY_EXITS, v->exit_cpu, v, v->isa, v->code);
	if (row)
		row->row.count++;
	if (cost) {
		tally_time(s, row, cost->total_ns, cost->off_ns);
		tally_time(s, v->interrupt, cost->total_ns, cost->off_ns);
	}
	v->interrupt = NULL;
}

void tally_settle(struct tally_sink *s, struct tally_vcpu *v)
{
	settle(s, v, NULL);
}

void tally_exit(struct tally_sink *s, struct tally_vcpu *v, int cpu, uint32_t isa, uint32_t code,
		uint64_t now)
{
	v->exits = true;
	settle(s, v, NULL);
	rs_vcpu_exit(&v->time, now);
	if (v->entered && now > v->entered) {
		struct tally_row *row = tally_row(s, RS_TALLY_CPU, cpu, v, RS_TALLY_VCPU, 0);

		if (row)
			row->row.guest += now - v->entered;
	}
	v->entered = 0;
	v->pending = true;
	v->isa = isa;
	v->code = code;
	v->exit_cpu = cpu;
}

void tally_entry(struct tally_sink *s, struct tally_vcpu *v, int cpu, uint64_t now)
{
	struct rs_vcpu_cost cost = { 0 };
	bool ended = rs_vcpu_entry(&v->time, now, &cost);

	(void)cpu;
	v->exits = true;
	settle(s, v, ended ? &cost : NULL);
	v->entered = now;
}

void tally_off(struct tally_vcpu *v, uint64_t now, bool preempted)
{
	rs_vcpu_off(&v->time, now, preempted);
	v->entered = 0;
}

void tally_vcpu_lost(struct tally_sink *s, struct tally_vcpu *v, uint64_t now)
{
	settle(s, v, NULL);
	rs_vcpu_forget(&v->time);
	rs_vcpu_account(&v->time, now);
	v->entered = 0;
}

/* ---- the sink ------------------------------------------------------------------------------- */

static const struct rs_sink_ops tally_ops = {
	.name = "tally",
	.events = tally_events,
};

struct rs_error *rs_tally_sink_create(struct rs_sink **sink)
{
	struct tally_sink *s = calloc(1, sizeof(*s));

	if (!s)
		return rs_error_no_memory();
	s->sink.ops = &tally_ops;
	*sink = &s->sink;
	return NULL;
}

void rs_tally_sink_destroy(struct rs_sink *sink)
{
	struct tally_sink *s = (struct tally_sink *)sink;

	if (!s)
		return;
	rs_arena_deinit(&s->arena);
	free(s->taken);
	free(s->taken_hists);
	free(s);
}
