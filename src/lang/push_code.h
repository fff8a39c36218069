/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BPF made of a clause's verified code, for one event; see push_code.c. push.c decides what becomes
 * of it.
 */
#ifndef RS_LANG_PUSH_CODE_H
#define RS_LANG_PUSH_CODE_H

#include <linux/bpf.h>

#include "event/filter.h"
#include "lang/internal.h"

#define PUSH_INSNS (RS_FILTER_INSNS - RS_FILTER_TAIL)

/* Where a jump goes that is not there yet. */
enum push_label {
	PUSH_KEEP,   /* the record is wanted */
	PUSH_REJECT, /* this clause does not want it */
	PUSH_SKIP,   /* the event is another's */
	PUSH_DONE,   /* no clause wants it */
	PUSH_LABELS,
};

struct push_jump {
	uint16_t insn;
	uint8_t label;
};

struct push_code {
	struct bpf_insn insns[PUSH_INSNS];
	uint32_t n;
	struct push_jump jumps[PUSH_INSNS];
	uint32_t n_jumps;
	bool full;   /* something found no room */
	bool thread; /* it asks for the thread */
};

/* Around all of it. */
void push_begin(struct push_code *code);
void push_end(struct push_code *code);

/* A jump to a label; the label is here: those from the jumps' `from`-th on. */
void push_goto(struct push_code *code, enum push_label label);
void push_land(struct push_code *code, enum push_label label, uint32_t from);
void push_event(struct push_code *code, uint64_t id); /* else to PUSH_SKIP */

/* How far a clause's code went. */
struct push_outcome {
	const char *why; /* what it came to that only the program itself can do; NULL: nothing */
	struct place at; /* where */
	bool rejects;	 /* there is a way to PUSH_REJECT */
	bool ends;	 /* there is one to its end */
};

/*
 * A clause's code from `from` to `to`, for an event that suits it. What is not of the event goes to
 * PUSH_KEEP, and so does a division by zero; a predicate that does not hold to PUSH_REJECT; else it
 * comes to its end.
 */
struct rs_error *push_translate(struct push_code *code, struct rs_script *script,
				const struct clause *clause, const struct rs_event *event,
				uint32_t from, uint32_t to, struct push_outcome *outcome);

#endif
