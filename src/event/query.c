/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds and matches the queries that sinks send to sources. */
#include "event/query.h"

#include <fnmatch.h>
#include <stdlib.h>

void rs_query_init(struct rs_query *query)
{
	*query = (struct rs_query){ .from_ns = INT64_MIN, .to_ns = INT64_MAX };
}

/* Parses a decimal number at *at. Returns false if the text has no number below
 * RS_QUERY_CPUS_MAX. */
static bool number(const char **at, uint32_t *value)
{
	char *end;
	unsigned long n;

	if (**at < '0' || **at > '9')
		return false;
	n = strtoul(*at, &end, 10);
	if (n >= RS_QUERY_CPUS_MAX)
		return false;
	*value = (uint32_t)n;
	*at = end;
	return true;
}

struct rs_error *rs_cpu_set_parse(struct rs_cpu_set *set, const char *list)
{
	const char *at = list;
	uint32_t from, to;

	do {
		if (!number(&at, &from))
			break;
		to = from;
		if (*at == '-') {
			at++;
			if (!number(&at, &to) || to < from)
				break;
		}
		for (uint32_t i = from; i <= to; i++)
			set->bits[i / 64] |= UINT64_C(1) << i % 64;
		set->some = true;
		if (!*at)
			return NULL;
		if (*at != ',')
			break;
		at++;
	} while (true);
	return rs_error_create(RS_USAGE, "'%s', column %td: expected numbers below %d as in 0-3,7",
			       list, at - list + 1, RS_QUERY_CPUS_MAX);
}

bool rs_cpu_set_has(const struct rs_cpu_set *set, int cpu)
{
	if (!set->some)
		return true;
	return cpu >= 0 && cpu < RS_QUERY_CPUS_MAX && (set->bits[cpu / 64] >> cpu % 64 & 1);
}

bool rs_query_wants(const struct rs_query *query, const struct rs_event *event)
{
	if (!query->n_globs || event->kind == RS_KIND_LOSS)
		return true;
	for (uint32_t i = 0; i < query->n_globs; i++) {
		if (rs_probe_match(query->globs[i], event))
			return true;
	}
	return false;
}

bool rs_query_is_all(const struct rs_query *query)
{
	return !query->n_globs && query->from_ns == INT64_MIN && query->to_ns == INT64_MAX &&
	       !query->cpus.some && !query->vcpus.some && !query->vm && !query->predicate;
}

/* Records that a stream of several threads lost may belong to any VM and vCPU. */
static bool may_be_any(const struct rs_view *view)
{
	return view->event->kind == RS_KIND_LOSS && view->stream->mixed;
}

bool rs_query_match(const struct rs_query *query, const struct rs_view *view, uint32_t pushed)
{
	const struct rs_stream *stream = view->stream;

	if (!(pushed & RS_PUSHED_TIME) &&
	    (view->ts_ns < query->from_ns || view->ts_ns >= query->to_ns))
		return false;
	if (!(pushed & RS_PUSHED_CPUS) && !rs_cpu_set_has(&query->cpus, view->cpu))
		return false;
	if (!may_be_any(view)) {
		if (!(pushed & RS_PUSHED_VCPUS) && !rs_cpu_set_has(&query->vcpus, stream->vcpu))
			return false;
		if (query->vm && (!stream->vm || fnmatch(query->vm, stream->vm, 0)))
			return false;
	}
	if (!(pushed & RS_PUSHED_PROBES) && !rs_query_wants(query, view->event))
		return false;
	if (view->event->kind == RS_KIND_LOSS)
		return true;
	return (pushed & RS_PUSHED_PREDICATE) || !query->predicate ||
	       query->predicate->match(query->predicate->ctx, view);
}
