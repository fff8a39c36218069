/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the running kernel's tracepoints as a live source: those of the block layer, the scheduler,
 * system calls, and all others in tracefs. Each is a perf event on each CPU; a CPU's samples come
 * through one ring, and are converted to records by the tracepoint's format, for a drain:
 *
 *	tracepoints --> the kernel's ring, a CPU's --> by time, as records --> sbuf --> port
 *
 * Events before the gate opens, or after it closes, are ignored: the gate is two stamps. Samples
 * without room in the kernel's ring are reported as a loss at their place.
 *
 * One thread opens, gates and closes. One thread at a time uses a port.
 */
#ifndef RS_LIVE_TRACEPOINT_H
#define RS_LIVE_TRACEPOINT_H

#include "event/drain.h"
#include "event/query.h"

#define RS_TRACEPOINT_GLOBS_MAX 256u

struct rs_tracepoint_options {
	const char *const *globs; /* "SYSTEM:EVENT", with * ? [] */
	uint32_t n_globs;
	/* Probe descriptions (rs_probe_match()) of events whose arguments of type char * are read,
	 * by BPF: each such argument NAME gets two more fields, NAME_read and NAME_text
	 * (tracepoint_text.h). */
	const char *const *reads;
	uint32_t n_reads;
	const struct rs_cpu_set *cpus; /* only these CPUs; NULL: all */
	uint32_t ring_bytes; /* of each CPU, rounded up to a power of two of pages; 0: 1 MiB */
};

struct rs_tracepoints;

/* Opens a session. Errors about missing rights, support or tracepoints contain the remedy. */
struct rs_error *rs_tracepoints_open(const struct rs_tracepoint_options *options,
				     struct rs_tracepoints **session);
/* Closes a session, after the readers of its ports. NULL is ignored. */
void rs_tracepoints_close(struct rs_tracepoints *session);

/* Returns the number of tracepoints. Sets *refused to the number of matched tracepoints that the
 * kernel refuses. */
uint32_t rs_tracepoints_count(const struct rs_tracepoints *session, uint32_t *refused);

/* Opens or closes the gate, once each. Sets *ns to the time, in CLOCK_MONOTONIC. */
struct rs_error *rs_tracepoints_gate(struct rs_tracepoints *session, bool open, uint64_t *ns);

/* Returns whether the gate is closed. The ports then return the remaining records. */
bool rs_tracepoints_closed(const struct rs_tracepoints *session);

/* Returns the events: provider ftrace, a class for each system of the kernel. */
struct rs_schema *rs_tracepoints_schema(const struct rs_tracepoints *session);

/* Returns one of the CPUs' rings as a port, for one drain. Stamps are those of CLOCK_MONOTONIC.
 * Returns false past the last ring. */
bool rs_tracepoints_port(struct rs_tracepoints *session, uint32_t index, int *cpu,
			 struct rs_port *port);

/*
 * Returns the index-th thread that has samples, in the order of appearance. If another process had
 * the tid before, *since is the time from which the thread owns it. Threads beyond
 * RS_TRACEPOINT_THREADS_MAX are left out. Any thread may call it. Returns false if there are no
 * more threads so far.
 */
#define RS_TRACEPOINT_THREADS_MAX 65536u
bool rs_tracepoints_thread(struct rs_tracepoints *session, uint32_t index,
			   struct rs_thread *thread);

/* Returns how many forks, renames and exits of threads the kernel has dropped: a thread that was
 * forked or renamed at that time may have no name. Any thread may call it. */
uint64_t rs_tracepoints_names_lost(const struct rs_tracepoints *session);

/*
 * Creates a live source of the session's ports. Each event's stream is its thread's, a loss's its
 * CPU's. clock is CLOCK_MONOTONIC on the timeline of the merge. The caller keeps the session and
 * the clock.
 */
struct rs_error *rs_tracepoints_source_create(struct rs_tracepoints *session,
					      const struct rs_clock *clock,
					      struct rs_source **source);

/* Returns the stream of the index-th CPU's losses, or NULL past the last. */
const struct rs_stream *rs_tracepoints_source_stream(const struct rs_source *source,
						     uint32_t index);

#endif
