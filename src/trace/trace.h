/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the recorder asks of this program's own tracing: its rings and its definitions.
 *
 * A ring is made at a thread's first event and put at the front of a list that only the
 * collector shortens. When its thread ends, or runs another vCPU, the ring is marked; the collector
 * drains it once more and frees it. One collector at a time.
 */
#ifndef RS_TRACE_TRACE_H
#define RS_TRACE_TRACE_H

#include <ringside/ring.h>
#include <ringside/schema.h>
#include <ringside/trace.h>

struct rs_trace_ring {
	struct rs_trace_ring *next; /* set before it is published, then changed by the collector */
	struct rs_ring_memory memory;
	uint64_t from; /* stamp of its making: before those of its records */
	int tid;
	char thread[16];
	char vm[64]; /* rs_trace_thread(); empty: none */
	int vcpu;    /* -1: none */
	int place;   /* where it survives the process (ring/survive.h); -1: nowhere */
	bool ended;  /* its thread is gone, or has another ring; read with acquire */
	bool taken;  /* the collector's: the ring has a feed */
	struct rs_trace_ring
		*before; /* the collector's: the one in front of it; NULL: it is not known */
	struct rs_trace_ring *newer; /* the collector's, while it polls for new rings */
	/* The collectors': of the ring's refusals, how many are in a trace (drain.h). */
	uint64_t reported_lost, reported_ahead;
};

/*
 * From now on makes a thread's ring in a place of this memory (ring/survive.h), while one is free,
 * else in memory that does not survive. mem has bytes of zeros and must stay mapped. Returns false
 * if it is too small.
 */
bool rs_trace_survive(void *mem, uint64_t bytes);

/* Becomes the collector, or ends that. Returns false if there is a collector already. */
bool rs_trace_collect(bool on);

/* Returns the newest ring. Its acquire pairs with the release of the thread that made the ring. */
struct rs_trace_ring *rs_trace_rings(void);

/* Removes an ended ring from the list, and frees it. */
void rs_trace_ring_free(struct rs_trace_ring *ring);

const char *rs_trace_provider(void);

/* Returns whether rs_trace_has_addresses() was called. */
bool rs_trace_addresses(void);

/* Returns how many events were lost since the last call, of threads that got no ring: for lack of
 * memory, or because too many ended rings wait for a collector. */
uint64_t rs_trace_ringless_take(void);

/*
 * Adds to schema what was defined since *seen definitions. RS_NO_MEMORY: the next call continues
 * there. Other errors of single definitions are dropped; their events are counted as damaged.
 */
struct rs_error *rs_trace_define(struct rs_schema *schema, uint32_t *seen);

#endif
