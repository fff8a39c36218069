/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the Xen reports. */
#ifndef RS_VIEW_XEN_TABLES_H
#define RS_VIEW_XEN_TABLES_H

#include "view/xen.h"

/* The set of the columns with the interval of a row. */
#define XEN_TABLE_INTERVAL 2u

struct xen_table {
	enum rs_xen_kind kind;
	const char *name, *title;
	const struct rs_column *columns;
};

/* In the order of the summary. */
extern const struct xen_table xen_tables[];
extern const size_t xen_tables_count;

#endif
