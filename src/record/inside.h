/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations that the recorder's files share: feeds and the threads that drain them (recorder.c),
 * the feeds of guests (guests.c), and those of this program's own threads (program.c).
 */
#ifndef RS_RECORD_INSIDE_H
#define RS_RECORD_INSIDE_H

#include <pthread.h>

#include "event/drain.h"
#include "store/writer.h"
#include "trace/trace.h"
#include <ringside/recorder.h>

#define RS_RECORDER_THREADS_MAX 64

struct rs_worker;

/* A path into a stream of the store. It is the first member of each kind of feed. */
struct rs_feed {
	struct rs_recorder *recorder;
	struct rs_feed *next;
	uint32_t number; /* determines which thread polls it */
	pthread_mutex_t lock;
	struct rs_store_stream *out;
	/* The drain of the ring from which the records come. NULL if the stream's owner writes
	 * them. */
	struct rs_drain *drain;
	char *name;	  /* the ring's name, for errors; NULL: errors do not name it */
	bool poll;	  /* if false, only its owner drains it, and the recorder flushes it */
	bool done;	  /* broken, or its producer has ended: never drained again */
	bool survives;	  /* a crash: the feed is a struct rs_program_feed with progress */
	bool hurries;	  /* its records die with the process until they are written */
	const struct rs_drained *filling; /* of the drain's current read */
	/* Declares what the drained records name. NULL: there is nothing to declare. */
	struct rs_error *(*describe)(void *ctx);
	void *describe_ctx;
};

/* The feed of a thread of this program. */
struct rs_program_feed {
	struct rs_feed feed;
	struct rs_program_feed *next;
	struct rs_trace_ring *ring;
	struct rs_sbuf_consumer consumer;
	struct rs_drain drain;
	/* For a recovery (survive.c). NULL: the ring does not survive a crash. */
	struct rs_survive_progress *progress;
	struct rs_port local;
	uint64_t accounted; /* records, and losses that records report, of the stream */
	uint64_t position;  /* bytes drained from the ring */
	bool private;	    /* the trace's state says that the ring does not survive */
};

/*
 * This program's own threads. Only the first worker, or the closing thread, uses it, except for
 * what schema_lock covers.
 */
struct rs_program {
	bool on; /* read with acquire */
	struct rs_schema *schema;
	uint32_t class_index;
	pthread_mutex_t schema_lock;
	uint32_t defined;	       /* under schema_lock */
	uint64_t catalogues;	       /* added providers, bits by number; under schema_lock */
	bool named;		       /* its binaries are in the trace */
	struct rs_program_feed *feeds; /* feeds with a ring */
	struct rs_trace_file *file;    /* the file of rings that survive a crash; NULL: none */
	struct rs_error *no_file;      /* why there is none, if the recorder has a directory */
	bool stopping;		       /* no thread is asked to leave its ring any more */
	/* Feeds whose threads have ended, with a ring, until all packets are written. */
	struct rs_program_feed *leaving;
	/* Feeds whose threads have ended, for threads that begin later. */
	struct rs_program_feed *resting, **last_resting;
	/* Lost events of threads without a ring, for which there was no memory: the count that the
	 * trace has reported, the time from which they are counted, and their stream, NULL until
	 * one is lost. */
	uint64_t ringless_pending, ringless_tsc;
	struct rs_store_stream *ringless;
};

struct rs_guest;
struct producer;

struct rs_recorder {
	struct rs_store *store;
	struct rs_clock clock;
	uint64_t poll_ns, flush_ns;
	bool urgent;
	pthread_mutex_t lock; /* adding feeds and guests; the first error */
	struct rs_feed *feeds;
	uint32_t n_feeds;
	pthread_mutex_t guests_lock; /* the list of guests, their classes; taken before `lock` */
	uint64_t silent_guests;	     /* guests that ended without a ring; under guests_lock */
	struct rs_guest *guests;
	struct rs_guest_class *guest_classes;
	struct producer *producers;
	struct rs_error *error;
	struct rs_program program;
	/* Threads. */
	bool stop;
	uint32_t n_threads;
	struct rs_worker {
		struct rs_recorder *recorder;
		pthread_t thread;
		bool runs;
		uint32_t number;
		uint32_t fill;	      /* of FILL_WHOLE: the fullest ring of the last round */
		uint64_t pause_ns;    /* before the next round */
		uint64_t writes_from; /* the start of the write in progress; 0: none */
	} workers[RS_RECORDER_THREADS_MAX], stand_in;
};

/* Keeps the first error of a thread without a caller, for rs_recorder_close(), and writes each
 * error to the trace's state. Takes ownership of err; NULL is ignored. */
void rs_recorder_keep_error(struct rs_recorder *r, struct rs_error *err);

/* Creates a feed of `bytes` bytes for a new stream. *out is a pointer to that kind of feed. */
struct rs_error *rs_feed_create(struct rs_recorder *r, size_t bytes, uint32_t class_index,
				const struct rs_stream *stream, void *out);

/* Adds a complete feed to the list, for the recorder's threads. */
void rs_feed_publish(struct rs_feed *feed);

/*
 * Drains a feed until its ring was empty once, but at most one ring's size of bytes, because the
 * producer may write as fast as this drains. Returns an error of the ring or of the store. The
 * caller holds the feed's lock. writer, unless it is NULL, releases the lock while it writes
 * packets that are still in the cache.
 */
struct rs_error *rs_feed_drain(struct rs_feed *feed, struct rs_worker *writer, uint64_t *drained);

/* Drains what a ring has now: more than a ring's worth, if the drain corrects stamps. The caller
 * holds the feed's lock. */
struct rs_error *rs_feed_empty(struct rs_feed *feed);

/* Drains the rest of a ring, after the end of its producer, and adds the losses that no record
 * reports, with this stamp or the last one before. The caller holds the feed's lock. */
struct rs_error *rs_feed_finish_ring(struct rs_feed *feed, uint64_t now);

/* Does that, after the end of the producer or of the recorder, and ends the stream. The caller
 * holds the feed's lock. */
struct rs_error *rs_feed_finish(struct rs_feed *feed);

/* Names this program's binaries that the trace does not name yet. */
void rs_program_name_binaries(struct rs_recorder *r);

/* Polls for rings of threads that began or ended. */
void rs_program_poll(struct rs_recorder *r);

/* Stops asking threads to leave their rings. The recorder's threads have stopped. */
void rs_program_stop(struct rs_recorder *r);

/* Counts records that are in no feed as lost. All feeds must be finished. */
void rs_program_end(struct rs_recorder *r);

/* Frees the rings of threads that have ended, and ends collecting. All packets must be written. */
void rs_program_release(struct rs_recorder *r);

/* ---- rings that survive a crash (survive.c) -------------------------------------------------- */

/* Creates the file for the rings that survive, if the recorder has a directory, and the system has
 * a place for the file. */
void rs_survive_begin(struct rs_recorder *r);

/* Connects a feed to its ring's progress, and wraps its port. Before the first drain. */
void rs_survive_feed(struct rs_program_feed *f, struct rs_port *port);

/* Stores the stream of a feed, whose lines are then on the disk, for a recovery. Before the first
 * drain. */
void rs_survive_stream(struct rs_program_feed *f);

/* Stores the progress of the drain in the current packet. The caller holds the feed's lock, as in
 * the next function. */
void rs_survive_committed(struct rs_feed *feed, const struct rs_drained *got);

/* Stores the end of a packet, if one was finished since the last call. */
void rs_survive_finished(struct rs_feed *feed);

/* Polls for the rings of guests that are to be polled. */
void rs_guests_poll(struct rs_recorder *r);

/* Checks the remaining guests. Returns the number of guests that never had a ring. */
uint64_t rs_guests_end(struct rs_recorder *r);
void rs_guests_free(struct rs_recorder *r);

#endif
