/* SPDX-License-Identifier: BSD-2-Clause */
/* A program: its clauses, the probes that they match, and the tables of their code. All of it
 * belongs to one struct rs_script and is in its arena. */
#ifndef RS_LANG_VM_PROGRAM_H
#define RS_LANG_VM_PROGRAM_H

#include <ringside/record.h>
#include "base/arena.h"
#include "introspect/types.h"
#include "lang/lang.h"
#include "lang/vm/code.h"

struct variable {
	const char *name;
	enum scope scope;
	struct type type; /* of the value */
	bool is_array;
	uint8_t n_keys;
	struct type keys[LANG_KEYS_MAX];
	uint32_t slot;	      /* in its scope; of dynamic variables, the number */
	uint32_t at;	      /* position in its region, of a struct or array that is not dynamic */
	struct node *inlined; /* inline int x = ...: in its place */
	bool busy;	      /* its inlined expression is being checked */
	struct variable *next;
};

struct text_constant {
	const char *text;
	uint32_t len;
};

/* A variable of the guest that the program names. */
struct guest_variable {
	const char *text; /* kernel`jiffies */
	uint32_t set;	  /* of struct rs_script_config.types */
	struct rs_cvariable variable;
	bool is_reported; /* that it is unknown */
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
	bool all_cpus;	/* profile-N: differs from tick-N by name only */
	uint64_t fired; /* since the last event */
	uint64_t skipped;
};

struct probe {
	struct rs_script_probe public;
	uint32_t *clauses; /* by index, in the program's order */
	uint32_t n_clauses;
	uint32_t tick; /* index of the tick, + 1 */
	/* Events of the same name that differ in their fields; public.event is the first. */
	VECTOR(const struct rs_event *) layouts;
};

struct front;
struct runtime;

/* The part of the program that a source executes (bpf/push.c), as the machine calls it. */
struct pushed {
	/* Returns whether the source has executed a clause for an event, as the id of the event
	 * shows. */
	bool (*has_done)(const struct pushed *pushed, const struct clause *clause,
			 const struct rs_event *event);
	/* Reads the sums of the source before the clauses of a tick fire, and at the end (at_ns
	 * is INT64_MAX). */
	struct rs_error *(*settle)(struct rs_script *script, uint32_t tick, int64_t at_ns);
	void (*destroy)(struct pushed *pushed);
};

struct rs_script {
	struct rs_script_config config;
	struct rs_arena arena;
	uint64_t options[OPT_COUNT];
	uint32_t options_fixed; /* bits: set by the command line */

	struct clause *clauses, **clauses_end;
	uint32_t n_clauses;
	VECTOR(struct clause *) clause_at;
	VECTOR(struct probe) probes;

	struct variable *variables;
	uint32_t n_slots[3];
	struct aggregation *aggregations;
	uint32_t n_aggregations;
	uint32_t object_bytes[2]; /* of global and this-> structs and arrays */

	VECTOR(uint64_t) ints;
	VECTOR(struct text_constant) texts;
	VECTOR(struct arg_ref) args;
	VECTOR(struct enum_ref) enums;
	VECTOR(struct action) actions;
	VECTOR(struct tick) ticks;
	VECTOR(struct guest_variable) guest_variables;

	/* The events that the clause matches; at run time, of the last clause. */
	VECTOR(const struct rs_event *) matched;

	const char *file;    /* the file that the compiler reads, for messages */
	struct front *front; /* the compiler's names (front/tree.h); NULL after the compilation */
	struct runtime *runtime;
	struct pushed *pushed; /* the part that the source executes, or NULL */
};

/* Makes room for one more item; returns false without memory. */
bool rs_lang_vector_room(struct rs_script *script, void **at, uint32_t n, uint32_t *room,
			 size_t bytes);
#define VECTOR_ADD(script, vector)                                                                 \
	(rs_lang_vector_room((script), (void **)&(vector)->at, (vector)->n, &(vector)->room,       \
			     sizeof(*(vector)->at))                                                \
		 ? &(vector)->at[(vector)->n++]                                                    \
		 : NULL)

/* "file:line:column: [TAG] message" */
struct rs_error *rs_lang_error(const struct rs_script *script, struct place at, const char *tag,
			       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The known name that is nearest to a misspelt one. The caller sets `written`, and the rest to
 * 0. */
struct nearest {
	const char *written;
	uint32_t distance; /* edits; 0: none is near */
	char name[4 * RS_WORD_MAX];
	char text[4 * RS_WORD_MAX + 20];
};
/* Tries a name; shows `shown` for it, or the name itself if that is NULL. */
void rs_lang_nearest_try(struct nearest *nearest, const char *name, const char *shown);
/* Returns "; did you mean 'NAME'?", or "" if no name is near. */
const char *rs_lang_nearest_text(struct nearest *nearest);

/* ---- options (option.c) --------------------------------------------------------------------- */

/* Sets all options to their defaults, then those of the configuration. */
struct rs_error *rs_lang_options_init(struct rs_script *script);
struct rs_error *rs_lang_option_set(struct rs_script *script, struct place at, const char *text,
				    bool outside);
/* Returns whether setopt() may set the option while the program runs. */
bool rs_lang_option_at_run(const char *name);

/* ---- probes (probe.c) ----------------------------------------------------------------------- */

enum { PROBE_BEGIN, PROBE_END, PROBE_ERROR };

/* Creates a probe. Returns NULL if out of memory. */
struct probe *rs_lang_probe_add(struct rs_script *script, const char *provider, const char *module,
				const char *function, const char *name);
/* Finds or creates the probe of an event; index may be NULL. */
struct rs_error *rs_lang_probe_of_event(struct rs_script *script, const struct rs_event *event,
					uint32_t *index);
/* Returns whether some layout of the event's probe has the argument; for other layouts it is 0 or
 * "". */
bool rs_lang_probe_has_arg(const struct rs_script *script, const struct rs_event *event,
			   const struct arg_ref *ref);
/* Returns the event's field for an argument, or NULL. */
const struct rs_field *rs_lang_arg_field(const struct rs_event *event, const struct arg_ref *ref);
/* Returns the row of a name in an enumeration, ignoring case, or NULL. */
const struct rs_enum *rs_lang_enum_find(const struct rs_enum *values, const char *name);
/* Returns whether a description names (provider, "", "", name), a probe of the language. */
bool rs_lang_probe_is_own(const char *text, const char *provider, const char *name);
/* Returns whether a name is of a tick (tick-10ms, tick-5 in Hz, profile-97), and its period. */
bool rs_lang_tick_period(const char *name, int64_t *period_ns, bool *all_cpus);
bool rs_lang_pattern_is_event(const struct pattern *pattern);

/* ---- events (bind.c) ------------------------------------------------------------------------ */

/* Returns whether a description of the clause matches an event. */
bool rs_lang_bind_matches(const struct clause *clause, const struct rs_event *event);
/* Returns whether the event has the arguments that the clause's code reads. If not, sets *what to
 * the name of a missing one. */
bool rs_lang_bind_suits(const struct rs_script *script, const struct clause *clause,
			const struct rs_event *event, const char **what);

/* ---- code (verify.c) ------------------------------------------------------------------------ */

struct rs_error *rs_lang_verify_clause(const struct rs_script *script, const struct clause *clause);

#endif
