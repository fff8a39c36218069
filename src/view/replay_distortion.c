/* SPDX-License-Identifier: BSD-2-Clause */
/* The columns of `replay distortion`: how methods of probing disturb a guest. */
#include "view/replay_distortion.h"

RS_COLUMN_GETTER(get_fired)
{
	const struct rs_replay_distortion_row *row = at;

	if (row->replayed)
		rs_cell_number(cell, row->fired);
}

RS_COLUMN_GETTER(get_replay)
{
	const struct rs_replay_distortion_row *row = at;

	if (row->replayed)
		rs_cell_text(cell, row->exact ? "exact" : "DIFFERS");
}

RS_COLUMN_GETTER(get_live_stops)
{
	const struct rs_replay_distortion_row *row = at;

	if (row->lived)
		rs_cell_number(cell, row->live_stops);
}

RS_COLUMN_GETTER(get_factor)
{
	const struct rs_replay_distortion_row *row = at;

	if (row->lived)
		rs_cell_real(cell, row->factor);
}

RS_COLUMN_GETTER(get_behind)
{
	const struct rs_replay_distortion_row *row = at;

	if (row->lived)
		rs_cell_number(cell, (uint64_t)row->behind_ns);
}

RS_COLUMN_GETTER(get_live_lines)
{
	const struct rs_replay_distortion_row *row = at;

	if (row->lived)
		rs_cell_number(cell, row->live_lines);
}

#define AT(member) RS_COLUMN_AT(struct rs_replay_distortion_row, member)

const struct rs_column rs_replay_distortion_columns[] = {
	{ "method", "METHOD", RS_COLUMN_TEXT, rs_column_text, AT(method) },
	{ "fired", "FIRED", RS_COLUMN_NUMBER, get_fired },
	{ "replay", "REPLAY", RS_COLUMN_TEXT, get_replay },
	{ "live_stops", "LIVE STOPS", RS_COLUMN_NUMBER, get_live_stops },
	{ "live_factor", "SLOWDOWN", RS_COLUMN_REAL, get_factor },
	{ "live_behind_ns", "DELAY NS", RS_COLUMN_SIGNED, get_behind },
	{ "live_lines", "LINES SAME", RS_COLUMN_NUMBER, get_live_lines },
	{ "lines", "LINES RECORDED", RS_COLUMN_NUMBER, rs_column_u64, AT(lines) },
	{ 0 },
};
#undef AT
