/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The query: which events, fields and aggregates a sink wants of its sources. It stands below
 * both sources and the probe language, so that a source may push any part of it down (BPF, a
 * reader that skips, a replay that places breakpoints) and the merge does the rest.
 */
#ifndef RS_EVENT_QUERY_H
#define RS_EVENT_QUERY_H

#include <ringside/source.h>

#include "base/hist.h"

/* Parts of a query that a source can take on itself. */
#define RS_PUSHED_PROBES     (1u << 0)
#define RS_PUSHED_TIME	     (1u << 1)
#define RS_PUSHED_CPUS	     (1u << 2)
#define RS_PUSHED_VCPUS	     (1u << 3)
#define RS_PUSHED_PREDICATE  (1u << 4)
#define RS_PUSHED_AGGREGATES (1u << 5)

#define RS_QUERY_GLOBS_MAX 64
#define RS_QUERY_CPUS_MAX  4096

/* A set of CPU or vCPU numbers; all of them where `some` is false. */
struct rs_cpu_set {
	bool some;
	uint64_t bits[RS_QUERY_CPUS_MAX / 64];
};

/* Decides on one event; the language's compiled predicate is one of these. */
struct rs_evaluator {
	void *ctx;
	bool (*match)(void *ctx, const struct rs_view *view);
};

/*
 * An aggregate that can be made in parts and merged: of the events that match, by keys, how many
 * there are and, where a value is named, its sum, least, greatest and distribution. A key is an
 * argument's name, or else "probe", "vm", "vcpu", "cpu" or "tid". Events that lack a key's or the
 * value's argument are not counted in it.
 *
 * A source may know more keys and values than its events have arguments (the cost of an exit, which
 * takes an exit and an entry); such an aggregate only it can answer, or an analysis that computes
 * the same from events.
 */
#define RS_AGGREGATE_KEYS_MAX 8
struct rs_aggregate {
	const char *value; /* an argument's name, or NULL */
	bool hist; /* the value's distribution too; a source that can't give it does not push */
	const char *keys[RS_AGGREGATE_KEYS_MAX];
	uint32_t n_keys;
};

/*
 * One row of a partial aggregate. Keys are texts as `print` shows them, so that rows of sources
 * with different string tables meet; the receiver of rows adds those of equal keys together.
 */
struct rs_partial {
	uint32_t aggregate; /* index in the query */
	const char *keys[RS_AGGREGATE_KEYS_MAX];
	uint64_t count;
	int64_t sum, min, max;	    /* of the value */
	const struct rs_hist *hist; /* of the value, where asked for; valid as the batch */
};

struct rs_query {
	const char *globs[RS_QUERY_GLOBS_MAX]; /* none: all probes */
	uint32_t n_globs;
	int64_t from_ns, to_ns; /* inclusive, exclusive */
	struct rs_cpu_set cpus, vcpus;
	const char *vm; /* glob on the VM's name, or NULL */
	const struct rs_evaluator *predicate;
	const struct rs_aggregate *aggregates;
	uint32_t n_aggregates;
};

/* All events, all times. */
void rs_query_init(struct rs_query *query);

/* Adds "0-3,7" to a set. RS_USAGE names the column that makes no sense. */
struct rs_error *rs_cpu_set_parse(struct rs_cpu_set *set, const char *list);
bool rs_cpu_set_has(const struct rs_cpu_set *set, int cpu);

/* Whether the query wants an event's probe; loss is always wanted: it qualifies the rest. */
bool rs_query_wants(const struct rs_query *query, const struct rs_event *event);

/* Whether it wants this view, but for the parts in `pushed`. */
bool rs_query_match(const struct rs_query *query, const struct rs_view *view, uint32_t pushed);

/* Whether it wants everything. */
bool rs_query_is_all(const struct rs_query *query);

#endif
