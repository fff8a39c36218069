/* SPDX-License-Identifier: BSD-2-Clause */
/* The time, in nanoseconds since a clock's own zero: since boot, or since 1970. */
#ifndef RS_BASE_NOW_H
#define RS_BASE_NOW_H

#include <stdint.h>
#include <time.h>

/* Takes the clocks that every kernel has, so it cannot fail. */
static inline uint64_t rs_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Of CLOCK_MONOTONIC, for the ends of waits. */
static inline int64_t rs_now_ms(void)
{
	return (int64_t)(rs_now_ns(CLOCK_MONOTONIC) / 1000000);
}

#endif
