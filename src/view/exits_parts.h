/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the exits views share. */
#ifndef RS_VIEW_EXITS_PARTS_H
#define RS_VIEW_EXITS_PARTS_H

#include "view/exits.h"

#include <stdio.h>

/* What is printed at once. */
struct exits_page {
	const struct rs_exits_show *show;
	const struct rs_exits *exits; /* what is chosen of it */
	struct rs_out out;
};

/* "HLT", "HLT (nested)", "86". */
#define EXITS_REASON_MAX (RS_EXIT_TEXT_MAX + 16)
void exits_reason(const struct rs_exits_row *row, char text[EXITS_REASON_MAX]);

/* kernel + user: what was done for the guest. Sleep and polling are its own idleness. */
static inline uint64_t exits_handled(const struct rs_vcpu_cost *cost)
{
	return cost->kernel_ns + cost->user_ns;
}

/* A share in tenths of a percent. */
static inline uint64_t exits_permille(uint64_t part, uint64_t of)
{
	return of ? (uint64_t)(((__uint128_t)part * 1000 + of / 2) / of) : 0;
}

/* Rows as the text has them: merged where threads are added together or by_vm is asked for,
 * else as they are; sorted by the time that handling them took. malloc()ed. */
struct rs_error *exits_rows(const struct exits_page *page, bool by_vm, struct rs_exits_row **rows,
			    size_t *n);

/* exits_tables.c */
struct rs_error *exits_latency(struct exits_page *page);
struct rs_error *exits_hists(struct exits_page *page);
struct rs_error *exits_causes(struct exits_page *page);
void exits_shares(struct exits_page *page);

/* exits_data.c */
struct rs_error *exits_json(struct exits_page *page);
struct rs_error *exits_csv(struct exits_page *page);
void exits_csv_head(struct rs_out *out, const struct rs_exits_show *show);

#endif
