/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probe language: D as in DTrace, over all events of a source. A program is compiled once,
 * against the schemas known at that time, and runs as a sink:
 *
 *	front/: text -> lex -> parse -> match -> check -> compile
 *	vm/:    verify -> bind events -> run -> output
 *	bpf/:   verified code -> BPF, for a source that executes parts of the program (bpf/push.h)
 *
 * The language does not print: output goes to a struct rs_out, and messages beside it (run-time
 * errors, drops) to a callback, both given by the caller. The options of the program limit its
 * memory. Data that does not fit is counted, and reported in DTrace's words. One thread at a time.
 */
#ifndef RS_LANG_LANG_H
#define RS_LANG_LANG_H

#include "base/out.h"
#include "event/query.h"

struct rs_script;
struct rs_types;

struct rs_script_config {
	const char *name; /* name of the program in messages: the path of a file, or "-n" */
	const char *text;
	size_t len;
	const struct rs_schema *const *schemas; /* the events of the source, as far as known */
	uint32_t n_schemas;
	/* The schemas of other sources: with zdefs, clauses that match nothing are checked
	 * against them. */
	const struct rs_schema *const *known;
	uint32_t n_known;
	const char *const *args; /* $1 and on */
	uint32_t n_args;
	const char *const *options; /* "quiet", "strsize=64"; they override those of the program */
	uint32_t n_options;
	/*
	 * Optional. Creates an event that the program names (a replay's "guest:timer::1ms"). The
	 * compiler calls it for each description of events before it matches any. Sets *event to
	 * the event, in its schema, or to NULL if the description names none; returns RS_USAGE if
	 * the description is invalid. copies: the clause of the description calls copyinstr().
	 */
	struct rs_error *(*make)(void *ctx, const char *description, bool copies,
				 const struct rs_event **event);
	void *make_ctx;
	/*
	 * Optional. Opens the index-th set of types of the observed guest, in the order of the
	 * search for a type. Sets *name to the qualifier of its types, or to NULL past the last. If
	 * types is not NULL, sets *types to the set, which belongs to the callee and stays open
	 * until the script has run, or returns an error if the set cannot be opened. Uses make_ctx.
	 */
	struct rs_error *(*types)(void *ctx, uint32_t index, const char **name,
				  struct rs_types **types);
	bool may_match_nothing; /* a description that matches no probe is not an error */
};

/* Compiles a program. An error in it is RS_USAGE, with file:line:column, DTrace's tag in brackets,
 * the problem and the remedy. */
struct rs_error *rs_script_compile(const struct rs_script_config *config, struct rs_script **out);
void rs_script_destroy(struct rs_script *script);

/* Properties of a compiled program. */
bool rs_script_is_quiet(const struct rs_script *script);
bool rs_script_has_events(const struct rs_script *script); /* has clauses for source events */
bool rs_script_has_ticks(const struct rs_script *script);
/* Returns whether it uses the thread of an event: pid, tid, execname, curthread, or self->. */
bool rs_script_uses_thread(const struct rs_script *script);
/* Returns the number of pairs of clause and probe, for clauses that begin on these lines. */
uint32_t rs_script_matched(const struct rs_script *script, uint32_t from_line, uint32_t to_line);

/* Returns the index-th probe that some clause matches, or false past the last. event is NULL for
 * BEGIN, tick-1s and the like. */
struct rs_script_probe {
	uint32_t id;
	const char *provider, *module, *function, *name;
	const struct rs_event *event;
};
bool rs_script_probe_at(const struct rs_script *script, uint32_t index,
			struct rs_script_probe *probe);

/* Events of one probe may differ in their arguments. Returns the n-th of them; NULL past the
 * last, or if the probe has no event. */
const struct rs_event *rs_script_probe_layout(const struct rs_script *script, uint32_t id,
					      uint32_t n);

/* Narrows a query to the probes that the program uses. The query must not outlive the script. */
void rs_script_narrow(struct rs_script *script, struct rs_query *query);

/*
 * The words of the language, as lists for manuals, editors and tests: "functions", "actions" and so
 * on. Returns the name of the index-th list and sets its description, or returns NULL past the
 * last.
 */
const char *rs_lang_list(uint32_t index, const char **help);
struct rs_lang_word {
	char name[32];
	char text[96]; /* as a program writes it, with types or arguments: "strlen(string s)" */
	const char *help;
};
/* Sets *word to the index-th word of a list. Returns false past the last. */
bool rs_lang_list_word(uint32_t list, uint32_t index, struct rs_lang_word *word);

/* Prints the verified code. */
void rs_script_disassemble(const struct rs_script *script, struct rs_out *out);

/* Stacks, names and variables of a guest that is stopped while an event is handled. */
struct rs_frame;
struct rs_cvariable;
struct rs_script_guest {
	void *ctx;
	/* Calls each() for the frames of the kernel, or of user mode, of the running thread.
	 * Returns false if the thread is not known. */
	bool (*stack)(void *ctx, bool user, uint32_t most,
		      void (*each)(void *to, uint64_t address, const struct rs_frame *frame),
		      void *to);
	bool (*symbol)(void *ctx, uint64_t address, struct rs_frame *frame);
	/* Finds where the running thread has a variable of the set-th set of types (struct
	 * rs_script_config). Returns NULL, or the reason why the address is unknown. */
	const char *(*variable)(void *ctx, uint32_t set, const struct rs_cvariable *variable,
				uint64_t *address);
};

/* The output and the messages of a running program. */
struct rs_script_io {
	struct rs_out *out;
	void (*report)(void *ctx, const char *text); /* a line without its newline */
	void *ctx;
	const struct rs_clock *clock; /* the host's, for walltimestamp; or NULL */
	volatile bool *stop;	      /* set by exit() */
	const struct rs_script_guest *guest; /* or NULL: no stacks and no names */
	bool at_once; /* writes after each batch, for a source that may wait without a bound */
};

/* Starts the program: BEGIN fires. The sink receives events; its end() fires END and prints the
 * remaining aggregations. A script runs once. The sink belongs to the script. */
struct rs_error *rs_script_start(struct rs_script *script, const struct rs_script_io *io,
				 struct rs_sink **sink);

/*
 * Evaluates only the predicate of the single clause that an event fires, in a program that has
 * started. Returns false if the result is unknown: after a fault, or if the event fires not exactly
 * one clause.
 */
bool rs_script_holds(struct rs_script *script, const struct rs_view *view, bool *holds);

/* Fires the ticks that are due until now_ns, in ns from the start, when no source drives them or
 * a live source is quiet. No event before that time may follow. */
void rs_script_advance(struct rs_script *script, int64_t now_ns);

/* Sets when END fires: ticks continue until then even without events, unless exit() or *stop
 * ends the program before. */
void rs_script_set_end(struct rs_script *script, int64_t end_ns);
int64_t rs_script_next_tick(const struct rs_script *script); /* INT64_MAX: there is none */

/* Return the status that exit() set, the number of lost records, and whether a memory limit caused
 * drops. */
int rs_script_status(const struct rs_script *script);
uint64_t rs_script_lost(const struct rs_script *script); /* records, as reported by loss events */
bool rs_script_dropped(const struct rs_script *script);

#endif
