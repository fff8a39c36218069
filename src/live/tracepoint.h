/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the running kernel's tracepoints as a live source: those of the block layer, the scheduler,
 * system calls, and all others in tracefs. Each is a perf event on each CPU; a CPU's samples come
 * through one ring, and are converted to records by the tracepoint's format, for a drain:
 *
 *	tracepoints --> the kernel's ring, a CPU's --> by time, as records --> sbuf --> port
 *
 * Events before the gate is open, or after it is shut, are ignored: the gate is two stamps. Samples
 * for which the kernel's ring had no room are a loss at their place.
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
	 * by BPF: each such argument NAME has NAME_read and NAME_text beside it
	 * (tracepoint_text.h). */
	const char *const *reads;
	uint32_t n_reads;
	const struct rs_cpu_set *cpus; /* only these; NULL: all */
	uint32_t ring_bytes; /* each CPU's, made up to a power of two of pages; 0: 1 MiB */
};

struct rs_tracepoints;

/* Opens a session. Errors about missing rights, support or tracepoints say what to do. */
struct rs_error *rs_tracepoints_open(const struct rs_tracepoint_options *options,
				     struct rs_tracepoints **session);
/* Closes a session, after the readers of its ports. NULL is ignored. */
void rs_tracepoints_close(struct rs_tracepoints *session);

/* Returns the number of tracepoints, and in *refused that of matched ones that the kernel
 * refuses. */
uint32_t rs_tracepoints_count(const struct rs_tracepoints *session, uint32_t *refused);

/* Opens or shuts the gate, once each. Sets *ns to the time of that, in CLOCK_MONOTONIC. */
struct rs_error *rs_tracepoints_gate(struct rs_tracepoints *session, bool open, uint64_t *ns);

/* Returns whether the gate is shut: the ports then return the remaining records. */
bool rs_tracepoints_closed(const struct rs_tracepoints *session);

/* Returns the events: provider ftrace, a class for each system of the kernel. */
struct rs_schema *rs_tracepoints_schema(const struct rs_tracepoints *session);

/* Returns one of the CPUs' rings as a port, for one drain. Stamps are those of CLOCK_MONOTONIC.
 * Returns false past the last. */
bool rs_tracepoints_port(struct rs_tracepoints *session, uint32_t index, int *cpu,
			 struct rs_port *port);

/*
 * Returns the index-th thread that has samples, in the order of appearance; if another process had
 * its tid before, with the time from which it is the owner. More than RS_TRACEPOINT_THREADS_MAX are
 * left out. Any thread may call it. Returns false if there are no more yet.
 */
#define RS_TRACEPOINT_THREADS_MAX 65536u
bool rs_tracepoints_thread(struct rs_tracepoints *session, uint32_t index,
			   struct rs_thread *thread);

/*
 * Creates a live source of the session's ports. Each event's stream is its thread's, a loss's its
 * CPU's. clock is CLOCK_MONOTONIC on the timeline of the merge; both stay the caller's.
 */
struct rs_error *rs_tracepoints_source_create(struct rs_tracepoints *session,
					      const struct rs_clock *clock,
					      struct rs_source **source);

/* Returns the stream of the index-th CPU's losses, or NULL past the last. */
const struct rs_stream *rs_tracepoints_source_stream(const struct rs_source *source,
						     uint32_t index);

#endif
