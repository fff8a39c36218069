/* SPDX-License-Identifier: BSD-2-Clause */
/* A running program: firings, variables, aggregations and output. */
#ifndef RS_LANG_VM_RUNTIME_H
#define RS_LANG_VM_RUNTIME_H

#include "lang/vm/aggregate.h"
#include "lang/vm/dynamic.h"
#include "lang/vm/format.h"

/* ---- faults ------------------------------------------------------------------------------- */

/* The numbers are DTrace's. The missing ones (2, 6, 7) concern memory that events do not have. */
enum fault {
	FAULT_NONE = 0,
	FAULT_BADADDR = 1,
	FAULT_ILLOP = 3,
	FAULT_DIVZERO = 4,
	FAULT_NOSCRATCH = 5,
	FAULT_TUPOFLOW = 8,
};

/* ---- a firing ----------------------------------------------------------------------------- */

/* The parts of a clause that run without the machine, for one event (fast.c). */
struct fast_test {
	enum opcode op;
	enum rs_type type;
	uint16_t offset;
	uint64_t value;
};

struct fast {
	struct fast_test tests[SHORTCUT_TESTS];
	uint8_t n_tests;
	bool whole; /* the tests are the whole predicate */
	bool adds;  /* and the body is one aggregation, of this value if any */
	const struct rs_field *value;
	struct type value_type;
	/* The row of the last event, valid for this stream and CPU while the generation is the
	 * same. */
	const struct rs_stream *stream;
	int cpu;
	uint64_t generation;
	struct agg_row *row;
};

/* A clause that an event fires. */
struct bound {
	const struct clause *clause;
	uint32_t epid;	   /* DTrace's "enabled probe ID" */
	struct fast *fast; /* or NULL */
};

/* An event, with the fields for the references of the program. */
struct binding {
	const struct rs_event *event;
	uint32_t probe;
	struct bound *bound;
	uint32_t n_bound;
	const struct rs_field **fields; /* by reference; NULL: the event has none */
	uint64_t *enums;		/* by reference to an enumeration's name */
	struct binding *next;
};

struct firing {
	struct rs_script *script;
	struct runtime *rt;
	const struct rs_view *view; /* NULL for BEGIN, END, ERROR, ticks */
	const struct binding *binding;
	const struct probe *probe;
	const struct bound *bound;
	int64_t now_ns;
	uint64_t error[10]; /* ERROR's arguments */
	enum fault fault;
	uint64_t fault_value;
	bool recorded;
	uint32_t speculation; /* of this clause; 0: none */
	struct value tokens;  /* the rest after strtok() */
};

/* Returns stringof() of an argument's value, except for names of the schema: the name in its
 * enumeration, or the number, written to text. */
#define VALUE_NAME_MAX 24
const char *rs_lang_value_name(const struct rs_field *field, uint64_t value,
			       char text[VALUE_NAME_MAX]);

/* ---- speculations ------------------------------------------------------------------------- */

struct speculation {
	bool active;
	struct text text;
};

/* ---- the run ------------------------------------------------------------------------------ */

#define BINDINGS 256 /* of the direct-mapped cache; a power of two */

struct global {
	struct value value;
	char *text; /* strsize bytes, of strings */
};

/* The sink that its callbacks receive. */
struct sink_of {
	struct rs_sink sink;
	struct rs_script *script;
};

struct runtime {
	struct sink_of sink;
	struct rs_script_io io;
	struct global *globals;
	struct value *locals; /* this->; for one firing */
	char *scratch;
	size_t scratch_used;
	size_t scratch_kept; /* at the end of a step of a walk */
	size_t alloca_used;  /* at the end of scratch: pointers reach nothing else of it */
	char *object_globals, *object_locals; /* structs and arrays: memory.h */
	struct dynamics dynamics;
	struct agg_table aggs;
	struct speculation *speculations;
	uint64_t speculation_none, speculation_drops, output_drops;
	struct text text;   /* of the running clause */
	struct rs_out json; /* with OPT_JSON: json.h */
	struct binding *cache[BINDINGS];
	struct binding *bindings;
	struct bound *special[3]; /* BEGIN, END, ERROR: by probe */
	uint32_t n_special[3];
	struct bound **tick_bound;
	uint32_t *n_tick_bound;
	int64_t next_tick_ns, now_ns;
	int64_t end_ns; /* 0: with the last event */
	uint64_t random, lost;
	uint32_t n_epids;
	bool heading, exiting, ended, in_error, reported_stack;
	uint64_t reported_unknown; /* by builtin, a bit each */
	int status;
	struct rs_error *err;
};

#define LANG_NO_STACK "\n" /* as stack() prints and returns it */

/* Returns memory that lasts for the firing, or NULL with the fault set if it is used up. */
static inline char *scratch(struct firing *firing, size_t bytes)
{
	struct runtime *rt = firing->rt;

	if (bytes > LANG_SCRATCH - rt->alloca_used - rt->scratch_used) {
		firing->fault = FAULT_NOSCRATCH;
		return NULL;
	}
	rt->scratch_used += bytes;
	return rt->scratch + rt->scratch_used - bytes;
}

/* Lets a string last for the firing: the end of a walk's step frees the rest of what it took. */
static inline void scratch_keep(struct firing *firing, const struct value *text)
{
	struct runtime *rt = firing->rt;
	uintptr_t from = (uintptr_t)rt->scratch, end = (uintptr_t)text->s + text->len;

	if (end > from + rt->scratch_kept && end <= from + rt->scratch_used)
		rt->scratch_kept = end - from;
}

/* Runs a probe's clauses. */
void rs_lang_fire(struct firing *firing, const struct bound *bound, uint32_t n);
/* Runs the code of a clause. Returns true at its end; false if the predicate fails or a fault
 * occurs. */
bool rs_lang_run_clause(struct firing *firing, const struct clause *clause, uint32_t *pc);
bool rs_lang_run_predicate(struct firing *firing, const struct clause *clause, uint32_t *pc);
void rs_lang_do_action(struct firing *firing, const struct action *action,
		       const struct value *args);
/* Writes the output of a clause, or adds it to the clause's speculation (act.c). */
void rs_lang_output(struct firing *firing);
/* printa(): prints several aggregations side by side; format NULL: in DTrace's form. */
void rs_agg_print(struct rs_script *script, struct text *text, struct aggregation *const *aggs,
		  uint32_t n, const struct format *format);
/* print(): prints a value with its type, and all members and elements. */
void rs_lang_print_value(struct firing *firing, const struct type *type, const struct value *value);

struct rs_error *rs_lang_fast_make(struct rs_script *script, const struct binding *binding,
				   const struct clause *clause, struct fast **out);
bool rs_lang_fast_rejects(const struct fast *fast, const struct rs_view *view);
/* Adds to the kept row. Returns false if the row is of another stream or CPU, so that the machine
 * must find it. */
bool rs_lang_fast_adds(struct fast *fast, const struct rs_view *view,
		       const struct agg_table *table);
void rs_lang_fast_keep(struct fast *fast, const struct rs_view *view,
		       const struct agg_table *table);

struct rs_error *rs_lang_bind_program(struct rs_script *script);
const struct binding *rs_lang_bind_event(struct rs_script *script, const struct rs_event *event);

/* ---- messages beside the output (report.c) ------------------------------------------------ */

void rs_lang_report(struct rs_script *script, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Reports, once for each variable of D, that its value is unknown for an event. */
void rs_lang_report_unknown(const struct firing *firing, uint32_t index, const struct value *value);
/* Reports once that the sources record no stacks. */
void rs_lang_report_no_stack(struct firing *firing);

#endif
