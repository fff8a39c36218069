/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The aggregates that a file of xentrace answers as a whole, without making events of its records,
 * and the Xen analysis asks for. Keys are numbers in decimal; a class is enum rs_xen_volume, or the
 * bits of an event from 12 on.
 */
#ifndef RS_XEN_AGGREGATES_H
#define RS_XEN_AGGREGATES_H

#include "event/query.h"

enum rs_xen_aggregate {
	RS_XEN_BY_VOLUME, /* count: records; sum: their bytes */
	RS_XEN_BY_LOSS,	  /* count: losses; sum: records */
	RS_XEN_BY_TIME,	  /* min, max: of all records, in ns */
	RS_XEN_AGGREGATES,
};

/* Records of the tool's or of Xen's buffers, apart from the classes (event >> 12). */
enum rs_xen_volume {
	RS_XEN_VOLUME_WINDOW = 1 << 16, /* xentrace's own */
	RS_XEN_VOLUME_WRAP,		/* without the padding, which is not kept */
	RS_XEN_VOLUME_LOSS,
};

static const struct rs_aggregate rs_xen_aggregates[RS_XEN_AGGREGATES] = {
	[RS_XEN_BY_VOLUME] = { .value = "xen_bytes", .keys = { "cpu", "xen_class" }, .n_keys = 2 },
	[RS_XEN_BY_LOSS] = { .value = "xen_lost" },
	[RS_XEN_BY_TIME] = { .value = "xen_ns" },
};

#endif
