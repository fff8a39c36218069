/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A replay as a source: its probes are created on request by name, and fire while the machine is
 * stopped. The stream of its events gives access to the machine (struct rs_machine).
 *
 *	guest:timer::997us		once in each period: us, ms, s, insns (instructions)
 *	guest:addr:0xADDR:exec		before the instruction at a virtual address
 *	guest:mem:0xADDR:read		after an instruction that reads the byte there; write;
 *	guest:mem:0xADDR+N:read|write	either, of N bytes
 *	guest:usdt:PROVIDER:NAME	a probe in a program (ringside/replay.h), with its arguments
 *	guest:assert:FILE:LINE		an assertion in one, whether it holds or not
 *	guest:kernel:FUNCTION:entry	and others by names of the guest: named.h
 *
 * Time is the count of instructions, times the recording's ns per instruction. All probes that are
 * due at one stop come in one batch. Timers fire once in each period, at a pseudo-random position
 * in it, so that they do not synchronise with the guest's loops. The positions are the same in each
 * run.
 */
#ifndef RS_REPLAY_SOURCE_H
#define RS_REPLAY_SOURCE_H

#include "event/query.h"
#include "replay/notes.h"
#include "replay/program.h"
#include "replay/session.h"

struct rs_linux;
struct rs_probed;
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
	bool slow;		   /* use only the GDB channel for stops (session.h) */
	uint64_t seed;		   /* seed of the timers' positions */
	const char *console;	   /* output of the guest's serial port; NULL: none */
	const volatile bool *stop; /* ends the replay like the recording's end; or NULL */
	struct rs_replay_pauses pauses;
	bool rings; /* also return the records that the guest itself wrote (rings.h) */
	/* NULL: replay from the recording's start. Otherwise a stopped session with snapshots, from
	 * which this one seeks to `begin`. */
	struct rs_session *like;
	uint64_t begin;
};

/* Creates the source. Nothing starts before the source is opened. The recording, and the objects to
 * which options point, must outlive it. The recording must have passed rs_recording_check(). */
struct rs_error *rs_replay_source_create(const struct rs_recording *recording,
					 const struct rs_replay_options *options,
					 struct rs_source **source);

/* Implements make() of struct rs_script_config: returns the event of a description. */
struct rs_error *rs_replay_source_make(void *source, const char *description,
				       const struct rs_event **event);

/* Searches for the guest's Linux kernel, once, before the source is opened (search.h). Sets *kernel
 * to it, or to NULL; *why is then the reason, valid until the source is destroyed. */
struct rs_error *rs_replay_source_find_kernel(struct rs_source *source, struct rs_linux **kernel,
					      const struct rs_error **why);

/* Adds the probes and assertions of a program, before the source is opened. Both must outlive the
 * source. The probes fire only where that program is executed, not for another program at the same
 * address. */
struct rs_error *rs_replay_source_add_notes(struct rs_source *source, const struct rs_notes *notes,
					    const struct rs_program *program);

/* Searches for the guest's rings, if options.rings is set, before the source is opened. */
struct rs_error *rs_replay_source_find_rings(struct rs_source *source);

/* Returns the results for the guest's rings, after the source has ended. */
struct rs_replay_rings_result;
struct rs_replay_rings_result rs_replay_source_rings(const struct rs_source *source);

/* Returns the stream of the guest's own records; NULL: none were requested. */
const struct rs_stream *rs_replay_source_rings_stream(const struct rs_source *source);

/* Returns the machine, for stacks and names at its stops. */
struct rs_probed *rs_replay_source_probed(struct rs_source *source);
const struct rs_stream *rs_replay_source_stream(const struct rs_source *source);

struct rs_replay_counts {
	uint64_t stops, fired, icount; /* icount: the last instruction */
	/* number of values of static probes that could not be read */
	uint64_t unread;
};
struct rs_replay_counts rs_replay_source_counts(const struct rs_source *source);

/* Returns NULL if stops use the fast path or the source is not open, else the reason. */
const char *rs_replay_source_slow(const struct rs_source *source);

/* Returns the forms of probes, for lists; NULL past the last. */
struct rs_replay_template {
	const char *class_name, *function, *name; /* for the provider "guest" */
	const char *args, *help;
};
const struct rs_replay_template *rs_replay_template(uint32_t index);

#endif
