/* SPDX-License-Identifier: BSD-2-Clause */
/* The time, in nanoseconds since the clock's epoch (boot, or 1970), and sleeps. */
#ifndef RS_BASE_NOW_H
#define RS_BASE_NOW_H

#include <stdint.h>
#include <time.h>

/* Returns the time of a clock that every kernel has, so it cannot fail. */
static inline uint64_t rs_now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* Returns the time of CLOCK_MONOTONIC in milliseconds, for the ends of waits. */
static inline int64_t rs_now_ms(void)
{
	return (int64_t)(rs_now_ns(CLOCK_MONOTONIC) / 1000000);
}

/* Sleeps for a time, or until a signal arrives. */
static inline void rs_sleep_ns(uint64_t ns)
{
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
				      .tv_nsec = (long)(ns % 1000000000) },
		  NULL);
}

#endif
