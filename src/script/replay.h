/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program on a replay or on a running machine: the recording, the timers, and the trace of the
 * probes that fired.
 */
#ifndef RS_SCRIPT_REPLAY_H
#define RS_SCRIPT_REPLAY_H

#include <stdbool.h>

#include "lang/lang.h"
#include "replay/live_source.h"
#include "replay/moment.h"
#include "replay/source.h"
#include "script/remark.h"

/* Zero at first; the caller fills in the options. */
struct rs_script_replay {
	/* The options. */
	struct rs_replay_options options;
	const char *binary; /* a program of the guest's, for its notes; or NULL */
	const char *trace;  /* the directory of what fired; or NULL */
	const char *live;   /* a machine that runs: where its GDB stub is, or "" for the */
			    /* recording's; NULL: a replay */
	struct rs_moments times;
	bool given;	     /* one of the options above, but for the times */
	volatile bool *stop; /* set by a signal: the replay ends */
	struct rs_script_remarks remarks;
	/* The recording and its source. */
	struct rs_recording recording;
	struct rs_source *source; /* NULL: it was not opened */
	struct rs_notes notes;	  /* of this program: */
	struct rs_program program;
	uint64_t failed; /* assertions that did not hold, once it has run; or a program of which a
			  * replay says nothing */
};

/* Returns whether an option of a replay is given. */
static inline bool rs_script_replay_given(const struct rs_script_replay *replay)
{
	return replay->given || replay->times.given;
}

/* Returns whether the program runs on a machine that runs already, which needs no recording. */
bool rs_script_replay_attaches(const struct rs_script_replay *replay);

/* Of its source, which is open. make() is struct rs_script_config's. */
const struct rs_stream *rs_script_replay_stream(const struct rs_script_replay *replay);
struct rs_error *rs_script_replay_make(void *replay, const char *description, bool copies,
				       const struct rs_event **event);

/* Looks for the guest's Linux kernel, as rs_replay_source_look(). */
struct rs_error *rs_script_replay_look(struct rs_script_replay *replay, struct rs_linux **kernel,
				       const struct rs_error **why);

/* Returns whether a path is a recording. */
bool rs_script_replay_is(const char *path);

/* directory: NULL where it attaches. */
struct rs_error *rs_script_replay_open(struct rs_script_replay *replay, const char *directory);
void rs_script_replay_close(struct rs_script_replay *replay); /* also one of zero bytes */

/* Runs the program to the recording's end. sink: the program's, after its BEGIN. */
struct rs_error *rs_script_replay_run(struct rs_script_replay *replay, struct rs_script *script,
				      struct rs_sink *sink, const char *command);

/* Reports why stops had no fast path, unless that was asked for. why may be NULL. */
void rs_script_replay_report_slow(const struct rs_script_replay *replay, const char *why);

/* Writes a sentence about what the probes did to the speed of a running machine. */
#define RS_DISTORTION_BYTES 384
void rs_script_replay_distortion(const struct rs_script_replay *replay,
				 char text[RS_DISTORTION_BYTES]);
/* Reports that sentence, and what each probe cost. */
void rs_script_replay_report_live(const struct rs_script_replay *replay);

#endif
