/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of the profile of a replayed guest. */
#ifndef RS_VIEW_REPLAY_PROFILE_H
#define RS_VIEW_REPLAY_PROFILE_H

#include "view/table.h"

struct rs_replay_profile_row {
	uint64_t samples, of; /* total number of samples */
	const char *task;     /* NULL: unknown, as the members below */
	const char *function, *module;
};

extern const struct rs_column rs_replay_profile_columns[];

#endif
