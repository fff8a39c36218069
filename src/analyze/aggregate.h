/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aggregates of a query, made of the events that reach us and of what sources have already made:
 * the part that is "done above" when a source does not push an aggregate down. The result is the
 * same either way.
 *
 * Memory grows with the number of distinct keys, not with the trace; rows above the limit are
 * refused and counted.
 */
#ifndef RS_ANALYZE_AGGREGATE_H
#define RS_ANALYZE_AGGREGATE_H

#include "event/query.h"

#define RS_AGGREGATE_ROWS_MAX (1u << 20)

/* The query must outlive the sink; its aggregates may not be more than 32. */
struct rs_error *rs_aggregate_sink_create(const struct rs_query *query, struct rs_sink **sink);
void rs_aggregate_sink_destroy(struct rs_sink *sink);

/* After the run: the rows of one aggregate, most counted first, then by keys. Valid until the
 * sink is destroyed. *dropped: events whose row found no place. */
struct rs_error *rs_aggregate_rows(struct rs_sink *sink, uint32_t aggregate,
				   const struct rs_partial **rows, size_t *n, uint64_t *dropped);

#endif
