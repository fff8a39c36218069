/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The results of the exits analysis as kvmexit's tables and Ringside's tables, as text, JSON and
 * CSV. A live host and a trace give the same tables.
 *
 *	counts	 PID TID KVM_EXIT_REASON COUNT, byte for byte as kvmexit prints them
 *	latency	 reason, count, total, share of the handled time, min ... max, and its parts
 *	hist	 a distribution in powers of two for each reason, as bcc prints it
 *	causes	 ports, addresses, MSRs, ... that caused the exits, by time
 *	shares	 the time that each vCPU spent in each state
 */
#ifndef RS_VIEW_EXITS_H
#define RS_VIEW_EXITS_H

#include "analyze/exits.h"
#include "view/table.h"
#include "view/view.h"

#define RS_EXITS_TOP 20 /* causes, by default */

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
	bool has_head;	   /* the header of the counts or of the CSV was printed */
};

/*
 * Prints "Display kvm exit reasons and statistics for PID 7", and " after sleeping 5 secs.",
 * "... Hit Ctrl-C to end." (duration_ns 0), or " in TRACE.". Only text has a banner.
 */
struct rs_error *rs_exits_banner(const struct rs_exits_show *show, uint64_t duration_ns);

/* Prints the header of the counts or of CSV before there are rows, and sets has_head. No-op for
 * other forms. */
struct rs_error *rs_exits_head(struct rs_exits_show *show);

/* Prints the tables that show requests, of the exits that its choice selects. */
struct rs_error *rs_exits_print(const struct rs_exits_show *show, const struct rs_exits *exits);

/* Prints one long exit as a line of text or JSON, without buffering. */
struct rs_error *rs_exits_print_long(const struct rs_exits_show *show,
				     const struct rs_exits_long *exit);

#endif
