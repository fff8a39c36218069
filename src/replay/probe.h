/* SPDX-License-Identifier: BSD-2-Clause */
/* The probes of a replay: their names, their events, and the times of timers. */
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
	/* the start of a program: no event, but shows that the program runs (probed.h) */
	RS_REPLAY_ENTRY,
	/* by names in the guest (named.h) */
	RS_REPLAY_CALL,
	RS_REPLAY_NAMED = RS_REPLAY_CALL,
	RS_REPLAY_PLACE,
	RS_REPLAY_RETURN,
	RS_REPLAY_SYSCALL,
	RS_REPLAY_SYSRET,
	RS_REPLAY_SWITCH,
};

struct rs_named;
struct rs_module_probe;
struct rs_guest_kernel;

struct rs_replay_probe {
	enum rs_replay_kind kind;
	const struct rs_event *event; /* NULL: at an entry */
	bool wanted;
	/* For exec and mem. */
	uint64_t address;
	uint32_t bytes;
	enum rs_gdb_point point;
	const struct rs_note *note; /* for usdt and assert: the static probe */
	uint64_t base;		    /* added to the addresses in its program's file */
	struct rs_named *named;	    /* for a probe by a name in the guest; or NULL */
	bool of_program;  /* it belongs to a program, and fires only where that is executed */
	uint32_t program; /* which of the machine's programs */
	/* for a probe of a kernel module (probed_modules.c): its description, and where the guest
	 * has the struct module; or NULL */
	struct rs_module_probe *of_module;
	uint64_t module;
	bool is_nowhere; /* its address is not known yet, or no longer: it has no point */
	bool is_set;	 /* the machine has its point */
	/* For a timer, in instructions, or of a running machine, in ns. */
	uint64_t period, round, next;
	uint64_t from;	       /* it does not fire before this */
	uint64_t limit, fired; /* it fires `limit` times; 0: no limit */
	bool steps;	       /* its period is 1insns, and `from` is a time */
	bool counts;	       /* it is given in instructions otherwise */
};

/* Returns whether the machine must have a point of this probe. */
static inline bool rs_replay_probe_needs_point(const struct rs_replay_probe *probe)
{
	return probe->kind != RS_REPLAY_TIMER && probe->wanted && !probe->is_nowhere;
}

/* The machine's position, for payloads. */
struct rs_replay_at {
	const struct rs_x86_regs *regs;
	uint64_t icount;
	struct rs_memory *memory;
	struct rs_guest_kernel *guest;
	uint64_t unread; /* number of values that could not be read; they are 0 */
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
 * probe. An instruction takes 2^shift ns. Returns RS_USAGE if it is a replay's probe, but
 * invalid. */
struct rs_error *rs_replay_probe_parse(const char *description, uint32_t shift,
				       struct rs_replay_probe *probe, bool *ours);

/* Adds the probe's event to the schema as the n-th, under the description's name. */
struct rs_error *rs_replay_probe_declare(struct rs_schema *schema, uint32_t n,
					 const char *description, struct rs_replay_probe *probe);

/* Writes the event's payload. Returns its size in bytes. */
uint32_t rs_replay_probe_payload(const struct rs_replay_probe *probe, struct rs_replay_at *at,
				 uint8_t payload[RS_REPLAY_PAYLOAD_MAX]);

/* Do the same for a program's note (source_note.c). The payload has its values by name, or as arg0,
 * arg1, ..., then pc and icount, and for an assertion its expression. */
struct rs_error *rs_replay_note_declare(struct rs_schema *schema, uint32_t n,
					const struct rs_note *note, struct rs_replay_probe *probe);
uint32_t rs_replay_note_payload(const struct rs_replay_probe *probe, struct rs_replay_at *at,
				uint8_t payload[RS_REPLAY_PAYLOAD_MAX]);

/* The same for a probe by a name in the guest (named_stop.c). */
uint32_t rs_named_payload(const struct rs_replay_probe *probe, struct rs_replay_at *at,
			  uint8_t payload[RS_REPLAY_PAYLOAD_MAX]);

/* Set a timer's first position from `from` on, and its next one after it fired at `now`. There is
 * one in each period, up to its limit. */
void rs_replay_timer_start(struct rs_replay_probe *probe, uint64_t from, bool steady,
			   uint64_t seed);
void rs_replay_timer_next(struct rs_replay_probe *probe, uint64_t now, bool steady, uint64_t seed);

#endif
