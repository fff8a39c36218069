/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a packet can be trusted, for its writer, its readers and repair alike. */
#ifndef RS_STORE_CHECK_H
#define RS_STORE_CHECK_H

#include <stdbool.h>
#include <xxhash.h>

#include "store/format.h"
#include <ringside/clock.h>

#ifdef HAVE_XXH_DISPATCH
/* The same hash with this processor's widest registers. Debian's shared library has it, its static
 * one does not: hence weak. */
XXH64_hash_t XXH3_64bits_withSeed_dispatch(const void *bytes, size_t n, XXH64_hash_t seed)
	__attribute__((weak));
#endif

static inline uint64_t rs_check_of(const void *bytes, size_t n, uint64_t seed)
{
#ifdef HAVE_XXH_DISPATCH
	if (XXH3_64bits_withSeed_dispatch)
		return XXH3_64bits_withSeed_dispatch(bytes, n, seed);
#endif
	return XXH3_64bits_withSeed(bytes, n, seed);
}

/* The check sum: of the content, seeded with that of the header before its own field. */
static inline uint64_t rs_packet_check(const struct rs_packet_head *head, const void *content,
				       size_t bytes)
{
	return rs_check_of(content, bytes,
			   rs_check_of(head, offsetof(struct rs_packet_head, check), 0));
}

/* The check of a description: of each line, seeded with that of the lines before it; 0 before the
 * first. What is left of a last line counts as one. */
static inline uint64_t rs_describe_check(uint64_t before, const char *line, size_t bytes)
{
	return rs_check_of(line, bytes, before);
}

/* Whether a stamp can follow another: raw ones grow, and so must their times, which wrap where a
 * stamp is absurd. */
static inline bool rs_stamp_follows(const struct rs_clock *clock, uint64_t last, uint64_t stamp)
{
	return stamp >= last && rs_clock_ns(clock, stamp) >= rs_clock_ns(clock, last);
}

/* The trace's start in a clock's stamps; 0 where its counter began later. */
static inline uint64_t rs_stamp_begin(const struct rs_clock *clock)
{
	__int128 stamp = (__int128)clock->origin + clock->offset;

	return stamp > 0 ? (uint64_t)stamp : 0;
}

#endif
