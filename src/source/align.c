/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes the relative times of several traces from their common clocks. */
#include "source/align.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NS_PER_SEC INT64_C(1000000000)

/* The most by which times of day may differ within one boot, because of two VMs' clocks, or because
 * a clock was set. A reboot moves the TSC further. */
#define APART_NS_MAX (2 * NS_PER_SEC)
/* Two measurements of one frequency differ by at most one part in this many. */
#define FREQ_PARTS 1000u

/* Clocks that foreign files count by instead of the TSC (import/). */
#define SANDBOX_CLOCK "hyperlight_us" /* each file's begins with its sandbox */
#define LOG_CLOCK     "log_us"	      /* of a log whose TSC has an unknown frequency */

/* Returns whether a clock counts from the start of a recording or of a live machine, as those of
 * replay/ and of export/samples.c do. */
static bool is_of_recording(const struct rs_clock *clock)
{
	static const char *const from[] = { "instructions", "the guest's time",
					    "the time that the machine runs" };

	for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
		if (!strcmp(clock->freq_from, from[i]))
			return true;
	}
	return false;
}

/* Returns the kind of a clock. Clocks of one kind in one boot are one clock, if they have one zero.
 * ftrace has several (trace_clocks in kernel/trace/trace.c). All others without a line here count
 * the host's TSC, those of guests with an offset. */
static const char *kind_of(const struct rs_clock *clock)
{
	static const char ftrace[] = "ftrace_";

	if (is_of_recording(clock))
		return "the recorded machine's time";
	if (clock->monotonic)
		return "CLOCK_MONOTONIC";
	if (!strcmp(clock->name, LOG_CLOCK))
		return "the logs' microseconds";
	if (!strcmp(clock->name, SANDBOX_CLOCK))
		return "a sandbox's microseconds";
	return strncmp(clock->name, ftrace, sizeof(ftrace) - 1) ? "the TSC" : clock->name;
}

/* Returns whether two clocks of one kind have one zero. Replays of one recording begin at the same
 * ns of the time of day, other machines do not. */
static bool have_one_zero(const struct rs_clock *a, const struct rs_clock *b)
{
	if (is_of_recording(a))
		return a->wall_ns && a->wall_ns == b->wall_ns;
	return strcmp(a->name, SANDBOX_CLOCK) != 0;
}

static uint64_t error_ns(const struct rs_clock *clock)
{
	unsigned __int128 ns =
		(unsigned __int128)clock->error_cycles * (uint64_t)NS_PER_SEC / clock->freq_hz;

	return ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}

void rs_align_clocks_add(struct rs_align_clocks *clocks, const struct rs_clock *clock)
{
	if (error_ns(clock) > clocks->error_ns)
		clocks->error_ns = error_ns(clock);
	for (uint32_t i = 0; i < clocks->n; i++) {
		if (!strcmp(kind_of(clocks->at[i]), kind_of(clock)))
			return;
	}
	if (clocks->n < RS_ALIGN_CLOCKS)
		clocks->at[clocks->n++] = clock;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Compares the stamps of two clocks at their traces' starts. Returns false if the clocks differ in
 * kind or frequency, or in their zeros. */
static bool by_stamps(const struct rs_clock *first, const struct rs_clock *other, int64_t *ns)
{
	uint64_t a = first->freq_hz, b = other->freq_hz;
	__int128 cycles = (__int128)other->origin - (__int128)first->origin;

	if (strcmp(kind_of(first), kind_of(other)) != 0 || !have_one_zero(first, other) ||
	    apart(a, b) > a / FREQ_PARTS)
		return false;
	cycles = cycles * NS_PER_SEC / (__int128)a;
	if (cycles > INT64_MAX / 2 || cycles < INT64_MIN / 2)
		return false;
	*ns = (int64_t)cycles;
	return true;
}

/* Compares the times of day at the starts. Returns false if one is unknown. */
static bool wall_between(const struct rs_align_clocks *first, const struct rs_align_clocks *other,
			 int64_t *ns)
{
	return first->wall_ns && other->wall_ns &&
	       !__builtin_sub_overflow(other->wall_ns, first->wall_ns, ns);
}

bool rs_align_by_clock(const struct rs_align_clocks *first, const struct rs_align_clocks *other,
		       struct rs_alignment *alignment)
{
	int64_t wall = 0, stamps = 0, differ;
	bool has_wall = wall_between(first, other, &wall);

	for (uint32_t i = 0; i < first->n * other->n; i++) {
		const struct rs_clock *a = first->at[i / other->n], *b = other->at[i % other->n];

		if (!by_stamps(a, b, &stamps))
			continue;
		if (has_wall && (__builtin_sub_overflow(stamps, wall, &differ) ||
				 differ > APART_NS_MAX || differ < -APART_NS_MAX))
			continue;
		*alignment = (struct rs_alignment){
			.later_ns = stamps,
			.by = kind_of(a),
			/* 1: a start's time is rounded to ns */
			.bound_ns = first->error_ns + other->error_ns + 1,
			.drift_ns_per_s =
				(uint64_t)((unsigned __int128)apart(a->freq_hz, b->freq_hz) *
						   (uint64_t)NS_PER_SEC / a->freq_hz +
					   (a->freq_hz != b->freq_hz)),
			.proved = has_wall
		};
		return true;
	}
	return false;
}

bool rs_align_by_wall(const struct rs_align_clocks *first, const struct rs_align_clocks *other,
		      struct rs_alignment *alignment)
{
	struct rs_alignment by_wall = { 0 };

	if (!wall_between(first, other, &by_wall.later_ns))
		return false;
	*alignment = by_wall;
	return true;
}

void rs_align_text(const struct rs_alignment *alignment, char text[RS_ALIGN_TEXT])
{
	size_t at;

	if (!alignment->by) {
		snprintf(text, RS_ALIGN_TEXT,
			 "the time of day, because they have no other clock in common; its error "
			 "is unknown");
		return;
	}
	at = (size_t)snprintf(text, RS_ALIGN_TEXT, "%s, to within %" PRIu64 " ns", alignment->by,
			      alignment->bound_ns);
	if (alignment->drift_ns_per_s)
		at += (size_t)snprintf(text + at, RS_ALIGN_TEXT - at,
				       " and %" PRIu64 " ns for each second of the traces, whose "
				       "measured frequencies differ",
				       alignment->drift_ns_per_s);
	if (!alignment->proved)
		snprintf(text + at, RS_ALIGN_TEXT - at,
			 ", if both were recorded in one boot of one machine, which they do not "
			 "state");
}

void rs_align_clocks_text(const struct rs_align_clocks *clocks, char text[RS_ALIGN_TEXT])
{
	size_t at = 0;

	for (uint32_t i = 0; i < clocks->n && at < RS_ALIGN_TEXT; i++)
		at += (size_t)snprintf(text + at, RS_ALIGN_TEXT - at, "%s at %.3f MHz (%s), ",
				       kind_of(clocks->at[i]), (double)clocks->at[i]->freq_hz / 1e6,
				       clocks->at[i]->freq_from);
	if (at < RS_ALIGN_TEXT)
		snprintf(text + at, RS_ALIGN_TEXT - at, "%s time of day",
			 clocks->wall_ns ? "a" : "no");
}
