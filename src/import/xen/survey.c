/* SPDX-License-Identifier: BSD-2-Clause */
/* Estimates the TSC's frequency and the CPUs' skew from the start of a Xen trace. */
#include "import/xen/survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define ITEMS_MAX (1u << 17)
#define CPUS_MAX  256u /* with more CPUs, skew is not estimated */
#define PASSES	  16u  /* how far a vCPU's changes may be out of order */
#define NONE	  INT64_MIN
#define RUNNING	  0 /* RUNSTATE_running */

/* A change of runstate. */
struct item {
	uint64_t tsc;
	uint32_t whose; /* domain << 16 | vcpu */
	uint32_t pcpu;
	uint8_t old, new;
};

struct making {
	struct rs_xen_survey *survey;
	struct item *items;
	uint32_t n, room;
	bool no_memory;
};

/* Keeps a change of runstate, ITEMS_MAX at most. */
static void item_add(struct making *m, const struct item *item)
{
	if (m->n == ITEMS_MAX)
		return;
	if (RS_VECTOR_RESERVE(m->items, m->room, m->n + 1))
		m->items[m->n++] = *item;
	else
		m->no_memory = true;
}

static void survey_record(void *ctx, const struct rs_xen_record *record, uint64_t tsc,
			  uint32_t pcpu)
{
	struct making *m = ctx;
	struct rs_xen_survey *survey = m->survey;
	struct item item = { .tsc = tsc, .pcpu = pcpu };

	if (tsc && (!survey->first_tsc || tsc < survey->first_tsc))
		survey->first_tsc = tsc;
	if ((record->event & ~(RS_XEN_64 | RS_XEN_NESTED | 1)) == RS_XEN_VMEXIT && record->n) {
		bool is_svm = record->event & 1 || rs_xen_is_svm_code(record->words[0]);

		survey->any_exit = true;
		if (is_svm)
			survey->isa = RS_XEN_SVM;
		return;
	}
	if ((record->event & ~0x330u) == RS_XEN_RUNSTATES && record->n == 1) {
		item.whose = record->words[0] >> 16 << 16 | (record->words[0] & 0xffff);
		item.old = record->event >> 8 & 3;
		item.new = record->event >> 4 & 3;
	} else {
		return;
	}
	if (record->stamped)
		item_add(m, &item);
}

static int by_vcpu(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->whose != y->whose)
		return x->whose < y->whose ? -1 : 1;
	return (x->tsc > y->tsc) - (x->tsc < y->tsc);
}

/* ---- skew ----------------------------------------------------------------------------------- */

/*
 * least[p * n + q]: the least skew by which q's stamps must be moved forward against p's, so that
 * each vCPU that moved from p to q arrived on q after it left p. A negative value is the room to
 * move q's stamps back.
 */
struct constraints {
	int64_t *least;
	uint32_t n;
};

static void demand(struct constraints *c, const struct item *first, const struct item *second)
{
	int64_t lag = (int64_t)(first->tsc - second->tsc);
	int64_t *least = &c->least[first->pcpu * c->n + second->pcpu];

	if (first->pcpu != second->pcpu && lag > *least)
		*least = lag;
}

/* Returns whether b can follow a, for one vCPU: it leaves the CPU on which it ran. */
static bool follows(const struct item *a, const struct item *b)
{
	return a->new == b->old && (b->old != RUNNING || a->pcpu == b->pcpu);
}

/* Swaps two neighbours if only that makes the vCPU's states consistent. */
static bool turn(struct item *a, struct item *b, const struct item *before)
{
	struct item swap = *a;

	if (a->pcpu == b->pcpu || follows(a, b) || !follows(b, a))
		return false;
	if (before && before->whose == a->whose && !follows(before, b))
		return false;
	*a = *b;
	*b = swap;
	return true;
}

static void find_constraints(struct making *m, struct constraints *c)
{
	bool turned = true;

	for (uint32_t pass = 0; turned && pass < PASSES; pass++) {
		turned = false;
		for (uint32_t i = 1; i < m->n; i++) {
			if (m->items[i].whose == m->items[i - 1].whose)
				turned |= turn(&m->items[i - 1], &m->items[i],
					       i > 1 ? &m->items[i - 2] : NULL);
		}
	}
	for (uint32_t i = 1; i < m->n; i++) {
		const struct item *a = &m->items[i - 1], *b = &m->items[i];

		/* Nothing was lost only if the states follow each other. */
		if (a->whose == b->whose && follows(a, b))
			demand(c, a, b);
	}
}

/* Finds the longest paths between all CPUs. Returns false if the constraints contradict each
 * other. */
static bool close_constraints(struct constraints *c)
{
	uint32_t n = c->n;

	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t i = 0; i < n; i++) {
			for (uint32_t j = 0; j < n; j++) {
				int64_t a = c->least[i * n + k], b = c->least[k * n + j];

				if (a != NONE && b != NONE && a + b > c->least[i * n + j])
					c->least[i * n + j] = a + b;
			}
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		if (c->least[i * n + i] > 0)
			return false;
	}
	return true;
}

/* Sets each CPU's skew against the first: the middle of the possible ones, or the least sufficient
 * one. */
static void place(struct rs_xen_survey *survey, const struct constraints *c, uint64_t skew_max)
{
	uint32_t n = c->n;

	for (uint32_t q = 1; q < n; q++) {
		int64_t low = c->least[q], high = c->least[q * n], skew = 0;

		if (low != NONE && high != NONE) {
			skew = low + (-high - low) / 2;
			if ((uint64_t)(-high - low) / 2 > survey->skew_error)
				survey->skew_error = (uint64_t)(-high - low) / 2;
		} else if (low != NONE && low > 0) {
			skew = low;
		} else if (high != NONE && high > 0) {
			skew = -high;
		}
		survey->skews[q] = skew;
		if ((uint64_t)llabs(skew) > survey->skew_most)
			survey->skew_most = (uint64_t)llabs(skew);
	}
	if (survey->skew_most > skew_max)
		survey->skew_impossible = true;
}

/* Returns whether the chosen skews satisfy all constraints. The middles need not. */
static bool satisfied(const struct rs_xen_survey *survey, const struct constraints *c)
{
	for (uint32_t p = 0; p < c->n; p++) {
		for (uint32_t q = 0; q < c->n; q++) {
			int64_t least = c->least[p * c->n + q];

			if (p != q && least != NONE && survey->skews[q] - survey->skews[p] < least)
				return false;
		}
	}
	return true;
}

/* Sets the least skews that satisfy all constraints, which are closed. */
static void place_least(struct rs_xen_survey *survey, const struct constraints *c)
{
	survey->skew_most = 0;
	for (uint32_t q = 0; q < c->n; q++) {
		survey->skews[q] = 0;
		for (uint32_t p = 0; p < c->n; p++) {
			if (c->least[p * c->n + q] > survey->skews[q])
				survey->skews[q] = c->least[p * c->n + q];
		}
		if ((uint64_t)survey->skews[q] > survey->skew_most)
			survey->skew_most = (uint64_t)survey->skews[q];
	}
}

static bool any_wrong(const struct constraints *c)
{
	for (uint32_t i = 0; i < c->n * c->n; i++) {
		if (c->least[i] > 0)
			return true;
	}
	return false;
}

static struct rs_error *find_skew(struct making *m, uint32_t n, uint64_t skew_max)
{
	struct rs_xen_survey *survey = m->survey;
	struct constraints c = { .n = n };

	if (n > CPUS_MAX || n < 2)
		return NULL;
	c.least = malloc(n * n * sizeof(*c.least));
	if (!c.least)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < n * n; i++)
		c.least[i] = NONE;
	find_constraints(m, &c);
	if (any_wrong(&c)) {
		survey->skew_impossible = !close_constraints(&c);
		if (!survey->skew_impossible)
			place(survey, &c, skew_max);
		if (!survey->skew_impossible && !satisfied(survey, &c))
			place_least(survey, &c);
		if (survey->skew_impossible) {
			memset(survey->skews, 0, n * sizeof(*survey->skews));
			survey->skew_most = 0;
		}
	}
	free(c.least);
	return NULL;
}

struct rs_error *rs_xen_survey_make(const struct rs_xen_records *records, uint64_t skew_max,
				    struct rs_xen_survey *survey)
{
	struct making m = { .survey = survey };
	struct rs_error *err;

	*survey = (struct rs_xen_survey){ 0 };
	survey->skews = calloc(records->n_pcpus + 1, sizeof(*survey->skews));
	if (!survey->skews)
		return rs_error_no_memory();
	rs_xen_records_survey(records, survey_record, &m);
	if (m.n)
		qsort(m.items, m.n, sizeof(*m.items), by_vcpu);
	err = m.no_memory ? rs_error_no_memory() : find_skew(&m, records->n_pcpus, skew_max);
	free(m.items);
	if (err)
		rs_xen_survey_deinit(survey);
	return err;
}

void rs_xen_survey_deinit(struct rs_xen_survey *survey)
{
	free(survey->skews);
	*survey = (struct rs_xen_survey){ 0 };
}
