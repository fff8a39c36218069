/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of how methods of probing disturb a guest, replayed and live. */
#ifndef RS_VIEW_REPLAY_DISTORTION_H
#define RS_VIEW_REPLAY_DISTORTION_H

#include <stdbool.h>

#include "view/table.h"

struct rs_replay_distortion_row {
	const char *method;
	bool replayed, lived; /* whether the members below are known */
	uint64_t fired;	      /* stops of the replay */
	bool exact;	      /* states and console equal the recording */
	uint64_t lines;	      /* lines of the recorded console */
	/* Live: the number of stops, the number of recorded lines that were printed, the slowdown
	 * by the guest's clock, and the delay of that clock. */
	uint64_t live_stops, live_lines;
	double factor;
	int64_t behind_ns;
};

extern const struct rs_column rs_replay_distortion_columns[];

#endif
