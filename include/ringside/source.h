/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources and sinks: everything that gives events, live or from a file, and everything that
 * takes them. A verb of the command only wires one to the other, through the merge:
 *
 *	source --\
 *	source ---> rs_merge (itself a source) --> rs_run() or rs_source_feed() --> sink
 *	source --/
 *
 * An event is a view: where its bytes are and what they mean. Nobody copies or decodes it until
 * a sink asks. Loss is an event too (kind RS_KIND_LOSS), at the time it ended, so that order,
 * filters and sinks need no second path for it; rs_view_loss() reads it.
 */
#ifndef RINGSIDE_SOURCE_H
#define RINGSIDE_SOURCE_H

#include <ringside/clock.h>
#include <ringside/record.h>
#include <ringside/schema.h>

#define RS_UNKNOWN (-1)
/* A stream's host CPU: each record's own 8 bits say, though it is a vCPU's. */
#define RS_CPU_EACH (-2)

/* Who speaks: belongs to the source, stays valid as long as it. Unknown is a value. */
struct rs_stream {
	uint32_t index; /* in its trace or recorder */
	const char *vm; /* NULL: unknown or none */
	const char *thread;
	int vcpu; /* RS_UNKNOWN where unknown */
	/* Host CPU; RS_UNKNOWN: each record's own 8 bits say, which are a guest's vCPU where vcpu
	 * is known; RS_CPU_EACH. */
	int cpu;
	int tid;
	int pid;    /* the thread's process; 0: unknown */
	bool mixed; /* many threads' events: each view has its own thread's stream, a loss this one
		     */
	bool xen;   /* Xen's: dom is of use, rs_view_xen() gives most events' records */
	int dom;    /* Xen's domain; RS_UNKNOWN where unknown */
	const struct rs_schema *schema;
	const struct rs_clock *clock;
	const struct rs_machine *machine; /* NULL: the source can't stop the machine */
};

/*
 * A thread of mixed streams: their events begin with a u32 `tid`. An event is of the
 * thread that has its tid and the latest `from` not after it; before the first of them, of the
 * first.
 */
struct rs_thread {
	int tid, pid;	  /* pid 0: unknown */
	const char *vm;	  /* NULL: unknown or none */
	int vcpu;	  /* RS_UNKNOWN where unknown */
	uint64_t from;	  /* stamp of the stream's clock */
	const char *name; /* the thread's; NULL: unknown */
};

struct rs_view {
	int64_t ts_ns; /* from the trace's start, on the host's timeline */
	uint64_t tsc;  /* raw, of the stream's clock */
	const struct rs_event *event;
	const struct rs_stream *stream;
	const uint8_t *payload; /* valid until the source's next next() */
	uint32_t payload_bytes; /* at least the event's fixed part, and its text where it has one */
	int cpu;		/* host CPU or RS_UNKNOWN */
};

/* The record of Xen's that an event was made of; NULL: it was made of none. */
static inline const struct rs_xen_record *rs_view_xen(const struct rs_view *view)
{
	if (!view->event->lead_bytes)
		return NULL;
	return (const struct rs_xen_record *)(const void *)view->payload - 1;
}

/*
 * The machine that a stream's events are seen on, where the source can stop it: its registers and
 * memory, as they are at the events that next() gave, for it stands still until the next next().
 */
struct rs_machine {
	void *ctx;
	/* A register by its name ("rip", "rax", "cr3"). False: it has none of that name. */
	bool (*reg)(void *ctx, const char *name, uint64_t *value);
	/* Virtual memory, as the processor translates now; physical. All of it or false: *at is the
	 * first address that can't be read. */
	bool (*read)(void *ctx, uint64_t gva, void *buf, size_t bytes, uint64_t *at);
	bool (*read_phys)(void *ctx, uint64_t gpa, void *buf, size_t bytes, uint64_t *at);
};

enum rs_next {
	RS_NEXT_EVENTS, /* views[0..n), ascending in time */
	RS_NEXT_IDLE,	/* nothing now; ask again later */
	RS_NEXT_COUNTS, /* counts that the source made of events which it keeps back */
	RS_NEXT_END,	/* nothing more, ever */
};

struct rs_counts;
struct rs_query;

struct rs_batch {
	enum rs_next kind;
	const struct rs_view *views;
	size_t n;
	/* Nothing before this time will come after this batch; lets a merge go past a quiet
	 * source. INT64_MIN: no promise. */
	int64_t watermark_ns;
	const struct rs_counts *counts; /* valid until the source's next next() */
};

struct rs_source;

struct rs_source_ops {
	const char *name;
	/*
	 * Before the first next(). *pushed: which parts of the query (RS_PUSHED_, query.h) the
	 * source does itself; the merge does the rest, with the same result. Optional.
	 */
	struct rs_error *(*open)(struct rs_source *, const struct rs_query *, uint32_t *pushed);
	/* On an error the source has ended; what it gave before is valid. */
	struct rs_error *(*next)(struct rs_source *, struct rs_batch *);
	void (*destroy)(struct rs_source *);
};

/* First member of each source. */
struct rs_source {
	const struct rs_source_ops *ops;
};

void rs_source_destroy(struct rs_source *source); /* NULL is nothing */

struct rs_sink;

struct rs_sink_ops {
	const char *name;
	/* In time order; views are valid during the call. */
	struct rs_error *(*events)(struct rs_sink *, const struct rs_view *, size_t n);
	/* Of a kind that the sink's query asked for; optional. */
	struct rs_error *(*counts)(struct rs_sink *, const struct rs_counts *);
	struct rs_error *(*end)(struct rs_sink *); /* optional */
};

struct rs_sink {
	const struct rs_sink_ops *ops;
};

/*
 * Merges n sources by time. Takes them over. Each source's damage ends that source alone: the
 * merge goes on with the others and returns the error when all have ended.
 */
struct rs_error *rs_merge_create(struct rs_source **sources, size_t n, struct rs_source **merge);

/* What rs_source_feed() calls between batches. Each is optional. An error ends the feed. */
struct rs_feed_hooks {
	/* Runs before each batch. Ends the feed if it sets *stop. */
	struct rs_error *(*tick)(void *ctx, bool *stop);
	/* Runs when the source has nothing now; batch->watermark_ns is the source's. Waits, or
	 * returns at once, before the feed polls the source again. Ends the feed if it sets *stop.
	 * Without it the feed sleeps for a millisecond. */
	struct rs_error *(*idle)(void *ctx, const struct rs_batch *batch, bool *stop);
	void *ctx;
};

/* Feeds sink from source, which is open, until the source's end, an error, or a hook's *stop. Does
 * not call the sink's end(). hooks: NULL for none. */
struct rs_error *rs_source_feed(struct rs_source *source, struct rs_sink *sink,
				const struct rs_feed_hooks *hooks);

/* Opens source with the query (NULL: everything) and feeds sink until the end, an error, or
 * *stop. The sink's end() is called in every case but its own error. */
struct rs_error *rs_run(struct rs_source *source, const struct rs_query *query,
			struct rs_sink *sink, const volatile bool *stop);

/* Reads a view of kind RS_KIND_LOSS: struct rs_lost, or fields of the same names. */
struct rs_lost rs_view_loss(const struct rs_view *view);

/* A view's text field: its bytes (not NUL-terminated) and length, within the payload. */
const char *rs_view_text(const struct rs_view *view, const struct rs_field *field, size_t *len);

#endif
