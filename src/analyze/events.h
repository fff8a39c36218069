/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the events of a trace by probe, with the times of the first and the last.
 *
 * Memory grows with the number of probes, not with the trace.
 */
#ifndef RS_ANALYZE_EVENTS_H
#define RS_ANALYZE_EVENTS_H

#include <ringside/source.h>

#define RS_EVENTS_ROWS_MAX 65536u

struct rs_events_row {
	const char *probe;
	uint64_t count;
	int64_t first_ns, last_ns; /* the first and the last event, since the trace's start */
};

/* The result. It is valid until the sink is destroyed. */
struct rs_events {
	const struct rs_events_row *rows; /* the most frequent probe first, then by name */
	size_t n_rows;
	uint64_t count;		   /* of all rows */
	int64_t first_ns, last_ns; /* of all events; both 0 if there are none */
	uint64_t lost;		   /* records that the trace reports as lost */
	uint64_t refused;	   /* events beyond RS_EVENTS_ROWS_MAX probes */
};

struct rs_error *rs_events_sink_create(struct rs_sink **sink);
void rs_events_sink_destroy(struct rs_sink *sink); /* NULL is ignored */

/* Sorts the rows. Call it once, after the run. */
struct rs_error *rs_events_collect(struct rs_sink *sink, struct rs_events *events);

#endif
