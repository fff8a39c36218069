/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tally as a table: text, CSV, or one object of JSON. Times are in ns and in cycles. One of
 * these is unknown if the frequency of the TSC is unknown.
 */
#ifndef RS_VIEW_TALLY_H
#define RS_VIEW_TALLY_H

#include "analyze/tally.h"
#include "view/table.h"

struct rs_tally_show {
	int fd;
	enum rs_table_form form;
	enum rs_tally_kind kind;
	uint32_t by;	   /* RS_TALLY_BY_ */
	bool is_by;	   /* --by was given */
	uint64_t tsc_hz;   /* the trace's TSC; 0: its frequency is unknown */
	const char *trace; /* its name, as given by the user */
};

/* "exits", "interrupts", "cpu" */
const char *rs_tally_kind_name(enum rs_tally_kind kind);

struct rs_error *rs_tally_print(const struct rs_tally_show *show, const struct rs_tally *tally);

#endif
