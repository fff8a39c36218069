/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine that is stopped where a probe fires, replayed or live: its probes, registers and
 * memory, and the stream of its events, through which programs access them (struct rs_machine).
 */
#ifndef RS_REPLAY_PROBED_H
#define RS_REPLAY_PROBED_H

#include "event/query.h"
#include "replay/guest_kernel.h"
#include "replay/program.h"
#include "replay/probe.h"
#include <ringside/clock.h>
#include <ringside/source.h>

/* The results for the program whose probes were requested. */
struct rs_probed_program {
	const struct rs_program *of; /* NULL: there is none */
	bool wanted;		     /* one of its probes was requested */
	uint64_t begun;		     /* approximate number of its starts */
	uint64_t reached;	     /* number of hits of its probes */
	uint64_t others;	     /* hits of its addresses in other programs */
};

struct rs_probed {
	struct rs_schema *schema; /* the provider "guest" */
	struct rs_clock clock;
	struct rs_machine machine;
	struct rs_stream stream;

	struct rs_replay_probe *probes;
	uint32_t n_probes, room;
	struct rs_probed_program program;

	/* State since the last stop. The caller that runs the machine sets `stopped` and `regs`. */
	struct rs_gdb_stopped stopped;
	struct rs_x86_regs regs;
	struct rs_memory memory;
	bool again; /* it is at a place that has fired already */
	struct rs_guest_kernel guest;
	struct rs_named *named;		   /* a list that it owns */
	char name[RS_TASK_COMM_BYTES + 1]; /* of the task that runs: stream.thread */

	/* For one stop: one more than there are probes. rs_probed_begin() allocates it. */
	struct rs_view *views;
	uint8_t (*payloads)[RS_REPLAY_PAYLOAD_MAX];
};

/* Initialises a zeroed structure, which must not move afterwards. clock is complete except for what
 * rs_clock_init() computes; vm is a name that outlives it. */
struct rs_error *rs_probed_init(struct rs_probed *p, const struct rs_clock *clock, const char *vm);
void rs_probed_deinit(struct rs_probed *p); /* also a zeroed one */

/* Implements make() of struct rs_script_config: returns the event of a description. An instruction
 * takes 2^shift ns. */
struct rs_error *rs_probed_make(struct rs_probed *p, const char *description, uint32_t shift,
				const struct rs_event **event);
/* Adds a breakpoint; of a program's probe one for each of its possible bases, which is added to the
 * address. */
struct rs_error *rs_probed_add(struct rs_probed *p, const struct rs_replay_probe *probe);
/* Adds the probes and assertions of a program, at each of its possible bases. Both outlive this. */
struct rs_error *rs_probed_add_notes(struct rs_probed *p, const struct rs_notes *notes,
				     const struct rs_program *program);

/* Ends adding probes. The probes that match the query are active. */
struct rs_error *rs_probed_begin(struct rs_probed *p, const struct rs_query *query);
/* Sets the guest's RAM, all of it below 4 GiB. */
void rs_probed_map(struct rs_probed *p, const uint8_t *ram, uint64_t bytes);
/* Marks a new stop, after `regs` was set: discards cached translations of page tables. */
void rs_probed_stopped(struct rs_probed *p);
/* Sets the stream's thread, which is the guest's task, for the probes that fire at the present
 * stop. */
void rs_probed_fired(struct rs_probed *p);
/* Returns whether an active breakpoint is at rip. */
bool rs_probed_breaks(const struct rs_probed *p, uint64_t rip);
/* Returns whether this probe, which is no timer, fires at the present place. Call it once per
 * stop. */
bool rs_probed_hit(struct rs_probed *p, const struct rs_replay_probe *probe);

#endif
