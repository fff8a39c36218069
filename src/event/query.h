/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The query: the events and counts that a sink needs from its sources. Both sources and the probe
 * language depend on it. A source may evaluate any part of it (by BPF, by skipping data, by a
 * replay's breakpoints), and the merge evaluates the rest.
 */
#ifndef RS_EVENT_QUERY_H
#define RS_EVENT_QUERY_H

#include <ringside/source.h>

/* Parts of a query that a source can evaluate itself. */
#define RS_PUSHED_PROBES    (1u << 0)
#define RS_PUSHED_TIME	    (1u << 1)
#define RS_PUSHED_CPUS	    (1u << 2)
#define RS_PUSHED_VCPUS	    (1u << 3)
#define RS_PUSHED_PREDICATE (1u << 4)
#define RS_PUSHED_COUNTS    (1u << 5)

#define RS_QUERY_GLOBS_MAX 64
#define RS_QUERY_CPUS_MAX  4096

/* A set of CPU or vCPU numbers; all numbers if `some` is false. */
struct rs_cpu_set {
	bool some;
	uint64_t bits[RS_QUERY_CPUS_MAX / 64];
};

/* Decides on one event, for example by the language's compiled predicate. */
struct rs_evaluator {
	void *ctx;
	bool (*match)(void *ctx, const struct rs_view *view);
};

/*
 * Counts that a source returns instead of events: KVM's programs count in the kernel, and
 * xentrace's records are counted without sorting. Each kind is a structure that begins with struct
 * rs_counts.
 */
enum rs_counts_kind {
	RS_COUNTS_KVM = 1u << 0, /* struct rs_kvm_counts, kvm/counts.h */
	RS_COUNTS_XEN = 1u << 1, /* struct rs_xen_counts, xen/counts.h */
};

struct rs_counts {
	enum rs_counts_kind kind;
};

struct rs_query {
	const char *globs[RS_QUERY_GLOBS_MAX]; /* none: all probes */
	uint32_t n_globs;
	int64_t from_ns, to_ns; /* inclusive, exclusive */
	struct rs_cpu_set cpus, vcpus;
	const char *vm; /* glob on the VM's name, or NULL */
	const struct rs_evaluator *predicate;
	uint32_t counts; /* bits of enum rs_counts_kind that the sink receives */
};

/* Initializes a query for all events at all times. */
void rs_query_init(struct rs_query *query);

/* Adds numbers such as "0-3,7" to a set. Returns RS_USAGE, with the column of the first error. */
struct rs_error *rs_cpu_set_parse(struct rs_cpu_set *set, const char *list);
bool rs_cpu_set_has(const struct rs_cpu_set *set, int cpu);

/* Returns whether the query selects an event's probe. Losses always match, because they concern all
 * results. */
bool rs_query_wants(const struct rs_query *query, const struct rs_event *event);

/* Returns whether a view matches the query, apart from the parts in `pushed`. */
bool rs_query_match(const struct rs_query *query, const struct rs_view *view, uint32_t pushed);

/* Returns whether the query matches each event. */
bool rs_query_is_all(const struct rs_query *query);

#endif
