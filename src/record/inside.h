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
	/* The drain of the ring from which the records come. NULL if the stream's owner puts
	 * them. */
	struct rs_drain *drain;
	char *name;	  /* of the ring, for errors; NULL: errors do not name it */
	bool poll;	  /* if false, only its owner drains it, and the recorder flushes it */
	bool own_program; /* its records use names that this program defines while it runs */
	bool done;	  /* broken, or its producer has ended: never drained again */
};

/* The feed of a thread of this program. */
struct rs_program_feed {
	struct rs_feed feed;
	struct rs_program_feed *next;
	struct rs_trace_ring *ring;
	struct rs_sbuf_consumer consumer;
	struct rs_drain drain;
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
	uint64_t catalogues;	       /* added, bits by provider number; under schema_lock */
	bool named;		       /* its binaries are in the trace */
	struct rs_program_feed *feeds; /* with a ring */
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
	pthread_mutex_t guests_lock; /* the list of guests, their classes; before `lock` */
	uint64_t silent_guests;	     /* that ended without a ring; under guests_lock */
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
		uint64_t writes_from; /* the start of the write in progress; 0 if there is none */
	} workers[RS_RECORDER_THREADS_MAX], stand_in;
};

/* Keeps the first error of a thread that has no caller, for rs_recorder_close(), and notes each in
 * the trace's state. Takes ownership of err; NULL is ignored. */
void rs_recorder_keep_error(struct rs_recorder *r, struct rs_error *err);

/* Creates a feed of `bytes` bytes for a new stream. *out is a pointer to that kind of feed. */
struct rs_error *rs_feed_create(struct rs_recorder *r, size_t bytes, uint32_t class_index,
				const struct rs_stream *stream, void *out);

/* Adds a complete feed to the list, for the recorder's threads. */
void rs_feed_publish(struct rs_feed *feed);

/*
 * Drains a feed until its ring was empty once, but at most one ring's worth of bytes: the producer
 * may put as fast as this drains. Returns an error of the ring or of the store. The caller holds
 * the feed's lock. writer, unless it is NULL, releases the lock while it writes packets that are
 * still in the cache.
 */
struct rs_error *rs_feed_drain(struct rs_feed *feed, struct rs_worker *writer, uint64_t *drained);

/* Drains the rest of a ring, after the end of the producer or of the recorder, adds the losses that
 * no record reports, and ends the stream. The caller holds the feed's lock. */
struct rs_error *rs_feed_finish(struct rs_feed *feed);

/* Adds the names and events that this program has defined to its schema. Any thread. */
void rs_program_refresh(struct rs_recorder *r);

/* Names this program's binaries that the trace does not name yet. */
void rs_program_name_binaries(struct rs_recorder *r);

/* Polls for rings of threads that began or ended. */
void rs_program_poll(struct rs_recorder *r);

/* Counts what is in no feed as lost, and ends collecting. All feeds must be finished. */
void rs_program_end(struct rs_recorder *r);

/* Polls for the rings of guests that are to be polled. */
void rs_guests_poll(struct rs_recorder *r);

/* Checks the guests that are left. Returns how many guests never had a ring. */
uint64_t rs_guests_end(struct rs_recorder *r);
void rs_guests_free(struct rs_recorder *r);

#endif
