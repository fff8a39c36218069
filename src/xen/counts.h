/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts of the records in a file of xentrace by physical CPU and class. The reader counts records
 * without decoding them into events or sorting them.
 */
#ifndef RS_XEN_COUNTS_H
#define RS_XEN_COUNTS_H

#include "event/query.h"

/* Records of the tool or of Xen's buffers, counted apart from the classes (event >> 12). */
enum rs_xen_volume {
	RS_XEN_VOLUME_WINDOW = 1 << 16, /* xentrace's own */
	RS_XEN_VOLUME_WRAP,		/* except the padding, which is not counted */
	RS_XEN_VOLUME_LOSS,
};

/* Records of a class on a physical CPU. */
struct rs_xen_volume_row {
	uint32_t pcpu;
	uint32_t key; /* enum rs_xen_volume, or the bits of an event from 12 on */
	uint64_t records, bytes;
};

struct rs_xen_counts {
	struct rs_counts counts; /* RS_COUNTS_XEN */
	const struct rs_xen_volume_row *rows;
	size_t n_rows;
	uint64_t losses, lost;	/* lost: records */
	int64_t from_ns, to_ns; /* of all records; both 0 if there are none */
};

#endif
