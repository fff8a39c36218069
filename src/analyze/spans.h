/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Summarises spans by name and by call path: their number, their durations, and the part of these
 * in nested spans. A span is the time between span::begin and span::end, or between func::enter and
 * func::leave (-finstrument-functions).
 *
 *	total	from begin to end
 *	self	total without nested spans
 *	guest	in a guest's span: the time in which its vCPU ran the guest
 *	calls	likewise: the time in which the VMM served a call (vmm:call::host-begin, host-end)
 *	exits	likewise: all other time in the VMM or in KVM
 *
 * The time in the VMM is known where the trace has the vCPU's exits (vmm:vcpu::exit and run, or
 * kvm_exit and kvm_entry). A name that is on a stack twice (recursion) counts once in `total`.
 *
 * A record has its span's depth, so the stacks are right again after a loss. A span whose end is
 * missing is counted as open, and has no duration; one whose begin is missing is counted as well.
 *
 * Memory grows with names and call paths.
 */
#ifndef RS_ANALYZE_SPANS_H
#define RS_ANALYZE_SPANS_H

#include <ringside/source.h>

#include "analyze/profile.h"
#include "base/hist.h"

#define RS_SPANS_DEPTH_MAX 256u /* deeper spans are counted as too_deep, and left out */

/* The identity and the sums of one row's spans. */
struct rs_span_key {
	const struct rs_schema *schema; /* the producer */
	uint32_t id;			/* the name's id; 0: a function, by its address */
	const char *name;		/* NULL: a function, or a name that the trace lacks */
	uint64_t address;
};

struct rs_span_row {
	struct rs_span_key key;
	uint64_t count; /* of the spans that ended */
	uint64_t total_ns, self_ns, min_ns, max_ns;
	uint64_t sum_ns; /* of all durations, also those nested in a span of the same name */
	uint64_t calls_ns, exits_ns; /* the guest's time is total_ns without these */
	uint64_t timed;		     /* how many of count have calls and exits */
	uint64_t timed_ns;	     /* their total */
	uint64_t doubtful;	     /* spans during which records may have been lost */
	struct rs_hist hist;
	uint32_t index;
};

/* A call path: a span within others. */
struct rs_span_node {
	const struct rs_span_row *row;
	const struct rs_span_node *parent; /* NULL: outermost */
	uint64_t count, self_ns, total_ns;
};

/* The result. It is valid until the sink is destroyed. */
struct rs_spans {
	struct rs_span_row *const *rows; /* sorted by total, the longest first */
	size_t n_rows;
	struct rs_span_node *const *nodes; /* in the order of their first record */
	size_t n_nodes;
	uint64_t open;	   /* spans without an end */
	uint64_t unbegun;  /* ends without a begin */
	uint64_t too_deep; /* spans deeper than RS_SPANS_DEPTH_MAX */
	uint64_t lost;	   /* records that the trace reports as lost */
	int64_t first_ns, last_ns;
};

struct rs_error *rs_spans_sink_create(struct rs_sink **sink);
void rs_spans_sink_destroy(struct rs_sink *sink); /* NULL is ignored */

/* Sorts the rows. Call it once, after the run. */
struct rs_error *rs_spans_collect(struct rs_sink *sink, struct rs_spans *spans);

enum rs_spans_value { RS_SPANS_COUNT, RS_SPANS_TIME, RS_SPANS_VALUES };
extern const struct rs_profile_value rs_spans_values[RS_SPANS_VALUES];

/* Makes the profile of a result: counts, and self time in ns. The caller deinitializes the profile,
 * also after an error. */
struct rs_error *rs_spans_profile(const struct rs_spans *spans,
				  const struct rs_profile_resolver *resolver,
				  struct rs_profile *profile);

#endif
