/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Formats lines and gaps for files: in ACRN's form, or as JSON with one object per line.
 *
 *	[gap: 17 lines are missing, seq 101 to 117, cpu 0 3, between 1200us and 1500us]
 */
#ifndef RS_LOG_TEXT_H
#define RS_LOG_TEXT_H

#include "base/out.h"
#include "event/log_line.h"

/* Each function reserves room, and ends its line. Bytes that are not printable become '?'. */
/* json: the name of the log, for the objects' field "log"; NULL: as text. */
void rs_log_write_line(struct rs_out *out, const struct rs_log_line *line, const char *json);
void rs_log_write_gap(struct rs_out *out, const struct rs_log_gap *gap, const char *json);

#endif
