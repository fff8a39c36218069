/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code of a clause, and the tables that its instructions refer to: the format that the compiler
 * (front/) writes, the machine runs, and the push-down (bpf/) reads.
 */
#ifndef RS_LANG_VM_CODE_H
#define RS_LANG_VM_CODE_H

#include <stddef.h>
#include "lang/vm/limits.h"
#include "lang/vm/type.h"

struct place {
	uint32_t line, column;
};

enum scope { SCOPE_GLOBAL, SCOPE_SELF, SCOPE_THIS };

#define OP(name, takes, gives, help) I_##name,
enum opcode {
#include "lang/vm/ops.def"
	I_COUNT
};
#undef OP

/* The operand k of KEY: the number of the variable; from bit 16 the number of keys; from bit 24
 * the owner. */
#define LANG_KEY_GLOBAL	     (0u << 24)
#define LANG_KEY_SELF	     (1u << 24) /* the thread is part of the key */
#define LANG_KEY_AGGREGATION (2u << 24) /* only the tuple */

struct insn {
	uint8_t op;
	uint8_t n;
	uint32_t k;
};

/* An argument that the program uses, by name or by position. Each event binds it to a field. */
struct arg_ref {
	const char *name; /* or NULL */
	uint32_t index;
	bool raw; /* arg0: 0 if the event has no such argument */
	struct type type;
};

/* A name that is looked up in the enumeration of that argument. */
struct enum_ref {
	uint32_t arg;
	const char *name;
};

#define AGG(name, text, n_min, n_max, words, args, help) AGG_##name,
enum agg_function {
#include "lang/vm/aggregates.def"
	N_AGG_FUNCTIONS
};
#undef AGG

struct aggregation {
	const char *name;
	enum agg_function function;
	int64_t params[4]; /* base, limit, step; factor, low, high, steps; percent */
	uint8_t n_params;
	uint8_t n_keys;
	struct type keys[LANG_KEYS_MAX];
	int64_t *bounds; /* llquantize: the start of each bin after the first */
	uint32_t n_data; /* 64-bit words of a row */
	uint64_t normal;
	uint32_t index;
	bool printed;
	struct aggregation *next;
};

/* The letters of conversions, by their operand's type. */
#define CONVERSIONS_OF_TEXT    "sSk"
#define CONVERSIONS_OF_NUMBERS "dioxXucCpaAYT"

/* A conversion of a format: %-5d */
struct conversion {
	const char *before; /* literal text before it */
	size_t before_len;
	char letter; /* 0: only the text before it */
	bool minus, plus, space, alt, zero, group, aggregate;
	bool width_given, precision_given; /* given as arguments, by * */
	int width, precision;		   /* -1: none */
};

struct format {
	struct conversion *conversions;
	uint32_t n;
};

enum action_kind {
	ACT_AGGREGATE,
	ACT_PRINTF,
	ACT_TRACE,
	ACT_PRINT,
	ACT_EXIT,
	ACT_PRINTA,
	ACT_TRUNC,
	ACT_CLEAR,
	ACT_NORMALIZE,
	ACT_DENORMALIZE,
	ACT_SPECULATE,
	ACT_COMMIT,
	ACT_DISCARD,
	ACT_SETOPT,
	ACT_TRACEMEM,
	ACT_STACK,
};

/* An action in the program, with the types of its arguments. */
struct action {
	enum action_kind kind;
	uint8_t n_args;
	struct type types[LANG_ARGS_MAX];
	struct format *format;
	struct aggregation *aggregations[LANG_ARGS_MAX];
	uint8_t n_aggregations;
	bool has_key;	/* ACT_AGGREGATE: a key lies below the value */
	uint32_t bytes; /* ACT_TRACEMEM; of ACT_STACK the number of frames, 0: not given */
	bool user;	/* ACT_STACK: of user mode */
};

/*
 * The parts of a clause that run without code for most events (fast.c): comparisons of arguments
 * with constants, joined by &&, at the start of the predicate; and a body that is one aggregation
 * whose keys depend only on the probe, the stream and the CPU.
 */
#define SHORTCUT_TESTS 4
struct shortcut {
	struct shortcut_test {
		enum opcode op; /* I_EQ, I_LTS and the like: the argument stands on the left */
		uint32_t arg;	/* by reference */
		bool is_enum;	/* value is a reference to an enumeration's name */
		uint64_t value;
	} tests[SHORTCUT_TESTS];
	uint8_t n_tests;
	bool whole; /* the tests are the whole predicate */
	bool adds;
	bool has_value;	  /* the aggregation adds an argument */
	uint32_t value;	  /* by reference */
	struct type type; /* of the value */
};

struct node;

struct pattern {
	const char *text; /* the description as written, with macros expanded */
	struct place at;
	struct pattern *next;
};

struct clause {
	struct pattern *patterns;
	struct node *predicate, *body;
	bool has_body;
	bool has_copyinstr;
	struct place at;
	uint32_t index;
	/* Set by the compiler. */
	struct insn *code;
	uint32_t n_code, test_end; /* the body begins at test_end */
	uint32_t n_walks;
	struct place *places; /* of each instruction */
	uint16_t *acts;	      /* the action that each belongs to, from 1; 0: the predicate */
	bool records;
	struct shortcut shortcut;
	struct clause *next;
};

#endif
