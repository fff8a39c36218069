/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads that a session's samples are of, and their names at each time:
 *
 *	/proc, before the first sample --+
 *	the kernel's records of forks,   +--> changes, by tid --+
 *	renames and exits ---------------+                      +--> listed threads: tid, process,
 *	samples: the thread is listed --------------------------+    name, from when on
 *
 * A change of a thread that no sample is of is not listed. The name of a thread that was forked is
 * its parent's at that time, which another CPU's ring may hold; so a listed thread is given when
 * all rings have been read up to its time.
 *
 * Any thread may call any of these functions.
 */
#ifndef RS_LIVE_TRACEPOINT_THREADS_H
#define RS_LIVE_TRACEPOINT_THREADS_H

#include "live/perf_ring.h"
#include "live/tracepoint.h"

struct rs_tracepoint_threads;

struct rs_error *rs_tracepoint_threads_create(struct rs_tracepoint_threads **threads);
void rs_tracepoint_threads_destroy(struct rs_tracepoint_threads *threads); /* NULL is nothing */

/* Reads the names of all threads from the folder `proc`, as of this time: 0 is the beginning. */
void rs_tracepoint_threads_scan(struct rs_tracepoint_threads *threads, const char *proc,
				uint64_t time);

/* Takes a rename, a fork or an exit. */
void rs_tracepoint_threads_change(struct rs_tracepoint_threads *threads,
				  const struct rs_perf_record *record);

/* Lists the thread of a sample. */
void rs_tracepoint_threads_sample(struct rs_tracepoint_threads *threads,
				  const struct rs_perf_record *record);

/* As rs_tracepoints_thread(); known_until: all changes until this time have been taken. */
bool rs_tracepoint_threads_get(struct rs_tracepoint_threads *threads, uint32_t index,
			       uint64_t known_until, struct rs_thread *thread);

#endif
