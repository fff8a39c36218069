/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aggregates the events that reach the sink by keys: their number and, if a value is named, its
 * sum, minimum and maximum.
 *
 * Memory grows with the number of distinct keys, not with the trace; rows above the limit are
 * refused and counted.
 */
#ifndef RS_ANALYZE_AGGREGATE_H
#define RS_ANALYZE_AGGREGATE_H

#include "event/query.h"

#define RS_AGGREGATE_ROWS_MAX (1u << 20)

/*
 * A key is an argument's name, or one of "probe", "vm", "vcpu", "cpu" or "tid". Events that lack a
 * key's or the value's argument are not counted.
 */
#define RS_AGGREGATE_KEYS_MAX 8
struct rs_aggregate {
	const char *value; /* an argument's name, or NULL */
	const char *keys[RS_AGGREGATE_KEYS_MAX];
	uint32_t n_keys;
};

/* A row. Keys are strings in the form that `print` shows, so that streams with different string
 * tables share rows. */
struct rs_aggregate_row {
	uint32_t aggregate; /* index of its struct rs_aggregate */
	const char *keys[RS_AGGREGATE_KEYS_MAX];
	uint64_t count;
	__int128 sum, min, max; /* of the value, signed or unsigned as its type; never too large */
};

/* Creates the sink. The aggregates, at most 32, must outlive the sink. */
struct rs_error *rs_aggregate_sink_create(const struct rs_aggregate *aggregates, uint32_t n,
					  struct rs_sink **sink);
void rs_aggregate_sink_destroy(struct rs_sink *sink);

/* Returns the rows of one aggregate after the run, most counted first, then by keys. They are valid
 * until the sink is destroyed. Sets *dropped to the number of events without a row. */
struct rs_error *rs_aggregate_rows(struct rs_sink *sink, uint32_t aggregate,
				   const struct rs_aggregate_row **rows, size_t *n,
				   uint64_t *dropped);

#endif
