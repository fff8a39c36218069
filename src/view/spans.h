/* SPDX-License-Identifier: BSD-2-Clause */
/* The spans of a trace by name, or as a call tree: text, CSV, or one object of JSON. */
#ifndef RS_VIEW_SPANS_H
#define RS_VIEW_SPANS_H

#include "analyze/call_tree.h"
#include "analyze/spans.h"
#include "view/table.h"

struct rs_spans_show {
	int fd;
	enum rs_table_form form;
	const char *trace; /* its name, as given by the user */
	bool tree;	   /* the call tree instead of the names */
	/* Names of functions that are known only by address. */
	const struct rs_profile_resolver *resolver;
};

/* Prints a result, or, for a tree, its profile. */
struct rs_error *rs_spans_print(const struct rs_spans_show *show, const struct rs_spans *spans,
				const struct rs_profile *profile);

#endif
