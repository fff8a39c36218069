/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Aligns several traces in time. Each trace counts ns from its own start. A common clock of two
 * traces gives the difference of their starts, and a bound of the error.
 */
#ifndef RS_SOURCE_ALIGN_H
#define RS_SOURCE_ALIGN_H

#include <ringside/source.h>

#define RS_ALIGN_CLOCKS 4u
#define RS_ALIGN_TEXT	320u

/* The clocks whose stamp at a trace's start is known, one of each kind; those beyond
 * RS_ALIGN_CLOCKS are left out. The clocks must outlive it. */
struct rs_align_clocks {
	const struct rs_clock *at[RS_ALIGN_CLOCKS];
	uint32_t n;
	int64_t wall_ns;   /* Unix time at the start; 0: unknown */
	uint64_t error_ns; /* the most by which the trace's clocks may differ */
};

/* Adds a clock of a trace. If a clock of the kind was already added, only the error is used. */
void rs_align_clocks_add(struct rs_align_clocks *clocks, const struct rs_clock *clock);

/* The relation in time of one trace to another. */
struct rs_alignment {
	int64_t later_ns; /* the difference of the starts */
	const char *by;	  /* the kind of clock; NULL: by the time of day */
	uint64_t bound_ns;
	uint64_t drift_ns_per_s; /* by the clocks' frequencies, in addition to bound_ns */
	bool proved;		 /* the times of day agree, which shows one boot */
};

/* Aligns by a common clock. Returns false if the traces have none, or if it was reset between them
 * (a reboot, another machine). */
bool rs_align_by_clock(const struct rs_align_clocks *first, const struct rs_align_clocks *other,
		       struct rs_alignment *alignment);
/* Aligns by the time of day. Returns false if one trace lacks it. */
bool rs_align_by_wall(const struct rs_align_clocks *first, const struct rs_align_clocks *other,
		      struct rs_alignment *alignment);

/* Writes the clock by which two traces are aligned, and the bound: "the TSC, to within 120 ns". */
void rs_align_text(const struct rs_alignment *alignment, char text[RS_ALIGN_TEXT]);

/* Writes the clocks by which a trace can be aligned: "the TSC at 2596.125 MHz (option), no time of
 * day". */
void rs_align_clocks_text(const struct rs_align_clocks *clocks, char text[RS_ALIGN_TEXT]);

#endif
