/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory that programs and guests allocate, from the events memory::alloc, free and realloc
 * (app.def): the live bytes over time, the live bytes at the peak, and the memory that is never
 * freed, by call stack.
 *
 *	memory::alloc --> live allocations, by producer and address --> sites, one a call stack
 *	memory::free  -->   |                                           peak: a site's live bytes
 *			    lifetimes                                   when the total was highest
 *
 * A realloc frees the old address and allocates the new one, at its own stack. A free of an address
 * that is not live is a double free if the last event of the address was a free. Otherwise it is an
 * unknown free: the memory was allocated before the trace began, or the allocation's record was
 * lost.
 *
 * Where the producer samples (memory::sampling), each recorded allocation represents several. An
 * allocation of s bytes, sampled at a mean distance of r bytes, counts 1 / (1 - exp(-s / r)) times.
 *
 * Memory grows with the addresses and the call stacks, not with the trace.
 */
#ifndef RS_ANALYZE_HEAP_H
#define RS_ANALYZE_HEAP_H

#include "analyze/profile.h"
#include "analyze/stacks.h"
#include "base/hist.h"

/* Counts of allocations have this many fraction bits, because a sample represents a fractional
 * number of allocations. */
#define RS_HEAP_COUNT_BITS 10u
#define RS_HEAP_MOMENTS	   256u	      /* the most; at least half as many are kept */
#define RS_HEAP_FREED_MAX  (1u << 20) /* addresses whose last event was a free */

/* Allocations and their bytes. */
struct rs_heap_amount {
	uint64_t count; /* << RS_HEAP_COUNT_BITS */
	uint64_t bytes;
};

/* What one call stack allocated. */
struct rs_heap_site {
	struct rs_heap_amount allocated, freed, live, peak; /* peak: live at the total's peak */
	uint64_t lifetimes_ns;				    /* of n_lifetimes freed allocations */
	uint64_t n_lifetimes;
	uint64_t peaks; /* the number of the total's peak at which `peak` was last set */
	uint32_t stack; /* index in stacks */
};

/* The live bytes at the end of an interval, and their maximum in it. */
struct rs_heap_moment {
	int64_t end_ns;
	uint64_t live_bytes, most_bytes;
	uint64_t allocations, frees; /* records */
};

/* The result. It is valid until the sink is destroyed. */
struct rs_heap {
	struct rs_heap_amount allocated, freed, live, peak;
	int64_t peak_ns;
	const struct rs_heap_site *sites;
	size_t n_sites;
	const struct rs_stacks *stacks;
	const struct rs_heap_moment *moments;
	size_t n_moments;
	struct rs_hist lifetimes;
	uint64_t lifetime_min_ns, lifetime_max_ns, lifetimes_ns, n_lifetimes;
	uint64_t records; /* memory events */
	uint64_t reallocs;
	uint64_t double_frees, unknown_frees;
	uint64_t again;		   /* allocations of live addresses: a free is missing */
	uint64_t lost;		   /* records that the trace reports as lost */
	uint64_t interval_bytes;   /* the last sampling interval; 0: each allocation was recorded */
	int64_t first_ns, last_ns; /* of all events */
};

struct rs_error *rs_heap_sink_create(struct rs_sink **sink);
void rs_heap_sink_destroy(struct rs_sink *sink); /* NULL is ignored */

/* Returns the result. Call it once, after the run. */
void rs_heap_collect(struct rs_sink *sink, struct rs_heap *heap);

/* The values of a memory profile: those of pprof's heap profile by the same names, and the
 * peak's. */
enum rs_heap_value {
	RS_HEAP_ALLOC_OBJECTS,
	RS_HEAP_ALLOC_SPACE,
	RS_HEAP_INUSE_OBJECTS,
	RS_HEAP_INUSE_SPACE,
	RS_HEAP_PEAK_OBJECTS,
	RS_HEAP_PEAK_SPACE,
	RS_HEAP_VALUES
};
extern const struct rs_profile_value rs_heap_values[RS_HEAP_VALUES];

/* Makes the profile of a result. The caller deinitializes the profile, also after an error. The
 * resolver may be NULL. */
struct rs_error *rs_heap_profile(const struct rs_heap *heap,
				 const struct rs_profile_resolver *resolver,
				 struct rs_profile *profile);

/* Returns a count of allocations, rounded. */
static inline uint64_t rs_heap_count(const struct rs_heap_amount *amount)
{
	return (amount->count + (1u << (RS_HEAP_COUNT_BITS - 1))) >> RS_HEAP_COUNT_BITS;
}

#endif
