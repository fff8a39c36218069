/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The running kernel's tracepoints as a live source: those of block layer, scheduler, system calls,
 * whatever tracefs lists. Each is a perf event on each CPU; a CPU's samples come through one ring,
 * are made into records of ours by the tracepoint's format, for a drain:
 *
 *	tracepoints --> the kernel's ring, a CPU's --> by time, as records --> sbuf --> port
 *
 * What comes before the gate is open, or after it is shut, is no part of it: the gate is two
 * stamps. What the kernel's ring had no room for is a loss at its place.
 *
 * One thread opens, gates and closes. Each port is one thread's at a time.
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

/* Rights, absence and names that the kernel does not have are errors that say what to do. */
struct rs_error *rs_tracepoints_open(const struct rs_tracepoint_options *options,
				     struct rs_tracepoints **session);
/* After who reads its ports. NULL is nothing. */
void rs_tracepoints_close(struct rs_tracepoints *session);

/* How many there are of them, and those that a glob matched but the kernel does not give out. */
uint32_t rs_tracepoints_count(const struct rs_tracepoints *session, uint32_t *refused);

/* Opens once, shuts once. *ns: the moment, of CLOCK_MONOTONIC. */
struct rs_error *rs_tracepoints_gate(struct rs_tracepoints *session, bool open, uint64_t *ns);

/* Whether the gate is shut: what a port gives from then on is all there is. */
bool rs_tracepoints_closed(const struct rs_tracepoints *session);

/* The events: provider ftrace, a class for each system of the kernel's. */
struct rs_schema *rs_tracepoints_schema(const struct rs_tracepoints *session);

/* One of the CPUs' rings, for one drain. Stamps are CLOCK_MONOTONIC's. False: there are no more. */
bool rs_tracepoints_port(struct rs_tracepoints *session, uint32_t index, int *cpu,
			 struct rs_port *port);

/*
 * The threads that samples are of, in the order in which they were first seen; of one whose tid
 * another process had before, from when on. More than RS_TRACEPOINT_THREADS_MAX are left out.
 * Any thread may ask. False: there are no more yet.
 */
#define RS_TRACEPOINT_THREADS_MAX 65536u
bool rs_tracepoints_thread(struct rs_tracepoints *session, uint32_t index,
			   struct rs_thread *thread);

/*
 * As a live source, of its ports: each event's stream is its thread's, a loss's its CPU's. clock:
 * CLOCK_MONOTONIC on the timeline that the source is merged on; both stay the caller's.
 */
struct rs_error *rs_tracepoints_source_create(struct rs_tracepoints *session,
					      const struct rs_clock *clock,
					      struct rs_source **source);

/* The stream of the index-th CPU's losses; NULL: there are no more. */
const struct rs_stream *rs_tracepoints_source_stream(const struct rs_source *source,
						     uint32_t index);

#endif
