/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moments of a recording: their forms on the command line and in output.
 *
 *	1.5, 500ms, 2822174474ns	the guest's time, from the begin of the recording
 *	dmesg:2.570288			the guest kernel's clock: where the guest began to
 *	dmesg:[    2.570288]		write the first line of its console with this stamp or a
 *					later one
 *
 * The guest's time counts instructions, and its kernel's clock continues while it sleeps. The
 * recording's log shows which instruction wrote which byte of the console.
 */
#ifndef RS_REPLAY_MOMENT_H
#define RS_REPLAY_MOMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

struct rs_recording;

struct rs_moment {
	uint64_t ns; /* the guest's time or, before rs_moment_find(), a stamp */
	bool is_stamp;
};

/* A part of a recording. */
struct rs_moments {
	struct rs_moment from, to; /* to.ns 0: the recording's end */
	bool given;		   /* --from or --to was given */
};

/* Parses a moment. Returns RS_USAGE if the text is not a moment. */
struct rs_error *rs_moment_parse(const char *text, struct rs_moment *moment);

/* Converts a stamp to the guest's time; other moments are unchanged. Returns RS_USAGE if no line of
 * the recording's console has this stamp or a later one. */
struct rs_error *rs_moment_find(const struct rs_recording *recording, struct rs_moment *moment);

/* Returns RS_USAGE unless `to` is after `from`. rs_moment_find() must have converted both. */
struct rs_error *rs_moment_span(const struct rs_moment *from, const struct rs_moment *to);

/* Writes the guest's time as text: "2.822174474 s". Returns text. */
#define RS_MOMENT_TEXT_MAX 32
const char *rs_moment_text(uint64_t ns, char text[RS_MOMENT_TEXT_MAX]);

#endif
