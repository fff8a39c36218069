/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A running machine as a source, with the probes of a replay (replay/source.h). The machine is
 * stopped when a probe is due, which the guest can observe. At its end, the source returns one more
 * event:
 *
 *	guest:live::distortion		the effect of the probes on the guest's clock
 *
 * Time is the time that the machine ran, in ns, also for timers, so that a guest makes progress
 * however long a probe takes. A late timer fires once. Instructions are not counted: `icount` is 0,
 * and a timer of instructions is rejected, except that 1insns executes single instructions of the
 * processor that stopped last; the others do not run.
 */
#ifndef RS_REPLAY_LIVE_SOURCE_H
#define RS_REPLAY_LIVE_SOURCE_H

#include "event/query.h"
#include "replay/live.h"
#include "replay/notes.h"
#include "replay/program.h"

struct rs_linux;
struct rs_probed_program;

struct rs_live_source_options {
	bool steady; /* as in struct rs_replay_options */
	uint64_t seed;
	bool randomizes; /* the guest's kernel may choose the places of programs at random */
	const volatile bool *stop; /* or NULL */
};

/* Creates the source. Takes ownership of the machine, which is stopped. */
struct rs_error *rs_live_source_create(struct rs_live *live,
				       const struct rs_live_source_options *options,
				       struct rs_source **source);

/* Stops the machine when the program's own clock is due. */
struct rs_live_alarm {
	int64_t (*next_ns)(void *ctx); /* INT64_MAX: never */
	void (*due)(void *ctx, int64_t now_ns);
	void *ctx;
};
void rs_live_source_set_alarm(struct rs_source *source, const struct rs_live_alarm *alarm);

/* Like the functions of the same names in replay/source.h. */
struct rs_error *rs_live_source_make(void *source, const char *description,
				     const struct rs_event **event);
struct rs_error *rs_live_source_find_kernel(struct rs_source *source, struct rs_linux **kernel,
					    const struct rs_error **why);
struct rs_error *rs_live_source_add_notes(struct rs_source *source, const struct rs_notes *notes,
					  const struct rs_program *program);
struct rs_probed;
/* Returns the machine, for stacks and names at its stops. */
struct rs_probed *rs_live_source_probed(struct rs_source *source);
const struct rs_stream *rs_live_source_stream(const struct rs_source *source);

/* The cost of a probe. */
struct rs_live_cost {
	const struct rs_event *event;
	uint64_t fired;
	/* time for which the machine was stopped for it; shared if several were due */
	uint64_t stopped_ns;
};
/* Returns the cost of the index-th probe. Its event is NULL if it was not requested. Returns false
 * past the last. */
bool rs_live_source_cost(const struct rs_source *source, uint32_t index, struct rs_live_cost *cost);

/* Returns the distortion at the source's end; before that, as after the program's exit(), up to
 * now. */
void rs_live_source_distortion(struct rs_source *source, struct rs_distortion *distortion);

#endif
