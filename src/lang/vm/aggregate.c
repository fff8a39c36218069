/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The data of aggregations: a row for each tuple of keys, found by hash. Rows that do not fit in
 * aggsize are dropped and counted. The words of a row, by function:
 *
 *	count, sum	the number
 *	avg		count, sum
 *	min, max	whether there is a value, the value
 *	stddev, variance	count, sum, and the sum of squares in two words
 *	p		whether there is a value, min, max, a struct rs_hist
 *	*quantize	a count for each bin
 *	topk		the number of values, then slots of a value and its count
 */
#include "base/hist.h"
#include "event/filter.h"
#include "lang/vm/runtime.h"
#include "base/vector.h"

#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#define ZERO_BIN 63

#define AGG(name, text, n_min, n_max, words, args, help)                                           \
	[AGG_##name] = { text, n_min, n_max, words, args, help },
const struct agg_function_row rs_agg_functions[N_AGG_FUNCTIONS] = {
#include "lang/vm/aggregates.def"
};
#undef AGG

/* ---- rows --------------------------------------------------------------------------------- */

static size_t row_bytes(const struct agg_row *row)
{
	return sizeof(*row) + row->key_bytes + row->agg->n_data * sizeof(int64_t) +
	       3 * sizeof(void *);
}

struct row_key {
	const struct aggregation *agg;
	const struct value *key;
};

static bool same_row(const void *item, const void *key)
{
	const struct agg_row *row = item;
	const struct row_key *searched = key;

	return row->agg == searched->agg && row->key_bytes == searched->key->len &&
	       !memcmp(row->key, searched->key->s, row->key_bytes);
}

static struct agg_row *row_new(struct agg_table *table, const struct aggregation *agg,
			       const struct value *key, uint64_t hash)
{
	size_t head = (sizeof(struct agg_row) + key->len + 7) & ~(size_t)7;
	struct agg_row *row;

	row = malloc(head + agg->n_data * sizeof(int64_t));
	if (!row)
		return NULL;
	*row = (struct agg_row){ .agg = agg, .hash = hash, .key_bytes = key->len };
	row->data = (int64_t *)((char *)row + head);
	memcpy(row->key, key->s, key->len);
	memset(row->data, 0, agg->n_data * sizeof(int64_t));
	if (table->bytes + row_bytes(row) > table->most || !rs_map_reserve(&table->by_key) ||
	    !RS_VECTOR_RESERVE(table->rows, table->room, table->n + 1)) {
		free(row);
		return NULL;
	}
	rs_map_add(&table->by_key, hash, row);
	table->rows[table->n++] = row;
	table->bytes += row_bytes(row);
	return row;
}

/* ---- bins --------------------------------------------------------------------------------- */

static uint32_t log2_of(uint64_t value)
{
	return 63u - (uint32_t)__builtin_clzll(value);
}

static uint32_t quantize_bin(int64_t value)
{
	uint32_t power;

	if (!value)
		return ZERO_BIN;
	if (value > 0)
		return ZERO_BIN + 1 + log2_of((uint64_t)value);
	power = log2_of(-(uint64_t)value);
	return power < ZERO_BIN ? ZERO_BIN - 1 - power : 0;
}

/* Returns the value that names a bin of quantize(). */
int64_t rs_agg_quantize_bound(uint32_t bin)
{
	if (bin == ZERO_BIN)
		return 0;
	return bin > ZERO_BIN ? INT64_C(1) << (bin - ZERO_BIN - 1)
			      : -(INT64_C(1) << (ZERO_BIN - 1 - bin));
}

static uint32_t lquantize_bin(const struct aggregation *agg, int64_t value)
{
	int64_t base = agg->params[0];
	uint64_t last = (uint64_t)agg->params[2], level; /* which may exceed an int64_t */

	if (value < base)
		return 0;
	level = ((uint64_t)value - (uint64_t)base) / (uint64_t)agg->params[1];
	return (uint32_t)(level < last ? level : last) + 1;
}

/* Returns the number of bounds that do not exceed the value. */
static uint32_t llquantize_bin(const struct aggregation *agg, int64_t value)
{
	uint32_t low = 0, high = agg->n_data - 1;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (agg->bounds[middle] <= value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds with wraparound, as unsigned numbers do. */
static void add_to(int64_t *word, int64_t value)
{
	*word = (int64_t)((uint64_t)*word + (uint64_t)value);
}

static void add_square(int64_t *words, int64_t value)
{
	unsigned __int128 sum = (unsigned __int128)(uint64_t)words[1] << 64 | (uint64_t)words[0];

	sum += (unsigned __int128)((__int128)value * value);
	words[0] = (int64_t)(uint64_t)sum;
	words[1] = (int64_t)(uint64_t)(sum >> 64);
}

_Static_assert(sizeof(struct rs_hist) == RS_HIST_BUCKETS * sizeof(int64_t), "words of a row");

/* Values are durations: a negative one counts as 0. */
static void add_percentile(int64_t *data, int64_t value)
{
	if (value < 0)
		value = 0;
	if (!data[0] || value < data[1])
		data[1] = value;
	if (!data[0] || value > data[2])
		data[2] = value;
	data[0] = 1;
	add_to(&data[AGG_HIST_AT + rs_hist_bucket((uint64_t)value)], 1);
}

static int64_t percentile(const struct agg_row *row)
{
	const int64_t *data = row->data;
	struct rs_hist hist;

	memcpy(&hist, data + AGG_HIST_AT, sizeof(hist));
	return (int64_t)rs_hist_percentile(&hist, (uint32_t)row->agg->params[0] * 10,
					   (uint64_t)data[1], (uint64_t)data[2]);
}

/*
 * A value without a slot replaces the rarest and inherits its count (the space-saving algorithm,
 * Metwally et al., 2005). The counts are exact while there are no more different values than slots;
 * then each is too high by at most the number of all values divided by the number of slots.
 */
static void add_top(const struct aggregation *agg, int64_t *data, int64_t value)
{
	uint32_t slots = agg_top_slots((uint32_t)agg->params[0]);
	int64_t *slot = data + AGG_TOP_AT, *rarest = slot;

	data[0]++;
	for (uint32_t i = 0; i < slots; i++, slot += 2) {
		if (slot[1] && slot[0] == value) {
			slot[1]++;
			return;
		}
		if (slot[1] < rarest[1])
			rarest = slot;
		if (!slot[1])
			break; /* the slots after it are empty too */
	}
	rarest[0] = value;
	rarest[1]++;
}

static void update(struct agg_row *row, int64_t value, int64_t by)
{
	const struct aggregation *agg = row->agg;
	int64_t *data = row->data;

	switch (agg->function) {
	case AGG_COUNT:
		add_to(&data[0], 1);
		break;
	case AGG_SUM:
		add_to(&data[0], value);
		break;
	case AGG_AVG:
		add_to(&data[0], 1);
		add_to(&data[1], value);
		break;
	case AGG_MIN:
		if (!data[0] || value < data[1])
			data[1] = value;
		data[0] = 1;
		break;
	case AGG_MAX:
		if (!data[0] || value > data[1])
			data[1] = value;
		data[0] = 1;
		break;
	case AGG_STDDEV:
	case AGG_VARIANCE:
		add_to(&data[0], 1);
		add_to(&data[1], value);
		add_square(&data[2], value);
		break;
	case AGG_PERCENTILE:
		add_percentile(data, value);
		break;
	case AGG_QUANTIZE:
		add_to(&data[quantize_bin(value)], by);
		break;
	case AGG_LQUANTIZE:
		add_to(&data[lquantize_bin(agg, value)], by);
		break;
	case AGG_LLQUANTIZE:
		add_to(&data[llquantize_bin(agg, value)], by);
		break;
	case AGG_TOPK:
		add_top(agg, data, value);
		break;
	default:
		break;
	}
}

/* Returns the row of a key, which may be new; NULL if it does not fit. */
static struct agg_row *row_of(struct agg_table *table, const struct aggregation *agg,
			      const struct value *key)
{
	uint64_t hash = XXH3_64bits_withSeed(key->s, key->len, agg->index);
	const struct row_key searched = { agg, key };
	struct agg_row *row = rs_map_find(&table->by_key, hash, same_row, &searched);

	return row ? row : row_new(table, agg, key, hash);
}

void rs_agg_add(struct agg_table *table, const struct aggregation *agg, const struct value *key,
		int64_t value, int64_t by)
{
	struct agg_row *row = table->last_rows[agg->index];

	if (!row || row->key_bytes != key->len || memcmp(row->key, key->s, key->len))
		row = row_of(table, agg, key);
	table->last_row = row;
	if (!row) {
		table->drops++;
		return;
	}
	table->last_rows[agg->index] = row;
	update(row, value, by);
}

/* ---- sums of the source ------------------------------------------------------------------- */

static void merge_percentile(int64_t *data, uint32_t bin, const struct rs_filter_sum *sum)
{
	int64_t least = (int64_t)sum->more[0], greatest = (int64_t)sum->more[1];

	if (!data[0] || least < data[1])
		data[1] = least;
	if (!data[0] || greatest > data[2])
		data[2] = greatest;
	data[0] = 1;
	if (bin < RS_HIST_BUCKETS)
		add_to(&data[AGG_HIST_AT + bin], (int64_t)sum->n);
}

static void merge_squares(int64_t *words, const struct rs_filter_sum *sum)
{
	unsigned __int128 have = (unsigned __int128)(uint64_t)words[1] << 64 | (uint64_t)words[0];

	have += (unsigned __int128)sum->more[1] << 64 | sum->more[0];
	words[0] = (int64_t)(uint64_t)have;
	words[1] = (int64_t)(uint64_t)(have >> 64);
}

static void merge(struct agg_row *row, uint32_t bin, const struct rs_filter_sum *sum)
{
	int64_t *data = row->data;

	switch (row->agg->function) {
	case AGG_COUNT:
		add_to(&data[0], (int64_t)sum->n);
		break;
	case AGG_SUM:
		add_to(&data[0], sum->value);
		break;
	case AGG_STDDEV:
	case AGG_VARIANCE:
		merge_squares(&data[2], sum);
		/* fall through */
	case AGG_AVG:
		add_to(&data[0], (int64_t)sum->n);
		add_to(&data[1], sum->value);
		break;
	case AGG_MIN:
		if (!data[0] || sum->value < data[1])
			data[1] = sum->value;
		data[0] = 1;
		break;
	case AGG_MAX:
		if (!data[0] || sum->value > data[1])
			data[1] = sum->value;
		data[0] = 1;
		break;
	case AGG_PERCENTILE:
		merge_percentile(data, bin, sum);
		break;
	case AGG_QUANTIZE:
	case AGG_LQUANTIZE:
	case AGG_LLQUANTIZE:
		if (bin < row->agg->n_data)
			add_to(&data[bin], sum->value);
		break;
	default:
		break;
	}
}

void rs_agg_merge(struct agg_table *table, const struct aggregation *agg, const struct value *key,
		  uint32_t bin, const struct rs_filter_sum *sum)
{
	struct agg_row *row = row_of(table, agg, key);

	if (row)
		merge(row, bin, sum);
	else
		table->drops += sum->n;
}

void rs_agg_update(struct agg_row *row, int64_t value)
{
	update(row, value, 1);
}

/* ---- values ------------------------------------------------------------------------------- */

static uint64_t root(unsigned __int128 of)
{
	unsigned __int128 low = 0, high = UINT64_MAX;

	while (low < high) {
		unsigned __int128 middle = (low + high + 1) / 2;

		if (middle * middle <= of)
			low = middle;
		else
			high = middle - 1;
	}
	return (uint64_t)low;
}

/* Returns the average of the squares less the square of the average, in integers. */
static unsigned __int128 variance(const int64_t *data, uint64_t normal)
{
	unsigned __int128 squares = (unsigned __int128)(uint64_t)data[3] << 64 | (uint64_t)data[2];
	unsigned __int128 average_squared, average_of_squares;
	int64_t average;

	if (!data[0])
		return 0;
	average = data[1] / (int64_t)normal / data[0];
	average_squared = (unsigned __int128)((__int128)average * average);
	average_of_squares = squares / normal / normal / (uint64_t)data[0];
	return average_of_squares > average_squared ? average_of_squares - average_squared : 0;
}

int64_t rs_agg_value(const struct agg_row *row, uint64_t normal)
{
	const int64_t *data = row->data;

	switch (row->agg->function) {
	case AGG_AVG:
		return data[0] ? data[1] / (int64_t)normal / data[0] : 0;
	case AGG_MIN:
	case AGG_MAX:
		return data[1] / (int64_t)normal;
	case AGG_STDDEV:
		return (int64_t)root(variance(data, normal));
	case AGG_VARIANCE:
		return variance(data, normal) < INT64_MAX ? (int64_t)variance(data, normal)
							  : INT64_MAX;
	case AGG_PERCENTILE:
		return percentile(row) / (int64_t)normal;
	default:
		return data[0] / (int64_t)normal;
	}
}

/* Returns the weight of a distribution: the sum of each bin's bound times its count. */
static long double weight(const struct agg_row *row)
{
	const struct aggregation *agg = row->agg;
	long double sum = 0;

	for (uint32_t i = 0; i < agg->n_data; i++) {
		long double bound;

		if (agg->function == AGG_QUANTIZE)
			bound = (long double)rs_agg_quantize_bound(i);
		else if (agg->function == AGG_LQUANTIZE)
			bound = (long double)agg->params[0] +
				((long double)i - 1) * (long double)agg->params[1];
		else
			bound = (long double)agg->bounds[i ? i - 1 : 0];
		sum += bound * (long double)row->data[i];
	}
	return sum;
}

int rs_agg_compare(const struct agg_row *a, const struct agg_row *b)
{
	if (a->agg->function >= AGG_QUANTIZE && a->agg->function != AGG_TOPK) {
		long double x = weight(a), y = weight(b);

		return x < y ? -1 : x > y;
	} else {
		int64_t x = rs_agg_value(a, 1), y = rs_agg_value(b, 1);

		return x < y ? -1 : x > y;
	}
}

/* ---- clear, trunc ------------------------------------------------------------------------- */

void rs_agg_keys(const struct agg_row *row, struct value *values)
{
	const char *at = row->key;

	for (uint8_t i = 0; i < row->agg->n_keys; i++) {
		values[i] = (struct value){ .i = 0 };
		if (row->agg->keys[i].kind == TYPE_STRING) {
			memcpy(&values[i].len, at, 4);
			values[i].s = at + 4;
			at += 4 + values[i].len;
		} else {
			memcpy(&values[i].i, at, 8);
			at += 8;
		}
	}
}

static int compare_value(struct type type, const struct value *a, const struct value *b)
{
	size_t least = a->len < b->len ? a->len : b->len;
	int order;

	if (type.kind == TYPE_STRING) {
		order = memcmp(a->s, b->s, least);
		if (order)
			return order;
		return a->len < b->len ? -1 : a->len > b->len;
	}
	if (type.is_signed)
		return (int64_t)a->i < (int64_t)b->i ? -1 : (int64_t)a->i > (int64_t)b->i;
	return a->i < b->i ? -1 : a->i > b->i;
}

int rs_agg_compare_keys(const struct agg_row *a, const struct agg_row *b, uint64_t position)
{
	struct value x[LANG_KEYS_MAX], y[LANG_KEYS_MAX];
	uint8_t n = a->agg->n_keys;

	rs_agg_keys(a, x);
	rs_agg_keys(b, y);
	for (uint8_t i = 0; i < n; i++) {
		uint32_t at = (uint32_t)((i + position) % n);
		int order = compare_value(a->agg->keys[at], &x[at], &y[at]);

		if (order)
			return order;
	}
	return 0;
}

/* Orders the slots of topk(): the most frequent first, the least value among equals. */
static int by_count(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	if (x[1] != y[1])
		return x[1] > y[1] ? -1 : 1;
	return x[0] < y[0] ? -1 : x[0] > y[0];
}

uint32_t rs_agg_top(const struct agg_row *row, int64_t *pairs)
{
	uint32_t shown = (uint32_t)row->agg->params[0], slots = agg_top_slots(shown), n = 0;

	memcpy(pairs, row->data + AGG_TOP_AT, slots * 2 * sizeof(*pairs));
	qsort(pairs, slots, 2 * sizeof(*pairs), by_count);
	while (n < shown && pairs[n * 2 + 1])
		n++;
	return n;
}

void rs_agg_clear(struct agg_table *table, const struct aggregation *agg)
{
	for (size_t i = 0; i < table->n; i++) {
		if (table->rows[i]->agg == agg)
			memset(table->rows[i]->data, 0, agg->n_data * sizeof(int64_t));
	}
}

/* Orders rows by value, the greatest first; equal ones as printa() prints them. */
static int by_value(const void *a, const void *b)
{
	const struct agg_row *const *x = a, *const *y = b;

	int order = rs_agg_compare(*y, *x);

	return order ? order : rs_agg_compare_keys(*y, *x, 0);
}

/* Removes the rows of an aggregation beyond the first n of an order. */
void rs_agg_trunc(struct rs_script *script, const struct aggregation *agg, int64_t n)
{
	struct agg_table *table = &script->runtime->aggs;
	size_t mine = 0, kept = 0, keep = n < 0 ? -(size_t)n : (size_t)n;
	struct agg_row **sorted = malloc((table->n + 1) * sizeof(*sorted));

	if (!sorted) {
		table->drops++; /* no memory: the rows stay, which counts as drops */
		return;
	}
	for (size_t i = 0; i < table->n; i++) {
		if (table->rows[i]->agg == agg)
			sorted[mine++] = table->rows[i];
	}
	qsort(sorted, mine, sizeof(*sorted), by_value);
	for (size_t i = 0; i < mine; i++) {
		bool stays = n < 0 ? i + keep >= mine : i < keep;

		if (!stays) {
			rs_map_remove(&table->by_key, sorted[i]->hash, sorted[i]);
			sorted[i]->data = NULL; /* marked: the loop below frees it */
		}
	}
	for (size_t i = 0; i < table->n; i++) {
		struct agg_row *row = table->rows[i];

		if (!row->data) {
			table->bytes -= row_bytes(row);
			free(row);
		} else {
			table->rows[kept++] = row;
		}
	}
	table->n = kept;
	table->generation++;
	memset(table->last_rows, 0, script->n_aggregations * sizeof(*table->last_rows));
	free(sorted);
}

void rs_agg_table_deinit(struct agg_table *table)
{
	for (size_t i = 0; i < table->n; i++)
		free(table->rows[i]);
	free(table->rows);
	rs_map_deinit(&table->by_key);
	free(table->last_rows);
	*table = (struct agg_table){ 0 };
}
