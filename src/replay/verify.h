/* SPDX-License-Identifier: BSD-2-Clause */
/* Verifies that a recording replays as it was recorded, and that observing a replay changes
 * nothing. */
#ifndef RS_REPLAY_VERIFY_H
#define RS_REPLAY_VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/error.h>

#include "replay/recording.h"
#include "replay/session.h"
#include "replay/source.h"

/* A part of the recording that a program's probes observe. The members are those of struct
 * rs_replay_options, and times. */
struct rs_verify_part {
	uint64_t from_ns, to_ns; /* in the guest's time; to_ns 0: to the recording's end */
	struct rs_session *like; /* or NULL */
	uint64_t begin;
	const char *console;
	struct rs_replay_pauses pauses;
};

struct rs_verify_options {
	uint64_t points;	 /* instructions at which states are compared */
	uint64_t samples, bytes; /* stops of the second replay, and the bytes that each reads */
	uint64_t jobs;		 /* segments of the second replay that run in parallel */
	uint64_t from_ns, to_ns; /* of the guest's time */
	bool to_end;		 /* to the recording's end; to_ns is unused */
	bool slow;		 /* use only the GDB channel for stops */
	const volatile bool *stop;
	/* Replays a part with a program's probes, and closes it. Adds to *fired and *errors. NULL:
	 * there is no program. Several threads call it if `jobs` is more than 1. */
	struct rs_error *(*probe)(void *ctx, const struct rs_verify_part *part, uint64_t *fired,
				  uint64_t *errors);
	/* Reports the completed part of a replay, from 0 to 1; or NULL. */
	void (*progress)(void *ctx, bool observed, double part);
	void *ctx;
};

struct rs_verified {
	uint64_t points;
	uint64_t *places;			/* the instruction of each point */
	struct rs_state_hash *alone, *observed; /* each point's state in the two replays */
	uint64_t same_points, console_bytes;
	bool same_console;     /* number of points that are equal in both replays */
	bool same_as_recorded; /* the console equals that of the recording */
	/* Of the observed replay: a program's probes and errors; samples, the bytes that they read,
	 * and how many of them found no stack. */
	uint64_t fired, errors, samples, read_bytes, stacks_missing;
	char *slow; /* why stops had no fast path, without a program; or NULL */
};

/* Replays a checked recording twice and compares. *verified must be all zero. The caller frees it
 * with rs_verified_deinit(), also after an error. */
struct rs_error *rs_verify_run(const struct rs_recording *recording,
			       const struct rs_verify_options *options,
			       struct rs_verified *verified);
void rs_verified_deinit(struct rs_verified *verified);

/* Returns whether two states are equal. */
bool rs_verify_same(const struct rs_state_hash *a, const struct rs_state_hash *b);

#endif
