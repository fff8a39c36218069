/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aligns several traces in time. Each counts ns from its own start. A clock that two traces have in
 * common gives how much later one began than the other, and a bound of the error.
 */
#ifndef RS_SOURCE_ALIGN_H
#define RS_SOURCE_ALIGN_H

#include <ringside/source.h>

#define RS_ALIGN_CLOCKS 4u
#define RS_ALIGN_TEXT	320u

/* The clocks whose stamp at a trace's start is known, one of each kind; those beyond
 * RS_ALIGN_CLOCKS are left out. They outlive it. */
struct rs_align_clocks {
	const struct rs_clock *at[RS_ALIGN_CLOCKS];
	uint32_t n;
	int64_t wall_ns;   /* Unix time at the start; 0: unknown */
	uint64_t error_ns; /* how far the clocks of the trace may be apart */
};

/* Adds a clock of a trace. Of a clock whose kind is there already, only the error counts. */
void rs_align_clocks_add(struct rs_align_clocks *clocks, const struct rs_clock *clock);

/* How one trace lies to another. */
struct rs_alignment {
	int64_t later_ns; /* how much later it began */
	const char *by;	  /* the kind of clock; NULL: by the time of day */
	uint64_t bound_ns;
	uint64_t drift_ns_per_s; /* what the clocks' frequencies differ by; more than bound_ns */
	bool proved; /* the time of day agrees: one boot; else nothing in the traces says so */
};

/* By a clock that both have. Returns false if they have none, or it was set anew between them (a
 * boot, another machine). */
bool rs_align_by_clock(const struct rs_align_clocks *first, const struct rs_align_clocks *other,
		       struct rs_alignment *alignment);
/* Aligns by the time of day. Returns false if one trace has none. */
bool rs_align_by_wall(const struct rs_align_clocks *first, const struct rs_align_clocks *other,
		      struct rs_alignment *alignment);

/* Writes what aligns two traces, and the bound: "the TSC, to within 120 ns". */
void rs_align_text(const struct rs_alignment *alignment, char text[RS_ALIGN_TEXT]);

/* Writes what a trace can be aligned by: "the TSC at 2596.125 MHz (option), no time of day". */
void rs_align_clocks_text(const struct rs_align_clocks *clocks, char text[RS_ALIGN_TEXT]);

#endif
