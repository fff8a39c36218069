/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of aggregations, found by key. */
#ifndef RS_LANG_VM_AGGREGATE_H
#define RS_LANG_VM_AGGREGATE_H

#include "base/map.h"
#include "lang/vm/builtin.h"
#include "lang/vm/code.h"

struct rs_filter_sum;

/* The rows of aggregates.def, by enum agg_function. */
struct agg_function_row {
	const char *name;
	uint8_t n_min, n_max; /* arguments */
	uint32_t n_data;      /* words of a row; 0: the arguments determine it */
	const char *args, *help;
};
extern const struct agg_function_row rs_agg_functions[N_AGG_FUNCTIONS];

#define AGG_HIST_AT 3 /* the words of p(): whether there is a value, min, max, histogram */

/*
 * The words of topk(): the number of values, then pairs of a value and its count. There are several
 * times more pairs than topk() shows, so that the counts of those shown are right except for rare
 * values.
 */
#define AGG_TOP_AT 1
static inline uint32_t agg_top_slots(uint32_t shown)
{
	return shown * 4 < 64 ? 64 : shown * 4;
}

static inline uint32_t agg_top_words(uint32_t shown)
{
	return AGG_TOP_AT + 2 * agg_top_slots(shown);
}

struct agg_row {
	const struct aggregation *agg;
	uint64_t hash;
	uint32_t key_bytes;
	int64_t *data; /* agg->n_data of them */
	char key[];    /* as KEY packed it */
};

struct agg_table {
	struct agg_row **rows;
	size_t n, room;
	struct rs_map by_key;
	uint64_t bytes, most;
	uint64_t drops;
	uint64_t generation;	    /* changes when rows are removed */
	struct agg_row *last_row;   /* the row that rs_agg_add() used; NULL: it dropped the value */
	struct agg_row **last_rows; /* the same for each aggregation */
};

void rs_agg_add(struct agg_table *table, const struct aggregation *agg, const struct value *key,
		int64_t value, int64_t by);
void rs_agg_update(struct agg_row *row, int64_t value);
/* Adds a sum that the source computed; bin is for distributions. */
void rs_agg_merge(struct agg_table *table, const struct aggregation *agg, const struct value *key,
		  uint32_t bin, const struct rs_filter_sum *sum);
void rs_agg_clear(struct agg_table *table, const struct aggregation *agg);
/* Keeps the n rows with the greatest values or, if n is negative, with the least. */
void rs_agg_trunc(struct rs_script *script, const struct aggregation *agg, int64_t n);
void rs_agg_table_deinit(struct agg_table *table);

/* Returns the value of a row as one number; compares rows by their values. */
int64_t rs_agg_value(const struct agg_row *row, uint64_t normal);
int rs_agg_compare(const struct agg_row *a, const struct agg_row *b);
/* Compares keys from the position on, then those before it. */
int rs_agg_compare_keys(const struct agg_row *a, const struct agg_row *b, uint64_t position);
int64_t rs_agg_quantize_bound(uint32_t bin);
/* Copies the values of topk() and their counts, in order, to agg_top_slots() pairs. Returns
 * their number. */
uint32_t rs_agg_top(const struct agg_row *row, int64_t *pairs);

/* Rows of several aggregations with the same keys, which are printed together. */
struct bundle {
	const struct agg_row *any;
	const struct agg_row **rows; /* by aggregation */
};

/* Unpacks the key of a row into as many values as the aggregation has keys. */
void rs_agg_keys(const struct agg_row *row, struct value *values);

#endif
