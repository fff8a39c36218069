/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How several traces lie in time. Each counts ns from its own start; what their clocks have in
 * common says how much later one began than another, and how exact that is.
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

/* Adds a clock of a trace; of kinds that are there, its error alone. */
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
/* By the time of day. Returns false if it is unknown in either. */
bool rs_align_by_wall(const struct rs_align_clocks *first, const struct rs_align_clocks *other,
		      struct rs_alignment *alignment);

/* "the TSC, to within 120 ns": by what, and the bound. */
void rs_align_text(const struct rs_alignment *alignment, char text[RS_ALIGN_TEXT]);

/* "the TSC at 2596.125 MHz (option), no time of day": what there is to align a trace by. */
void rs_align_clocks_text(const struct rs_align_clocks *clocks, char text[RS_ALIGN_TEXT]);

#endif
