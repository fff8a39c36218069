/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that a trace's programs allocated: text, CSV, or one object of JSON. */
#ifndef RS_VIEW_HEAP_H
#define RS_VIEW_HEAP_H

#include "analyze/heap.h"
#include "view/table.h"

struct rs_heap_show {
	int fd;
	enum rs_table_form form;
	const char *trace;     /* its name, as given */
	enum rs_heap_value by; /* orders the stacks */
	uint32_t most;	       /* stacks to show; 0: all */
	uint32_t intervals;    /* of time, at most; 0: none */
};

/* Prints a result, and its profile, which it sorts. */
struct rs_error *rs_heap_print(const struct rs_heap_show *show, const struct rs_heap *heap,
			       struct rs_profile *profile);

/* Prints how the amounts of each stack differ between two profiles, the greatest difference
 * first. */
struct rs_error *rs_heap_print_difference(const struct rs_heap_show *show,
					  const struct rs_profile *before,
					  const struct rs_profile *after);

#endif
