/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracks the threads of a session's samples, and their names at each time:
 *
 *	/proc, before the first sample --+
 *	the kernel's records of forks,   +--> changes, by tid --+
 *	renames and exits ---------------+                      +--> listed threads: tid, process,
 *	samples: the thread is listed --------------------------+    name, from when on
 *
 * Changes of a thread without samples are not listed. A forked thread has its parent's name at that
 * time, which another CPU's ring may hold, so a listed thread is returned only when all rings have
 * been read up to its time.
 *
 * Any thread may call any of these functions.
 */
#ifndef RS_LIVE_TRACEPOINT_THREADS_H
#define RS_LIVE_TRACEPOINT_THREADS_H

#include "live/perf_ring.h"
#include "live/tracepoint.h"

struct rs_tracepoint_threads;

struct rs_error *rs_tracepoint_threads_create(struct rs_tracepoint_threads **threads);
void rs_tracepoint_threads_destroy(struct rs_tracepoint_threads *threads); /* NULL is ignored */

/* Reads the names of all threads from the folder `proc`, and takes them as valid from this time on.
 * 0: from the beginning. */
void rs_tracepoint_threads_scan(struct rs_tracepoint_threads *threads, const char *proc,
				uint64_t time);

/* Adds a rename, a fork or an exit. */
void rs_tracepoint_threads_change(struct rs_tracepoint_threads *threads,
				  const struct rs_perf_record *record);

/* Lists the thread of a sample. */
void rs_tracepoint_threads_sample(struct rs_tracepoint_threads *threads,
				  const struct rs_perf_record *record);

/* Does the same as rs_tracepoints_thread(). All changes until known_until have been added. */
bool rs_tracepoint_threads_get(struct rs_tracepoint_threads *threads, uint32_t index,
			       uint64_t known_until, struct rs_thread *thread);

#endif
