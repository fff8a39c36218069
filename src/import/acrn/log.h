/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text files of a log as a source (log_text.h says how they look): an event log::message for each
 * line, records-lost for each gap that they show.
 *
 *	acrnlog_cur.3  acrnlog_cur.4  ...	a log is all files of a name, but for the number
 *	\____ by their numbers ____/
 *
 *	- The time of a line is its microseconds. ACRN's count from the TSC's zero: with its
 *	  frequency they are stamps of it, and lines stand where they belong among traces.
 *	- The thread in a line's head is its stream's; of "vm0:vcpu1" also the VM and the vCPU.
 *	- The provider is the log's name, acrnlog: a loss of lines is not one of ACRN's records.
 *	- A line that reports a gap is a loss: of the size that it gives, else of what the numbers
 *	  around it imply, else of one. Numbers that are missing without such a line were left
 *	  out by a filter, or cut out, which is no loss of the log; a remark counts them.
 *	- Where the numbers begin again, a new run begins. Its time is unknown: its first line
 *	  follows the last line of the run before.
 *	- What is no line is left out and counted; the first one's file and line are in the error.
 */
#ifndef RS_IMPORT_ACRN_LOG_H
#define RS_IMPORT_ACRN_LOG_H

#include "import/foreign.h"

struct rs_error *rs_acrn_log_open_fd(int fd, const char *path, const void *head, size_t bytes,
				     const struct rs_foreign_options *options,
				     struct rs_foreign **foreign);
struct rs_error *rs_acrn_log_open_directory(const char *path,
					    const struct rs_foreign_options *options,
					    struct rs_foreign **foreign);
struct rs_error *rs_acrn_log_open_name(const char *path, const struct rs_foreign_options *options,
				       struct rs_foreign **foreign);

/* For lines among traces: these are of this clock from now on, which has their frequency. Before
 * the first next(). first_stream: the index of its first stream. */
void rs_acrn_log_set_clock(struct rs_foreign *log, const struct rs_clock *clock,
			   uint32_t first_stream);

#endif
