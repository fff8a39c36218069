/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Xen's records come to by physical CPU and class, counted as they are read: no order between
 * CPUs, no events (xen/counts.h).
 */
#ifndef RS_IMPORT_XEN_VOLUME_H
#define RS_IMPORT_XEN_VOLUME_H

#include "xen/counts.h"
#include "xen/records.h"

struct rs_xen_volumes; /* by physical CPU */

struct rs_error *rs_xen_volumes_create(struct rs_xen_volumes **volumes);
void rs_xen_volumes_destroy(struct rs_xen_volumes *volumes); /* NULL is nothing */

/* Takes all records that are in hand. */
struct rs_error *rs_xen_volumes_take(struct rs_xen_volumes *volumes,
				     struct rs_xen_records *records);

/* Records that were lost, by the losses so far. */
uint64_t rs_xen_volumes_lost(const struct rs_xen_volumes *volumes);

/* Returns what was counted so far, valid until the next call, with times by the clock. */
struct rs_error *rs_xen_volumes_counts(struct rs_xen_volumes *volumes, const struct rs_clock *clock,
				       struct rs_xen_counts *counts);

#endif
