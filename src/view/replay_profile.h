/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of what a replayed guest executes. */
#ifndef RS_VIEW_REPLAY_PROFILE_H
#define RS_VIEW_REPLAY_PROFILE_H

#include "view/table.h"

struct rs_replay_profile_row {
	uint64_t samples, of; /* of how many */
	const char *task;     /* NULL: not known, as what follows */
	const char *function, *module;
};

extern const struct rs_column rs_replay_profile_columns[];

#endif
