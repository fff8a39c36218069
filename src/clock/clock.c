/* SPDX-License-Identifier: BSD-2-Clause */
/* Arithmetic of clocks: cycles to ns, guests' offsets, CLOCK_MONOTONIC. tsc.c finds the host's
 * clock. */
#include "base/now.h"
#include <ringside/clock.h>

#include <stdio.h>
#include <time.h>

#include "base/duration.h"
#include <ringside/arch.h>

#define PAIRS 16 /* readings of two clocks; the quickest pair is used */

/* Returns an id that no clock of this process has. The next id is for CLOCK_MONOTONIC on the
 * timeline of the clock with this id. */
static uint64_t id_create(void)
{
	static uint64_t last;

	return __atomic_add_fetch(&last, 2, __ATOMIC_RELAXED);
}

struct rs_error *rs_clock_init(struct rs_clock *clock)
{
	unsigned __int128 ns = (unsigned __int128)1000000000 << RS_CLOCK_SHIFT;

	if (clock->freq_hz < RS_FREQUENCY_HZ_MIN || clock->freq_hz > RS_FREQUENCY_HZ_MAX)
		return rs_error_create(RS_DAMAGED, "a clock of %llu Hz: expected 1 MHz to 1 THz",
				       (unsigned long long)clock->freq_hz);
	clock->ns_mult = (uint64_t)((ns + clock->freq_hz / 2) / clock->freq_hz);
	if (!clock->id)
		clock->id = id_create();
	return NULL;
}

void rs_clock_guest(const struct rs_clock *host, const char *name, int64_t offset,
		    uint64_t error_cycles, struct rs_clock *clock)
{
	*clock = *host;
	clock->id = id_create();
	snprintf(clock->name, sizeof(clock->name), "%s", name);
	clock->offset = offset;
	clock->error_cycles = error_cycles;
}

/* Returns CLOCK_MONOTONIC minus the host's ns from the trace's start, by the quickest of several
 * readings. The error is half of that reading's duration. */
static uint64_t monotonic_origin(const struct rs_clock *host, uint64_t *error_ns)
{
	uint64_t origin = 0;

	*error_ns = UINT64_MAX;
	for (int i = 0; i < PAIRS; i++) {
		int64_t before = rs_clock_ns(host, rs_tsc());
		uint64_t now = rs_now_ns(CLOCK_MONOTONIC);
		uint64_t took = (uint64_t)(rs_clock_ns(host, rs_tsc()) - before);

		if (took / 2 + 1 < *error_ns) {
			*error_ns = took / 2 + 1;
			origin = now - (uint64_t)before - took / 2;
		}
	}
	return origin;
}

struct rs_error *rs_clock_monotonic(const struct rs_clock *host, struct rs_clock *clock)
{
	*clock = (struct rs_clock){ .name = "monotonic",
				    .id = host->id + 1,
				    .freq_hz = 1000000000,
				    .wall_ns = host->wall_ns,
				    .raw_ns = host->raw_ns,
				    .invariant = true,
				    .monotonic = true,
				    .freq_from = "monotonic" };
	clock->origin = monotonic_origin(host, &clock->error_cycles);
	return rs_clock_init(clock);
}

int64_t rs_clock_monotonic_drift(const struct rs_clock *host, const struct rs_clock *clock)
{
	uint64_t error_ns;

	return (int64_t)(clock->origin - monotonic_origin(host, &error_ns));
}

uint64_t rs_clock_now(const struct rs_clock *clock)
{
	return clock->monotonic ? rs_now_ns(CLOCK_MONOTONIC) : rs_tsc() + (uint64_t)clock->offset;
}
