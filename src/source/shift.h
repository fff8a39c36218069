/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several traces on one timeline. Each counts ns from its own start; a shifted source adds what its
 * start is later than that of the earliest, so that all can be merged.
 */
#ifndef RS_SOURCE_SHIFT_H
#define RS_SOURCE_SHIFT_H

#include <ringside/source.h>

/* Takes over the source: its views' times, and what it promises of time, by_ns later. Its query is
 * in the times of the whole. */
struct rs_error *rs_shift_create(struct rs_source *source, int64_t by_ns, struct rs_source **out);

#endif
