/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translates aggregations into BPF: each becomes a row after the record (event/filter.h), with a
 * key, a value and an operation. Constant parts of a key take no room in the row.
 */
#include "lang/bpf/stack.h"

#include "base/vector.h"

#define BINS_MAX 256u /* of llquantize(): each takes several instructions */

/* ---- keys ----------------------------------------------------------------------------------- */

static void part_add(struct translation_of *t, const struct entry *entry, uint32_t depth, bool text)
{
	static const enum push_part_kind kinds[] = {
		[LATER_NOT] = PART_NUMBER, [LATER_VM] = PART_VM, [LATER_FIELD] = PART_FIELD
	};
	struct push_part *part = &t->sum.parts[t->sum.n_parts++];
	uint32_t word = RS_FILTER_KEY + RS_FILTER_KEY_HEAD + t->n_words;

	*part = (struct push_part){ .kind = PART_TEXT, .s = entry->s, .len = entry->len };
	if (text && !entry->later)
		return;
	*part = (struct push_part){ .kind = kinds[entry->later], .field = entry->field };
	t->n_words++;
	store(t->code, RECORD, row_at(t->rows->used, word), rs_push_stack_get(t, depth, T0));
}

void rs_push_rows_key(struct translation_of *t, const struct insn *insn)
{
	uint32_t n = insn->k >> 16 & 0xff, first = t->depth - n, bytes = 0;

	if ((insn->k & 3u << 24) != LANG_KEY_AGGREGATION) {
		rs_push_stack_leave(t, "it reads variables of the program");
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		bytes += t->stack[first + i].len;
	if (t->rows->used == RS_FILTER_ROWS) {
		rs_push_stack_leave(t, "an event has too many aggregations for its record");
		return;
	}
	if (bytes > LANG_KEY_BYTES / 2) {
		rs_push_stack_leave(t, "its keys are too long");
		return;
	}
	t->sum.n_parts = 0;
	t->n_words = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct entry entry = t->stack[first + i];

		if ((insn->n >> i & 1) != entry.text) {
			rs_push_stack_leave(t, "it chooses between strings");
			return;
		}
		part_add(t, &entry, first + i, entry.text);
	}
	t->depth = first;
	rs_push_stack_known(t, 0); /* it is in the row */
}

/* ---- bins ----------------------------------------------------------------------------------- */

/* Computes lquantize_bin() of T3 into T0. */
static void bin_linear(struct push_code *c, const struct aggregation *agg)
{
	uint32_t jump;

	load_number(c, T2, (uint64_t)agg->params[0]);
	alu_imm(c, BPF_MOV, T0, 0);
	jump = c->n;
	put(c, BPF_JMP | BPF_X | BPF_JSLT, T3, T2, 0, 0);
	alu(c, BPF_SUB, T3, T2);
	load_number(c, T2, (uint64_t)agg->params[1]);
	alu(c, BPF_DIV, T3, T2);
	load_number(c, T2, (uint64_t)agg->params[2]);
	put(c, BPF_JMP | BPF_X | BPF_JLE, T3, T2, 1, 0);
	move(c, T3, T2);
	move(c, T0, T3);
	alu_imm(c, BPF_ADD, T0, 1);
	if (!c->full)
		c->insns[jump].off = (int16_t)(c->n - jump - 1);
}

struct bins {
	uint16_t ends[BINS_MAX + 1];
	uint32_t n;
};

/* Counts the bounds from low to high that do not exceed T3, by a tree of comparisons. */
static void bin_tree(struct push_code *c, const struct aggregation *agg, uint32_t low,
		     uint32_t high, struct bins *bins)
{
	uint32_t middle = (low + high) / 2, jump;

	if (c->full)
		return;
	if (low == high) {
		alu_imm(c, BPF_MOV, T0, (int32_t)low);
		bins->ends[bins->n++] = (uint16_t)c->n;
		put(c, BPF_JMP | BPF_JA, 0, 0, 0, 0);
		return;
	}
	load_number(c, T2, (uint64_t)agg->bounds[middle]);
	jump = c->n;
	put(c, BPF_JMP | BPF_X | BPF_JSGE, T3, T2, 0, 0);
	bin_tree(c, agg, low, middle, bins);
	if (!c->full)
		c->insns[jump].off = (int16_t)(c->n - jump - 1);
	bin_tree(c, agg, middle + 1, high, bins);
}

static void bin_log_linear(struct push_code *c, const struct aggregation *agg)
{
	struct bins bins = { .n = 0 };

	bin_tree(c, agg, 0, agg->n_data - 1, &bins);
	for (uint32_t i = 0; i < bins.n && !c->full; i++)
		c->insns[bins.ends[i]].off = (int16_t)(c->n - bins.ends[i] - 1);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static const struct {
	enum rs_filter_how how;
	bool can;
} ways[] = {
	[AGG_COUNT] = { RS_FILTER_COUNT, true },
	[AGG_SUM] = { RS_FILTER_SUM, true },
	[AGG_AVG] = { RS_FILTER_SUM, true },
	[AGG_MIN] = { RS_FILTER_MIN, true },
	[AGG_MAX] = { RS_FILTER_MAX, true },
	[AGG_STDDEV] = { RS_FILTER_SQUARES, true },
	[AGG_VARIANCE] = { RS_FILTER_SQUARES, true },
	[AGG_PERCENTILE] = { RS_FILTER_HIST, true },
	[AGG_QUANTIZE] = { RS_FILTER_POWER, true },
	[AGG_LQUANTIZE] = { RS_FILTER_BINS, true },
	[AGG_LLQUANTIZE] = { RS_FILTER_BINS, true },
	[AGG_TOPK] = { RS_FILTER_COUNT, false }, /* its result depends on the order of the events */
};

static const char *refusal(const struct translation_of *t, const struct action *action)
{
	const struct aggregation *agg = action->aggregations[0];

	if (action->kind != ACT_AGGREGATE)
		return "it does more than aggregate";
	if (!ways[agg->function].can)
		return "topk() depends on the order of events";
	if (agg->function == AGG_LLQUANTIZE && agg->n_data > BINS_MAX)
		return "it has too many bins";
	if (t->rows->ordered[agg->index])
		return "a clause of events reads the aggregation";
	if (t->rows->used == RS_FILTER_ROWS || t->rows->n == RS_FILTER_SUMS_MAX)
		return "an event has too many aggregations for its record";
	return NULL;
}

/* Creates a sum and sets its number. Returns false if out of memory. */
static bool sum_new(struct translation_of *t, const struct aggregation *agg, uint32_t *number)
{
	struct push_rows *rows = t->rows;

	if (!RS_VECTOR_RESERVE(rows->sums, rows->room, rows->n + 1))
		return false;
	t->sum.agg = agg;
	*number = rows->n;
	rows->sums[rows->n++] = t->sum;
	return true;
}

/* Writes the header of the row last, because the header makes the row valid. */
static void head(struct translation_of *t, const struct aggregation *agg, uint32_t number)
{
	struct push_code *c = t->code;
	uint64_t known = (number + 1) | (uint64_t)ways[agg->function].how << RS_FILTER_HOW;

	if (agg->function == AGG_LQUANTIZE)
		bin_linear(c, agg);
	else if (agg->function == AGG_LLQUANTIZE)
		bin_log_linear(c, agg);
	else
		alu_imm(c, BPF_MOV, T0, 0);
	alu_imm(c, BPF_LSH, T0, RS_FILTER_BIN);
	alu_imm(c, BPF_OR, T0, (int32_t)known);
	store(c, RECORD, row_at(t->rows->used++, 0), T0);
}

void rs_push_rows_add(struct translation_of *t, const struct insn *insn)
{
	const struct action *action = &t->script->actions.at[insn->k];
	const char *why = refusal(t, action);
	uint32_t row = t->rows->used, value = t->depth - action->n_args, number;
	struct push_code *c = t->code;

	if (!action->has_key)
		t->sum.n_parts = t->n_words = 0;
	if (!why && !sum_new(t, action->aggregations[0], &number))
		why = "there is not enough memory";
	if (why) {
		rs_push_stack_leave(t, why);
		return;
	}
	for (uint32_t i = t->n_words; i < t->rows->n_keys; i++)
		put(c, BPF_ST | BPF_MEM | BPF_DW, RECORD, 0,
		    row_at(row, RS_FILTER_KEY + RS_FILTER_KEY_HEAD + i), 0);
	if (action->n_args > 1)
		store(c, RECORD, row_at(row, 2), rs_push_stack_get(t, value + 1, T0));
	else
		put(c, BPF_ST | BPF_MEM | BPF_DW, RECORD, 0, row_at(row, 2), 1);
	if (action->n_args) {
		move(c, T3, rs_push_stack_get(t, value, T0));
		store(c, RECORD, row_at(row, 1), T3);
	}
	head(t, action->aggregations[0], number);
	t->depth -= action->n_args + action->has_key;
}
