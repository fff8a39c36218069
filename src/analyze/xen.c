/* SPDX-License-Identifier: BSD-2-Clause */
/* The sink of the Xen analysis: its rows, vCPUs and physical CPUs, and the dispatch of events. */
#include "analyze/xen_parts.h"

#include <stdio.h>
#include <stdlib.h>

#include <ringside/record.h>

/* ---- rows ----------------------------------------------------------------------------------- */

static bool same_row(const void *item, const void *key)
{
	const struct rs_xen_row *x = &((const struct xen_row *)item)->row, *y = key;

	return x->key == y->key && x->dom == y->dom && x->vcpu == y->vcpu && x->kind == y->kind &&
	       x->sub == y->sub;
}

static bool same_vcpu(const void *item, const void *key)
{
	const struct xen_vcpu *v = item;
	const int *numbers = key;

	return v->dom == numbers[0] && v->vcpu == numbers[1];
}

struct xen_row *rs_xen_row_of(struct xen_sink *x, enum rs_xen_kind kind, int dom, int vcpu,
			      uint32_t sub, uint64_t key)
{
	const struct rs_xen_row wanted = {
		.kind = kind, .dom = dom, .vcpu = vcpu, .sub = sub, .key = key
	};
	uint64_t hash =
		rs_hash_pair((uint64_t)(uint32_t)dom << 32 ^ (uint64_t)(uint32_t)vcpu << 12 ^
				     (uint64_t)sub << 4 ^ (uint64_t)kind,
			     key);
	struct xen_row *row = rs_map_find(&x->rows, hash, same_row, &wanted);

	if (row)
		return row;
	if (x->n_rows == XEN_ROWS_MAX) {
		x->refused++;
		return NULL;
	}
	if (rs_map_reserve(&x->rows))
		row = calloc(1, sizeof(*row));
	if (!row) {
		x->no_memory = true;
		return NULL;
	}
	row->row = wanted;
	rs_map_add(&x->rows, hash, row);
	row->all = x->all_rows;
	x->all_rows = row;
	x->n_rows++;
	return row;
}

void rs_xen_row_time(struct xen_sink *x, struct xen_row *row, uint64_t ns)
{
	struct rs_xen_row *r;

	if (!row)
		return;
	r = &row->row;
	if (!row->counts) {
		row->counts = calloc(1, sizeof(*row->counts));
		r->hist = row->counts;
		r->min_ns = ns;
	}
	if (!row->counts) {
		x->no_memory = true;
		return;
	}
	row->counts->count[rs_hist_bucket(ns)]++;
	r->timed++;
	r->total_ns += ns;
	if (ns < r->min_ns)
		r->min_ns = ns;
	if (ns > r->max_ns)
		r->max_ns = ns;
}

/* ---- vCPUs and physical CPUs ---------------------------------------------------------------- */

static struct xen_domain *domain_of(struct xen_sink *x, int dom)
{
	struct xen_domain *d;

	for (d = x->domains; d; d = d->all) {
		if (d->dom == dom)
			return d;
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->dom = dom;
	d->state = RS_XEN_DOMAIN_LOST;
	d->since_ns = x->from_ns;
	d->all = x->domains;
	x->domains = d;
	return d;
}

struct xen_vcpu *rs_xen_sink_vcpu(struct xen_sink *x, int dom, int vcpu)
{
	const int numbers[2] = { dom, vcpu };
	uint64_t hash = rs_hash_pair((uint32_t)dom, (uint32_t)vcpu);
	struct xen_vcpu *v = rs_map_find(&x->vcpus, hash, same_vcpu, numbers);

	if (v) {
		*xen_vcpu_recent(x, dom, vcpu) = v;
		return v;
	}
	if (x->n_vcpus == XEN_VCPUS_MAX) {
		x->refused++;
		return NULL;
	}
	if (rs_map_reserve(&x->vcpus))
		v = calloc(1, sizeof(*v));
	if (v)
		v->domain = domain_of(x, dom);
	if (!v || !v->domain) {
		free(v);
		x->no_memory = true;
		return NULL;
	}
	v->dom = dom;
	v->vcpu = vcpu;
	v->pcpu = RS_UNKNOWN;
	v->state = RS_XEN_LOST;
	v->since_ns = x->from_ns;
	rs_map_add(&x->vcpus, hash, v);
	v->all = x->all_vcpus;
	x->all_vcpus = v;
	v->sibling = v->domain->vcpus;
	v->domain->vcpus = v;
	x->n_vcpus++;
	return v;
}

struct xen_pcpu *rs_xen_sink_pcpu(struct xen_sink *x, int cpu)
{
	struct xen_pcpu *p = calloc(1, sizeof(*p));

	if (!p) {
		x->no_memory = true;
		return NULL;
	}
	p->state = RS_XEN_PCPU_LOST;
	p->since_ns = x->from_ns;
	x->pcpus[cpu] = p;
	if ((uint32_t)cpu >= x->pcpus_end)
		x->pcpus_end = (uint32_t)cpu + 1;
	return p;
}

/* ---- events --------------------------------------------------------------------------------- */

/* Returns the index of the row of a record's class: by its lowest bit, and its subclass. */
static inline uint32_t volume_place(uint32_t event)
{
	return (uint32_t)__builtin_ctz(event >> 16 | 1u << XEN_CLASSES) * 16 + (event >> 12 & 0xf);
}

/* Finds a row that is not cached. Not all records of class GEN share one: three have their own. */
static __attribute__((noinline)) struct xen_row *volume_row(struct xen_sink *x, struct xen_pcpu *p,
							    int cpu, uint32_t event)
{
	uint32_t place = volume_place(event);
	uint64_t key = 1u << (place / 16 + 4) | place % 16;

	if (event == RS_XEN_CPU_CHANGE)
		key = RS_XEN_VOLUME_WINDOW;
	else if (event == RS_XEN_WRAP_BUFFER)
		key = RS_XEN_VOLUME_WRAP;
	else if (event == RS_XEN_LOST_RECORDS)
		key = RS_XEN_VOLUME_LOSS;
	if (place >= 16)
		return p->volumes[place] = rs_xen_row_of(x, RS_XEN_VOLUME, RS_UNKNOWN, RS_UNKNOWN,
							 (uint32_t)cpu, key);
	return rs_xen_row_of(x, RS_XEN_VOLUME, RS_UNKNOWN, RS_UNKNOWN, (uint32_t)cpu, key);
}

static inline void volume(struct xen_sink *x, struct xen_pcpu *p, const struct rs_view *view)
{
	const struct rs_xen_record *record = rs_view_xen(view);
	struct xen_row *row;

	if (!record)
		return;
	row = p->volumes[volume_place(record->event)];
	if (!row)
		row = volume_row(x, p, view->cpu, record->event);
	if (!row)
		return;
	row->row.count++;
	row->row.bytes += 4u + 8u * record->stamped + 4u * record->n;
}

static void lost(struct xen_sink *x, const struct rs_view *view)
{
	struct rs_lost loss = rs_view_loss(view);
	int64_t from_ns = rs_clock_ns(view->stream->clock, loss.from);

	x->lost += loss.count;
	x->losses++;
	if (from_ns < x->from_ns)
		from_ns = x->from_ns;
	if (from_ns > view->ts_ns)
		from_ns = view->ts_ns;
	rs_xen_sched_lost(x, view, from_ns);
}

static inline void event(struct xen_sink *x, const struct rs_view *view)
{
	struct xen_pcpu *p = xen_pcpu(x, view->cpu);
	enum xen_handler handler;

	if (p && xen_wants(x, RS_XEN_VOLUME))
		volume(x, p, view);
	if (__builtin_expect(view->event->kind == RS_KIND_LOSS, 0)) {
		lost(x, view);
		return;
	}
	handler = xen_handler(view->event->id);
	if (handler >= XEN_OF_VCPU)
		rs_xen_guest_event(x, view, handler);
	else if (handler == XEN_RUNSTATE)
		rs_xen_sched_change(x, view);
	else if (handler)
		rs_xen_pcpu_event(x, view, handler);
}

static struct rs_error *xen_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct xen_sink *x = (struct xen_sink *)sink;

	if (!n)
		return NULL;
	if (!x->any) {
		x->any = true;
		x->from_ns = views[0].ts_ns;
	}
	for (size_t i = 0; i < n; i++)
		event(x, &views[i]);
	x->to_ns = views[n - 1].ts_ns;
	return x->no_memory ? rs_error_no_memory() : NULL;
}

/* Adds the counts that a source made instead of returning events. */
static struct rs_error *xen_counts(struct rs_sink *sink, const struct rs_counts *given)
{
	const struct rs_xen_counts *counts = (const struct rs_xen_counts *)given;
	struct xen_sink *x = (struct xen_sink *)sink;

	if (given->kind != RS_COUNTS_XEN)
		return NULL;
	for (size_t i = 0; i < counts->n_rows; i++) {
		const struct rs_xen_volume_row *from = &counts->rows[i];
		struct xen_row *row = rs_xen_row_of(x, RS_XEN_VOLUME, RS_UNKNOWN, RS_UNKNOWN,
						    from->pcpu, from->key);

		if (row) {
			row->row.count += from->records;
			row->row.bytes += from->bytes;
		}
	}
	x->losses += counts->losses;
	x->lost += counts->lost;
	x->from_ns = counts->from_ns;
	x->to_ns = counts->to_ns;
	return x->no_memory ? rs_error_no_memory() : NULL;
}

static const struct rs_sink_ops xen_ops = {
	.name = "xen",
	.events = xen_events,
	.counts = xen_counts,
};

/* ---- results -------------------------------------------------------------------------------- */

#define ORDER(a, b)                                                                                \
	if ((a) != (b))                                                                            \
	return (a) < (b) ? -1 : 1

static int by_all(const void *left, const void *right)
{
	const struct rs_xen_row *a = left, *b = right;

	ORDER(a->kind, b->kind);
	ORDER(a->dom, b->dom);
	ORDER(a->vcpu, b->vcpu);
	ORDER(a->sub, b->sub);
	ORDER(a->key, b->key);
	return 0;
}

static bool is_empty(const struct rs_xen_row *row)
{
	return !row->count && !row->timed && !row->edge_ns && !row->continued;
}

struct rs_error *rs_xen_collect(struct rs_sink *sink, struct rs_xen_result *result)
{
	return rs_xen_collect_until(sink, ((struct xen_sink *)sink)->to_ns, result);
}

struct rs_error *rs_xen_collect_until(struct rs_sink *sink, int64_t to_ns,
				      struct rs_xen_result *result)
{
	struct xen_sink *x = (struct xen_sink *)sink;
	size_t n = 0;

	x->to_ns = to_ns;

	rs_xen_sched_close(x, x->to_ns);
	free(x->taken);
	x->taken = calloc(x->n_rows + 1, sizeof(*x->taken));
	if (!x->taken || x->no_memory)
		return rs_error_no_memory();
	for (const struct xen_row *row = x->all_rows; row; row = row->all) {
		if (xen_wants(x, row->row.kind) && !is_empty(&row->row))
			x->taken[n++] = row->row;
	}
	qsort(x->taken, n, sizeof(*x->taken), by_all);
	*result = (struct rs_xen_result){ .from_ns = x->from_ns,
					  .to_ns = x->to_ns,
					  .rows = x->taken,
					  .n_rows = n,
					  .lost = x->lost,
					  .losses = x->losses,
					  .contradictions = x->contradictions,
					  .refused = x->refused };
	return NULL;
}

void rs_xen_continue(struct rs_sink *sink)
{
	struct xen_sink *x = (struct xen_sink *)sink;

	for (struct xen_row *row = x->all_rows; row; row = row->all) {
		struct rs_xen_row *r = &row->row;

		r->count = r->bytes = r->timed = r->continued = 0;
		r->total_ns = r->min_ns = r->max_ns = r->edge_ns = 0;
		free(row->counts); /* the next duration allocates another one */
		row->counts = NULL;
		r->hist = NULL;
	}
	for (struct xen_vcpu *v = x->all_vcpus; v; v = v->all)
		v->since_ns = x->to_ns;
	for (struct xen_domain *d = x->domains; d; d = d->all)
		d->since_ns = x->to_ns;
	x->from_ns = x->to_ns;
	x->lost = x->losses = x->contradictions = x->refused = 0;
}

bool rs_xen_same(const struct rs_xen_row *a, const struct rs_xen_row *b)
{
	return a->kind == b->kind && a->dom == b->dom && a->vcpu == b->vcpu && a->sub == b->sub;
}

static struct rs_error *unequal(const struct rs_xen_row *row, uint64_t sum, uint64_t wall)
{
	char who[48];

	if (row->kind == RS_XEN_PCPUS)
		snprintf(who, sizeof(who), "physical CPU %u", row->sub);
	else if (row->kind == RS_XEN_DOMAINS)
		snprintf(who, sizeof(who), "d%d", row->dom);
	else
		snprintf(who, sizeof(who), "d%dv%d", row->dom, row->vcpu);
	return rs_error_create(RS_FAILED, "%s: its states add up to %llu ns, expected %llu ns", who,
			       (unsigned long long)sum, (unsigned long long)wall);
}

struct rs_error *rs_xen_check(const struct rs_xen_result *result)
{
	uint64_t wall = (uint64_t)(result->to_ns - result->from_ns), sum;

	for (size_t i = 0, end; i < result->n_rows; i = end) {
		const struct rs_xen_row *first = &result->rows[i];

		sum = 0;
		for (end = i; end < result->n_rows && rs_xen_same(first, &result->rows[end]); end++)
			sum += result->rows[end].total_ns + result->rows[end].edge_ns;
		if (first->kind != RS_XEN_STATES && first->kind != RS_XEN_DOMAINS &&
		    first->kind != RS_XEN_PCPUS)
			continue;
		if (sum != wall && !result->refused)
			return unequal(first, sum, wall);
	}
	return NULL;
}

/* ---- creation ------------------------------------------------------------------------------- */

struct rs_error *rs_xen_sink_create(uint32_t kinds, struct rs_sink **sink)
{
	struct xen_sink *x = calloc(1, sizeof(*x));

	if (!x)
		return rs_error_no_memory();
	x->sink.ops = &xen_ops;
	x->kinds = kinds;
	*sink = &x->sink;
	return NULL;
}

void rs_xen_sink_destroy(struct rs_sink *sink)
{
	struct xen_sink *x = (struct xen_sink *)sink;

	if (!x)
		return;
	for (struct xen_row *row = x->all_rows, *next; row; row = next) {
		next = row->all;
		free(row->counts);
		free(row);
	}
	for (struct xen_vcpu *v = x->all_vcpus, *next; v; v = next) {
		next = v->all;
		free(v->injected);
		free(v);
	}
	for (struct xen_domain *d = x->domains, *next; d; d = next) {
		next = d->all;
		free(d);
	}
	rs_map_deinit(&x->rows);
	rs_map_deinit(&x->vcpus);
	for (uint32_t i = 0; i < x->pcpus_end; i++)
		free(x->pcpus[i]);
	free(x->taken);
	free(x);
}
