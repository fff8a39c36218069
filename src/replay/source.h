/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A replay as a source: its probes are made when they are asked for by name, and fire while the
 * machine stands still, which its events' stream has (struct rs_machine).
 *
 *	guest:timer::997us		each so much guest time: us, ms, s, insns (instructions)
 *	guest:addr:0xADDR:exec		before the instruction at a virtual address
 *	guest:mem:0xADDR:read		after an instruction that reads the byte there; write;
 *	guest:mem:0xADDR+N:read|write	either, of N bytes
 *	guest:usdt:PROVIDER:NAME	a probe in a program (ringside/replay.h), with its arguments
 *	guest:assert:FILE:LINE		an assertion in one, whether it holds or not
 *
 * Time is the count of instructions, times the recording's ns for each. Who is asked for at one
 * stop comes in one batch. Timers fire once in each period, at a place in it that a pseudo-random
 * number says, so that they do not beat with the guest's loops; the same in each run.
 */
#ifndef RS_REPLAY_SOURCE_H
#define RS_REPLAY_SOURCE_H

#include "event/query.h"
#include "replay/notes.h"
#include "replay/program.h"
#include "replay/session.h"

struct rs_probed_program;

/* Stops more, for who looks at the machine between probes: instructions, in ascending order. */
struct rs_replay_pauses {
	const uint64_t *at;
	uint32_t n;
	struct rs_error *(*paused)(void *ctx, uint32_t index, struct rs_session *session);
	void *ctx;
};

struct rs_replay_options {
	bool steady;		   /* timers at the end of each period */
	bool slow;		   /* all stops through the GDB channel (session.h) */
	uint64_t seed;		   /* of their places */
	const char *console;	   /* where the guest's serial port goes; NULL: nowhere */
	const volatile bool *stop; /* ends it, as the end of the recording does; or NULL */
	struct rs_replay_pauses pauses;
	/* NULL: from the recording's start. Or one with snapshots, which stands still: it begins at
	 * `begin` then, seeking from them. */
	struct rs_session *like;
	uint64_t begin;
};

/* Nothing is started before the source is opened. recording, and what options point to, outlive
 * it; the recording has passed rs_recording_check(). */
struct rs_error *rs_replay_source_create(const struct rs_recording *recording,
					 const struct rs_replay_options *options,
					 struct rs_source **source);

/* The event of a description, as struct rs_script_config's make() wants it. */
struct rs_error *rs_replay_source_make(void *source, const char *description,
				       const struct rs_event **event);

/* The probes and assertions of a program; before the source is opened. Both outlive it. They fire
 * where that program is executed: another one at the same address is none of theirs. */
struct rs_error *rs_replay_source_add_notes(struct rs_source *source, const struct rs_notes *notes,
					    const struct rs_program *program);
/* What became of it (probed.h). */
const struct rs_probed_program *rs_replay_source_program(const struct rs_source *source);

const struct rs_stream *rs_replay_source_stream(const struct rs_source *source);

struct rs_replay_counts {
	uint64_t stops, fired, icount; /* icount: how far it came */
	uint64_t unread;	       /* values of static probes that were not there */
};
struct rs_replay_counts rs_replay_source_counts(const struct rs_source *source);

/* NULL: stops at an instruction go by the fast path, or it is not open. Otherwise why not. */
const char *rs_replay_source_slow(const struct rs_source *source);

/* What can be made, for lists; NULL past the last. */
struct rs_replay_template {
	const char *class_name, *function, *name; /* of the provider "guest" */
	const char *args, *help;
};
const struct rs_replay_template *rs_replay_template(uint32_t index);

#endif
