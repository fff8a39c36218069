/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder's interface to this program's own tracing: its rings and its definitions.
 *
 * A ring is created at a thread's first event, and added to the front of a list that only the
 * collector shortens. When its thread ends, or runs another vCPU, the ring is marked. The collector
 * drains it once more and frees it. One collector at a time.
 *
 * A thread may have a ring from before the recorder: in private memory, in the log's, or in an
 * earlier recorder's file. The collector asks the thread to leave it:
 *
 *	collector: an invalid head in the ring, the producer's limit 0
 *	thread:    the next put finds no room --> full() --> a ring in the file, its heir
 *	collector: drains the old ring, and continues its stream from the heir
 *
 * The put itself has no code for this.
 */
#ifndef RS_TRACE_TRACE_H
#define RS_TRACE_TRACE_H

#include <ringside/ring.h>
#include <ringside/schema.h>
#include <ringside/trace.h>

enum rs_trace_leave {
	RS_TRACE_STAY,
	RS_TRACE_ASKED,	  /* the ring's own head is invalid, and `head` has it */
	RS_TRACE_LEAVING, /* the thread makes the heir */
	RS_TRACE_UNSAFE,  /* there is no room for the ring in the file */
};

/* In the ring's header: the thread is to leave. */
#define RS_TRACE_NO_HEAD UINT32_MAX

struct rs_trace_ring {
	struct rs_trace_ring *next; /* set before it is published, then changed by the collector */
	struct rs_ring_memory memory;
	uint64_t from; /* stamp of its creation, before those of its records */
	int tid;
	char thread[16];
	char vm[64]; /* set by rs_trace_thread(); empty: none */
	int vcpu;    /* -1: none */
	int place;   /* the place in which it survives the process (ring/survive.h); -1: none */
	struct rs_trace_file *file; /* the file with the place; NULL: the log's memory */
	bool ended; /* its thread has ended, or has another ring; read with acquire */
	bool taken; /* the collector's: the ring has a feed */
	struct rs_trace_ring *before; /* the collector's: the ring before it; NULL: unknown */
	struct rs_trace_ring *newer;  /* the collector's, while it polls for new rings */
	/* An enum rs_trace_leave. Only the collector sets ASKED, and takes it back; only the thread
	 * continues from ASKED. Sequentially consistent, with `head`. */
	uint32_t leave;
	uint32_t head;		    /* what the collector has released */
	struct rs_trace_ring *heir; /* of the same thread, once it has left; before `ended` */
	bool inherits;		    /* it is the heir of a ring in the list */
	/* The thread's; NULL once it has left the ring. Under the lock, which the thread takes
	 * before its memory goes. */
	struct rs_sbuf_producer *producer;
	/* The collectors': the number of the ring's refusals that a trace has reported
	 * (drain.h). */
	uint64_t reported_lost, reported_ahead;
};

/*
 * From now on, creates each thread's ring in a free place of this memory (ring/survive.h), else in
 * memory that does not survive. mem is zeroed, and must stay mapped. Returns false if it is too
 * small.
 */
bool rs_trace_survive(void *mem, uint64_t bytes);

/*
 * The file of a recorder, in which the rings of threads survive the process (file.c). While one is
 * set, a thread's ring is created there if there is room, else in the log's memory.
 */
struct rs_trace_file;

/* Creates the file of the trace with this UUID in a directory, or NULL if its path is not known.
 * Returns RS_ABSENT if there is no tmpfs for the file, or no room. */
struct rs_error *rs_trace_file_create(const uint8_t uuid[16], const char *directory,
				      struct rs_trace_file **file);

/* Sets the file for rings that are created from now on, and the class of their records in the
 * trace. NULL: none. */
void rs_trace_file_set(struct rs_trace_file *file, uint32_t class_index);

/* Removes the file. Its memory stays until its last ring is freed. Accepts NULL. */
void rs_trace_file_destroy(struct rs_trace_file *file);

/* Returns whether a ring is in a recorder's file. */
static inline bool rs_trace_ring_is_in(const struct rs_trace_ring *ring,
				       const struct rs_trace_file *file)
{
	return file && ring->file == file;
}

/* Asks the threads of all rings that the collector has, and that are not in the present file, to
 * leave them. The collector calls it until they have, since a put under way may undo it. */
void rs_trace_rings_ask(void);

/* Releases the room before head of a ring, whose thread may be asked to leave. */
void rs_trace_ring_release(struct rs_trace_ring *ring, uint32_t head);

/* Takes back what no thread has followed yet. A thread that is about to leave has left then. */
void rs_trace_rings_keep(void);

/* Returns the memory of a ring's progress, or NULL if no file has the ring. */
struct rs_survive_progress *rs_trace_ring_progress(const struct rs_trace_ring *ring);

/* Begins or ends being the collector. Returns false if another collector exists. */
bool rs_trace_collect(bool on);

/* Returns the newest ring. Its acquire pairs with the release of the thread that made the ring. */
struct rs_trace_ring *rs_trace_rings(void);

/* Removes an ended ring from the list, and frees it. */
void rs_trace_ring_free(struct rs_trace_ring *ring);

const char *rs_trace_provider(void);

/* Returns whether rs_trace_has_addresses() was called. */
bool rs_trace_addresses(void);

/* Returns the number of events that threads without a ring have lost since the last call. A thread
 * has no ring if there is no memory, or if too many ended rings wait for a collector. */
uint64_t rs_trace_ringless_take(void);

/*
 * Adds the definitions after the first *seen to schema. After RS_NO_MEMORY, the next call continues
 * at the same definition. Other errors of single definitions are dropped; their events are counted
 * as damaged.
 */
struct rs_error *rs_trace_define(struct rs_schema *schema, uint32_t *seen);

#endif
