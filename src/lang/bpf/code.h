/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translates a clause's verified code into BPF for one event (code.c); push.c combines the clauses.
 */
#ifndef RS_LANG_BPF_CODE_H
#define RS_LANG_BPF_CODE_H

#include <linux/bpf.h>

#include "event/filter.h"
#include "lang/vm/program.h"

#define PUSH_INSNS (RS_FILTER_INSNS - RS_FILTER_TAIL)

/* The targets of jumps whose code is not emitted yet. */
enum push_label {
	PUSH_KEEP,	/* keep the record */
	PUSH_REJECT,	/* this clause does not want the record */
	PUSH_SKIP,	/* the record is of another event */
	PUSH_DONE,	/* no clause wants the record */
	PUSH_KEEP_REST, /* keep the record, which is also added up */
	PUSH_OUT,	/* the result is set */
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
	bool full;	      /* something did not fit */
	bool thread;	      /* the code reads the thread */
	enum push_label keep; /* the target where BPF cannot decide */
};

/* ---- what is added up ----------------------------------------------------------------------- */

/* A key of a tuple, as a sum stores it. */
enum push_part_kind {
	PART_NUMBER, /* the next word */
	PART_VM,     /* the VM of the thread in the next word */
	PART_FIELD,  /* the name of the next word in an argument's enumeration */
	PART_TEXT,   /* a constant: takes no word */
};

struct push_part {
	enum push_part_kind kind;
	const struct rs_field *field;
	const char *s;
	uint32_t len;
};

/* The statement and the event that a sum belongs to. */
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
	const bool *ordered; /* by aggregation: a clause of events reads it */
};

/* Emits the start and the end of the filter. */
void rs_push_begin(struct push_code *code);
void rs_push_end(struct push_code *code);

/* Emits a jump to a label; places a label here, for the jumps from the `from`-th on. */
void rs_push_goto(struct push_code *code, enum push_label label);
void rs_push_land(struct push_code *code, enum push_label label, uint32_t from);
void rs_push_label_last(struct push_code *code,
			enum push_label label);		 /* the last instruction jumps there */
void rs_push_event(struct push_code *code, uint64_t id); /* else to PUSH_SKIP */

/* Emits the start and the end of an event's rows, at most n. live: some path reaches the end
 * without wanting the record. */
void rs_push_rows_begin(struct push_code *code, uint32_t n);
void rs_push_rows_end(struct push_code *code, uint32_t n, bool live);

/* How much of a clause's code became BPF. */
struct push_outcome {
	const char *why; /* what only the program can do, or NULL */
	struct place at; /* where */
	bool rejects;	 /* some path reaches PUSH_REJECT */
	bool ends;	 /* some path reaches the end */
};

/*
 * Translates a clause's code from `from` to `to` for an event that has its arguments. Where the
 * code needs the program, or divides by zero, it jumps to code->keep; where the predicate fails, to
 * PUSH_REJECT. With rows, an aggregation becomes a row.
 */
struct rs_error *rs_push_translate(struct push_code *code, struct rs_script *script,
				   const struct clause *clause, const struct rs_event *event,
				   uint32_t from, uint32_t to, struct push_rows *rows,
				   struct push_outcome *outcome);

#endif
