/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Xen analysis as reports: tables of text, JSON and CSV. A report consists of tables; a table
 * has columns and the rows of one kind. In JSON and CSV, each row names its table.
 */
#ifndef RS_VIEW_XEN_H
#define RS_VIEW_XEN_H

#include "analyze/xen.h"
#include "view/table.h"

struct rs_xen_show {
	int fd;
	enum rs_table_form form;
	const char *report; /* its name; "summary" has all tables */
	uint32_t kinds;	    /* of the tables to show */
	const char *trace;
	int64_t interval_ns; /* 0: the whole trace; else the length of the result's interval */
};

/* Returns the kinds of rows of a report, or 0 if there is no such report. */
uint32_t rs_xen_report_kinds(const char *report);

struct rs_error *rs_xen_print(const struct rs_xen_show *show, const struct rs_xen_result *result);

#endif
