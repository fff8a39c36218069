/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of the Xen reports: what their columns are, apart from how they are written. */
#ifndef RS_VIEW_XEN_TABLE_H
#define RS_VIEW_XEN_TABLE_H

#include "view/xen.h"

#define XEN_COLUMNS_MAX	  16
#define XEN_CELL_TEXT_MAX 96

enum xen_show {
	XEN_NUMBER,
	XEN_TIME,     /* ns; as text in units that fit */
	XEN_PERMILLE, /* as text in percent */
	XEN_HEXADECIMAL,
	XEN_NAME,
};

struct xen_column {
	const char *key;  /* of JSON and CSV, its unit in it; NULL: text alone */
	const char *head; /* of the text; NULL: JSON and CSV alone */
	enum xen_show show;
};

struct xen_cell {
	bool known;
	uint64_t value;
	char text[XEN_CELL_TEXT_MAX]; /* XEN_NAME's */
};

struct xen_table {
	enum rs_xen_kind kind;
	const char *name, *title;
	const struct xen_column *columns; /* end with an empty one */
	/* of: the row and, for shares, the whole result. False: the row is not shown. */
	bool (*fill)(const struct rs_xen_result *result, const struct rs_xen_row *row,
		     struct xen_cell *cells);
};

/* In the order of the summary. */
extern const struct xen_table xen_tables[];
extern const size_t xen_tables_count;

#endif
