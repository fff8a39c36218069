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
	/* the start of a program: no event, but a sign of its presence (probed.h) */
	RS_REPLAY_ENTRY,
	/* by names of the guest (named.h) */
	RS_REPLAY_CALL,
	RS_REPLAY_NAMED = RS_REPLAY_CALL,
	RS_REPLAY_PLACE,
	RS_REPLAY_RETURN,
	RS_REPLAY_SYSCALL,
	RS_REPLAY_SYSRET,
	RS_REPLAY_SWITCH,
};

struct rs_named;
struct rs_guest_kernel;

struct rs_replay_probe {
	enum rs_replay_kind kind;
	const struct rs_event *event; /* NULL: an entry */
	bool wanted;
	/* For exec and mem. */
	uint64_t address;
	uint32_t bytes;
	enum rs_gdb_point point;
	const struct rs_note *note; /* for usdt and assert */
	uint64_t base;		    /* added to the addresses of its program's file */
	struct rs_named *named;	    /* of one by a name of the guest; or NULL */
	bool of_program; /* it is a program's: fires only where that program is executed */
	/* For a timer, in instructions. */
	uint64_t period, round, next;
};

/* The machine's place, for payloads. */
struct rs_replay_at {
	const struct rs_x86_regs *regs;
	uint64_t icount;
	struct rs_memory *memory;
	struct rs_guest_kernel *guest;
	uint64_t unread; /* values that could not be read; they are 0 */
};

/* Returns whether it is a breakpoint. */
static inline bool rs_replay_probe_is_code(const struct rs_replay_probe *probe)
{
	return probe->kind != RS_REPLAY_TIMER && probe->kind != RS_REPLAY_MEM;
}

/* The four fields of a description, the leftmost of which may be missing. */
struct rs_replay_words {
	char text[4 * (RS_WORD_MAX + 1)];
	const char *at[4]; /* provider, class, function, name; or "" */
};
/* Splits a description. Returns false if it is too long or has more fields. */
bool rs_replay_words(const char *description, struct rs_replay_words *words);

/* Parses a description as a probe, without its event. Sets *ours to false if it is not a replay's
 * probe. An instruction takes 2^shift ns. Returns RS_USAGE if it is a replay's, and invalid. */
struct rs_error *rs_replay_probe_parse(const char *description, uint32_t shift,
				       struct rs_replay_probe *probe, bool *ours);

/* Adds its event to the schema as the n-th, under the description's name. */
struct rs_error *rs_replay_probe_declare(struct rs_schema *schema, uint32_t n,
					 const char *description, struct rs_replay_probe *probe);

/* Writes the event's payload. Returns its bytes. */
uint32_t rs_replay_probe_payload(const struct rs_replay_probe *probe, struct rs_replay_at *at,
				 uint8_t payload[RS_REPLAY_PAYLOAD_MAX]);

/* Do the same for a program's note (source_note.c): the payload has its values by name, or as arg0,
 * arg1, ..., then pc and icount; for an assertion its expression, too. */
struct rs_error *rs_replay_note_declare(struct rs_schema *schema, uint32_t n,
					const struct rs_note *note, struct rs_replay_probe *probe);
uint32_t rs_replay_note_payload(const struct rs_replay_probe *probe, struct rs_replay_at *at,
				uint8_t payload[RS_REPLAY_PAYLOAD_MAX]);

/* Does so for a probe by a name of the guest (named_stop.c). */
uint32_t rs_named_payload(const struct rs_replay_probe *probe, struct rs_replay_at *at,
			  uint8_t payload[RS_REPLAY_PAYLOAD_MAX]);

/* Set a timer's first place from `from` on, and its next one after `now`: one in each period. */
void rs_replay_timer_start(struct rs_replay_probe *probe, uint64_t from, bool steady,
			   uint64_t seed);
void rs_replay_timer_next(struct rs_replay_probe *probe, uint64_t now, bool steady, uint64_t seed);

#endif
