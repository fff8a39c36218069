/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a clause's translation to BPF, which code.c and rows.c share. */
#ifndef RS_LANG_BPF_STACK_H
#define RS_LANG_BPF_STACK_H

#include "lang/bpf/code.h"

#define DEPTH_MAX 12u

/* A string that BPF cannot compute. The reader of the sums looks it up by this number. */
enum later {
	LATER_NOT,
	LATER_VM,    /* the thread's number */
	LATER_FIELD, /* the argument's */
};

struct entry {
	bool text; /* number of bytes */
	enum later later;
	const struct rs_field *field;
	bool known; /* a number that no register holds yet */
	uint64_t value;
	const char *s;
	uint32_t len;
};

/* The state at an instruction of the machine. */
struct spot {
	uint32_t insn; /* the BPF instruction */
	int16_t depth; /* of the stack, for jumps to this place; -1: no jump */
	bool target;
};

struct fixup {
	uint32_t insn, to;
};

struct translation_of {
	struct push_code *code;
	struct rs_script *script;
	const struct clause *clause;
	const struct rs_event *event;
	struct push_outcome *outcome;
	struct push_rows *rows; /* where aggregations go; NULL: only the predicate is translated */
	struct push_sum sum;	/* the next sum: the constant parts of its key */
	uint32_t n_words;	/* of that key */
	struct entry stack[DEPTH_MAX];
	uint32_t depth;
	uint32_t pc, from, to;
	bool live; /* this place is reachable */
	struct spot *spots;
	struct fixup *fixups;
	uint32_t n_fixups;
};

/* Returns the register of an entry, or loads the entry into `moment` and returns that. */
uint8_t rs_push_stack_get(struct translation_of *t, uint32_t depth, uint8_t moment);

/* Sets the entry to a register's value. */
void rs_push_stack_set(struct translation_of *t, uint32_t depth, uint8_t reg);

/* Writes the known numbers among the first n entries, because a control-flow join follows. */
void rs_push_stack_settle(struct translation_of *t, uint32_t n);

/* Ends the translation of this path: only the program can continue. */
void rs_push_stack_leave(struct translation_of *t, const char *why);

/* Reserves an entry. Returns false if the path has ended. */
bool rs_push_stack_room(struct translation_of *t);
void rs_push_stack_known(struct translation_of *t, uint64_t value);
void rs_push_stack_text(struct translation_of *t, const char *text, size_t len);
void rs_push_stack_register(struct translation_of *t, uint8_t reg);

/* Pushes a string that is looked up later by its number. */
void rs_push_stack_later(struct translation_of *t, uint8_t reg, enum later later,
			 const struct rs_field *field);

/* rows.c: a tuple of keys, an aggregation. */
void rs_push_rows_key(struct translation_of *t, const struct insn *insn);
void rs_push_rows_add(struct translation_of *t, const struct insn *insn);

/* Returns the register for the next value. */
uint8_t rs_push_stack_next(const struct translation_of *t);

#endif
