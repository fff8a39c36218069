/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The streams of the threads of a live source whose rings hold the events of many threads. Streams
 * keep their addresses. One thread at a time may use them.
 */
#ifndef RS_LIVE_THREAD_STREAMS_H
#define RS_LIVE_THREAD_STREAMS_H

#include <ringside/source.h>

struct rs_thread_stream {
	struct rs_stream stream;
	uint64_t from; /* the stamp from which the thread has its tid and its name */
};

struct rs_thread_streams {
	struct rs_thread_stream **all;	  /* in the order of addition */
	struct rs_thread_stream **by_tid; /* by tid, then by index */
	uint32_t n, room;
	/* The stream that was looked up last, and the stamp at which it ceases to be valid. */
	const struct rs_thread_stream *last;
	uint64_t last_to;
};

/* Adds a thread, whose index is higher than those of the threads before it. Returns NULL without
 * memory. rs_thread_streams_sort() must follow before the next lookup. */
struct rs_thread_stream *rs_thread_streams_add(struct rs_thread_streams *threads,
					       const struct rs_stream *stream, uint64_t from);
void rs_thread_streams_sort(struct rs_thread_streams *threads);

/* Returns the thread that had a tid at a stamp: its last owner until then, else its first. Returns
 * NULL if no thread had it. A repeated lookup of the same thread and time costs three
 * comparisons. */
const struct rs_thread_stream *rs_thread_streams_find(struct rs_thread_streams *threads, int tid,
						      uint64_t stamp);

void rs_thread_streams_deinit(struct rs_thread_streams *threads);

#endif
