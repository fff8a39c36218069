/* SPDX-License-Identifier: BSD-2-Clause */
/* The tally's CPUs, vCPUs and rows, and their state changes, independent of the hypervisor. */
#include "analyze/tally_parts.h"

#include <stdlib.h>

/* ---- tables --------------------------------------------------------------------------------- */

static bool same(struct tally_id x, struct tally_id y)
{
	return x.a == y.a && x.b == y.b;
}

static bool same_cpu(const void *item, const void *key)
{
	return same(((const struct tally_cpu *)item)->id, *(const struct tally_id *)key);
}

static bool same_vcpu(const void *item, const void *key)
{
	return same(((const struct tally_vcpu *)item)->id, *(const struct tally_id *)key);
}

static bool same_row(const void *item, const void *key)
{
	const struct tally_row *x = item, *y = key;

	return x->owner == y->owner && x->row.cpu == y->row.cpu && x->row.kind == y->row.kind &&
	       x->row.sub == y->row.sub && x->row.key == y->row.key;
}

static uint64_t hash_of(struct tally_id id)
{
	return rs_hash_pair(id.a, id.b);
}

/* Returns zeroed memory for another item of a map, or NULL above the limit or without memory. */
static void *item_create(struct tally_sink *s, struct rs_map *map, uint32_t *n, uint32_t limit,
			 size_t bytes)
{
	void *at = NULL;

	if (*n == limit) {
		s->refused++;
		return NULL;
	}
	if (rs_map_reserve(map))
		at = rs_arena_alloc(&s->arena, bytes);
	s->no_memory |= !at;
	*n += at != NULL;
	return at;
}

struct tally_cpu *rs_tally_cpu_of(struct tally_sink *s, struct tally_id id, int cpu)
{
	struct tally_cpu *c = rs_map_find(&s->cpus, hash_of(id), same_cpu, &id);

	if (!c) {
		c = item_create(s, &s->cpus, &s->n_cpus, TALLY_CPUS_MAX, sizeof(*c));
		if (!c)
			return NULL;
		*c = (struct tally_cpu){ .all = s->all_cpus,
					 .id = id,
					 .cpu = cpu,
					 .since = s->first,
					 .last = s->first,
					 .use = RS_TALLY_UNKNOWN };
		rs_map_add(&s->cpus, hash_of(id), c);
		s->all_cpus = c;
	}
	return c;
}

struct tally_vcpu *rs_tally_vcpu_of(struct tally_sink *s, struct tally_id id, uint64_t now)
{
	struct tally_vcpu *v = rs_map_find(&s->vcpus, hash_of(id), same_vcpu, &id);

	if (!v) {
		v = item_create(s, &s->vcpus, &s->n_vcpus, TALLY_VCPUS_MAX, sizeof(*v));
		if (!v)
			return NULL;
		*v = (struct tally_vcpu){
			.all = s->all_vcpus, .id = id, .vcpu = RS_UNKNOWN, .exit_cpu = RS_UNKNOWN
		};
		rs_vcpu_begin(&v->time, now);
		rs_map_add(&s->vcpus, hash_of(id), v);
		s->all_vcpus = v;
	}
	return v;
}

void rs_tally_vcpu_identify(struct tally_sink *s, struct tally_vcpu *v, struct tally_id id)
{
	if (rs_map_find(&s->vcpus, hash_of(id), same_vcpu, &id))
		return;
	rs_map_remove(&s->vcpus, hash_of(v->id), v);
	v->id = id;
	rs_map_add(&s->vcpus, hash_of(id), v);
}

struct tally_row *rs_tally_row_of(struct tally_sink *s, enum rs_tally_kind kind, int cpu,
				  const struct tally_vcpu *owner, uint32_t sub, uint64_t key)
{
	const struct tally_row wanted = {
		.owner = owner, .row = { .kind = kind, .cpu = cpu, .sub = sub, .key = key }
	};
	uint64_t hash =
		rs_hash_pair(rs_hash_pair((uintptr_t)owner, key),
			     (uint64_t)(uint32_t)cpu << 32 ^ (uint64_t)sub << 8 ^ (uint64_t)kind);
	struct tally_row *r = rs_map_find(&s->rows, hash, same_row, &wanted);

	if (!r) {
		r = item_create(s, &s->rows, &s->n_rows, TALLY_ROWS_MAX, sizeof(*r));
		if (!r)
			return NULL;
		*r = wanted;
		rs_map_add(&s->rows, hash, r);
		r->all = s->all_rows;
		s->all_rows = r;
	}
	return r;
}

const char *rs_tally_name_copy(struct tally_sink *s, const char *name, size_t len)
{
	const char *copy = rs_arena_text(&s->arena, name, len);

	s->no_memory |= !copy;
	return copy;
}

void rs_tally_time(struct tally_sink *s, struct tally_row *row, uint64_t total, uint64_t off)
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

/* Ends a turn on a CPU, whether its end was observed or not. */
static void spend(struct tally_sink *s, struct tally_cpu *c, uint64_t now, bool whole)
{
	struct tally_row *row;

	if (now <= c->since)
		return;
	row = rs_tally_row_of(s, RS_TALLY_CPU, c->cpu, c->use == RS_TALLY_VCPU ? c->owner : NULL,
			      c->use, 0);
	if (!row)
		return;
	row->row.count++;
	if (whole)
		rs_tally_time(s, row, now - c->since, 0);
	else
		row->row.total += now - c->since;
	c->since = now;
}

void rs_tally_turn(struct tally_sink *s, struct tally_cpu *c, enum rs_tally_use use,
		   struct tally_vcpu *owner, uint64_t now)
{
	if (c->known && c->use == use && c->owner == owner)
		return;
	spend(s, c, now, c->whole && c->use != RS_TALLY_UNKNOWN);
	c->known = true;
	c->whole = true;
	c->since = now;
	c->use = use;
	c->owner = owner;
}

void rs_tally_assign(struct tally_cpu *c, enum rs_tally_use use, struct tally_vcpu *owner)
{
	if (c->known)
		return;
	c->known = true;
	c->use = use;
	c->owner = owner;
}

void rs_tally_cpu_lost(struct tally_sink *s, struct tally_cpu *c, uint64_t now)
{
	spend(s, c, c->last, false);
	c->use = RS_TALLY_UNKNOWN;
	c->owner = NULL;
	spend(s, c, now, false);
	c->known = c->whole = false;
	c->last = now;
}

/* ---- vCPUs ---------------------------------------------------------------------------------- */

static void settle(struct tally_sink *s, struct tally_vcpu *v, const struct rs_vcpu_cost *cost)
{
	struct tally_row *row;

	if (!v->pending)
		return;
	v->pending = false;
	row = rs_tally_row_of(s, RS_TALLY_EXITS, v->exit_cpu, v, v->isa, v->code);
	if (row)
		row->row.count++;
	if (cost) {
		rs_tally_time(s, row, cost->total_ns, cost->off_ns);
		rs_tally_time(s, v->interrupt, cost->total_ns, cost->off_ns);
	}
	v->interrupt = NULL;
}

void rs_tally_settle_exit(struct tally_sink *s, struct tally_vcpu *v)
{
	settle(s, v, NULL);
}

void rs_tally_exit(struct tally_sink *s, struct tally_vcpu *v, int cpu, uint32_t isa, uint32_t code,
		   uint64_t now)
{
	v->exits = true;
	v->guest_known |= v->entered != 0;
	settle(s, v, NULL);
	rs_vcpu_exit(&v->time, now);
	if (v->entered && now > v->entered) {
		struct tally_row *row = rs_tally_row_of(s, RS_TALLY_CPU, cpu, v, RS_TALLY_VCPU, 0);

		if (row)
			row->row.guest += now - v->entered;
	}
	v->entered = 0;
	v->pending = true;
	v->isa = isa;
	v->code = code;
	v->exit_cpu = cpu;
}

void rs_tally_entry(struct tally_sink *s, struct tally_vcpu *v, int cpu, uint64_t now)
{
	struct rs_vcpu_cost cost = { 0 };
	bool ended = rs_vcpu_entry(&v->time, now, &cost);

	(void)cpu;
	v->exits = true;
	settle(s, v, ended ? &cost : NULL);
	v->entered = now;
}

void rs_tally_off(struct tally_vcpu *v, uint64_t now, bool preempted)
{
	rs_vcpu_off(&v->time, now, preempted);
	v->entered = 0;
}

void rs_tally_vcpu_lost(struct tally_sink *s, struct tally_vcpu *v, uint64_t now)
{
	settle(s, v, NULL);
	rs_vcpu_forget(&v->time);
	rs_vcpu_account(&v->time, now);
	v->entered = 0;
}

/* ---- the sink ------------------------------------------------------------------------------- */

static const struct rs_sink_ops tally_ops = {
	.name = "tally",
	.events = rs_tally_events,
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
	rs_map_deinit(&s->cpus);
	rs_map_deinit(&s->vcpus);
	rs_map_deinit(&s->rows);
	rs_arena_deinit(&s->arena);
	free(s->taken);
	free(s->taken_hists);
	free(s);
}
