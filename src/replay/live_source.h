/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine that runs as a source, with the probes of a replay (replay/source.h): it is stopped
 * when one is due, and can see that. At its end comes one event more,
 *
 *	guest:live::distortion		what the probes did to the guest's clock
 *
 * Time is what the machine was let run, in ns. Timers are of that time too, so that a guest gets on
 * however long a probe takes; one that is late fires once. Instructions are not counted: `icount`
 * is 0, and a timer of instructions is refused.
 */
#ifndef RS_REPLAY_LIVE_SOURCE_H
#define RS_REPLAY_LIVE_SOURCE_H

#include "event/query.h"
#include "replay/live.h"
#include "replay/notes.h"
#include "replay/program.h"

struct rs_probed_program;

struct rs_live_source_options {
	bool steady; /* as of struct rs_replay_options */
	uint64_t seed;
	const volatile bool *stop; /* or NULL */
};

/* Takes the machine over, which stands. */
struct rs_error *rs_live_source_create(struct rs_live *live,
				       const struct rs_live_source_options *options,
				       struct rs_source **source);

/* As those of replay/source.h. */
struct rs_error *rs_live_source_make(void *source, const char *description,
				     const struct rs_event **event);
struct rs_error *rs_live_source_add_notes(struct rs_source *source, const struct rs_notes *notes,
					  const struct rs_program *program);
const struct rs_probed_program *rs_live_source_program(const struct rs_source *source);
const struct rs_stream *rs_live_source_stream(const struct rs_source *source);

/* What each probe cost. */
struct rs_live_cost {
	const struct rs_event *event;
	uint64_t fired;
	uint64_t stopped_ns; /* the machine stood for it; shared where several were due */
};
/* False past the last; its event is NULL where it was not wanted. */
bool rs_live_source_cost(const struct rs_source *source, uint32_t index, struct rs_live_cost *cost);

/* Once it has ended. */
void rs_live_source_distortion(const struct rs_source *source, struct rs_distortion *distortion);

#endif
