/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine that stands where a probe fires, replayed or live: its probes, registers and memory,
 * and the stream that its events are of, in which programs find them (struct rs_machine).
 */
#ifndef RS_REPLAY_PROBED_H
#define RS_REPLAY_PROBED_H

#include "event/query.h"
#include "replay/program.h"
#include "replay/probe.h"
#include <ringside/clock.h>
#include <ringside/source.h>

/* What became of the program whose notes are wanted. */
struct rs_probed_program {
	const struct rs_program *of; /* NULL: there is none */
	bool wanted;		     /* one of its probes is */
	uint64_t begun;		     /* how often it was seen to begin, about; */
	uint64_t reached;	     /* how often one of its probes was; */
	uint64_t others;	     /* and one of its addresses, where another program was */
};

struct rs_probed {
	struct rs_schema *schema; /* the provider "guest" */
	struct rs_clock clock;
	struct rs_machine machine;
	struct rs_stream stream;

	struct rs_replay_probe *probes;
	uint32_t n_probes, room;
	struct rs_probed_program program;

	/* Since it last stopped; who runs it puts `stopped` and `regs` there. */
	struct rs_gdb_stopped stopped;
	struct rs_x86_regs regs;
	struct rs_guest_memory memory;
	bool again; /* it stands where it has fired already */

	/* Of one stop, one more than there are probes: rs_probed_begin(). */
	struct rs_view *views;
	uint8_t (*payloads)[RS_REPLAY_PAYLOAD_MAX];
};

/* Of zero bytes, which must not move then. clock: of which all but what rs_clock_init() finds is
 * said; vm: a name that outlives it. */
struct rs_error *rs_probed_init(struct rs_probed *p, const struct rs_clock *clock, const char *vm);
void rs_probed_deinit(struct rs_probed *p); /* also one of zero bytes */

/* The event of a description, as struct rs_script_config's make() wants it. shift: 2^shift ns an
 * instruction. */
struct rs_error *rs_probed_make(struct rs_probed *p, const char *description, uint32_t shift,
				const struct rs_event **event);
/* The probes and assertions of a program, wherever it may be; both outlive it. */
struct rs_error *rs_probed_add_notes(struct rs_probed *p, const struct rs_notes *notes,
				     const struct rs_program *program);

/* There will be no more probes, and those are wanted that a query wants. */
struct rs_error *rs_probed_begin(struct rs_probed *p, const struct rs_query *query);
/* The guest's RAM, all of it below 4 GiB. */
void rs_probed_map(struct rs_probed *p, const uint8_t *ram, uint64_t bytes);
/* It has stopped, and `regs` are what they are: what was kept of its page tables is forgotten. */
void rs_probed_stopped(struct rs_probed *p);
/* Whether a wanted breakpoint is there. */
bool rs_probed_breaks(const struct rs_probed *p, uint64_t rip);
/* Whether this probe, no timer, fires where the machine stands: to be asked once at a stop. */
bool rs_probed_hit(struct rs_probed *p, const struct rs_replay_probe *probe);

#endif
