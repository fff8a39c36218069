/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translates a clause's verified code into BPF for one event (code.c); push.c combines the clauses.
 */
#ifndef RS_LANG_BPF_CODE_H
#define RS_LANG_BPF_CODE_H

#include "lang/bpf/emit.h"
#include "lang/vm/program.h"

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

/* The extent to which a clause's code became BPF. */
struct push_outcome {
	const char *why; /* the part that only the program can execute, or NULL */
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
