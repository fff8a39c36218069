/* SPDX-License-Identifier: BSD-2-Clause */
/* A running program: what a firing sees, where variables, aggregations and output are. */
#ifndef RS_LANG_VM_RUNTIME_H
#define RS_LANG_VM_RUNTIME_H

#include "base/map.h"
#include "lang/vm/internal.h"

/* ---- text that is being made -------------------------------------------------------------- */

struct text {
	char *at;
	size_t len, room, most;
	bool full; /* something found no room */
};

void text_add(struct text *text, const char *bytes, size_t len);
void text_print(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_deinit(struct text *text);

/* ---- faults: DTrace's numbers ------------------------------------------------------------- */

enum fault {
	FAULT_NONE,
	FAULT_BADADDR,
	FAULT_BADALIGN,
	FAULT_ILLOP,
	FAULT_DIVZERO,
	FAULT_NOSCRATCH,
	FAULT_KPRIV,
	FAULT_UPRIV,
	FAULT_TUPOFLOW,
};

/* ---- a firing ----------------------------------------------------------------------------- */

/* What of a clause is done without the machine, for one event (fast.c). */
#define FAST_TESTS 4
struct fast_test {
	enum op op;
	enum rs_type type;
	uint16_t offset;
	bool is_signed;
	uint64_t value;
};

struct fast {
	struct fast_test tests[FAST_TESTS];
	uint8_t n_tests;
	bool whole; /* the tests are all of the predicate */
	bool adds;  /* and the body is one aggregation, of this value where it has one */
	const struct rs_field *value;
	struct type value_type;
	/* The row of the last event, good for this stream and CPU while no row has gone. */
	const struct rs_stream *stream;
	int cpu;
	uint64_t generation;
	struct agg_row *row;
};

/* A clause as an event sees it. */
struct bound {
	const struct clause *clause;
	uint32_t epid;	   /* DTrace's "enabled probe ID" */
	struct fast *fast; /* or NULL */
};

/* An event, resolved: for each reference of the program what it is here. */
struct binding {
	const struct rs_event *event;
	uint32_t probe;
	struct bound *bound;
	uint32_t n_bound;
	const struct rs_field **fields; /* by reference; NULL: there is none */
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
	struct value tokens;  /* what strtok() has left */
};

/* Memory of strings that lasts for the firing; NULL, with the fault set, when it is all used. */
char *scratch(struct firing *firing, size_t bytes);
struct value value_text(const char *text);

/* What stringof() makes of an argument's value, but for names of the schema: its enumeration's
 * name, or the number, which goes into text. */
#define VALUE_NAME_MAX 24
const char *value_name(const struct rs_field *field, uint64_t value, char text[VALUE_NAME_MAX]);

/* Tells once of each variable of D that the source does not say it of an event. */
void builtin_tell_unknown(const struct firing *firing, uint32_t index, const struct value *value);
/* The same of stacks, which no event carries. */
void stack_tell_none(struct firing *firing);

/* ---- speculations ------------------------------------------------------------------------- */

struct speculation {
	bool active;
	struct text text;
};

/* ---- dynamic variables -------------------------------------------------------------------- */

struct dynamic;
struct dynamics {
	struct rs_map by_key;
	uint64_t bytes, most;
	uint64_t drops;
	/* Structs and arrays have an address: by handle, so that what is gone is not found. */
	struct dynamic **handles;
	uint32_t *free; /* handles that are given back */
	size_t n_handles, n_free, handles_room, free_room;
};

/* The variable of this key; *text is its string. 0 and "" where there is none. */
struct value dynamic_load(const struct dynamics *dynamics, const struct value *key, bool text);
/* 0 and "" give its memory back. */
void dynamic_store(struct dynamics *dynamics, const struct value *key, const struct value *value,
		   bool text, size_t text_most);
/* The object of this key; it is made, of zeros, or it is not there, or there is no room: false. */
bool dynamic_object_find(struct dynamics *dynamics, const struct value *key, uint32_t bytes,
			 bool makes, uint64_t *handle);
char *dynamic_object(const struct dynamics *dynamics, uint64_t handle, uint64_t *room);
void dynamic_object_free(struct dynamics *dynamics, const struct value *key);
void dynamics_deinit(struct dynamics *dynamics);

/* ---- aggregations ------------------------------------------------------------------------- */

struct agg_row {
	const struct aggregation *agg;
	uint64_t hash;
	uint32_t key_bytes;
	int64_t *data; /* agg->n_data of them */
	char key[];    /* as KEY made it */
};

struct agg_table {
	struct agg_row **rows;
	size_t n, room;
	struct rs_map by_key;
	uint64_t bytes, most;
	uint64_t drops;
	uint64_t generation;	    /* of the rows: another one when some have gone */
	struct agg_row *last_row;   /* that agg_add() added to; NULL: it was dropped */
	struct agg_row **last_rows; /* the same, by aggregation */
};

void agg_add(struct agg_table *table, const struct aggregation *agg, const struct value *key,
	     int64_t value, int64_t by);
void agg_update(struct agg_row *row, int64_t value);
/* What somebody else has added up; bin: of distributions. */
struct rs_filter_sum;
void agg_merge(struct agg_table *table, const struct aggregation *agg, const struct value *key,
	       uint32_t bin, const struct rs_filter_sum *sum);
void agg_clear(struct agg_table *table, const struct aggregation *agg);
/* Leaves n rows, those of the greatest values; of the least where n is negative. */
void agg_trunc(struct rs_script *script, const struct aggregation *agg, int64_t n);
void agg_table_deinit(struct agg_table *table);

/* The one number that a row comes to, and how rows compare by it. */
int64_t agg_value(const struct agg_row *row, uint64_t normal);
int agg_compare(const struct agg_row *a, const struct agg_row *b);
int agg_compare_keys(const struct agg_row *a, const struct agg_row *b);
int64_t agg_quantize_bound(uint32_t bin);
/* topk()'s values and their counts, in order, into room for agg_top_slots() pairs; how many. */
uint32_t agg_top(const struct agg_row *row, int64_t *pairs);

/* printa(): of several aggregations side by side; format NULL: DTrace's own form. */
void agg_print(struct rs_script *script, struct text *text, struct aggregation *const *aggs,
	       uint32_t n, const struct format *format);

/* What is printed as one: a row of each aggregation, with the same keys. */
struct bundle {
	const struct agg_row *any;
	const struct agg_row **rows; /* by aggregation */
};

/* The key's values; as many as the aggregation has. */
void agg_keys(const struct agg_row *row, struct value *values);

/* ---- JSON --------------------------------------------------------------------------------- */

void json_text(struct text *text, const char *bytes, size_t len);
void json_number(struct text *text, struct type type, uint64_t value);
void json_trace(struct firing *firing, const char *name, const struct type *type,
		const struct value *value);
void json_wrap(struct firing *firing, const char *name, size_t from);
void json_clause(const struct firing *firing, const struct text *said, struct text *line);
void json_bundles(struct text *text, struct aggregation *const *aggs, uint32_t n,
		  const struct bundle *bundles, size_t n_bundles);

/* ---- formats ------------------------------------------------------------------------------ */

/* A value as one conversion has it. */
void format_value(struct text *text, const struct conversion *conversion, struct type type,
		  const struct value *value, int width, int precision);
void format_values(struct text *text, const struct format *format, const struct type *types,
		   const struct value *values);
/* Bytes, in hexadecimal and as characters, as tracemem() does. */
void format_bytes(struct text *text, const char *bytes, uint64_t n);
/* print(): a value with its type, of structs and arrays all that is in them. */
void print_value(struct firing *firing, const struct type *type, const struct value *value);
/* As trace() does; quiet: without padding. */
void format_trace(struct text *text, struct type type, const struct value *value, bool quiet);

/* ---- the whole ---------------------------------------------------------------------------- */

#define BINDINGS 256 /* of the direct-mapped cache; a power of two */

struct global {
	struct value value;
	char *text; /* strsize bytes, of strings */
};

/* The sink, as its callbacks get it. */
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
	char *object_globals, *object_locals; /* structs and arrays: memory.h */
	struct dynamics dynamics;
	struct agg_table aggs;
	struct speculation *speculations;
	uint64_t speculation_none, speculation_drops, output_drops;
	struct text text; /* of the clause that runs */
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
	bool heading, exiting, ended, in_error, told_stack;
	uint64_t told_unknown; /* by builtin, a bit each */
	int status;
	struct rs_error *err;
};

enum { PROBE_BEGIN, PROBE_END, PROBE_ERROR };

/* Runs a probe's clauses. */
void fire(struct firing *firing, const struct bound *bound, uint32_t n);
/* Runs a clause's code from its beginning: true, it came to its end; false, the predicate did not
 * hold or there is a fault. */
bool run_clause(struct firing *firing, const struct clause *clause, uint32_t *pc);
bool run_predicate(struct firing *firing, const struct clause *clause, uint32_t *pc);
void do_action(struct firing *firing, const struct action *action, const struct value *args);

struct rs_error *fast_make(struct rs_script *script, const struct binding *binding,
			   const struct clause *clause, struct fast **out);
bool fast_rejects(const struct fast *fast, const struct rs_view *view);
/* Added, to the row that is kept; false: it is another event's, and the machine's to find. */
bool fast_adds(struct fast *fast, const struct rs_view *view, const struct agg_table *table);
void fast_keep(struct fast *fast, const struct rs_view *view, const struct agg_table *table);

struct rs_error *bind_program(struct rs_script *script);
const struct binding *bind_event(struct rs_script *script, const struct rs_event *event);

void tell(struct rs_script *script, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
