/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of ACRN's as lines of text, as its acrntrace_format.py makes them from a formats file:
 *
 *	{id}{blanks}{text with %(cpu)d %(tsc)d %(event)x %(1)d .. %(16)d}
 *
 * byte for byte, where that script makes a line at all. It differs in what it can't do: a format
 * that makes Python stop in the middle of a trace is refused before the first line, with its
 * place, and %c of what is no character is '?'; losses have lines of their own; files of several
 * CPUs are one text; a record whose n_data is not its event's is shown as its event has it. An id
 * without a format has no line, there and here: sched::next is 0x20, and the formats file that
 * ACRN ships has it as 5.
 */
#ifndef RS_VIEW_ACRN_H
#define RS_VIEW_ACRN_H

#include "view/view.h"

/* formats: a path, or NULL: lines of the same shape from the catalogue. RS_USAGE: the file is not
 * there, or a line of it makes no sense. */
struct rs_error *rs_acrn_sink_create(const struct rs_view_options *options, const char *formats,
				     struct rs_sink **sink);

/* What it had no line for. */
struct rs_acrn_omitted {
	uint64_t records; /* whose id the formats lack */
	uint64_t id;	  /* of the first of them */
	uint64_t lines;	  /* of a log */
};
struct rs_acrn_omitted rs_acrn_sink_omitted(const struct rs_sink *sink);

#endif
