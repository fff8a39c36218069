/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest with known numbers of spans and events: prime numbers, different on each vCPU, so that a
 * lost or duplicate record, or one with the wrong vCPU, is detected. Every event's arguments can be
 * computed from its number and its vCPU.
 */
#include <ringside/kit.h>

RS_TRACE_CLASS(work, 0)
RS_DEFINE_EVENT(tick, work, "tick", (u64, sequence), (x64, checksum));

#define KINDS 8u
static const uint32_t spans_of[KINDS] = { 97, 101, 103, 107, 109, 113, 127, 131 };
static const uint32_t events_of[KINDS] = { 1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049 };

/* The arguments of a vCPU's tick number `sequence`: odd multipliers, so that no two are equal. */
static uint64_t checksum(uint64_t sequence, uint32_t vcpu)
{
	return (sequence + 1) * UINT64_C(0x9e3779b97f4a7c15) ^
	       (vcpu + UINT64_C(1)) * UINT64_C(0xc2b2ae3d27d4eb4f);
}

/*
 * spans_of[vcpu] spans "lap" one after the other, with events_of[vcpu] ticks spread over them.
 * Returns the number of records.
 */
static uint64_t primes(const struct rs_kit_args *args)
{
	uint32_t spans = spans_of[args->vcpu % KINDS], events = events_of[args->vcpu % KINDS];
	uint32_t sequence = 0;

	for (uint32_t lap = 0; lap < spans; lap++) {
		RS_SPAN_ARG(work, "lap", lap);

		for (; sequence * spans < events * (lap + 1); sequence++)
			RS_EMIT(tick, .sequence = sequence,
				.checksum = checksum(sequence, args->vcpu));
	}
	return 2 * spans + sequence;
}
RS_KIT_EXPORT_AS("main", primes, 0, "a prime number of spans and ticks; how many records");

/* Ticks as fast as it can. */
static uint64_t flood(const struct rs_kit_args *args)
{
	uint64_t n = args->v[0];

	for (uint64_t sequence = 0; sequence < n; sequence++)
		RS_EMIT(tick, .sequence = sequence, .checksum = checksum(sequence, args->vcpu));
	return n;
}
RS_KIT_EXPORT(flood, 1, "this many ticks, without a pause; how many");

/* The same, and then never returns, so that a reader of the rings has time. */
static uint64_t flood_and_stay(const struct rs_kit_args *args)
{
	uint64_t n = flood(args);

	while (n)
		__asm__ volatile("pause");
	return n;
}
RS_KIT_EXPORT(flood_and_stay, 1, "this many ticks, and then an endless loop");

/* A burst after a pause, when the collector's polling interval has grown. */
static uint64_t late_flood(const struct rs_kit_args *args)
{
	uint64_t from = rs_tsc();

	while (rs_tsc() - from < args->v[1])
		continue;
	return flood(args);
}
RS_KIT_EXPORT(late_flood, 2, "this many ticks, after this many cycles without one; how many");
