/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a trace by probe, as a table: text, CSV, or one object of JSON. */
#ifndef RS_VIEW_EVENTS_H
#define RS_VIEW_EVENTS_H

#include "analyze/events.h"
#include "view/table.h"

struct rs_events_show {
	int fd;
	enum rs_table_form form;
	const char *trace; /* its name, as given by the user */
	bool cycles_only;  /* the frequency is unknown, so times in ns and rates are too */
};

struct rs_error *rs_events_print(const struct rs_events_show *show, const struct rs_events *events);

#endif
