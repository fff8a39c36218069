/* SPDX-License-Identifier: BSD-2-Clause */
/* Check sums of packets and descriptions, for the writer, readers and repair. */
#ifndef RS_STORE_CHECK_H
#define RS_STORE_CHECK_H

#include <stdbool.h>
#include <xxhash.h>

#include "store/format.h"
#include <ringside/clock.h>

#ifdef HAVE_XXH_DISPATCH
/* XXH3 with this processor's widest registers. The symbol is weak, since only Debian's shared
 * library has it, not the static one. */
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

/* Returns the check of a description's lines. Each line's hash is seeded with the hash of the lines
 * before it; the first seed is 0. A partial last line counts as one. */
static inline uint64_t rs_describe_check(uint64_t before, const char *line, size_t bytes)
{
	return rs_check_of(line, bytes, before);
}

/* Returns whether a stamp can follow another. Both the stamps and their times must grow; the time
 * of an absurd stamp wraps. */
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
