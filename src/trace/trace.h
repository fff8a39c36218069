/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the recorder asks of this program's own tracing: its rings and its definitions.
 *
 * A ring is made at a thread's first event and put at the front of a list that only the
 * collector shortens. When its thread ends, the ring is marked; the collector drains it once
 * more and frees it. One collector at a time.
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
	int place;   /* where it survives us (ring/survive.h); -1: nowhere */
	bool ended;  /* its thread is gone; read with acquire */
	bool taken;  /* the collector's: it has seen this one */
	struct rs_trace_ring
		*before; /* the collector's: the one in front of it; NULL: it is not known */
	struct rs_trace_ring *newer; /* the collector's, while it looks for new ones */
	/* The collectors': of the ring's refusals, how many are in a trace (drain.h). */
	uint64_t told_lost, told_ahead;
};

/*
 * A thread's ring is made in a place of this memory (ring/survive.h) from now on, while one is
 * free, else in memory that does not survive. bytes of zeros at mem, which stays. False: too
 * little.
 */
bool rs_trace_survive(void *mem, uint64_t bytes);

/* Becomes the collector, or gives that up; false: there is one already. */
bool rs_trace_collect(bool on);

/* The newest ring; acquire, pairs with the release of the thread that made it. */
struct rs_trace_ring *rs_trace_rings(void);

/* Takes an ended ring off the list and frees it. */
void rs_trace_ring_free(struct rs_trace_ring *ring);

const char *rs_trace_provider(void);

/* Returns how many events there were ever of threads that found no memory for a ring. */
uint64_t rs_trace_ringless(void);

/*
 * Adds to schema what was defined since *seen definitions. RS_NO_MEMORY: the next call goes on from
 * there. Other errors of single definitions are dropped: their events will be counted as damaged.
 */
struct rs_error *rs_trace_learn(struct rs_schema *schema, uint32_t *seen);

#endif
