/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a packet can be trusted, for its writer, its readers and repair alike. */
#ifndef RS_STORE_CHECK_H
#define RS_STORE_CHECK_H

#include <stdbool.h>
#ifdef HAVE_XXH_DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include "store/format.h"
#include <ringside/clock.h>

/* The check sum: of the content, seeded with that of the header before its own field. */
static inline uint64_t rs_packet_check(const struct rs_packet_head *head, const void *content,
				       size_t bytes)
{
	return XXH3_64bits_withSeed(content, bytes,
				    XXH3_64bits(head, offsetof(struct rs_packet_head, check)));
}

/* The check of a description: of each line, seeded with that of the lines before it; 0 before the
 * first. What is left of a last line counts as one. */
static inline uint64_t rs_describe_check(uint64_t before, const char *line, size_t bytes)
{
	return XXH3_64bits_withSeed(line, bytes, before);
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
