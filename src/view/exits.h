/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The results of the exits analysis as kvmexit's tables and our own, as JSON and as CSV; the same
 * from a live host and from a trace.
 *
 *	counts	 PID TID KVM_EXIT_REASON COUNT	kvmexit's, byte for byte
 *	latency	 reason, count, total, share of the handled time, min ... max, and its parts
 *	hist	 a distribution in powers of two for each reason, as bcc prints it
 *	causes	 what the exits were about, by time
 *	shares	 where each vCPU's time went
 */
#ifndef RS_VIEW_EXITS_H
#define RS_VIEW_EXITS_H

#include "analyze/exits.h"
#include "view/table.h"
#include "view/view.h"

#define RS_EXITS_TOP 20 /* causes, unless asked for otherwise */

struct rs_exits_show {
	int fd;
	enum rs_table_form form;
	struct rs_exits_choice choice;
	bool latency; /* the latency table instead of the counts */
	bool hist;
	bool causes;
	bool shares;
	uint32_t top;	   /* causes shown as text; 0: all */
	const char *trace; /* for JSON; NULL: live */
	bool has_head;	   /* the head of the counts or of the CSV is there already */
};

/*
 * "Display kvm exit reasons and statistics for PID 7" and how long: " after sleeping 5 secs.",
 * "... Hit Ctrl-C to end." (duration_ns 0), or, of a trace, " in TRACE." For the text form alone.
 */
struct rs_error *rs_exits_banner(const struct rs_exits_show *show, uint64_t duration_ns);

/* The head of the counts, or of the CSV, for who prints it before the rows are there; sets
 * has_head. Other forms have none. */
struct rs_error *rs_exits_head(struct rs_exits_show *show);

/* All that was asked for, of what the choice leaves of exits. */
struct rs_error *rs_exits_print(const struct rs_exits_show *show, const struct rs_exits *exits);

/* One long exit as a line, or a line of JSON; shown at once. */
struct rs_error *rs_exits_print_long(const struct rs_exits_show *show,
				     const struct rs_exits_long *exit);

#endif
