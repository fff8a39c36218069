/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probe language: D, as DTrace has it, over every event that a source can give. A program is
 * compiled once, against the schemas that are known then, and runs as a sink:
 *
 *	text -> lex -> parse -> check -> compile -> verify -> (events) -> run -> output
 *
 * Nothing here prints: output goes into a struct rs_out that is given, and what must be told beside
 * it (run-time errors, drops) to a callback. Memory is bounded by the program's options; what finds
 * no room is counted and told in DTrace's words. One thread at a time.
 */
#ifndef RS_LANG_LANG_H
#define RS_LANG_LANG_H

#include "base/out.h"
#include "event/query.h"

struct rs_script;

struct rs_script_config {
	const char *name; /* of the program, for messages: a file's path, or "-n" */
	const char *text;
	size_t len;
	const struct rs_schema *const *schemas; /* what the source can give, as far as known */
	uint32_t n_schemas;
	/* What there is elsewhere: with zdefs, clauses that match nothing are checked by these. */
	const struct rs_schema *const *known;
	uint32_t n_known;
	const char *const *args; /* $1 and on */
	uint32_t n_args;
	const char *const *options; /* "quiet", "strsize=64"; they win over the program's own */
	uint32_t n_options;
	/*
	 * What the source makes when it is asked for by name (a replay's "guest:timer::1ms"): told
	 * of each description of events before any is matched. *event: the event, of its schema;
	 * NULL: the description is none of these. RS_USAGE: it is, and makes no sense. copies: the
	 * description's clause calls copyinstr(). Optional.
	 */
	struct rs_error *(*make)(void *ctx, const char *description, bool copies,
				 const struct rs_event **event);
	void *make_ctx;
	bool may_match_nothing; /* a probe description that matches no probe is no error */
};

/* RS_USAGE: file:line:column, DTrace's tag in brackets, what is wrong, and what to do. */
struct rs_error *rs_script_compile(const struct rs_script_config *config, struct rs_script **out);
void rs_script_destroy(struct rs_script *script);

/* What the program says of itself once it is compiled. */
bool rs_script_is_quiet(const struct rs_script *script);
bool rs_script_has_events(const struct rs_script *script); /* clauses of a source's events */
bool rs_script_has_ticks(const struct rs_script *script);
/* Pairs of clause and probe, of the clauses that begin on these lines. */
uint32_t rs_script_matched(const struct rs_script *script, uint32_t from_line, uint32_t to_line);

/* A probe that some clause matches; false past the last. event: NULL for BEGIN, tick-1s, ... */
struct rs_script_probe {
	uint32_t id;
	const char *provider, *module, *function, *name;
	const struct rs_event *event;
};
bool rs_script_probe_at(const struct rs_script *script, uint32_t index,
			struct rs_script_probe *probe);

/* The events of that probe differ in their arguments: those of the n-th of them; NULL past the
 * last, and of a probe without an event. */
const struct rs_event *rs_script_probe_layout(const struct rs_script *script, uint32_t id,
					      uint32_t n);

/* Narrows a query to the probes that the program can use. It must not outlive the script. */
void rs_script_narrow(struct rs_script *script, struct rs_query *query);

/* The verified code, as text. */
void rs_script_disassemble(const struct rs_script *script, struct rs_out *out);

/* Where a running program's words go. */
struct rs_script_io {
	struct rs_out *out;
	void (*report)(void *ctx, const char *text); /* a line without its newline */
	void *ctx;
	const struct rs_clock *clock; /* the host's, for walltimestamp; or NULL */
	volatile bool *stop;	      /* set by exit() */
};

/* Begins: BEGIN fires. The sink takes events; its end() fires END and prints the aggregations that
 * were not printed. One run a script. The sink is the script's. */
struct rs_error *rs_script_start(struct rs_script *script, const struct rs_script_io *io,
				 struct rs_sink **sink);

/* Whether the predicate of the only clause that an event fires holds; the program has begun, and
 * nothing else of it runs. False: that can't be told (a fault, or another number of clauses). */
bool rs_script_holds(struct rs_script *script, const struct rs_view *view, bool *holds);

/* Without a source, or where a live one is quiet: fires the ticks that are due until then, ns from
 * the start. No event before that time comes any more. */
void rs_script_advance(struct rs_script *script, int64_t now_ns);

/* When END fires: events or not, ticks go on until then. Not where exit() or *stop ended it before.
 */
void rs_script_set_end(struct rs_script *script, int64_t end_ns);
int64_t rs_script_next_tick(const struct rs_script *script); /* INT64_MAX: there is none */

/* What exit() said, and whether something was dropped for want of memory. */
int rs_script_status(const struct rs_script *script);
uint64_t rs_script_lost(const struct rs_script *script); /* records, by the events that say so */
bool rs_script_dropped(const struct rs_script *script);

#endif
