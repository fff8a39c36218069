/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aggregations as text: in DTrace's form, which existing scripts parse, or by a format. Rows of
 * several aggregations with equal keys are printed side by side.
 */
#include "lang/vm/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAR 40 /* characters of a distribution's bar */

/* ---- distributions ------------------------------------------------------------------------ */

static void repeat(struct text *text, char c, uint32_t n)
{
	char line[BAR];

	memset(line, c, sizeof(line));
	rs_lang_text_add(text, line, n < BAR ? n : BAR);
}

/* Positive values have bars to the right of a line, negative ones to its left. */
static void bar(struct text *text, int64_t value, long double total, bool positives, bool negatives,
		uint64_t normal)
{
	uint32_t room = positives && negatives ? BAR / 2 : BAR, depth = 0;
	long double height = value < 0 ? -(long double)value : (long double)value;

	if (total > 0)
		depth = (uint32_t)(height * room / total + 0.5L);
	if (depth > room)
		depth = room;
	if (negatives) {
		repeat(text, ' ', room - (value < 0 ? depth : 0));
		repeat(text, '@', value < 0 ? depth : 0);
	}
	rs_lang_text_add(text, "|", 1);
	if (positives || !negatives) {
		repeat(text, '@', value > 0 ? depth : 0);
		repeat(text, ' ', room - (value > 0 ? depth : 0));
	}
	rs_lang_text_print(text, " %-9lld\n", (long long)(value / (int64_t)normal));
}

/* Writes the name of a bin. */
static void bin_name(const struct aggregation *agg, uint32_t bin, char name[32])
{
	int64_t base = agg->params[0], step = agg->params[1];

	switch (agg->function) {
	case AGG_QUANTIZE:
		snprintf(name, 32, "%lld", (long long)rs_agg_quantize_bound(bin));
		break;
	case AGG_LQUANTIZE:
		if (!bin)
			snprintf(name, 32, "< %lld", (long long)base);
		else
			snprintf(name, 32, "%s%lld", bin + 1 == agg->n_data ? ">= " : "",
				 (long long)(base + ((int64_t)bin - 1) * step));
		break;
	default:
		if (!bin)
			snprintf(name, 32, "< %lld", (long long)agg->bounds[0]);
		else
			snprintf(name, 32, "%s%lld", bin + 1 == agg->n_data ? ">= " : "",
				 (long long)agg->bounds[bin - 1]);
		break;
	}
}

/* Finds the bins from the first to the last nonempty one, and one on each side. */
static void bins_shown(const struct agg_row *row, uint32_t *first, uint32_t *last)
{
	uint32_t n = row->agg->n_data;

	for (*first = 0; *first < n && !row->data[*first];)
		++*first;
	if (*first == n) { /* all empty: those around zero, or the first */
		*first = row->agg->function == AGG_QUANTIZE ? LANG_QUANTIZE / 2 - 1 : 0;
		*last = *first + (row->agg->function == AGG_LLQUANTIZE ? 1 : 2);
		if (*last >= n)
			*last = n - 1;
		return;
	}
	for (*last = n - 1; !row->data[*last];)
		--*last;
	*first -= *first > 0;
	*last += *last + 1 < n;
}

static void top(struct text *text, const struct agg_row *row, uint64_t normal)
{
	int64_t pairs[2 * (LANG_TOP_MAX * 4 + 64)], rest = row->data[0];
	uint32_t n = rs_agg_top(row, pairs);

	rs_lang_text_print(text, "\n%16s %41s %-9s\n", "value",
			   "------------- Distribution -------------", "count");
	for (uint32_t i = 0; i < n; i++) {
		rs_lang_text_print(text, "%16lld ", (long long)pairs[i * 2]);
		bar(text, pairs[i * 2 + 1], (long double)row->data[0], true, false, normal);
		rest -= pairs[i * 2 + 1];
	}
	if (rest > 0) {
		rs_lang_text_print(text, "%16s ", "others");
		bar(text, rest, (long double)row->data[0], true, false, normal);
	}
}

static void distribution(struct text *text, const struct agg_row *row, uint64_t normal)
{
	bool positives = false, negatives = false;
	long double total = 0;
	uint32_t first, last;
	char name[32];

	if (row->agg->function == AGG_TOPK) {
		top(text, row, normal);
		return;
	}
	bins_shown(row, &first, &last);
	for (uint32_t i = first; i <= last; i++) {
		positives |= row->data[i] > 0;
		negatives |= row->data[i] < 0;
		total += row->data[i] < 0 ? -(long double)row->data[i] : (long double)row->data[i];
	}
	rs_lang_text_print(text, "\n%16s %41s %-9s\n", "value",
			   "------------- Distribution -------------", "count");
	for (uint32_t i = first; i <= last; i++) {
		bin_name(row->agg, i, name);
		rs_lang_text_print(text, "%16s ", name);
		bar(text, row->data[i], total, positives, negatives, normal);
	}
}

/* ---- rows --------------------------------------------------------------------------------- */

static void key_default(struct text *text, struct type type, const struct value *value)
{
	static const int widths[] = { [1] = 3, [2] = 5, [4] = 8, [8] = 16 };
	char hex[24];

	if (type.kind == TYPE_STRING && value->len && value->s[0] == LANG_NO_STACK[0]) {
		rs_lang_text_add(text, value->s, value->len); /* on separate lines */
	} else if (type.kind == TYPE_STRING) {
		struct conversion left = { .letter = 's', .minus = true };

		rs_lang_text_add(text, "  ", 2);
		rs_lang_format_value(text, &left, type, value, 50, -1);
	} else if (type.hex) {
		snprintf(hex, sizeof(hex), "0x%llx",
			 (unsigned long long)rs_lang_type_cut(INT_OF(type.bytes, false), value->i));
		rs_lang_text_print(text, " %*s", widths[type.bytes] + 2, hex);
	} else {
		rs_lang_text_print(text, " %*lld", widths[type.bytes], (long long)value->i);
	}
}

static void value_default(struct text *text, const struct agg_row *row)
{
	if (row->agg->function >= AGG_QUANTIZE)
		distribution(text, row, row->agg->normal);
	else
		rs_lang_text_print(text, " %16lld", (long long)rs_agg_value(row, row->agg->normal));
}

static void bundle_default(struct text *text, const struct bundle *bundle, uint32_t n)
{
	struct value keys[LANG_KEYS_MAX];

	rs_agg_keys(bundle->any, keys);
	for (uint8_t i = 0; i < bundle->any->agg->n_keys; i++)
		key_default(text, bundle->any->agg->keys[i], &keys[i]);
	for (uint32_t i = 0; i < n; i++)
		value_default(text, bundle->rows[i]);
	rs_lang_text_add(text, "\n", 1);
}

static void bundle_format(struct text *text, const struct bundle *bundle, uint32_t n,
			  const struct format *format)
{
	struct value keys[LANG_KEYS_MAX];
	uint32_t key = 0, agg = 0;

	rs_agg_keys(bundle->any, keys);
	for (uint32_t i = 0; i < format->n; i++) {
		const struct conversion *conversion = &format->conversions[i];

		rs_lang_text_add(text, conversion->before, conversion->before_len);
		if (!conversion->letter)
			continue;
		if (!conversion->aggregate) {
			rs_lang_format_value(text, conversion, bundle->any->agg->keys[key],
					     &keys[key], conversion->width, conversion->precision);
			key++;
			continue;
		}
		if (bundle->rows[agg]->agg->function >= AGG_QUANTIZE) {
			distribution(text, bundle->rows[agg], bundle->rows[agg]->agg->normal);
		} else {
			struct value value = { .i = (uint64_t)rs_agg_value(
						       bundle->rows[agg],
						       bundle->rows[agg]->agg->normal) };

			rs_lang_format_value(text, conversion, TYPE_OF_INT64, &value,
					     conversion->width, conversion->precision);
		}
		agg += agg + 1 < n;
	}
}

/* ---- bundles ------------------------------------------------------------------------------ */

struct order {
	const uint64_t *options;
	uint32_t n;
};

static int compare_bundles(const void *a, const void *b, void *ctx)
{
	const struct bundle *x = a, *y = b;
	const struct order *order = ctx;
	uint64_t first = order->options[OPT_AGGSORTPOS];
	int result = 0;

	if (!order->options[OPT_AGGSORTKEY]) {
		for (uint32_t i = 0; i < order->n && !result; i++) {
			uint32_t at = (uint32_t)((first + i) % order->n);

			result = rs_agg_compare(x->rows[at], y->rows[at]);
		}
	}
	if (!result)
		result = rs_agg_compare_keys(x->any, y->any, order->options[OPT_AGGSORTKEYPOS]);
	return order->options[OPT_AGGSORTREV] ? -result : result;
}

static int by_keys(const void *a, const void *b)
{
	const struct agg_row *const *x = a, *const *y = b;

	return rs_agg_compare_keys(*x, *y, 0);
}

/* Collects the rows of the aggregations, those with equal keys together. */
static size_t collect(const struct agg_table *table, struct aggregation *const *aggs, uint32_t n,
		      const struct agg_row *const *zeros, const struct agg_row **rows,
		      const struct agg_row **cells, struct bundle *bundles)
{
	size_t n_rows = 0, n_bundles = 0;

	for (size_t i = 0; i < table->n; i++) {
		for (uint32_t j = 0; j < n; j++) {
			if (table->rows[i]->agg == aggs[j]) {
				rows[n_rows++] = table->rows[i];
				break;
			}
		}
	}
	qsort(rows, n_rows, sizeof(*rows), by_keys);
	for (size_t i = 0; i < n_rows; i++) {
		struct bundle *bundle = n_bundles ? &bundles[n_bundles - 1] : NULL;

		if (!bundle || rs_agg_compare_keys(bundle->any, rows[i], 0)) {
			bundle = &bundles[n_bundles];
			bundle->any = rows[i];
			bundle->rows = cells + n_bundles++ * n;
			memcpy(bundle->rows, zeros, n * sizeof(*zeros));
		}
		for (uint32_t j = 0; j < n; j++) {
			if (rows[i]->agg == aggs[j])
				bundle->rows[j] = rows[i];
		}
	}
	return n_bundles;
}

static struct agg_row *row_zero(const struct aggregation *agg)
{
	size_t head = (sizeof(struct agg_row) + 7) & ~(size_t)7;
	struct agg_row *row = calloc(1, head + agg->n_data * sizeof(int64_t));

	if (row) {
		row->agg = agg;
		row->data = (int64_t *)((char *)row + head);
	}
	return row;
}

void rs_agg_print(struct rs_script *script, struct text *text, struct aggregation *const *aggs,
		  uint32_t n, const struct format *format)
{
	const struct agg_table *table = &script->runtime->aggs;
	const struct agg_row **rows = malloc((table->n + 1) * sizeof(*rows));
	const struct agg_row **cells = malloc((table->n + 1) * n * sizeof(*cells));
	struct bundle *bundles = calloc(table->n + 1, sizeof(*bundles));
	struct agg_row *zeros[LANG_ARGS_MAX] = { NULL };
	struct order order = { script->options, n };
	bool good = rows && cells && bundles;
	size_t n_bundles = 0;

	for (uint32_t i = 0; i < n; i++) {
		zeros[i] = row_zero(aggs[i]);
		good &= zeros[i] != NULL;
	}
	if (good)
		n_bundles = collect(table, aggs, n, (const struct agg_row *const *)zeros, rows,
				    cells, bundles);
	else
		text->full = true;
	if (n_bundles)
		qsort_r(bundles, n_bundles, sizeof(*bundles), compare_bundles, &order);
	if (script->options[OPT_JSON])
		rs_lang_json_bundles(script->runtime, text, aggs, n, bundles, n_bundles);
	for (size_t i = 0; i < n_bundles && !script->options[OPT_JSON]; i++) {
		if (format)
			bundle_format(text, &bundles[i], n, format);
		else
			bundle_default(text, &bundles[i], n);
	}
	for (uint32_t i = 0; i < n; i++) {
		aggs[i]->printed |= n_bundles > 0;
		free(zeros[i]);
	}
	free(rows);
	free(cells);
	free(bundles);
}
