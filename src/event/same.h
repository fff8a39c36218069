/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the events and schemas of two producers of a trace. */
#ifndef RS_EVENT_SAME_H
#define RS_EVENT_SAME_H

#include <ringside/schema.h>

/* Returns whether two events have the same names and fields, of the same layout. */
bool rs_event_same(const struct rs_event *a, const struct rs_event *b);

/* Returns whether two schemas have the same provider, events and names with the same ids, so that a
 * record means the same in both. */
bool rs_schema_same(const struct rs_schema *a, const struct rs_schema *b);

#endif
