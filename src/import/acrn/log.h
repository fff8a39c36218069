/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a log's text files (log_text.h) as a source: an event log::message for each line, and
 * records-lost for each gap that the files show.
 *
 *	acrnlog_cur.3  acrnlog_cur.4  ...	a log is all files with the same name
 *	\____ by their numbers ____/
 *
 *	- The time of a line is its microseconds. ACRN's count from the TSC's zero: with the TSC's
 *	  frequency they become its stamps, so that lines can be merged with traces.
 *	- The thread in a line's head names its stream. "vm0:vcpu1" gives the VM and the vCPU, too.
 *	- The provider is the log's name, acrnlog: a loss of lines is not one of ACRN's records.
 *	- A line that reports a gap is a loss. Its size is the one that the line gives, else the one
 *	  that the numbers around it imply, else one. Numbers that are missing without such a line
 *	  were filtered or cut out, which is no loss of the log; a remark counts them. Lines of
 *	  several CPUs can come out of order: a missing line that comes soon after is not counted,
 *	  and one that comes later is in a remark.
 *	- A number that is not above the last begins a new run, at an unknown time: its first line
 *	  follows the last line of the run before.
 *	- Other lines are left out and counted; the error has the file and line of the first one.
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

/* Sets the clock of a log beside traces to the traces' clock, whose frequency converts the log's
 * microseconds. Call it before the first next(). first_stream: the index of the log's first
 * stream. */
void rs_acrn_log_set_clock(struct rs_foreign *log, const struct rs_clock *clock,
			   uint32_t first_stream);

#endif
