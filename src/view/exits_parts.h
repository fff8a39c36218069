/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by exits.c and exits_tables.c. */
#ifndef RS_VIEW_EXITS_PARTS_H
#define RS_VIEW_EXITS_PARTS_H

#include "view/exits.h"

#include <stdio.h>

/* The data of one call. */
struct exits_page {
	const struct rs_exits_show *show;
	const struct rs_exits *exits; /* the rows that the choice selects */
	struct rs_out out;
	struct rs_json json;	    /* on out */
	uint64_t all_count, all_ns; /* of the rows; 100 % of the shares */
};

/* "HLT", "HLT (nested)", "86". */
#define EXITS_REASON_MAX (RS_EXIT_TEXT_MAX + 16)
void exits_reason(const struct rs_exits_row *row, char text[EXITS_REASON_MAX]);

/* Returns the time in the kernel and the VMM. Sleep and polling are idle time of the guest. */
static inline uint64_t exits_handled(const struct rs_vcpu_cost *cost)
{
	return cost->kernel_ns + cost->user_ns;
}

/* Copies the shown rows. If the choice combines threads, their rows are summed. by_time, for text:
 * if all threads are shown, the rows of each VM are summed, and sorted by handling time, greatest
 * first. The caller frees the copy. */
struct rs_error *exits_rows(const struct exits_page *page, bool by_time, struct rs_exits_row **rows,
			    size_t *n);

/* exits_tables.c: one table each, in the requested form */
struct rs_error *exits_counts(struct exits_page *page); /* kvmexit's; only text */
struct rs_error *exits_times(struct exits_page *page);
struct rs_error *exits_causes(struct exits_page *page);
void exits_vcpus(struct exits_page *page);
void exits_head(struct exits_page *page); /* of the counts or of CSV */
extern const struct rs_column exits_long_columns[];

#endif
