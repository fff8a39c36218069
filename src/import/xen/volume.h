/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts Xen's records by physical CPU and class as they are read, without sorting or decoding them
 * (xen/counts.h). */
#ifndef RS_IMPORT_XEN_VOLUME_H
#define RS_IMPORT_XEN_VOLUME_H

#include "xen/counts.h"
#include "xen/records.h"

struct rs_xen_volumes; /* by physical CPU */

struct rs_error *rs_xen_volumes_create(struct rs_xen_volumes **volumes);
void rs_xen_volumes_destroy(struct rs_xen_volumes *volumes); /* NULL is ignored */

/* Consumes and counts all records that were read. */
struct rs_error *rs_xen_volumes_count(struct rs_xen_volumes *volumes,
				      struct rs_xen_records *records);

/* Returns the number of records that were lost so far. */
uint64_t rs_xen_volumes_lost(const struct rs_xen_volumes *volumes);

/* Returns the counts so far, with times by the clock. They are valid until the next call. */
struct rs_error *rs_xen_volumes_counts(struct rs_xen_volumes *volumes, const struct rs_clock *clock,
				       struct rs_xen_counts *counts);

#endif
