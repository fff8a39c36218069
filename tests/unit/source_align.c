/* SPDX-License-Identifier: BSD-2-Clause */
/* The alignment of traces that began at different times, by their clocks. */
#include "../test.h"

#include "source/align.h"

#define GHZ  UINT64_C(1000000000)
#define HOUR (INT64_C(3600) * (int64_t)GHZ)

static struct rs_clock clock_of(uint64_t freq_hz, uint64_t origin)
{
	struct rs_clock clock = { .name = "host", .freq_hz = freq_hz, .origin = origin };

	rs_clock_init(&clock);
	return clock;
}

static struct rs_clock monotonic_of(uint64_t origin, uint64_t error_ns)
{
	return (struct rs_clock){ .name = "monotonic",
				  .freq_hz = GHZ,
				  .origin = origin,
				  .error_cycles = error_ns,
				  .monotonic = true };
}

static struct rs_align_clocks one(const struct rs_clock *clock, int64_t wall_ns)
{
	struct rs_align_clocks clocks = { .wall_ns = wall_ns };

	rs_align_clocks_add(&clocks, clock);
	return clocks;
}

/* By the TSC only. */
static struct rs_alignment later(uint64_t freq_a, uint64_t origin_a, int64_t wall_a,
				 uint64_t freq_b, uint64_t origin_b, int64_t wall_b)
{
	struct rs_clock a = clock_of(freq_a, origin_a), b = clock_of(freq_b, origin_b);
	struct rs_align_clocks first = one(&a, wall_a), other = one(&b, wall_b);
	struct rs_alignment found = { .later_ns = INT64_MIN };

	CHECK(rs_align_by_clock(&first, &other, &found) ||
	      rs_align_by_wall(&first, &other, &found));
	return found;
}

TEST(one_tsc)
{
	/* 3,000,000 cycles of 3 GHz; the times of day differ slightly, as readings do */
	struct rs_alignment found = later(3 * GHZ, 5000000, 70000, 3 * GHZ, 8000000, 1070500);

	CHECK_EQ_S64(found.later_ns, 1000000);
	CHECK_STR(found.by, "the TSC");
	CHECK_EQ_U64(found.bound_ns, 1);
	CHECK_EQ_U64(found.drift_ns_per_s, 0);
	CHECK(found.proved);
	found = later(3 * GHZ, 8000000, 0, 3 * GHZ, 5000000, 0);
	CHECK_EQ_S64(found.later_ns, -1000000);
	CHECK(!found.proved);
	/* a file without a time of day */
	CHECK_EQ_S64(later(2 * GHZ, 10, 12345, 2 * GHZ, 2010, 0).later_ns, 1000);
}

/* Two measurements of one frequency: the drift between them is part of the result. */
TEST(two_measurements)
{
	CHECK_EQ_U64(later(2 * GHZ, 0, 5, 2 * GHZ + 40, 0, 5).drift_ns_per_s, 21);
	CHECK_EQ_U64(later(2 * GHZ, 0, 5, 2 * GHZ - 40, 0, 5).drift_ns_per_s, 21);
}

TEST(another_boot)
{
	struct rs_alignment found = later(3 * GHZ, 5000000, HOUR, 3 * GHZ, 5000, 2 * HOUR);

	CHECK_EQ_S64(found.later_ns, HOUR);
	CHECK(!found.by);
	/* another machine */
	CHECK_EQ_S64(later(3 * GHZ, 5000000, HOUR, 2 * GHZ, 5000000, HOUR + 7).later_ns, 7);
}

/*
 * A trace of the kernel's events relates the TSC to CLOCK_MONOTONIC: a trace that has only
 * CLOCK_MONOTONIC is aligned through it, and the bound is that of the relation.
 */
TEST(through_a_second_clock)
{
	struct rs_clock tsc = clock_of(2 * GHZ, 777), tied = monotonic_of(5000, 120);
	struct rs_clock alone = monotonic_of(9000, 0);
	struct rs_align_clocks first = one(&tsc, 0), other = one(&alone, 0);
	struct rs_alignment found;
	char text[RS_ALIGN_TEXT];

	CHECK(!rs_align_by_clock(&first, &other, &found));
	rs_align_clocks_add(&first, &tied);
	REQUIRE(rs_align_by_clock(&first, &other, &found));
	CHECK_EQ_S64(found.later_ns, 4000);
	CHECK_STR(found.by, "CLOCK_MONOTONIC");
	CHECK_EQ_U64(found.bound_ns, 121);
	rs_align_text(&found, text);
	CHECK_STR(text, "CLOCK_MONOTONIC, to within 121 ns, if both were recorded in one boot of "
			"one machine, which they do not state");
}

/* ftrace's other clocks are neither the TSC nor CLOCK_MONOTONIC, although they count ns. */
TEST(ftrace_clocks)
{
	struct rs_clock local = clock_of(GHZ, 100), global = clock_of(GHZ, 900);
	struct rs_align_clocks first, other;
	struct rs_alignment found;

	snprintf(local.name, sizeof(local.name), "ftrace_local");
	snprintf(global.name, sizeof(global.name), "ftrace_global");
	first = one(&local, 0);
	other = one(&global, 0);
	CHECK(!rs_align_by_clock(&first, &other, &found));
	snprintf(global.name, sizeof(global.name), "ftrace_local");
	REQUIRE(rs_align_by_clock(&first, &other, &found));
	CHECK_EQ_S64(found.later_ns, 800);
}

/* Microseconds of two logs have one zero; those of two sandboxes do not. */
TEST(clocks_in_microseconds)
{
	struct rs_clock a = clock_of(1000000, 100), b = clock_of(1000000, 900);
	struct rs_align_clocks first, other;
	struct rs_alignment found;
	char text[RS_ALIGN_TEXT];

	snprintf(a.name, sizeof(a.name), "log_us");
	first = one(&a, 0);
	other = one(&b, 0);
	CHECK(!rs_align_by_clock(&first, &other, &found)); /* the other's is a TSC */
	snprintf(b.name, sizeof(b.name), "log_us");
	a.error_cycles = b.error_cycles = 1;
	first = one(&a, 0);
	other = one(&b, 0);
	REQUIRE(rs_align_by_clock(&first, &other, &found));
	CHECK_EQ_S64(found.later_ns, 800000);
	CHECK_STR(found.by, "the logs' microseconds");
	CHECK_EQ_U64(found.bound_ns, 2001);
	snprintf(a.name, sizeof(a.name), "hyperlight_us");
	snprintf(b.name, sizeof(b.name), "hyperlight_us");
	CHECK(!rs_align_by_clock(&first, &other, &found));
	rs_align_clocks_text(&first, text);
	CHECK_STR(text, "a sandbox's microseconds at 1.000 MHz (), no time of day");
}

/* A recorded machine's time begins with its recording: replays of one have one zero, two do not. */
TEST(replays)
{
	struct rs_clock a = clock_of(GHZ, 0), b = clock_of(GHZ, 0), host = clock_of(GHZ, 0);
	struct rs_align_clocks first, other, third;
	struct rs_alignment found;

	snprintf(a.freq_from, sizeof(a.freq_from), "instructions");
	snprintf(b.freq_from, sizeof(b.freq_from), "the guest's time");
	a.wall_ns = b.wall_ns = HOUR;
	first = one(&a, HOUR);
	other = one(&b, HOUR);
	REQUIRE(rs_align_by_clock(&first, &other, &found));
	CHECK_STR(found.by, "the recorded machine's time");
	CHECK_EQ_S64(found.later_ns, 0);
	CHECK(found.proved);
	/* another recording, a moment later */
	b.wall_ns = other.wall_ns = HOUR + 5;
	CHECK(!rs_align_by_clock(&first, &other, &found));
	third = one(&host, HOUR); /* its TSC is not the recorded machine's */
	CHECK(!rs_align_by_clock(&first, &third, &found));
}

TEST(nothing_in_common)
{
	struct rs_clock a = clock_of(3 * GHZ, 5), b = clock_of(2 * GHZ, 5);
	struct rs_align_clocks first = one(&a, 7), other = one(&b, 0);
	struct rs_alignment found;
	char text[RS_ALIGN_TEXT];

	CHECK(!rs_align_by_clock(&first, &other, &found));
	CHECK(!rs_align_by_wall(&first, &other, &found));
	snprintf(a.freq_from, sizeof(a.freq_from), "kernel");
	rs_align_clocks_text(&first, text);
	CHECK_STR(text, "the TSC at 3000.000 MHz (kernel), a time of day");
	rs_align_clocks_text(&other, text);
	CHECK_STR(text, "the TSC at 2000.000 MHz (), no time of day");
}
