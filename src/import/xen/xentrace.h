/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads xentrace's files as a source. A file consists of windows of Xen's trace buffers:
 *
 *	{CPU_CHANGE | 2 << 28, cpu, bytes} records {CPU_CHANGE...} records ...
 *
 * xentrace writes them in rounds: a window for each physical CPU that had records, in the order of
 * the CPUs' numbers. All records of a round are later than those of the round before the last, so
 * two rounds in memory are enough to merge by TSC, also from a pipe (file.c). The file contains
 * neither the frequency nor the skew of the TSCs: a survey of its start finds them (survey.c).
 *
 * A view's stream is the context: a virtual stream for each domain and vCPU, and one stream for an
 * unknown context.
 */
#ifndef RS_IMPORT_XEN_XENTRACE_H
#define RS_IMPORT_XEN_XENTRACE_H

#include "import/foreign.h"

/* Opens a file. options: NULL for none. Returns RS_DAMAGED if the file does not begin with a
 * window. */
struct rs_error *rs_xentrace_open(const char *path, const struct rs_foreign_options *options,
				  struct rs_foreign **foreign);

/* Opens the trace that is open as fd. Takes ownership of fd, also after an error. path is for
 * messages. head: the bytes that were already read from fd, at most RS_XENTRACE_HEAD_MAX. */
#define RS_XENTRACE_HEAD_MAX 16
struct rs_error *rs_xentrace_open_fd(int fd, const char *path, const void *head, size_t bytes,
				     const struct rs_foreign_options *options,
				     struct rs_foreign **foreign);

#endif
