/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ACRN's events as the lines of text that acrntrace_format.py makes from a formats file:
 *
 *	{id}{blanks}{text with %(cpu)d %(tsc)d %(event)x %(1)d .. %(16)d}
 *
 * Each line is the same, byte for byte. The output differs only where the script fails or prints no
 * message: - A format that stops Python in the middle of a trace is an error before the first line.
 * - %c of a number that is not a character prints '?'. - Losses have separate lines. - The files of
 * several CPUs become one text. - A record with an unexpected n_data is shown with its event's
 * n_data. Both omit ids without a format. sched::next has the id 0x20, but the formats file that
 * ACRN ships has 5.
 */
#ifndef RS_VIEW_ACRN_H
#define RS_VIEW_ACRN_H

#include "view/view.h"

/* Creates the sink. formats: the path of a formats file, or NULL for the catalogue's formats.
 * Returns RS_USAGE if the file cannot be read, or a line of it is invalid. */
struct rs_error *rs_acrn_sink_create(const struct rs_view_options *options, const char *formats,
				     struct rs_sink **sink);

/* Counts of records without a line. */
struct rs_acrn_omitted {
	uint64_t records; /* records with an id that the formats lack */
	uint64_t id;	  /* the id of the first of them */
	uint64_t lines;	  /* lines of a log */
};
struct rs_acrn_omitted rs_acrn_sink_omitted(const struct rs_sink *sink);

#endif
