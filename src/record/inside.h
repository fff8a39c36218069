/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the two halves of the recorder share: feeds, the threads that drain them (recorder.c), and
 * the feeds of this program's own threads (program.c).
 */
#ifndef RS_RECORD_INSIDE_H
#define RS_RECORD_INSIDE_H

#include <pthread.h>

#include "event/drain.h"
#include "store/writer.h"
#include "trace/trace.h"
#include <ringside/recorder.h>

#define RS_RECORDER_THREADS_MAX 64

struct rs_feed {
	struct rs_feed *next;
	uint32_t number; /* decides which thread polls it */
	pthread_mutex_t lock;
	struct rs_drain *drain;
	const struct rs_clock *clock;
	const struct rs_stream *vcpu; /* a guest's; else NULL */
	struct rs_store_stream *out;
	bool poll;     /* else only its owner drains it, and we flush */
	bool done;     /* broken, or its producer gone: never drained again */
	char what[48]; /* of somebody else's, for errors; else empty */
	/* Of a stream that its owner fills: no drain. */
	struct rs_recorder *recorder;
	struct rs_layouts layouts;
	uint64_t last_stamp; /* or, once it is finished, the drain's last */
	/* Of a thread of this program. */
	struct rs_trace_ring *ring;
	struct rs_feed *rest; /* the next one without a thread */
	/* Of one in this process's memory. */
	struct rs_sbuf_consumer consumer;
	struct rs_drain own_drain;
};

/*
 * This program's own threads. All but learning is the first worker's, or the closing thread's.
 */
struct rs_program {
	bool on; /* read with acquire */
	struct rs_schema *schema;
	uint32_t class_index;
	pthread_mutex_t learn_lock;
	uint32_t learnt;
	/* Feeds whose threads have ended, for threads that begin later. */
	struct rs_feed *resting, **last_resting;
	/* Lost events of threads that got no ring for lack of memory: how many of them the trace
	 * reports, since when they are counted, and their stream: NULL until one is lost. */
	uint64_t ringless_told, ringless_tsc;
	struct rs_store_stream *ringless;
};

struct guest;
struct producer;

struct rs_recorder {
	struct rs_store *store;
	struct rs_clock clock;
	uint64_t poll_ns, flush_ns;
	bool urgent;
	pthread_mutex_t lock; /* adding feeds and guests; the first error */
	struct rs_feed *feeds;
	uint32_t n_feeds;
	struct guest *guests;
	struct producer *producers;
	struct rs_error *error;
	struct rs_program program;
	/* Threads. */
	bool stop;
	uint32_t n_threads;
	struct worker {
		struct rs_recorder *recorder;
		pthread_t thread;
		bool runs;
		uint32_t number;
		uint32_t fill;	      /* of FILL_WHOLE: the fullest ring of the last round */
		uint64_t pause_ns;    /* before the next */
		uint64_t writes_from; /* now; else 0 */
	} workers[RS_RECORDER_THREADS_MAX], stand_in;
};

/* Keeps the first error of a thread that has no caller, for rs_recorder_close(), and notes each in
 * the trace's state. Takes ownership of err; NULL is ignored. */
void rs_recorder_keep_error(struct rs_recorder *r, struct rs_error *err);

struct rs_error *rs_feed_create(struct rs_recorder *r, uint32_t class_index,
				const struct rs_stream *stream, struct rs_feed **out);
void rs_feed_publish(struct rs_recorder *r, struct rs_feed *feed);

/* The producer is gone, or we are going: what is left, what was lost unsaid, and out. Under the
 * feed's lock. */
struct rs_error *rs_feed_finish(struct rs_feed *feed);

/* Looks for rings of threads that began or ended. */
void rs_program_look(struct rs_recorder *r);

/* Once all feeds are finished: counts what is in no feed as lost, and gives up collecting. */
void rs_program_end(struct rs_recorder *r);

#endif
