/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree of a clause, and the state of the compiler. */
#ifndef RS_LANG_FRONT_TREE_H
#define RS_LANG_FRONT_TREE_H

#include "base/map.h"
#include "lang/front/lex.h"

enum node_kind {
	N_INT,	     /* 5: value, type */
	N_TEXT,	     /* "a": text, len */
	N_NAME,	     /* x: text; after check: variable, or N_INT */
	N_SCOPED,    /* self->x, this->x: text, scope */
	N_INDEX,     /* x[1, 2]: a is x, args the keys */
	N_MEMBER,    /* args.x, a.x, a->x: text; op is OP_DOT or OP_ARROW */
	N_KERNEL,    /* `x: text */
	N_GUEST,     /* kernel`x: text, all of it; len is the length before the ` */
	N_CALL,	     /* f(1, 2): text, args */
	N_UNARY,     /* -a: op, a */
	N_POST,	     /* a++: op, a */
	N_BINARY,    /* a + b */
	N_ASSIGN,    /* a = b, a += b: op of the second, OP_NONE of the first */
	N_COND,	     /* a ? b : c */
	N_COMMA,     /* a, b */
	N_CAST,	     /* (int)a: type */
	N_SIZEOF,    /* sizeof (a), sizeof (int): a or type */
	N_OFFSETOF,  /* offsetof (type, text) */
	N_DEREF,     /* *a */
	N_ADDRESS,   /* &a */
	N_XLATE,     /* xlate <type> (a) */
	N_AGG,	     /* @a[1, 2]: text, args */
	N_AGGREGATE, /* @a[1] = count(): a is N_AGG, b N_CALL */
	N_IF,	     /* if (a) { b } else { c }: a; b and c are lists */
	N_WALK,	     /* walk (a, b, value) { c }: text is the variable that `it` is */
};

struct node {
	enum node_kind kind;
	struct place at;
	struct node *next; /* in a list of arguments or statements */
	struct node *a, *b, *c, *args;
	enum op op;
	enum scope scope;
	uint64_t value;
	const char *text;
	size_t len;
	struct type type;	   /* set by the checker */
	struct variable *variable; /* of a name that refers to a variable of the program */
	uint32_t index;		   /* the row of a table or the reference of the program, by kind */
	uint8_t refers;		   /* enum refers */
	const struct member *member; /* of N_MEMBER, set by the checker */
	bool is_action;		     /* of N_CALL: index refers to the actions */
};

/* What a name refers to. */
enum refers {
	REFERS_NONE,
	REFERS_VARIABLE,
	REFERS_BUILTIN,
	REFERS_ARG,
	REFERS_ENUM,
	REFERS_ERROR,
	REFERS_MEMORY, /* an object at an address: a member, an element, *p */
};

struct type_name {
	const char *name;
	struct type type;
	struct type_name *next;
};

/* translator to < from input > { member = expression; ... }; */
struct translation {
	const struct member *member;
	struct node *value;
	struct translation *next;
};

struct translator {
	struct record *to;
	struct type from;
	const char *input;
	struct translation *translations;
	struct translator *next;
};

struct enum_name {
	const char *name;
	int64_t value;
	struct enum_name *next;
};

/* The names that the program declares, and the state of the current clause. */
struct front {
	struct rs_map guests; /* of records: those of the guest, by their numbers */
	struct rs_types *guest_types[LANG_GUEST_TYPES_MAX]; /* number of searched sets */
	uint32_t n_guest_members, guest_depth;
	struct type_name *type_names;
	struct enum_name *enum_names;
	struct record *records;
	struct translator *translators;
	uint32_t n_hidden; /* variables that the compiler added */
	/* Of the clause in compilation. */
	bool matched_other; /* BEGIN, END or a tick, which have no arguments */
	bool matched_error;
	uint32_t expansions, visits; /* of inlines, of nodes */
	uint64_t macros_used;
};

/* ---- the stages --------------------------------------------------------------------------- */

struct rs_error *rs_lang_parse_program(struct rs_script *script); /* clause.c */
/* Creates the probes that clauses may match: those of all schemas, and those that the source
 * creates because the program names them. */
struct rs_error *rs_lang_match_probes(struct rs_script *script); /* match.c */
/* Finds the probes that the clause matches. */
struct rs_error *rs_lang_match_clause(struct rs_script *script, const struct clause *clause);
struct rs_error *rs_lang_check_clause(struct rs_script *script, struct clause *clause);
struct rs_error *rs_lang_compile_clause(struct rs_script *script, struct clause *clause);
/* Fills in clause->shortcut. */
void rs_lang_shortcut_make(struct clause *clause);

/* ---- variables (variable.c) ----------------------------------------------------------------- */

/* Returns the variable of that name, or NULL. */
struct variable *rs_lang_variable_find(const struct rs_script *script, enum scope scope,
				       const char *name);
/* Places a variable. Returns false if there are too many. */
bool rs_lang_variable_place(struct rs_script *script, struct variable *variable);

/* Folds an expression in place. Returns false if its value is not constant. */
bool rs_lang_fold(struct node *node);

#endif
