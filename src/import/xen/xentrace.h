/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * xentrace's files as a source. They are windows of Xen's trace buffers:
 *
 *	{CPU_CHANGE | 2 << 28, cpu, bytes} records {CPU_CHANGE...} records ...
 *
 * written in rounds, a window for each physical CPU that had records, in the order of their
 * numbers. What is in a round was traced after all of the round before the last was written, so two
 * rounds in memory are enough to merge by TSC, from a pipe too (xentrace_file.c). Neither frequency
 * nor skew of the TSCs is in the file: a survey of its beginning finds them (xentrace_survey.c).
 *
 * A view's stream is the context: a virtual stream for each domain and vCPU, and one for unknown.
 */
#ifndef RS_IMPORT_XEN_XENTRACE_H
#define RS_IMPORT_XEN_XENTRACE_H

#include "import/foreign.h"

/* options: NULL for none. RS_DAMAGED: the file does not begin with a window. */
struct rs_error *rs_xentrace_open(const char *path, const struct rs_foreign_options *options,
				  struct rs_foreign **foreign);

/* The same of an open file, which it takes over; path is for messages. head: bytes that were read
 * of it already, at most RS_XENTRACE_HEAD_MAX. */
#define RS_XENTRACE_HEAD_MAX 16
struct rs_error *rs_xentrace_open_fd(int fd, const char *path, const void *head, size_t bytes,
				     const struct rs_foreign_options *options,
				     struct rs_foreign **foreign);

#endif
