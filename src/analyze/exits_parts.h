/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of the exits sink: its threads, and for each the reasons and causes that were counted.
 *
 *	snapshots (exits.c) ---\
 *	                        > threads, cells, causes --> take (exits_collect.c)
 *	events (exits_events.c) /
 *
 * Everything is counted twice over: `recent` since the last take, and `total` before that.
 */
#ifndef RS_ANALYZE_EXITS_PARTS_H
#define RS_ANALYZE_EXITS_PARTS_H

#include "analyze/exits.h"
#include "base/arena.h"
#include "base/map.h"
#include "kvm/counts.h"

/* What a hostile trace can make us keep; more is dropped and counted. */
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
	bool is_live;	    /* its counts are snapshots' of a session, not made of events */
	bool is_hidden;	    /* of a live one: the query does not select it, or not yet */
	uint64_t hidden_ns; /* of a live one: since then, for want of its vCPU's number; 0: not */
	bool ended;
	bool end_taken;		  /* a take has told of its end */
	struct rs_vcpu_time time; /* a snapshot's, or the state machine's of events, in biased ns */
	/* Of events: the exit that waits for its entry. */
	const struct rs_stream *stream;
	bool hardware;	 /* its hardware's exits are seen */
	bool is_pending; /* the exit below is not counted yet */
	bool is_counted; /* or is, by a take that could not wait */
	uint32_t isa, code, nested;
	uint64_t rip;
	uint32_t cause_kind;
	uint64_t cause_key;
	/* schedstat (run, wait) at the first and the last line that told of it; of a live one 0 and
	 * the growth so far. */
	uint32_t sched_lines;
	uint64_t sched_first[2], sched_last[2];
	/* What takes have told of the states' times, the wall time and schedstat. */
	uint64_t told_ns[RS_VCPU_STATES];
	uint64_t told_wall_ns, told_sched[2];
	uint64_t taken_exits; /* of the take that is being made */
};

struct cell {
	struct thread *thread;
	uint32_t isa, code, nested;
	struct amounts recent, total;
	struct amounts seen; /* the last snapshot's; of min and max what is not in recent yet */
};

struct cause {
	struct thread *thread;
	uint32_t kind;
	uint64_t key;
	struct {
		uint64_t count, entered, total_ns, max_ns;
	} recent, total, seen; /* seen: the last snapshot's */
};

/* What a map holds: a key of two numbers, and what was found or made for it. */
struct place {
	uint64_t a, b;
	void *value; /* NULL until its maker sets it */
};

struct list {
	void **at;
	size_t n, room;
};

/* An event of a schema: what handles it, and where its fields are. */
#define EXITS_FIELDS_MAX 8
#define EXITS_KNOWN	 256u
struct kind;
struct known {
	const struct rs_event *event;
	const struct kind *kind; /* NULL: none of ours */
	const struct rs_field *tid;
	const struct rs_field *fields[EXITS_FIELDS_MAX];
};

struct exits_sink {
	struct rs_sink sink;
	struct rs_exits_options options;
	struct rs_query query;
	struct rs_arena arena;			   /* of threads, cells, causes, hists, names */
	struct rs_map by_tid, by_reason, by_cause; /* of struct place */
	struct list threads, cells, causes;	   /* in the order they came */
	struct list live; /* threads, by their index in snapshots; NULL: there was no room */
	bool has_counts;
	/* Of the events. */
	bool is_begun, is_open;
	int64_t first_ns, opened_ns, last_ns;
	struct known known[EXITS_KNOWN]; /* by the event's address */
	uint64_t lost, told_lost;
	/* What found no place: here; in the session that was recorded; in the one that is live. */
	uint64_t dropped, dropped_events, dropped_live, told_dropped;
	int64_t taken_to_ns;
	bool is_taken;
	/* What the last take gave out. */
	struct rs_exits_row *rows;
	struct rs_hist *hists;
	struct rs_exits_vcpu *vcpus;
	struct rs_exits_cause *cause_rows;
};

/* Times beyond this, 73 years from the trace's start, are damage: no difference of two may
 * overflow.
 */
#define EXITS_FAR (INT64_C(1) << 61)
static inline int64_t exits_time(int64_t ts_ns)
{
	if (ts_ns < -EXITS_FAR)
		return -EXITS_FAR;
	return ts_ns > EXITS_FAR ? EXITS_FAR : ts_ns;
}

/* ns of the timeline, which may be negative, as the state machine wants them: never 0. */
#define EXITS_BIAS (UINT64_C(1) << 62)
static inline uint64_t exits_stamp(int64_t ts_ns)
{
	return (uint64_t)exits_time(ts_ns) + EXITS_BIAS;
}

/* Each is found or made. *out is NULL where there was no room any more, which has been counted in
 * sink->dropped. */
struct rs_error *rs_exits_thread_make(struct exits_sink *sink, struct thread **out);
struct rs_error *rs_exits_cell_of(struct exits_sink *sink, struct thread *thread, uint32_t isa,
				  uint32_t nested, uint32_t code, struct cell **out);
struct rs_error *rs_exits_cause_of(struct exits_sink *sink, struct thread *thread, uint32_t kind,
				   uint64_t key, struct cause **out);

/* Returns the place of a thread, or NULL without memory. */
enum exits_by {
	EXITS_BY_EVENTS, /* of events */
	EXITS_BY_COUNTS, /* any that snapshots have counts of */
};
struct place *rs_exits_thread_place(struct exits_sink *sink, enum exits_by by, int tid);

/* Copies a VM's name; NULL without memory. */
const char *rs_exits_name_copy(struct exits_sink *sink, const char *name);

/* Adds. Without memory for the distribution, an error. */
struct rs_error *rs_exits_amounts_add(struct exits_sink *sink, struct amounts *to,
				      const struct amounts *from);
struct rs_error *rs_exits_hist_make(struct exits_sink *sink, struct amounts *amounts);

/* Appends to a list; false: no memory. */
bool rs_exits_list_add(struct list *list, void *value);

/* exits_events.c: the sink's events(). */
struct rs_error *rs_exits_events(struct rs_sink *sink, const struct rs_view *views, size_t n);

#endif
