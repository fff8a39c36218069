/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of packets and descriptions, for the writer, readers and repair. */
#ifndef RS_STORE_CHECK_H
#define RS_STORE_CHECK_H

#include <stdbool.h>
#include <xxhash.h>

#include "store/format.h"
#include <ringside/clock.h>

#ifdef HAVE_XXH_DISPATCH
/* The same hash with this processor's widest registers. Weak, since only Debian's shared library
 * has it, not the static one. */
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

/* Returns a packet's check: the hash of its content, seeded with that of the header's other
 * fields. */
static inline uint64_t rs_packet_check(const struct rs_packet_head *head, const void *content,
				       size_t bytes)
{
	return rs_check_of(content, bytes,
			   rs_check_of(head, offsetof(struct rs_packet_head, check), 0));
}

/* Returns the check of a description's lines: the hash of each, seeded with that of the lines
 * before it; 0 before the first. A partial last line counts as one. */
static inline uint64_t rs_describe_check(uint64_t before, const char *line, size_t bytes)
{
	return rs_check_of(line, bytes, before);
}

/* Returns whether a stamp can follow another. Stamps grow, and so must their times, which wrap for
 * an absurd stamp. */
static inline bool rs_stamp_follows(const struct rs_clock *clock, uint64_t last, uint64_t stamp)
{
	return stamp >= last && rs_clock_ns(clock, stamp) >= rs_clock_ns(clock, last);
}

/* Returns the trace's start in a clock's stamps; 0 if its counter began later. */
static inline uint64_t rs_stamp_begin(const struct rs_clock *clock)
{
	__int128 stamp = (__int128)clock->origin + clock->offset;

	return stamp > 0 ? (uint64_t)stamp : 0;
}

#endif
