/* SPDX-License-Identifier: BSD-2-Clause */
/* A replay's probes: their names, their events, and when a timer is due. */
#ifndef RS_REPLAY_PROBE_H
#define RS_REPLAY_PROBE_H

#include "introspect/memory.h"
#include "replay/gdb.h"
#include "replay/notes.h"
#include <ringside/schema.h>

#define RS_REPLAY_PAYLOAD_MAX 1024u

enum rs_replay_kind {
	RS_REPLAY_TIMER,
	RS_REPLAY_EXEC,
	RS_REPLAY_MEM,
	RS_REPLAY_USDT,
	RS_REPLAY_ASSERT,
	RS_REPLAY_ENTRY, /* where a program begins: no event, but it was there (probed.h) */
};

struct rs_replay_probe {
	enum rs_replay_kind kind;
	const struct rs_event *event; /* NULL: an entry */
	bool wanted;
	/* Of exec and mem. */
	uint64_t address;
	uint32_t bytes;
	enum rs_gdb_point point;
	const struct rs_note *note; /* of usdt and assert; from: */
	uint64_t base;		    /* what is added to the addresses of its program's file */
	bool of_program;	    /* it is one's: fires where that is, and nobody else */
	/* Of a timer, in instructions. */
	uint64_t period, round, next;
};

/* Where the machine stands, as a payload tells it. */
struct rs_replay_at {
	const struct rs_x86_regs *regs;
	uint64_t icount;
	struct rs_guest_memory *memory;
	uint64_t unread; /* values that were not there; they are 0 */
};

/* Whether it is a breakpoint. */
static inline bool rs_replay_probe_is_code(const struct rs_replay_probe *probe)
{
	return probe->kind != RS_REPLAY_TIMER && probe->kind != RS_REPLAY_MEM;
}

/* A description's probe, but for its event; *ours false: it is none of a replay's. shift: 2^shift
 * ns an instruction. RS_USAGE: it is one, and is invalid. */
struct rs_error *rs_replay_probe_parse(const char *description, uint32_t shift,
				       struct rs_replay_probe *probe, bool *ours);

/* Its event, added to the schema as the n-th, under the description's name. */
struct rs_error *rs_replay_probe_declare(struct rs_schema *schema, uint32_t n,
					 const char *description, struct rs_replay_probe *probe);

/* The event's payload; how many bytes it has. */
uint32_t rs_replay_probe_payload(const struct rs_replay_probe *probe, struct rs_replay_at *at,
				 uint8_t payload[RS_REPLAY_PAYLOAD_MAX]);

/* The same two of a program's note (replay_note.c): its values by name, or as arg0, arg1, ..., then
 * pc and icount; of an assertion its expression, too. */
struct rs_error *rs_replay_note_declare(struct rs_schema *schema, uint32_t n,
					const struct rs_note *note, struct rs_replay_probe *probe);
uint32_t rs_replay_note_payload(const struct rs_replay_probe *probe, struct rs_replay_at *at,
				uint8_t payload[RS_REPLAY_PAYLOAD_MAX]);

/* A timer's first place from `from` on, and its next one after `now`: once in each period. */
void rs_replay_timer_start(struct rs_replay_probe *probe, uint64_t from, bool steady,
			   uint64_t seed);
void rs_replay_timer_next(struct rs_replay_probe *probe, uint64_t now, bool steady, uint64_t seed);

#endif
