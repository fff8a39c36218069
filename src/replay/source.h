/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A replay as a source: its probes are created on request by name, and fire while the machine is
 * stopped. The stream of its events gives access to the machine (struct rs_machine).
 *
 *	guest:timer::997us		each so much guest time: us, ms, s, insns (instructions)
 *	guest:addr:0xADDR:exec		before the instruction at a virtual address
 *	guest:mem:0xADDR:read		after an instruction that reads the byte there; write;
 *	guest:mem:0xADDR+N:read|write	either, of N bytes
 *	guest:usdt:PROVIDER:NAME	a probe in a program (ringside/replay.h), with its arguments
 *	guest:assert:FILE:LINE		an assertion in one, whether it holds or not
 *	guest:kernel:FUNCTION:entry	and others by names of the guest: named.h
 *
 * Time is the count of instructions, times the recording's ns for each. All probes that are due at
 * one stop come in one batch. Timers fire once in each period, at a pseudo-random place in it, so
 * that they do not synchronise with the guest's loops; the places are the same in each run.
 */
#ifndef RS_REPLAY_SOURCE_H
#define RS_REPLAY_SOURCE_H

#include "event/query.h"
#include "replay/notes.h"
#include "replay/program.h"
#include "replay/session.h"

struct rs_linux;
struct rs_probed_program;

/* Additional stops, for inspecting the machine between probes: instructions in ascending order. */
struct rs_replay_pauses {
	const uint64_t *at;
	uint32_t n;
	struct rs_error *(*paused)(void *ctx, uint32_t index, struct rs_session *session);
	void *ctx;
};

struct rs_replay_options {
	bool steady;		   /* timers at the end of each period */
	bool slow;		   /* all stops through the GDB channel (session.h) */
	uint64_t seed;		   /* seed of the timers' places */
	const char *console;	   /* output of the guest's serial port; NULL: none */
	const volatile bool *stop; /* ends it, as the end of the recording does; or NULL */
	struct rs_replay_pauses pauses;
	/* NULL: replay from the recording's start. Otherwise a stopped session with snapshots, from
	 * which this one seeks to `begin`. */
	struct rs_session *like;
	uint64_t begin;
};

/* Creates the source. Nothing starts before the source is opened. recording, and the objects to
 * which options point, outlive it; the recording has passed rs_recording_check(). */
struct rs_error *rs_replay_source_create(const struct rs_recording *recording,
					 const struct rs_replay_options *options,
					 struct rs_source **source);

/* Implements make() of struct rs_script_config: returns the event of a description. */
struct rs_error *rs_replay_source_make(void *source, const char *description,
				       const struct rs_event **event);

/* Looks for the guest's Linux kernel, once, before the source is opened (look.h). Returns it, or
 * NULL: *why is then the reason, valid as long as the source. */
struct rs_error *rs_replay_source_look(struct rs_source *source, struct rs_linux **kernel,
				       const struct rs_error **why);

/* Adds the probes and assertions of a program, before the source is opened. Both outlive it. They
 * fire only where that program is executed, not for another one at the same address. */
struct rs_error *rs_replay_source_add_notes(struct rs_source *source, const struct rs_notes *notes,
					    const struct rs_program *program);
/* Returns the program's results (probed.h). */
const struct rs_probed_program *rs_replay_source_program(const struct rs_source *source);

const struct rs_stream *rs_replay_source_stream(const struct rs_source *source);

struct rs_replay_counts {
	uint64_t stops, fired, icount; /* icount: the last instruction */
	uint64_t unread;	       /* values of static probes that could not be read */
};
struct rs_replay_counts rs_replay_source_counts(const struct rs_source *source);

/* Returns NULL if stops use the fast path or the source is not open, else why not. */
const char *rs_replay_source_slow(const struct rs_source *source);

/* Returns the forms of probes, for lists; NULL past the last. */
struct rs_replay_template {
	const char *class_name, *function, *name; /* of the provider "guest" */
	const char *args, *help;
};
const struct rs_replay_template *rs_replay_template(uint32_t index);

#endif
