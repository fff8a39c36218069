/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The internals of the exits sink: its threads, and the counted reasons and causes of each.
 *
 *	snapshots (exits.c) ---\
 *	                        > threads, cells, causes --> collect (exits_collect.c)
 *	events (exits_events.c) /
 *
 * Each count has two parts: `recent` since the last collection, and `total` before it.
 */
#ifndef RS_ANALYZE_EXITS_PARTS_H
#define RS_ANALYZE_EXITS_PARTS_H

#include "analyze/exits.h"
#include "base/arena.h"
#include "base/map.h"
#include "kvm/counts.h"

/* Limits on what a hostile trace can make the sink store. The sink drops and counts what exceeds
 * them. */
#define EXITS_THREADS_MAX (1u << 17)
#define EXITS_CELLS_MAX	  (1u << 17)
#define EXITS_CAUSES_MAX  (1u << 18)

struct amounts {
	uint64_t count, entered;
	struct rs_vcpu_cost sum;
	uint64_t min_ns, max_ns;
	struct rs_hist *hist; /* NULL: nothing was entered */
};

struct thread {
	uint32_t number; /* from 1 */
	const char *vm;
	int pid, tid, vcpu;
	bool is_live;	    /* its counts come from a session's snapshots, not from events */
	bool is_hidden;	    /* of a live thread: not selected by the query, or not yet */
	uint64_t hidden_ns; /* of a live thread without a vCPU number: since when; else 0 */
	bool ended;
	bool end_taken; /* a collection has reported its end */
	/* of a snapshot, or of the state machine over events, in biased ns */
	struct rs_vcpu_time time;
	/* Of events: the exit that waits for its entry. */
	const struct rs_stream *stream;
	bool hardware;	 /* the trace has its hardware exits */
	bool is_pending; /* the exit below is not yet counted */
	bool is_counted; /* a collection counted the exit before its entry */
	uint32_t isa, code, nested;
	uint64_t rip;
	uint32_t cause_kind;
	uint64_t cause_key;
	/* schedstat (run, wait) of the first and the last event that has it; of a live thread 0
	 * and the growth so far. */
	uint32_t sched_lines;
	bool complete; /* by the last of them */
	uint64_t sched_first[2], sched_last[2];
	/* The parts of the states' times, the wall time and schedstat that collections have
	 * reported. */
	uint64_t reported_ns[RS_VCPU_STATES];
	uint64_t reported_wall_ns, reported_sched[2];
	uint64_t taken_exits; /* of the current collection */
};

struct cell {
	struct thread *thread;
	uint32_t isa, code, nested;
	struct amounts recent, total;
	struct amounts previous; /* of the last snapshot, without min and max */
};

struct cause {
	struct thread *thread;
	uint32_t kind;
	uint64_t key;
	struct {
		uint64_t count, entered, total_ns, max_ns;
	} recent, total, previous; /* previous: of the last snapshot */
};

/* An entry of a map: a key of two numbers, and its value. */
struct place {
	uint64_t a, b;
	void *value; /* NULL until the caller sets it */
};

struct list {
	void **at;
	size_t n, room;
};

/* An event of a schema, with its handler and the places of its fields. */
#define EXITS_FIELDS_MAX 8
#define EXITS_KNOWN	 256u
struct kind;
struct known {
	const struct rs_event *event;
	const struct kind *kind; /* NULL: not handled */
	const struct rs_field *tid;
	const struct rs_field *fields[EXITS_FIELDS_MAX];
};

struct exits_sink {
	struct rs_sink sink;
	struct rs_exits_options options;
	struct rs_query query;
	struct rs_arena arena;			   /* of threads, cells, causes, hists, names */
	struct rs_map by_tid, by_reason, by_cause; /* of struct place */
	struct list threads, cells, causes;	   /* in the order of their first appearance */
	struct list live; /* threads, by their index in snapshots; NULL: no room */
	bool has_counts;
	/* Of the events. */
	bool is_begun, is_open;
	int64_t first_ns, opened_ns, last_ns;
	struct known known[EXITS_KNOWN]; /* by the event's address */
	uint64_t lost, reported_lost;
	/* Exits that were not counted for lack of room: here, in the recorded session, in the live
	 * session. */
	uint64_t dropped, dropped_events, dropped_live, reported_dropped;
	int64_t taken_to_ns;
	bool is_taken;
	/* The result of the last collection. */
	struct rs_exits_row *rows;
	struct rs_hist *hists;
	struct rs_exits_vcpu *vcpus;
	struct rs_exits_cause *cause_rows;
};

/* Times are limited to 73 years around the trace's start, so that no difference overflows. A time
 * outside this range is damage. */
#define EXITS_FAR (INT64_C(1) << 61)
static inline int64_t exits_time(int64_t ts_ns)
{
	if (ts_ns < -EXITS_FAR)
		return -EXITS_FAR;
	return ts_ns > EXITS_FAR ? EXITS_FAR : ts_ns;
}

/* Returns the state machine's stamp for a time, which may be negative. A stamp is never 0. */
#define EXITS_BIAS (UINT64_C(1) << 62)
static inline uint64_t exits_stamp(int64_t ts_ns)
{
	return (uint64_t)exits_time(ts_ns) + EXITS_BIAS;
}

/* Each finds or creates its object. Sets *out to NULL if there is no room, which sink->dropped
 * counts. */
struct rs_error *rs_exits_thread_make(struct exits_sink *sink, struct thread **out);
struct rs_error *rs_exits_cell_of(struct exits_sink *sink, struct thread *thread, uint32_t isa,
				  uint32_t nested, uint32_t code, struct cell **out);
struct rs_error *rs_exits_cause_of(struct exits_sink *sink, struct thread *thread, uint32_t kind,
				   uint64_t key, struct cause **out);

/* Returns the entry of a thread, or NULL without memory. Each trace has its own tids, and its own
 * schema. schema: that of the thread's events; NULL for a thread of snapshots. */
struct place *rs_exits_thread_place(struct exits_sink *sink, const struct rs_schema *schema,
				    int tid);

/* Copies a VM's name. Returns NULL without memory. */
const char *rs_exits_name_copy(struct exits_sink *sink, const char *name);

/* Adds `from` to `to`. Fails without memory for the distribution. */
struct rs_error *rs_exits_amounts_add(struct exits_sink *sink, struct amounts *to,
				      const struct amounts *from);
struct rs_error *rs_exits_hist_make(struct exits_sink *sink, struct amounts *amounts);

/* Appends to a list. Returns false without memory. */
bool rs_exits_list_add(struct list *list, void *value);

/* Implements the sink's events() (exits_events.c). */
struct rs_error *rs_exits_events(struct rs_sink *sink, const struct rs_view *views, size_t n);

#endif
