/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clocks. The host's timeline is its TSC. An offset ties the clock of a stream, such as a guest's,
 * to it: host stamp = stamp - offset. The kernel's own events carry CLOCK_MONOTONIC in ns as
 * stamps: a clock of 1 GHz with its own origin. Nanoseconds are signed and count from the trace's
 * start.
 */
#ifndef RINGSIDE_CLOCK_H
#define RINGSIDE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/language.h>
#include <ringside/error.h>

RS_C_BEGIN

struct rs_clock {
	char name[64]; /* [A-Za-z_][A-Za-z0-9_]*, unique in a trace */
	/* Two structs with the same id are states of one clock; 0 is none. rs_clock_init() and
	 * rs_clock_guest() assign it. It is valid within this process only. */
	uint64_t id;
	uint64_t freq_hz; /* never 0 */
	uint64_t origin;  /* the clock's own stamp (TSC or CLOCK_MONOTONIC) at the trace's start */
	int64_t wall_ns;  /* Unix time at the origin */
	uint64_t raw_ns;  /* CLOCK_MONOTONIC_RAW at the origin; for rs_clock_refine() */
	int64_t offset;	  /* this clock minus the host's, in cycles */
	uint64_t error_cycles; /* bound of the offset's error; 0 for the host's own clock */
	bool invariant;	       /* constant rate in all power states */
	bool monotonic;	       /* stamps are ns of CLOCK_MONOTONIC, not TSC cycles */
	char freq_from[32];    /* "kernel", "cpuid", "hypervisor", "measured", ... */
	uint64_t ns_mult;      /* ns = cycles * ns_mult >> RS_CLOCK_SHIFT; rs_clock_init() */
};

/* 2^RS_CLOCK_SHIFT times the ns per cycle fits 64 bits from 1 MHz on. The error is below 1 ns in
 * 2^55 cycles (four months at 3 GHz). */
#define RS_CLOCK_SHIFT 54

/* Sets ns_mult from freq_hz, and the id if it is 0. Returns RS_DAMAGED if the frequency is below 1
 * MHz or above 1 THz. */
struct rs_error *rs_clock_init(struct rs_clock *clock);

/*
 * Initialises the host's clock, with its origin now. The frequency comes from the kernel (perf's
 * mmap page), else from CPUID 15H/16H or the hypervisor's leaf 40000010H, else from a measurement
 * over 50 ms.
 */
struct rs_error *rs_clock_host(struct rs_clock *clock);

/* Repeats the measurement of a measured frequency, over the time since the origin, which should be
 * a second or more. Returns whether the frequency changed. */
bool rs_clock_refine(struct rs_clock *clock);

/* Initialises a guest's clock, which is the host's plus offset cycles, known to within
 * error_cycles. */
void rs_clock_guest(const struct rs_clock *host, const char *name, int64_t offset,
		    uint64_t error_cycles, struct rs_clock *clock);

/*
 * Initialises CLOCK_MONOTONIC as a clock on the host's timeline: its stamp at the host clock's
 * origin, known to within error_cycles (here ns). NTP adjusts its rate, so the two may drift apart;
 * see rs_clock_monotonic_drift(). All calls for one host clock return clocks with the same id.
 */
struct rs_error *rs_clock_monotonic(const struct rs_clock *host, struct rs_clock *clock);

/* Returns how far, in ns, the two clocks have drifted apart: host minus monotonic. */
int64_t rs_clock_monotonic_drift(const struct rs_clock *host, const struct rs_clock *clock);

/* Returns the present time as a stamp of this clock. */
uint64_t rs_clock_now(const struct rs_clock *clock);

static inline uint64_t rs_clock_to_host(const struct rs_clock *clock, uint64_t stamp)
{
	return stamp - (uint64_t)clock->offset;
}

/* Converts a stamp to ns from the trace's start, rounded down. */
static inline int64_t rs_clock_ns(const struct rs_clock *clock, uint64_t stamp)
{
	int64_t cycles = (int64_t)(rs_clock_to_host(clock, stamp) - clock->origin);

	return (int64_t)(((__int128)cycles * clock->ns_mult) >> RS_CLOCK_SHIFT);
}

RS_C_END

#endif
