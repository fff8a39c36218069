/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Xen's records come to by physical CPU and class, counted as they are read: no order between
 * CPUs, no events. Given as partial aggregates (xen/aggregates.h).
 */
#ifndef RS_IMPORT_XEN_VOLUME_H
#define RS_IMPORT_XEN_VOLUME_H

#include "event/query.h"
#include "xen/records.h"

struct rs_xen_volumes; /* by physical CPU */

/* Whether a query asks for just this, and of all there is. */
bool rs_xen_volumes_asked(const struct rs_query *query);

struct rs_error *rs_xen_volumes_create(struct rs_xen_volumes **volumes);
void rs_xen_volumes_destroy(struct rs_xen_volumes *volumes); /* NULL is nothing */

/* Takes all records that are in hand. */
struct rs_error *rs_xen_volumes_take(struct rs_xen_volumes *volumes,
				     struct rs_xen_records *records);

/* Records that were lost, by the losses so far. */
uint64_t rs_xen_volumes_lost(const struct rs_xen_volumes *volumes);

/* The next row of what was taken; NULL: there is none. Valid until the next call. */
const struct rs_partial *rs_xen_volumes_next(struct rs_xen_volumes *volumes,
					     const struct rs_clock *clock);

#endif
