/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes a heap's profile: its call paths with the memory that each allocated. */
#include "analyze/heap.h"

const struct rs_profile_value rs_heap_values[RS_HEAP_VALUES] = {
	[RS_HEAP_ALLOC_OBJECTS] = { "alloc_objects", "count" },
	[RS_HEAP_ALLOC_SPACE] = { "alloc_space", "bytes" },
	[RS_HEAP_INUSE_OBJECTS] = { "inuse_objects", "count" },
	[RS_HEAP_INUSE_SPACE] = { "inuse_space", "bytes" },
	[RS_HEAP_PEAK_OBJECTS] = { "peak_objects", "count" },
	[RS_HEAP_PEAK_SPACE] = { "peak_space", "bytes" },
};

struct rs_error *rs_heap_profile(const struct rs_heap *heap,
				 const struct rs_profile_resolver *resolver,
				 struct rs_profile *profile)
{
	uint32_t frames[RS_PROFILE_DEPTH_MAX], n;
	struct rs_error *err = NULL;

	rs_profile_init(profile, rs_heap_values, RS_HEAP_VALUES);
	profile->start_ns = heap->first_ns;
	profile->duration_ns = heap->last_ns - heap->first_ns;
	for (size_t i = 0; !err && i < heap->n_sites; i++) {
		const struct rs_heap_site *site = &heap->sites[i];
		const struct rs_stack *stack = heap->stacks->at[site->stack];
		const uint64_t amounts[] = {
			[RS_HEAP_ALLOC_OBJECTS] = rs_heap_count(&site->allocated),
			[RS_HEAP_ALLOC_SPACE] = site->allocated.bytes,
			[RS_HEAP_INUSE_OBJECTS] = rs_heap_count(&site->live),
			[RS_HEAP_INUSE_SPACE] = site->live.bytes,
			[RS_HEAP_PEAK_OBJECTS] = rs_heap_count(&site->peak),
			[RS_HEAP_PEAK_SPACE] = site->peak.bytes,
		};

		err = rs_profile_stack(profile, resolver, stack->schema, stack->addresses, stack->n,
				       stack->by_fp, frames, &n);
		if (!err)
			err = rs_profile_add(profile, frames, n, amounts);
	}
	return err;
}
