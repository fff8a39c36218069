/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the stages of the language share: types, the tree, the program. Everything here belongs to
 * one struct rs_script and lives in its arena.
 */
#ifndef RS_LANG_VM_INTERNAL_H
#define RS_LANG_VM_INTERNAL_H

#include "base/arena.h"
#include "lang/lang.h"
#include <ringside/record.h>

/* Every limit of the language. What a program could grow without end has one. */
#define LANG_TEXT_MAX	 (1u << 20) /* bytes of a program */
#define LANG_TOKEN_MAX	 4096	    /* bytes of an identifier or a string constant */
#define LANG_DEPTH_MAX	 200	    /* of nested expressions and statements */
#define LANG_CLAUSES_MAX 4096
#define LANG_VISITS_MAX	 (1u << 20)  /* of the tree, with inlines in their places */
#define LANG_CODE_MAX	 (1u << 16)  /* instructions of a clause */
#define LANG_STACK_MAX	 256	     /* values; the verifier proves it */
#define LANG_SLOTS_MAX	 4096	     /* variables of a scope */
#define LANG_KEYS_MAX	 8	     /* of a tuple */
#define LANG_KEY_BYTES	 8192	     /* of a tuple made into bytes */
#define LANG_ARGS_MAX	 32	     /* of a call */
#define LANG_SCRATCH	 (17u << 16) /* bytes that a clause may copy or make: a MiB, and more */
#define LANG_OUTPUT_MAX	 (1u << 20)  /* bytes that a clause may print at once */
#define LANG_QUANTIZE	 127	     /* bins: negative, zero, positive powers of two */
#define AGG_HIST_AT	 3	     /* p()'s words: whether there was any, min, max, histogram */
#define LANG_BINS_MAX	 4096	     /* of lquantize and llquantize */
#define LANG_NO_STACK	 "\n"	     /* as stack() prints and gives it */
#define LANG_TICKS_MAX	 (1u << 30)  /* of one probe after an event, until the next */
#define LANG_TICKS_LOOK	 (1u << 20)  /* of them, and it is looked whether to stop */
#define LANG_TICK_NS_MIN 1000
#define LANG_WALKS_MAX	 8u	    /* loops of a clause */
#define LANG_WALK_STEPS	 4096u	    /* of a loop, with those that it is in */
#define LANG_TOP_MAX	 100u	    /* values that topk() shows */
#define LANG_OBJECT_MAX	 16384u	    /* bytes of a struct or an array */
#define LANG_OBJECTS_MAX (1u << 20) /* of all of a scope */

/* ---- types -------------------------------------------------------------------------------- */

enum type_kind {
	TYPE_NONE,
	TYPE_INT,
	TYPE_STRING,
	TYPE_VOID,
	TYPE_AGGREGATION,
	TYPE_POINTER, /* 8 bytes: an address (memory.h) */
	TYPE_RECORD,  /* struct, union: its value is where it lies */
	TYPE_ARRAY,   /* of a fixed size: the same */
};

struct record;
struct type {
	enum type_kind kind;
	uint8_t bytes; /* of an integer or a pointer */
	bool is_signed;
	bool hex;	       /* of an integer: a key of it is shown in hexadecimal */
	uint32_t n;	       /* of an array's elements */
	const struct type *to; /* what a pointer points to, what an array is of */
	struct record *record;
};

struct member {
	const char *name;
	struct type type;
	uint32_t offset;  /* bytes; of a bit-field's unit */
	uint8_t bits, at; /* of a bit-field: how many, from which bit of its unit on; else 0 */
	struct member *next;
};

struct record {
	const char *tag; /* "" where it has none */
	bool is_union, complete;
	bool busy; /* its members are being read */
	struct member *members;
	uint32_t bytes, align;
	struct record *next;
};

#define INT_OF(n, sign)                                                                            \
	(struct type)                                                                              \
	{                                                                                          \
		.kind = TYPE_INT, .bytes = n, .is_signed = sign                                    \
	}
#define TYPE_OF_INT    INT_OF(4, true)
#define TYPE_OF_INT64  INT_OF(8, true)
#define TYPE_OF_UINT64 INT_OF(8, false)
#define TYPE_OF_STRING                                                                             \
	(struct type)                                                                              \
	{                                                                                          \
		TYPE_STRING                                                                        \
	}
#define TYPE_OF_VOID                                                                               \
	(struct type)                                                                              \
	{                                                                                          \
		TYPE_VOID                                                                          \
	}

#define TYPE_TEXT_MAX 96
const char *type_text(struct type type, char text[TYPE_TEXT_MAX]);
/* Of two operands, by C's rules. */
struct type type_promote(struct type type);
struct type type_common(struct type a, struct type b);
uint64_t type_cut(struct type type, uint64_t value);
/* A type's name ("uint8_t"), of one word or, as "unsigned long", of several with single blanks. */
bool type_named(const char *name, struct type *type);
bool type_same(const struct type *a, const struct type *b);
/* A number or a pointer: what fits a register. */
bool type_is_scalar(const struct type *type);
/* A struct, union or array: what lies in memory. */
bool type_is_object(const struct type *type);
/* Bytes in memory, a string's being strsize; 0: it has no size. */
uint64_t type_bytes(const struct rs_script *script, const struct type *type);
uint32_t type_align(const struct type *type);
const struct member *member_find(const struct record *record, const char *name);

/* ---- text and tokens ---------------------------------------------------------------------- */

struct place {
	uint32_t line, column;
};

enum token_kind {
	T_END,
	T_NAME,	 /* text */
	T_INT,	 /* value, type */
	T_TEXT,	 /* text, len */
	T_AGG,	 /* @name; text is the name, "" for @ alone */
	T_MACRO, /* $name, $$name: text is the name, value is 1 for $$ */
	T_OP,	 /* value is enum op */
};

/* Operators and punctuation, longest first in the lexer's table. */
enum op {
	OP_NONE,
	OP_LBRACE,
	OP_RBRACE,
	OP_LPAREN,
	OP_RPAREN,
	OP_LBRACKET,
	OP_RBRACKET,
	OP_SEMI,
	OP_COMMA,
	OP_DOT,
	OP_ARROW,
	OP_QUESTION,
	OP_COLON,
	OP_TICK,
	OP_EPRED, /* the / that ends a predicate */
	OP_ASSIGN,
	OP_ADD_ASSIGN,
	OP_SUB_ASSIGN,
	OP_MUL_ASSIGN,
	OP_DIV_ASSIGN,
	OP_MOD_ASSIGN,
	OP_AND_ASSIGN,
	OP_OR_ASSIGN,
	OP_XOR_ASSIGN,
	OP_SHL_ASSIGN,
	OP_SHR_ASSIGN,
	OP_LOR,
	OP_LXOR,
	OP_LAND,
	OP_BOR,
	OP_BXOR,
	OP_BAND,
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_LE,
	OP_GT,
	OP_GE,
	OP_SHL,
	OP_SHR,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD,
	OP_NOT,
	OP_INV,
	OP_INC,
	OP_DEC,
};

struct token {
	enum token_kind kind;
	struct place at;
	enum op op;
	uint64_t value;
	struct type type;
	const char *text; /* NUL-terminated, the arena's */
	size_t len;
};

struct lexer {
	struct rs_script *script;
	const char *at, *end, *line_start;
	uint32_t line;
	bool predicate;	  /* a / before a { ends it */
	const char *file; /* by the preprocessor's line marks */
};

struct rs_error *lex_next(struct lexer *lexer, struct token *token);
struct rs_error *lex_space(struct lexer *lexer); /* blanks, comments, # lines */
struct place lex_place(const struct lexer *lexer);
const char *op_text(enum op op);

/* ---- the tree ----------------------------------------------------------------------------- */

enum node_kind {
	N_INT,	     /* 5: value, type */
	N_TEXT,	     /* "a": text, len */
	N_NAME,	     /* x: text; after check: variable, or N_INT */
	N_SCOPED,    /* self->x, this->x: text, scope */
	N_INDEX,     /* x[1, 2]: a is x, args the keys */
	N_MEMBER,    /* args.x, a.x, a->x: text; op is OP_DOT or OP_ARROW */
	N_KERNEL,    /* `x: text */
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

enum scope { SCOPE_GLOBAL, SCOPE_SELF, SCOPE_THIS };

struct variable;

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
	struct type type;	     /* given by check */
	struct variable *variable;   /* of a name that is a variable of the program */
	uint32_t index;		     /* of a table's row or a program's reference, by kind */
	uint8_t refers;		     /* enum refers */
	const struct member *member; /* of N_MEMBER, after check */
	bool is_action;		     /* of N_CALL: index is of the actions */
};

/* What a name came to. */
enum refers {
	REFERS_NONE,
	REFERS_VARIABLE,
	REFERS_BUILTIN,
	REFERS_ARG,
	REFERS_ENUM,
	REFERS_ERROR,
	REFERS_MEMORY, /* what lies at an address: a member, an element, *p */
};

struct pattern {
	const char *text; /* the description as it was written, macros expanded */
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
	/* After the compiler. */
	struct insn *code;
	uint32_t n_code, test_end; /* the body begins at test_end */
	uint32_t n_walks;
	struct place *places; /* of each instruction */
	uint16_t *acts;	      /* which action each is part of, from 1; 0 the predicate */
	bool records;
	struct clause *next;
};

/* ---- the program -------------------------------------------------------------------------- */

#define OP(name, takes, gives, help) I_##name,
enum opcode {
#include "lang/vm/ops.def"
	I_COUNT
};
#undef OP

/* KEY's k: the variable's number, from bit 16 how many keys, and whose the tuple is. */
#define LANG_KEY_GLOBAL	     (0u << 24)
#define LANG_KEY_SELF	     (1u << 24) /* the thread is part of it */
#define LANG_KEY_AGGREGATION (2u << 24) /* the tuple alone */

struct insn {
	uint8_t op;
	uint8_t n;
	uint32_t k;
};

struct variable {
	const char *name;
	enum scope scope;
	struct type type; /* of the value */
	bool is_array;
	uint8_t n_keys;
	struct type keys[LANG_KEYS_MAX];
	uint32_t slot;	      /* of its scope; of dynamic ones, its number */
	uint32_t at;	      /* of a struct or array that is not dynamic: where in its region */
	struct node *inlined; /* inline int x = ...: in its place */
	bool busy;	      /* its inlined expression is being looked at */
	struct variable *next;
};

/* An argument that the program asks for, by name or by place. What it is depends on the event. */
struct arg_ref {
	const char *name; /* or NULL */
	uint32_t index;
	bool raw; /* arg0: 0 where there is none */
	struct type type;
};

/* A name of an enumeration, as that argument's enumeration has it. */
struct enum_ref {
	uint32_t arg;
	const char *name;
};

enum agg_function {
	AGG_NONE,
	AGG_COUNT,
	AGG_SUM,
	AGG_AVG,
	AGG_MIN,
	AGG_MAX,
	AGG_STDDEV,
	AGG_PERCENTILE,
	AGG_QUANTIZE, /* from here on distributions */
	AGG_LQUANTIZE,
	AGG_LLQUANTIZE,
	AGG_TOPK,
};

struct aggregation {
	const char *name;
	enum agg_function function;
	int64_t params[4]; /* base, limit, step; factor, low, high, steps; percent */
	uint8_t n_params;
	uint8_t n_keys;
	struct type keys[LANG_KEYS_MAX];
	int64_t *bounds; /* llquantize: where bins begin, after the first */
	uint32_t n_data; /* 64-bit words of a row */
	uint64_t normal;
	uint32_t index;
	bool printed;
	struct aggregation *next;
};

/* The letters of conversions, by what they are for. */
#define CONVERSIONS_OF_TEXT    "sSk"
#define CONVERSIONS_OF_NUMBERS "dioxXucCpaAYT"

/* A conversion of a format: %-5d */
struct conversion {
	const char *before; /* literal text before it */
	size_t before_len;
	char letter; /* 0: nothing but the text before it */
	bool minus, plus, space, alt, zero, group, aggregate;
	bool width_given, precision_given; /* as arguments, by * */
	int width, precision;		   /* -1: none */
};

struct format {
	struct conversion *conversions;
	uint32_t n;
};

/* topk()'s words: how many values were there, and pairs of a value and its count: several times as
 * many as are shown, so that the counts of those are right but for what is rare. */
#define AGG_TOP_AT 1
static inline uint32_t agg_top_slots(uint32_t shown)
{
	return shown * 4 < 64 ? 64 : shown * 4;
}

static inline uint32_t agg_top_words(uint32_t shown)
{
	return AGG_TOP_AT + 2 * agg_top_slots(shown);
}

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

/* A place in the program that does something: what, with arguments of which types. */
struct action {
	enum action_kind kind;
	uint8_t n_args;
	struct type types[LANG_ARGS_MAX];
	struct format *format;
	struct aggregation *aggregations[LANG_ARGS_MAX];
	uint8_t n_aggregations;
	bool has_key;	/* ACT_AGGREGATE: a tuple is below the value */
	uint32_t bytes; /* ACT_TRACEMEM */
};

/* Numeric options, by -x and #pragma D option. */
enum option {
	OPT_AGGSIZE,
	OPT_AGGSORTKEY,
	OPT_AGGSORTKEYPOS,
	OPT_AGGSORTPOS,
	OPT_AGGSORTREV,
	OPT_DEFAULTARGS,
	OPT_DYNVARSIZE,
	OPT_JSON,
	OPT_NOPUSHDOWN,
	OPT_NSPEC,
	OPT_QUIET,
	OPT_SPECSIZE,
	OPT_STRSIZE,
	OPT_TARGET,
	OPT_ZDEFS,
	OPT_COUNT
};

/* Vectors that grow in the arena. */
#define VECTOR(type)                                                                               \
	struct {                                                                                   \
		type *at;                                                                          \
		uint32_t n, room;                                                                  \
	}

struct tick {
	int64_t period_ns, next_ns;
	uint32_t probe;
	bool all_cpus;	/* profile-N: told apart by name alone */
	uint64_t fired; /* since the last event */
	uint64_t skipped;
};

struct probe {
	struct rs_script_probe public;
	uint32_t *clauses; /* by index, in the program's order */
	uint32_t n_clauses;
	uint32_t tick; /* of the ticks, + 1 */
	/* Events of the same name that differ in their fields; public.event is the first. */
	VECTOR(const struct rs_event *) layouts;
};

struct runtime;

struct rs_script {
	struct rs_script_config config;
	struct rs_arena arena;
	uint64_t options[OPT_COUNT];
	uint32_t options_fixed; /* bits: given from outside */

	struct clause *clauses, **clauses_end;
	uint32_t n_clauses;
	VECTOR(struct clause *) clause_at;
	VECTOR(struct probe) probes;

	struct variable *variables;
	uint32_t n_slots[3];
	struct aggregation *aggregations;
	uint32_t n_aggregations;
	struct type_name *type_names;
	struct enum_name *enum_names;
	struct record *records;
	struct translator *translators;
	uint32_t object_bytes[2]; /* of global and this-> structs and arrays */
	uint32_t n_hidden;	  /* variables that the compiler made for itself */

	VECTOR(uint64_t) ints;
	VECTOR(struct text_constant) texts;
	VECTOR(struct arg_ref) args;
	VECTOR(struct enum_ref) enums;
	VECTOR(struct action) actions;
	VECTOR(struct tick) ticks;

	/* Of the clause that is being compiled. */
	VECTOR(const struct rs_event *) matched;
	bool matched_other; /* BEGIN, END, a tick: what has no arguments */
	bool matched_error;
	uint32_t expansions, visits; /* of inlines, of the tree */

	uint64_t macros_used;
	const char *file; /* where the compiler is, for messages */
	struct runtime *runtime;
	struct push *push; /* bpf/push.c; NULL: nothing was */
};

struct text_constant {
	const char *text;
	uint32_t len;
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

/* Room for one more in a vector; false without memory. */
bool vector_room(struct rs_script *script, void **at, uint32_t n, uint32_t *room, size_t bytes);
#define VECTOR_ADD(script, vector)                                                                 \
	(vector_room((script), (void **)&(vector)->at, (vector)->n, &(vector)->room,               \
		     sizeof(*(vector)->at))                                                        \
		 ? &(vector)->at[(vector)->n++]                                                    \
		 : NULL)

/* "file:line:column: [TAG] message" */
struct rs_error *lang_error(const struct rs_script *script, struct place at, const char *tag,
			    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* For suggestions: keeps in *best, at *distance, the name nearest to what was written so far. */
void nearest_try(const char *written, const char *name, const char **best, uint32_t *distance);
#define NEAREST_MAX 3 /* changes of a letter that still count as near */

/* ---- the stages --------------------------------------------------------------------------- */

struct rs_error *parse_program(struct rs_script *script);
/* Gives a variable its place; false: there are too many. */
bool variable_place(struct rs_script *script, struct variable *variable);
/* One that can be set while the program runs; false: it can't. */
bool option_at_run(const char *name);
struct rs_error *script_set_option(struct rs_script *script, struct place at, const char *text,
				   bool outside);
/* The probe of an event: its index, made where it is not there. */
struct rs_error *probe_of_event(struct rs_script *script, const struct rs_event *event,
				uint32_t *index);
/* Whether some layout of the event's probe has the argument: others have it as 0 or "". */
bool probe_has_arg(const struct rs_script *script, const struct rs_event *event,
		   const struct arg_ref *ref);
void runtime_destroy(struct rs_script *script);
struct push;
void push_destroy(struct push *push); /* bpf/push.c; NULL is nothing */
/* Whether the source has done a clause for an event, as its id says. */
bool push_has_done(const struct rs_script *script, const struct clause *clause,
		   const struct rs_event *event);
/* Before a tick's clauses fire, and at the end (INT64_MAX): what was added up until then. */
struct rs_error *push_settle(struct rs_script *script, uint32_t tick, int64_t at_ns);
struct rs_error *script_match(struct rs_script *script, struct clause *clause);
bool pattern_is_event(const struct pattern *pattern);
struct rs_error *check_clause(struct rs_script *script, struct clause *clause);
struct rs_error *compile_clause(struct rs_script *script, struct clause *clause);
struct rs_error *verify_clause(const struct rs_script *script, const struct clause *clause);
struct rs_error *format_parse(struct rs_script *script, struct place at, const char *text,
			      size_t len, struct format **format);

/* An expression whose value is known; false: it is not constant. Folds in place. */
bool fold(struct node *node);

const struct rs_field *arg_field(const struct rs_event *event, const struct arg_ref *ref);

/* bind.c: whether a clause's descriptions match an event; whether that has the arguments that the
 * clause asks for, else *what it lacks. */
bool bind_matches(const struct clause *clause, const struct rs_event *event);
bool bind_suits(const struct rs_script *script, const struct clause *clause,
		const struct rs_event *event, const char **what);

/* ---- tables: variables and functions ------------------------------------------------------ */

struct firing;
struct value {
	union {
		uint64_t i;
		const char *s;
	};
	uint32_t len; /* of a string */
};

struct builtin {
	const char *prototype; /* in D: "uint64_t timestamp" */
	const char *help;
	struct value (*get)(const struct firing *firing);
	bool pure;   /* of nothing but the event */
	bool varies; /* from event to event of a probe, a stream, and a CPU */
	/* Whether the source says it of this event. NULL: it is always known. */
	bool (*known)(const struct firing *firing);
};
extern const struct builtin builtins[];
extern const uint32_t n_builtins;

/* A prototype's name and types; the parser's own, so that tables are in D. */
#define PROTOTYPE_ARGS_MAX 4
struct prototype {
	char name[32];
	struct type result;
	struct type args[PROTOTYPE_ARGS_MAX];
	uint8_t n_args, n_needed;
};
void prototype_read(const char *text, struct prototype *prototype);
bool prototype_is(const char *text, const char *name); /* whose name is that */

struct function {
	const char *prototype; /* "string substr(string s, int at [, int len])" */
	const char *help;
	/* False: the firing's fault is set. */
	bool (*call)(struct firing *firing, const struct value *args, uint32_t n,
		     struct value *result);
	bool hex; /* see struct type */
};
extern const struct function functions[];
extern const uint32_t n_functions;

#endif
