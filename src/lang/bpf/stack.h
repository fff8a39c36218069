/* SPDX-License-Identifier: BSD-2-Clause */
/* A clause on its way to BPF, as those share it who translate it: code.c, rows.c. */
#ifndef RS_LANG_BPF_STACK_H
#define RS_LANG_BPF_STACK_H

#include "lang/bpf/emit.h"

#define DEPTH_MAX 12u

/* A string that the source does not have. The reader of its sums finds it by this number. */
enum later {
	LATER_NOT,
	LATER_VM,    /* the thread's number */
	LATER_FIELD, /* the argument's */
};

struct entry {
	bool text; /* of these bytes */
	enum later later;
	const struct rs_field *field;
	bool known; /* a number that is written nowhere yet */
	uint64_t value;
	const char *s;
	uint32_t len;
};

/* What is known of an instruction of the machine's. */
struct spot {
	uint32_t insn; /* of ours */
	int16_t depth; /* of those who jump here; -1: none */
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
	struct push_rows *rows; /* what is added up goes there; NULL: that is not asked for */
	struct push_sum sum;	/* the next one: what is known of its key */
	uint32_t n_words;	/* of that key */
	struct entry stack[DEPTH_MAX];
	uint32_t depth;
	uint32_t pc, from, to;
	bool live; /* somebody comes here */
	struct spot *spots;
	struct fixup *fixups;
	uint32_t n_fixups;
};

/* The register that has a value, or the one given, that it is loaded into. */
uint8_t rs_push_stack_get(struct translation_of *t, uint32_t depth, uint8_t moment);

/* A register's value becomes what is there. */
void rs_push_stack_set(struct translation_of *t, uint32_t depth, uint8_t reg);

/* Numbers that are known, of the first n, are written, for ways meet where it goes on. */
void rs_push_stack_settle(struct translation_of *t, uint32_t n);

/* Only the program itself can do this. */
void rs_push_stack_leave(struct translation_of *t, const char *why);

/* One more; false: it was left. */
bool rs_push_stack_room(struct translation_of *t);
void rs_push_stack_known(struct translation_of *t, uint64_t value);
void rs_push_stack_text(struct translation_of *t, const char *text, size_t len);
void rs_push_stack_register(struct translation_of *t, uint8_t reg);

/* A string by its number. */
void rs_push_stack_later(struct translation_of *t, uint8_t reg, enum later later,
			 const struct rs_field *field);

/* rows.c: a tuple of keys, an aggregation. */
void rs_push_rows_key(struct translation_of *t, const struct insn *insn);
void rs_push_rows_add(struct translation_of *t, const struct insn *insn);

/* Where the next value is made. */
uint8_t rs_push_stack_next(const struct translation_of *t);

#endif
