/* SPDX-License-Identifier: BSD-2-Clause */
/* The places of a recorder's file, for trace.c. The caller holds the lock of trace.c. */
#ifndef RS_TRACE_FILE_H
#define RS_TRACE_FILE_H

#include "ring/survive.h"
#include "trace/trace.h"

/* Claims a free place for a ring of this many bytes. Returns the ring's memory, or NULL if there is
 * no room. Calls nothing that a signal handler must not. */
void *rs_trace_file_claim(struct rs_trace_file *file, size_t bytes, int *place);

/* Releases a place and its memory. */
void rs_trace_file_release(struct rs_trace_file *file, int place);

/* Returns a claimed place. */
struct rs_survive_place *rs_trace_file_place(const struct rs_trace_file *file, int place);
struct rs_survive_head *rs_trace_file_head(const struct rs_trace_file *file);

/* Removes the file's name; frees its memory when no place is claimed any more. */
void rs_trace_file_retire(struct rs_trace_file *file);

#endif
