/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BPF made of a clause's verified code, for one event; see code.c. push.c decides what becomes
 * of it.
 */
#ifndef RS_LANG_BPF_CODE_H
#define RS_LANG_BPF_CODE_H

#include <linux/bpf.h>

#include "event/filter.h"
#include "lang/vm/program.h"

#define PUSH_INSNS (RS_FILTER_INSNS - RS_FILTER_TAIL)

/* Where a jump goes that is not there yet. */
enum push_label {
	PUSH_KEEP,	/* the record is wanted */
	PUSH_REJECT,	/* this clause does not want it */
	PUSH_SKIP,	/* the event is another's */
	PUSH_DONE,	/* no clause wants it */
	PUSH_KEEP_REST, /* the record is wanted beside what is added of it */
	PUSH_OUT,	/* what becomes of it is said */
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
	bool full;	      /* something found no room */
	bool thread;	      /* it asks for the thread */
	enum push_label keep; /* where what can't be told goes */
};

/* ---- what is added up ----------------------------------------------------------------------- */

/* A key of a tuple, as it is found in a sum. */
enum push_part_kind {
	PART_NUMBER, /* the next word */
	PART_VM,     /* the thread whose number the next word is */
	PART_FIELD,  /* the name for it of an argument's enumeration */
	PART_TEXT,   /* of no word: it is known */
};

struct push_part {
	enum push_part_kind kind;
	const struct rs_field *field;
	const char *s;
	uint32_t len;
};

/* What a sum is of: a statement, where an event fires its clause. */
struct push_sum {
	const struct aggregation *agg;
	struct push_part parts[LANG_KEYS_MAX];
	uint8_t n_parts;
};

struct push_rows {
	struct push_sum *sums; /* by number */
	uint32_t n, room;
	uint32_t used;	     /* rows of the event */
	uint32_t n_keys;     /* words of each key */
	const bool *ordered; /* by aggregation: what it is at an event counts */
};

/* Around all of it. */
void rs_push_begin(struct push_code *code);
void rs_push_end(struct push_code *code);

/* A jump to a label; the label is here: those from the jumps' `from`-th on. */
void rs_push_goto(struct push_code *code, enum push_label label);
void rs_push_land(struct push_code *code, enum push_label label, uint32_t from);
void rs_push_label_last(struct push_code *code,
			enum push_label label);		 /* what was put last jumps */
void rs_push_event(struct push_code *code, uint64_t id); /* else to PUSH_SKIP */

/* The event's rows, n at most, are none yet; and at its end: added, kept or not. live: somebody
 * comes there who does not want it. */
void rs_push_rows_begin(struct push_code *code, uint32_t n);
void rs_push_rows_end(struct push_code *code, uint32_t n, bool live);

/* How far a clause's code went. */
struct push_outcome {
	const char *why; /* what it came to that only the program itself can do; NULL: nothing */
	struct place at; /* where */
	bool rejects;	 /* there is a way to PUSH_REJECT */
	bool ends;	 /* there is one to its end */
};

/*
 * A clause's code from `from` to `to`, for an event that suits it. What is not of the event goes to
 * code->keep, and so does a division by zero; a predicate that does not hold to PUSH_REJECT; else
 * it comes to its end. With rows an aggregation is a row.
 */
struct rs_error *rs_push_translate(struct push_code *code, struct rs_script *script,
				   const struct clause *clause, const struct rs_event *event,
				   uint32_t from, uint32_t to, struct push_rows *rows,
				   struct push_outcome *outcome);

#endif
