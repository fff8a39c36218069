/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources produce events, live or from a file; sinks consume them. A verb of the command connects
 * one to the other, through the merge:
 *
 *	source --\
 *	source ---> rs_merge (itself a source) --> rs_run() or rs_source_feed() --> sink
 *	source --/
 *
 * An event is a view: it points to its bytes and to their meaning. No code copies or decodes the
 * bytes until a sink needs them. A loss is an event too (kind RS_KIND_LOSS), at the time at which
 * it ended, so that order, filters and sinks need no second path for it; rs_view_loss() reads it.
 */
#ifndef RINGSIDE_SOURCE_H
#define RINGSIDE_SOURCE_H

#include <ringside/language.h>
#include <ringside/clock.h>
#include <ringside/record.h>
#include <ringside/schema.h>

RS_C_BEGIN

#define RS_UNKNOWN (-1)
/* The 8 bits of each record hold the host CPU, although the stream belongs to a vCPU. */
#define RS_CPU_EACH (-2)

/* The producer of a stream's events. The source owns it, and it is valid as long as the source.
 * Values may be unknown. The values of the thread are the same for all events of a stream, unless
 * the stream has a machine: then they are those of the guest's thread, until the following
 * next(). */
struct rs_stream {
	uint32_t index; /* in its trace or recorder */
	const char *vm; /* NULL: unknown or none */
	const char *thread;
	int vcpu; /* RS_UNKNOWN where unknown */
	/* Host CPU. RS_UNKNOWN: the 8 bits of each record hold it, or a guest's vCPU if vcpu is
	 * known. RS_CPU_EACH: they hold the host CPU in any case. */
	int cpu;
	int tid;
	int pid; /* the thread's process; 0: unknown */
	/* events of many threads; each view has its own thread's stream, a loss has this one */
	bool mixed;
	/* a Xen stream: dom is valid, and rs_view_xen() returns the records of most events */
	bool xen;
	int dom; /* Xen's domain; RS_UNKNOWN where unknown */
	const struct rs_schema *schema;
	const struct rs_clock *clock;
	const struct rs_machine *machine; /* NULL: the source cannot stop the machine */
};

/*
 * A thread of mixed streams, whose events begin with a u32 `tid`. An event belongs to the thread
 * with its tid and the latest `from` that is not after the event; before all of them, to the first.
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
	const uint8_t *payload; /* valid until the next next() */
	uint32_t payload_bytes; /* at least the event's fixed part, and its text where it has one */
	int cpu;		/* host CPU or RS_UNKNOWN */
};

/* Returns the Xen record from which an event was made, or NULL if there is none. */
static inline const struct rs_xen_record *rs_view_xen(const struct rs_view *view)
{
	if (!view->event->lead_bytes)
		return NULL;
	return (const struct rs_xen_record *)(const void *)view->payload - 1;
}

/* The frame of a stack that an event is, with the machine's ctx. Texts end with a NUL. */
struct rs_machine_frame {
	/* Reads a variable of the frame's function or, if function is not NULL, of the nearest
	 * outer frame of that function. Returns NULL, or the reason why it has no value. */
	const char *(*variable)(void *ctx, const char *name, const char *function, uint64_t *value);
	/* Finds a variable of the frame's binary. Returns false if none has that name. */
	bool (*symbol)(void *ctx, const char *name, uint64_t *address);
	/* Adds a frame that replaces this one, the innermost first. line 0: unknown. */
	void (*put)(void *ctx, const char *function, const char *file, uint32_t line);
	/* Sets the reason why the frame is not replaced. */
	void (*refuse)(void *ctx, const char *why);
};

/*
 * The machine on which a stream's events occur, if the source can stop it. Registers and memory
 * have their values at the events that next() returned, because the machine is stopped until the
 * following next().
 */
struct rs_machine {
	void *ctx;
	/* Reads a register by its name ("rip", "rax", "cr3"). Returns false if none has that
	 * name. */
	bool (*reg)(void *ctx, const char *name, uint64_t *value);
	/* Read virtual memory, as the processor translates now, and physical memory. Return false
	 * unless they read all of it; *at is then the first address that cannot be read. */
	bool (*read)(void *ctx, uint64_t gva, void *buf, size_t bytes, uint64_t *at);
	bool (*read_phys)(void *ctx, uint64_t gpa, void *buf, size_t bytes, uint64_t *at);
	/* Returns the address of the guest kernel's structure of the running thread (Linux:
	 * task_struct). Returns false if it is unknown. Optional. */
	bool (*thread)(void *ctx, uint64_t *address);
	const struct rs_machine_frame *frame; /* NULL: the event is not a frame of a stack */
};

enum rs_next {
	RS_NEXT_EVENTS, /* views[0..n), ascending in time */
	RS_NEXT_IDLE,	/* no event at present; poll again later */
	RS_NEXT_COUNTS, /* counts that the source made of events that it does not return */
	RS_NEXT_END,	/* the end */
};

struct rs_counts;
struct rs_query;

struct rs_batch {
	enum rs_next kind;
	const struct rs_view *views;
	size_t n;
	/* No event before this time follows this batch, so a merge need not wait for a quiet
	 * source. INT64_MIN: unknown. */
	int64_t watermark_ns;
	const struct rs_counts *counts; /* valid until the next next() */
};

struct rs_source;

struct rs_source_ops {
	const char *name;
	/*
	 * Runs before the first next(). Sets *pushed to the parts of the query (RS_PUSHED_,
	 * query.h) that the source evaluates; the merge evaluates the rest, with the same result.
	 * Optional.
	 */
	struct rs_error *(*open)(struct rs_source *, const struct rs_query *, uint32_t *pushed);
	/* Returns the next batch. After an error the source has ended; earlier batches are
	 * valid. */
	struct rs_error *(*next)(struct rs_source *, struct rs_batch *);
	void (*destroy)(struct rs_source *);
};

/* The first member of each source. */
struct rs_source {
	const struct rs_source_ops *ops;
};

void rs_source_destroy(struct rs_source *source); /* NULL is ignored */

struct rs_sink;

struct rs_sink_ops {
	const char *name;
	/* Receives events in time order; views are valid during the call. */
	struct rs_error *(*events)(struct rs_sink *, const struct rs_view *, size_t n);
	/* Receives counts of a kind that the sink's query requests; optional. */
	struct rs_error *(*counts)(struct rs_sink *, const struct rs_counts *);
	struct rs_error *(*end)(struct rs_sink *); /* optional */
};

struct rs_sink {
	const struct rs_sink_ops *ops;
};

/*
 * Creates a merge of n sources by time, which owns them. Damage to a source ends only that source:
 * the merge continues with the others, and returns the error when all have ended.
 */
struct rs_error *rs_merge_create(struct rs_source **sources, size_t n, struct rs_source **merge);

/* What rs_source_feed() calls between batches. Each is optional. An error ends the feed. */
struct rs_feed_hooks {
	/* Runs before each batch. Ends the feed if it sets *stop. */
	struct rs_error *(*tick)(void *ctx, bool *stop);
	/* Runs when the source has no event at present; batch->watermark_ns is the source's. May
	 * wait before the feed polls the source again. Ends the feed if it sets *stop. Without it,
	 * the feed sleeps for a millisecond. */
	struct rs_error *(*idle)(void *ctx, const struct rs_batch *batch, bool *stop);
	void *ctx;
};

/* Feeds sink from source, which is open, until the source's end, an error, or a hook's *stop. Does
 * not call the sink's end(). hooks: NULL for none. */
struct rs_error *rs_source_feed(struct rs_source *source, struct rs_sink *sink,
				const struct rs_feed_hooks *hooks);

/* Opens source with the query (NULL: everything) and feeds sink until the end, an error, or *stop.
 * Calls the sink's end() in every case except the sink's own error. */
struct rs_error *rs_run(struct rs_source *source, const struct rs_query *query,
			struct rs_sink *sink, const volatile bool *stop);

/* Returns the loss of a view of kind RS_KIND_LOSS, whose payload is struct rs_lost or has fields of
 * the same names. */
struct rs_lost rs_view_loss(const struct rs_view *view);

/* Returns the bytes of a view's text field, within the payload and not NUL-terminated, and their
 * number in *len. */
const char *rs_view_text(const struct rs_view *view, const struct rs_field *field, size_t *len);

/* Returns the addresses of a view's stack field, within the payload: u64 each, not aligned, and
 * their number in *n. */
const uint8_t *rs_view_stack(const struct rs_view *view, const struct rs_field *field, uint32_t *n);

RS_C_END

#endif
