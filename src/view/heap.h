/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that a trace's programs allocated: text, CSV, or one object of JSON. */
#ifndef RS_VIEW_HEAP_H
#define RS_VIEW_HEAP_H

#include "analyze/heap.h"
#include "view/table.h"

struct rs_heap_show {
	int fd;
	enum rs_table_form form;
	const char *trace;     /* its name, as given by the user */
	enum rs_heap_value by; /* the sort value of the stacks */
	uint32_t most;	       /* stacks to show; 0: all */
	uint32_t intervals;    /* maximum number of time intervals; 0: none */
};

/* Prints a result and its profile, and sorts the profile. */
struct rs_error *rs_heap_print(const struct rs_heap_show *show, const struct rs_heap *heap,
			       struct rs_profile *profile);

/* Prints the difference of each stack's amounts between two profiles, the greatest first. */
struct rs_error *rs_heap_print_difference(const struct rs_heap_show *show,
					  const struct rs_profile *before,
					  const struct rs_profile *after);

#endif
