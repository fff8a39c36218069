/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects the tally's rows, and adds together those with equal requested keys. */
#include "analyze/tally_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

/* ---- the end -------------------------------------------------------------------------------- */

/* Closes all open states, whose ends are not in the trace. */
static void close_all(struct tally_sink *s)
{
	for (struct tally_cpu *c = s->all_cpus; c; c = c->all) {
		c->whole = false;
		if (c->known)
			rs_tally_turn(s, c, RS_TALLY_USES, NULL, s->last);
		else
			rs_tally_cpu_lost(s, c, s->last);
	}
	for (struct tally_vcpu *v = s->all_vcpus; v; v = v->all) {
		uint64_t unknown;
		struct tally_row *row;

		rs_tally_settle_exit(s, v);
		rs_vcpu_end(&v->time, s->last);
		unknown = v->time.ns[RS_VCPU_UNKNOWN];
		/* A PV domain's vCPU has no exits, so none of its time is time in unknown exits. */
		if (!unknown || !v->exits)
			continue;
		row = rs_tally_row_of(s, RS_TALLY_EXITS, v->home ? v->home->cpu : RS_UNKNOWN, v,
				      RS_TALLY_LOST, 0);
		if (row)
			row->row.total = unknown;
	}
}

/* Accounts CPU time from the guest's time alone, for a KVM trace without thread switches: guest
 * time is then the only evidence that a vCPU had the CPU. */
static void guest_time_account(struct tally_sink *s)
{
	struct tally_row *unknown;

	for (struct tally_row *r = s->all_rows; r; r = r->all) {
		struct rs_tally_row *row = &r->row;
		uint64_t guest = row->guest < row->total ? row->guest : row->total;

		if (row->kind != RS_TALLY_CPU || row->sub != RS_TALLY_VCPU)
			continue;
		unknown = rs_tally_row_of(s, RS_TALLY_CPU, row->cpu, NULL, RS_TALLY_UNKNOWN, 0);
		if (unknown)
			unknown->row.total += row->total - guest;
		row->total = row->guest = guest;
		row->timed = row->min = row->max = 0;
		r->hist = NULL;
	}
}

/* ---- merging rows --------------------------------------------------------------------------- */

static int compare_texts(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

#define COMPARE(x, y)                                                                              \
	do {                                                                                       \
		if ((x) != (y))                                                                    \
			return (x) < (y) ? -1 : 1;                                                 \
	} while (0)

/* Compares the owners of two rows. Keys that were not requested are unknown in both. */
static int compare_owners(const struct rs_tally_row *x, const struct rs_tally_row *y)
{
	int vm;

	COMPARE(x->kind, y->kind);
	COMPARE(x->cpu, y->cpu);
	vm = compare_texts(x->vm, y->vm);
	if (vm)
		return vm;
	COMPARE(x->vcpu, y->vcpu);
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct rs_tally_row *x = &((const struct tally_row *)a)->row;
	const struct rs_tally_row *y = &((const struct tally_row *)b)->row;
	int whose = compare_owners(x, y);

	if (whose)
		return whose;
	COMPARE(x->sub, y->sub);
	COMPARE(x->key, y->key);
	return 0;
}

static int compare_shown(const void *a, const void *b)
{
	const struct rs_tally_row *x = a, *y = b;
	int whose = compare_owners(x, y);

	if (whose)
		return whose;
	COMPARE(y->total - y->off, x->total - x->off);
	COMPARE(y->count, x->count);
	COMPARE(x->sub, y->sub);
	COMPARE(x->key, y->key);
	return 0;
}

/* Returns a copy of a row with only the requested keys of its owner. */
static struct tally_row named(const struct tally_row *r, uint32_t by)
{
	struct tally_row one = *r;

	/* CPU use has at least the keys CPU and VM. */
	if (one.row.kind == RS_TALLY_CPU)
		by |= RS_TALLY_BY_CPU | RS_TALLY_BY_VM;
	if (!(by & RS_TALLY_BY_CPU))
		one.row.cpu = RS_UNKNOWN;
	one.row.vm = r->owner && by & (RS_TALLY_BY_VM | RS_TALLY_BY_VCPU) ? r->owner->vm : NULL;
	one.row.guest_known = r->owner && r->owner->guest_known;
	one.row.vcpu = r->owner && by & RS_TALLY_BY_VCPU ? r->owner->vcpu : RS_UNKNOWN;
	return one;
}

static void add(struct rs_tally_row *to, struct rs_hist *hist, const struct tally_row *from)
{
	const struct rs_tally_row *r = &from->row;

	if (r->timed && (!to->timed || r->min < to->min))
		to->min = r->min;
	if (r->max > to->max)
		to->max = r->max;
	to->count += r->count;
	to->timed += r->timed;
	to->total += r->total;
	to->off += r->off;
	to->guest += r->guest;
	to->guest_known |= r->guest_known;
	if (from->hist)
		rs_hist_add(hist, from->hist);
}

/* ---- bases of shares ------------------------------------------------------------------------ */

/* A vCPU, with only the requested keys of its owner, as rows have them. */
struct seat {
	const char *vm;
	int vcpu;
	const struct tally_cpu *home; /* NULL: unbound */
};

static int compare_seats(const struct seat *x, const char *vm, int vcpu)
{
	int order = compare_texts(x->vm, vm);

	if (order)
		return order;
	COMPARE(x->vcpu, vcpu);
	return 0;
}

static int compare_homes(const void *a, const void *b)
{
	const struct seat *x = a, *y = b;
	int order = compare_seats(x, y->vm, y->vcpu);

	if (order)
		return order;
	COMPARE((uintptr_t)x->home, (uintptr_t)y->home);
	return 0;
}

/* Lists the vCPUs by owner and home. Returns NULL without memory. */
static struct seat *seats_of(const struct tally_sink *s, uint32_t by)
{
	struct seat *seats = malloc((s->n_vcpus + 1) * sizeof(*seats));
	size_t n = 0;

	for (const struct tally_vcpu *v = s->all_vcpus; seats && v; v = v->all) {
		seats[n++] = (struct seat){ .vm = by & (RS_TALLY_BY_VM | RS_TALLY_BY_VCPU) ? v->vm
											   : NULL,
					    .vcpu = by & RS_TALLY_BY_VCPU ? v->vcpu : RS_UNKNOWN,
					    .home = v->home };
	}
	if (seats)
		qsort(seats, n, sizeof(*seats), compare_homes);
	return seats;
}

/* Returns the number of CPUs to which the row's vCPUs are bound, plus that of unbound vCPUs. A
 * CPU's rows have one. */
static uint64_t places_of(const struct tally_sink *s, const struct seat *seats,
			  const struct rs_tally_row *row, uint32_t by)
{
	const struct tally_cpu *last = NULL;
	uint64_t n = 0;

	if (row->kind == RS_TALLY_CPU || (by & RS_TALLY_BY_CPU && row->cpu >= 0))
		return 1;
	for (size_t i =
		     RS_SEARCH(at, s->n_vcpus, compare_seats(&seats[at], row->vm, row->vcpu) < 0);
	     i < s->n_vcpus && !compare_seats(&seats[i], row->vm, row->vcpu); i++) {
		const struct tally_cpu *home = seats[i].home;

		if (home && by & RS_TALLY_BY_CPU && home->cpu != row->cpu)
			continue;
		n += !home || home != last;
		last = home;
	}
	return n ? n : 1;
}

/* Computes the bases. Rows with the same owner have the same base. */
static struct rs_error *bases(const struct tally_sink *s, struct rs_tally *t, uint32_t by)
{
	struct seat *seats = seats_of(s, by);

	if (!seats)
		return rs_error_no_memory();
	for (size_t i = 0; i < t->n_rows; i++) {
		struct rs_tally_row *row = &s->taken[i];

		if (i && !compare_owners(row - 1, row))
			row->base = row[-1].base;
		else
			row->base = t->ticks * places_of(s, seats, row, by);
	}
	free(seats);
	return NULL;
}

static void gather(struct tally_sink *s, struct tally_row *sorted, size_t n, struct rs_tally *t)
{
	qsort(sorted, n, sizeof(*sorted), compare_rows);
	for (size_t i = 0; i < n; i++) {
		bool more = i && !compare_rows(&sorted[i - 1], &sorted[i]);
		size_t at = more ? t->n_rows - 1 : t->n_rows++;

		if (!more) {
			s->taken[at] = sorted[i].row;
			if (sorted[i].hist)
				s->taken_hists[at] = *sorted[i].hist;
			s->taken[at].hist = &s->taken_hists[at];
			continue;
		}
		add(&s->taken[at], &s->taken_hists[at], &sorted[i]);
	}
	qsort(s->taken, t->n_rows, sizeof(*s->taken), compare_shown);
}

struct rs_error *rs_tally_collect(struct rs_sink *sink, uint32_t by, struct rs_tally *tally)
{
	struct tally_sink *s = (struct tally_sink *)sink;
	struct rs_tally t = { 0 };
	struct rs_error *err;
	struct tally_row *sorted;
	size_t n = 0;

	close_all(s);
	if (s->kvm && !s->kvm_switches)
		guest_time_account(s);
	sorted = malloc((s->n_rows + 1) * sizeof(*sorted));
	s->taken = calloc(s->n_rows + 1, sizeof(*s->taken));
	s->taken_hists = calloc(s->n_rows + 1, sizeof(*s->taken_hists));
	if (!sorted || !s->taken || !s->taken_hists || s->no_memory) {
		free(sorted);
		return rs_error_no_memory();
	}
	t.ticks = s->last - s->first;
	t.ticks_are_ns = s->clock.monotonic;
	t.tick_hz = s->clock.freq_hz;
	for (const struct tally_row *r = s->all_rows; r; r = r->all) {
		if (r->row.count || r->row.total)
			sorted[n++] = named(r, by);
	}
	gather(s, sorted, n, &t);
	free(sorted);
	err = bases(s, &t, by);
	if (err)
		return err;
	t.rows = s->taken;
	t.lost = s->lost;
	t.contradictions = s->contradictions;
	t.refused = s->refused;
	*tally = t;
	return NULL;
}
