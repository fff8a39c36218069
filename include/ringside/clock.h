/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clocks. The host's timeline is its TSC; a stream's clock (a guest's, say) is tied to it by
 * an offset: host stamp = stamp - offset. The kernel's own events have CLOCK_MONOTONIC's ns for
 * stamps: a clock of 1 GHz with an origin of its own. Nanoseconds count from the trace's start,
 * signed.
 */
#ifndef RINGSIDE_CLOCK_H
#define RINGSIDE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_clock {
	char name[64]; /* [A-Za-z_][A-Za-z0-9_]*, unique in a trace */
	/* Two structs with one id are states of one clock; 0 is none. rs_clock_init() and
	 * rs_clock_guest() assign it, and it holds within this process only. */
	uint64_t id;
	uint64_t freq_hz;      /* never 0 */
	uint64_t origin;       /* stamp at the trace's start: the host's, or CLOCK_MONOTONIC's */
	int64_t wall_ns;       /* Unix time at the origin */
	uint64_t raw_ns;       /* CLOCK_MONOTONIC_RAW at the origin; for rs_clock_refine() */
	int64_t offset;	       /* this clock minus the host's, in cycles */
	uint64_t error_cycles; /* the offset's bound; 0 for the host's own clock */
	bool invariant;	       /* constant rate in all power states */
	bool monotonic;	       /* stamps are CLOCK_MONOTONIC's ns, not the TSC's cycles */
	char freq_from[32];    /* "kernel", "cpuid", "hypervisor", "measured", ... */
	uint64_t ns_mult;      /* ns = cycles * ns_mult >> RS_CLOCK_SHIFT; rs_clock_init() */
};

/* Two to this power times ns per cycle fits 64 bits from 1 MHz on; the error is under 1 ns in
 * 2^55 cycles (four months at 3 GHz). */
#define RS_CLOCK_SHIFT 54

/* Sets ns_mult from freq_hz, and an id where it is 0. RS_DAMAGED: the frequency is below 1 MHz or
 * above 1 THz. */
struct rs_error *rs_clock_init(struct rs_clock *clock);

/*
 * The host's clock, with its origin now. The frequency is the kernel's own (perf's mmap page),
 * else CPUID 15H/16H or the hypervisor's leaf 40000010H, else measured over 50 ms.
 */
struct rs_error *rs_clock_host(struct rs_clock *clock);

/* Where the frequency was measured: measures again, over all the time since the origin. Only
 * useful where a second or more has passed. True if it changed. */
bool rs_clock_refine(struct rs_clock *clock);

/* A guest's clock: the host's, offset cycles apart, known to within error_cycles. */
void rs_clock_guest(const struct rs_clock *host, const char *name, int64_t offset,
		    uint64_t error_cycles, struct rs_clock *clock);

/*
 * CLOCK_MONOTONIC on the host's timeline: its stamp at the host clock's origin, known to within
 * error_cycles (here ns). Its rate is trimmed by NTP, so the two may drift apart; see
 * rs_clock_monotonic_drift(). All calls for one host clock give clocks of one id.
 */
struct rs_error *rs_clock_monotonic(const struct rs_clock *host, struct rs_clock *clock);

/* How far, in ns, the two have gone apart since, as seen from now: host minus monotonic. */
int64_t rs_clock_monotonic_drift(const struct rs_clock *host, const struct rs_clock *clock);

/* The present, as this clock stamps it. */
uint64_t rs_clock_now(const struct rs_clock *clock);

static inline uint64_t rs_clock_to_host(const struct rs_clock *clock, uint64_t stamp)
{
	return stamp - (uint64_t)clock->offset;
}

/* ns from the trace's start, rounded down. */
static inline int64_t rs_clock_ns(const struct rs_clock *clock, uint64_t stamp)
{
	int64_t cycles = (int64_t)(rs_clock_to_host(clock, stamp) - clock->origin);

	return (int64_t)(((__int128)cycles * clock->ns_mult) >> RS_CLOCK_SHIFT);
}

#endif
