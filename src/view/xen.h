/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Xen analysis as reports: tables of text, JSON and CSV. A report is some tables; a table is
 * the rows of some kind, and its columns. In JSON and CSV each row says which table it is of.
 */
#ifndef RS_VIEW_XEN_H
#define RS_VIEW_XEN_H

#include "analyze/xen.h"
#include "view/table.h"

struct rs_xen_show {
	int fd;
	enum rs_table_form form;
	const char *report; /* its name; "summary" has all tables */
	uint32_t kinds;	    /* of the tables to be shown */
	const char *trace;
	int64_t interval_ns; /* 0: the whole; else the result is of one such interval */
};

/* The kinds that a report is of; 0: there is no such report. */
uint32_t rs_xen_report_kinds(const char *report);

struct rs_error *rs_xen_print(const struct rs_xen_show *show, const struct rs_xen_result *result);

#endif
