/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ACRN's events as the lines of text that acrntrace_format.py makes from a formats file:
 *
 *	{id}{blanks}{text with %(cpu)d %(tsc)d %(event)x %(1)d .. %(16)d}
 *
 * Each line is the same, byte for byte. The differences are where the script fails or is silent:
 * - A format that stops Python in the middle of a trace is an error before the first line.
 * - %c of a number that is not a character prints '?'.
 * - Losses have lines of their own.
 * - The files of several CPUs become one text.
 * - A record whose n_data is not its event's is shown with its event's.
 * An id without a format has no line in either. sched::next has the id 0x20, and the formats file
 * that ACRN ships says 5.
 */
#ifndef RS_VIEW_ACRN_H
#define RS_VIEW_ACRN_H

#include "view/view.h"

/* Creates the sink. formats: the path of a formats file, or NULL for the catalogue's formats.
 * RS_USAGE: the file cannot be read, or a line of it is invalid. */
struct rs_error *rs_acrn_sink_create(const struct rs_view_options *options, const char *formats,
				     struct rs_sink **sink);

/* Counts of what has no line. */
struct rs_acrn_omitted {
	uint64_t records; /* whose id the formats lack */
	uint64_t id;	  /* of the first of them */
	uint64_t lines;	  /* of a log */
};
struct rs_acrn_omitted rs_acrn_sink_omitted(const struct rs_sink *sink);

#endif
