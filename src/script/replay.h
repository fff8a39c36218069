/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a program on a replay or on a running machine: the recording, the timers, and the trace of
 * the probes that fired.
 */
#ifndef RS_SCRIPT_REPLAY_H
#define RS_SCRIPT_REPLAY_H

#include <stdbool.h>

#include "lang/lang.h"
#include "replay/live_source.h"
#include "replay/moment.h"
#include "replay/source.h"
#include "script/remark.h"

/* All zero at first. The caller fills in the options. */
struct rs_script_replay {
	/* The options. */
	struct rs_replay_options options;
	const char *binaries[RS_PROGRAMS_MAX]; /* programs of the guest */
	uint32_t n_binaries;
	const char *trace; /* directory for the trace of the probes that fired; or NULL */
	/* GDB stub of a running machine; "": the one in the recording; NULL: a replay */
	const char *live;
	struct rs_moments times;
	bool given;	     /* one of the options above, except the times, is given */
	volatile bool *stop; /* set by a signal handler: the replay ends */
	struct rs_script_remarks remarks;
	/* The recording and its source. */
	struct rs_recording recording;
	struct rs_source *source;		/* NULL: it was not opened */
	struct rs_notes notes[RS_PROGRAMS_MAX]; /* of each program: */
	struct rs_program programs[RS_PROGRAMS_MAX];
	/* stacks and names, once the source is open */
	struct rs_script_guest guest;
	/* open once a script uses them */
	struct rs_types *program_types[RS_PROGRAMS_MAX], *kernel_types;
	/* after the run: assertions that did not hold, plus 1 if the program never ran */
	uint64_t failed;
};

/* Returns whether an option of a replay is given. */
static inline bool rs_script_replay_given(const struct rs_script_replay *replay)
{
	return replay->given || replay->times.given;
}

/* Returns whether the program runs on a running machine without a recording. */
bool rs_script_replay_attaches(const struct rs_script_replay *replay);

/* Functions of the source, which must be open. rs_script_replay_make() is the `make` of struct
 * rs_script_config. */
const struct rs_stream *rs_script_replay_stream(const struct rs_script_replay *replay);
struct rs_error *rs_script_replay_make(void *replay, const char *description, bool copies,
				       const struct rs_event **event);

/* Returns the stream of the guest's own records, or NULL if there is none. */
const struct rs_stream *rs_script_replay_rings_stream(const struct rs_script_replay *replay);

/* Opens the types of the program, then of the guest's kernel. Is the `types` of struct
 * rs_script_config. */
struct rs_error *rs_script_replay_types(void *replay, uint32_t index, const char **name,
					struct rs_types **types);

/* Finds the guest's Linux kernel, as rs_replay_source_find_kernel() does. */
struct rs_error *rs_script_replay_find_kernel(struct rs_script_replay *replay,
					      struct rs_linux **kernel,
					      const struct rs_error **why);

/* Returns whether a path is a recording. */
bool rs_script_replay_is(const char *path);

/* directory: NULL if the program attaches to a running machine. */
struct rs_error *rs_script_replay_open(struct rs_script_replay *replay, const char *directory);
void rs_script_replay_close(struct rs_script_replay *replay); /* also accepts zero bytes */

/* Runs the program to the recording's end. sink: the program's sink, after its BEGIN. */
struct rs_error *rs_script_replay_run(struct rs_script_replay *replay, struct rs_script *script,
				      struct rs_sink *sink, const char *command);

/* Reports why stops had no fast path, unless the options disable it. why may be NULL. */
void rs_script_replay_report_slow(const struct rs_script_replay *replay, const char *why);

/* Formats a sentence about the effect of the probes on the speed of a running machine. */
void rs_script_replay_distortion(const struct rs_script_replay *replay,
				 char text[RS_DISTORTION_BYTES]);
/* Reports that sentence, and the cost of each probe. */
void rs_script_replay_report_live(const struct rs_script_replay *replay);

#endif
