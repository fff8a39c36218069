/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which aggregations BPF adds up, and receives the sums. Sums stay in BPF until a tick or
 * END reads them. Each sum carries the epoch between two such ticks, so that a tick reads exactly
 * the records before it. An aggregation that a clause of events reads is not added up in BPF,
 * because that clause depends on the order of events.
 */
#include "lang/bpf/sums.h"

#include <stdlib.h>
#include <string.h>

#define EPOCH_NS_MIN 1000000 /* the shortest interval at which sums are read */
#define SUM_BYTES    1024u   /* divisor of aggsize for one sum; a distribution has several sums */
#define SUMS_MAX     65536u

/* ---- decisions ------------------------------------------------------------------------------ */

static bool is_read_by(enum action_kind kind)
{
	return kind == ACT_PRINTA || kind == ACT_TRUNC || kind == ACT_CLEAR;
}

/* Returns whether the clause runs at an event: one that it matches, or the fault of another
 * clause. */
static bool is_of_events(const struct rs_script *script, const struct clause *clause)
{
	const struct probe *error = &script->probes.at[PROBE_ERROR];

	for (uint32_t i = 0; i < error->n_clauses; i++) {
		if (error->clauses[i] == clause->index)
			return true;
	}
	for (const struct pattern *p = clause->patterns; p; p = p->next) {
		if (rs_lang_pattern_is_event(p))
			return true;
	}
	return false;
}

/* Marks the aggregations that a clause reads. Returns whether it may end the program. */
static bool find_reads(const struct rs_script *script, const struct clause *clause, bool *read)
{
	bool ends = false;

	for (uint32_t i = 0; i < clause->n_code; i++) {
		const struct action *action;

		if (clause->code[i].op != I_DO)
			continue;
		action = &script->actions.at[clause->code[i].k];
		ends |= action->kind == ACT_EXIT;
		for (uint8_t j = 0; is_read_by(action->kind) && j < action->n_aggregations; j++)
			read[action->aggregations[j]->index] = true;
	}
	return ends;
}

static bool tick_reads(const struct rs_script *script, const struct tick *tick, bool *scratch)
{
	const struct probe *probe = &script->probes.at[tick->probe];
	bool reads = false;

	memset(scratch, 0, script->n_aggregations * sizeof(*scratch));
	for (uint32_t i = 0; i < probe->n_clauses; i++)
		reads |= find_reads(script, script->clause_at.at[probe->clauses[i]], scratch);
	for (uint32_t i = 0; i < script->n_aggregations; i++)
		reads |= scratch[i];
	return reads;
}

static uint64_t common(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Determines the epoch from the ticks that read aggregations, and marks those ticks. */
static bool ticks_of(const struct rs_script *script, struct push_sums *sums)
{
	bool *scratch = calloc(script->n_aggregations + 1, sizeof(*scratch));

	sums->ticks = calloc(script->ticks.n + 1, sizeof(*sums->ticks));
	for (uint32_t i = 0; scratch && sums->ticks && i < script->ticks.n; i++) {
		const struct tick *tick = &script->ticks.at[i];

		sums->ticks[i] = tick_reads(script, tick, scratch);
		if (sums->ticks[i])
			sums->epoch_ns = common(sums->epoch_ns, (uint64_t)tick->period_ns);
	}
	free(scratch);
	return scratch && sums->ticks;
}

struct rs_error *rs_push_sums_begin(const struct rs_script *script, struct push_sums *sums)
{
	bool ends = false;

	sums->ordered = calloc(script->n_aggregations + 1, sizeof(*sums->ordered));
	if (!sums->ordered || !ticks_of(script, sums))
		return rs_error_no_memory();
	for (const struct clause *clause = script->clauses; clause; clause = clause->next) {
		if (is_of_events(script, clause))
			ends |= find_reads(script, clause, sums->ordered);
	}
	for (const struct aggregation *agg = script->aggregations; agg; agg = agg->next) {
		if (agg->n_keys > sums->rows.n_keys)
			sums->rows.n_keys = agg->n_keys;
	}
	sums->rows.ordered = sums->ordered;
	if (sums->why_not)
		return NULL;
	if (ends)
		sums->why_not = "an event may end the program";
	else if (sums->epoch_ns && sums->epoch_ns < EPOCH_NS_MIN)
		sums->why_not = "ticks read it too often";
	return NULL;
}

void rs_push_sums_deinit(struct push_sums *sums)
{
	free(sums->rows.sums);
	free(sums->ordered);
	free(sums->ticks);
}

/* Returns the number of aggregations in a clause. */
uint32_t rs_push_sums_of(const struct rs_script *script, const struct clause *clause)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < clause->n_code; i++)
		n += clause->code[i].op == I_DO &&
		     script->actions.at[clause->code[i].k].kind == ACT_AGGREGATE;
	return n;
}

void rs_push_sums_filter(const struct rs_script *script, const struct push_sums *sums,
			 struct rs_filter *filter)
{
	uint64_t room = script->options[OPT_AGGSIZE] / SUM_BYTES;

	filter->adds = sums->rows.n > 0;
	filter->n_keys = sums->rows.n_keys;
	filter->epoch_ns = sums->epoch_ns;
	filter->room = room < SUMS_MAX ? (uint32_t)room : SUMS_MAX;
}

/* ---- receiving ------------------------------------------------------------------------------ */

struct tuple {
	char bytes[LANG_KEY_BYTES];
	uint32_t n;
};

static void add_bytes(struct tuple *tuple, const void *bytes, size_t n)
{
	if (n > sizeof(tuple->bytes) - tuple->n)
		return; /* cannot happen: rows.c has read */
	memcpy(tuple->bytes + tuple->n, bytes, n);
	tuple->n += (uint32_t)n;
}

/* Matches vm/run.c. */
static void add_text(const struct rs_script *script, struct tuple *tuple, const char *text,
		     size_t len)
{
	size_t most = script->options[OPT_STRSIZE] - 1;
	uint32_t n = (uint32_t)strnlen(text, len < most ? len : most);

	add_bytes(tuple, &n, sizeof(n));
	add_bytes(tuple, text, n);
}

static void add_part(const struct rs_script *script, const struct push_sums *sums,
		     const struct push_part *part, const uint64_t **word, struct tuple *tuple)
{
	char text[VALUE_NAME_MAX];
	const char *name;

	switch (part->kind) {
	case PART_NUMBER:
		add_bytes(tuple, (*word)++, 8);
		break;
	case PART_TEXT:
		add_text(script, tuple, part->s, part->len);
		break;
	case PART_VM:
		name = sums->vm(sums->ctx, *(*word)++);
		add_text(script, tuple, name, SIZE_MAX);
		break;
	case PART_FIELD:
		name = rs_lang_value_name(part->field, *(*word)++, text);
		add_text(script, tuple, name, SIZE_MAX);
		break;
	}
}

void rs_push_sums_receive(struct rs_script *script, const struct push_sums *sums,
			  const struct rs_filter_row *row)
{
	const uint64_t *word = row->keys;
	const struct push_sum *sum;
	struct tuple tuple;

	if (row->number >= sums->rows.n)
		return;
	sum = &sums->rows.sums[row->number];
	tuple.n = 0;
	for (uint8_t i = 0; i < sum->n_parts; i++)
		add_part(script, sums, &sum->parts[i], &word, &tuple);
	rs_agg_merge(&script->runtime->aggs, sum->agg,
		     &(struct value){ .s = tuple.bytes, .len = tuple.n }, row->bin, &row->sum);
}
