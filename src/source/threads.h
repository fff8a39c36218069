/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the thread of each event if a trace's streams hold the events of several threads (struct
 * rs_thread). Each thread has a separate stream, to which all its views point, from any file. If no
 * line describes a tid, only the tid is known.
 *
 * One thread at a time may use it.
 */
#ifndef RS_SOURCE_THREADS_H
#define RS_SOURCE_THREADS_H

#include "store/describe.h"

struct rs_threads; /* the threads of a whole trace */

/* The thread 0 of a CPU, which runs while the CPU is idle. Each CPU has one. */
struct rs_idle {
	struct rs_stream stream;
	char name[24];
};

/* The provider of the kernel's tracepoints, whose tid 0 is a CPU's idle thread. */
#define RS_FTRACE_PROVIDER "ftrace"

/* Returns whether a thread is the idle thread of a CPU. file: the stream of the CPU's events. */
void rs_idle_init(struct rs_idle *idle, const struct rs_stream *file);

/* describe must outlive it. */
struct rs_error *rs_threads_create(const struct rs_describe *describe, struct rs_threads **threads);
void rs_threads_destroy(struct rs_threads *threads); /* NULL is ignored */

/* The threads of one class, for one of its streams. */
struct rs_threads_class {
	struct rs_threads *threads;
	const struct rs_class *class;
	struct rs_thread_entry *const *entries; /* by tid, from */
	uint32_t n;				/* 0: the class's streams have one thread each */
	/* The last result, and the stamps for which it is valid. */
	int tid;
	uint64_t from, to; /* inclusive, exclusive */
	const struct rs_stream *stream;
	bool has_idle;	     /* tid 0 is the idle thread */
	struct rs_idle idle; /* of the file's CPU, once it had an event */
};

void rs_threads_of_class(struct rs_threads *threads, const struct rs_class *class,
			 struct rs_threads_class *of_class);

/* Returns the stream of an event's thread, or `file`, the stream that holds the event, if the event
 * names no thread. payload is the event's checked payload. */
const struct rs_stream *rs_threads_find(struct rs_threads_class *of_class,
					const struct rs_stream *file, const struct rs_event *event,
					const uint8_t *payload, uint64_t stamp);

#endif
