/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of the profile of a replayed guest. */
#include "view/replay_profile.h"

RS_COLUMN_GETTER(get_share)
{
	const struct rs_replay_profile_row *row = at;

	rs_cell_share(cell, row->samples, row->of);
}

#define AT(member) RS_COLUMN_AT(struct rs_replay_profile_row, member)

const struct rs_column rs_replay_profile_columns[] = {
	{ "samples", "SAMPLES", RS_COLUMN_NUMBER, rs_column_u64, AT(samples) },
	{ "share", "SHARE", RS_COLUMN_SHARE, get_share },
	{ "task", "TASK", RS_COLUMN_TEXT, rs_column_text, AT(task) },
	{ "function", "FUNCTION", RS_COLUMN_TEXT, rs_column_text, AT(function) },
	{ "module", "MODULE", RS_COLUMN_TEXT, rs_column_text, AT(module) },
	{ 0 },
};
#undef AT
