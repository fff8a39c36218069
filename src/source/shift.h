/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Places several traces on one timeline. Each counts ns from its own start. A shifted source adds
 * the difference between its trace's start and the earliest start, so that all traces can be
 * merged.
 */
#ifndef RS_SOURCE_SHIFT_H
#define RS_SOURCE_SHIFT_H

#include <ringside/source.h>

/* Creates a source that returns another source's views and watermarks with times by_ns later, and
 * owns that source. Its query is in common times. */
struct rs_error *rs_shift_create(struct rs_source *source, int64_t by_ns, struct rs_source **out);

#endif
