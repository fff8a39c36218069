/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a program a source may do itself. For each event that it can give, the clauses that match
 * it: are there none, it is not wanted; else it is wanted where a predicate lets it through, as far
 * as that can be told where the event is (push_code.c).
 *
 *	event -> another's? next
 *	         clause: predicate -> holds, or can't be told: wanted
 *	         clause: ...
 *	         not wanted
 *
 * The program decides again on what comes: a filter may let too much through, never too little.
 */
#include "lang/push.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/push_code.h"

#define EVENTS	 64 /* of a source; each has a bit */
#define PUSH_END 16 /* instructions that push_end() may need */

/* What became of a clause; of several events, the worst. In order. */
enum pushed {
	PUSHED_NONE, /* it matches no event of the source's */
	PUSHED_WHOLE,
	PUSHED_PART,
	PUSHED_NOT,
};

struct told {
	enum pushed pushed;
	const char *why;
	struct place at;
};

struct push {
	struct push_code code;
	struct told *told; /* by clause */
	uint64_t wanted;
	const char *off; /* why nothing is; or NULL */
};

void push_destroy(struct push *push)
{
	if (push)
		free(push->told);
	free(push);
}

/* ---- a clause, for one event -------------------------------------------------------------- */

static void note(struct push *push, const struct clause *clause, enum pushed pushed,
		 const char *why, struct place at)
{
	struct told *told = &push->told[clause->index];

	if (pushed > told->pushed)
		*told = (struct told){ pushed, why, at };
}

static void note_outcome(struct push *push, const struct clause *clause,
			 const struct push_outcome *outcome)
{
	enum pushed pushed = PUSHED_WHOLE;

	if (!clause->test_end)
		note(push, clause, PUSHED_NOT, "it has no predicate", clause->at);
	else if (outcome->why)
		pushed = outcome->rejects ? PUSHED_PART : PUSHED_NOT;
	if (clause->test_end)
		note(push, clause, pushed, outcome->why, outcome->at);
}

/* The clause's part of the event's code; *decides: it may say no. */
static struct rs_error *put_clause(struct rs_script *script, const struct clause *clause,
				   const struct rs_event *event, bool *decides)
{
	struct push *push = script->push;
	struct push_code *code = &push->code;
	uint32_t from = code->n_jumps;
	struct push_outcome outcome;
	const char *what = "";
	struct rs_error *err;

	*decides = false;
	if (!bind_suits(script, clause, event, &what)) {
		note(push, clause, PUSHED_NOT, "an event lacks an argument that it asks for",
		     clause->at);
		return NULL;
	}
	err = push_translate(code, script, clause, event, 0, clause->test_end, &outcome);
	if (err)
		return err;
	if (code->full) {
		note(push, clause, PUSHED_NOT, "there is no room for its code", clause->at);
		return NULL;
	}
	note_outcome(push, clause, &outcome);
	if (outcome.ends)
		push_goto(code, PUSH_KEEP);
	push_land(code, PUSH_REJECT, from);
	*decides = outcome.rejects;
	return NULL;
}

/* ---- an event ----------------------------------------------------------------------------- */

static struct rs_error *put_event(struct rs_script *script, const struct rs_event *event)
{
	struct push *push = script->push;
	struct push_code *code = &push->code;
	uint32_t n = code->n, n_jumps = code->n_jumps;
	bool any = false, all_decide = true, decides;
	struct rs_error *err = NULL;

	push_event(code, event->id);
	for (const struct clause *clause = script->clauses; clause && !err; clause = clause->next) {
		if (!bind_matches(clause, event))
			continue;
		err = put_clause(script, clause, event, &decides);
		any = true;
		all_decide = all_decide && decides && !code->full;
		code->full = false;
	}
	if (any)
		push->wanted |= UINT64_C(1) << (event->id & RS_ID_N_MAX);
	if (any && all_decide) {
		push_goto(code, PUSH_DONE);
		push_land(code, PUSH_SKIP, n_jumps);
	}
	if (any && all_decide && !code->full && code->n < PUSH_INSNS - PUSH_END)
		return err;
	code->full = false; /* each is wanted, or none, or there is no room to tell */
	code->n = n;
	code->n_jumps = n_jumps;
	return err;
}

/* ---- the program -------------------------------------------------------------------------- */

struct rs_error *rs_script_push(struct rs_script *script, const struct rs_push_options *options,
				struct rs_filter *filter)
{
	struct push *push = calloc(1, sizeof(*push));
	uint32_t begun;
	struct rs_error *err = NULL;

	*filter = (struct rs_filter){ .wanted = ~UINT64_C(0) };
	if (!push)
		return rs_error_no_memory();
	push_destroy(script->push);
	script->push = push;
	push->told = calloc(script->n_clauses + 1, sizeof(*push->told));
	if (!push->told)
		return rs_error_no_memory();
	push->off = script->options[OPT_NOPUSHDOWN] ? "-x nopushdown" : NULL;
	push_begin(&push->code);
	begun = push->code.n;
	for (uint32_t i = 0; !err && i < rs_schema_count(options->schema); i++) {
		const struct rs_event *event = rs_schema_event(options->schema, i);

		if (RS_ID_PROVIDER(event->id) == options->provider &&
		    (event->id & RS_ID_N_MAX) < EVENTS)
			err = put_event(script, event);
	}
	if (err || push->off)
		return err;
	filter->wanted = push->wanted;
	if (push->code.n == begun)
		return NULL;
	push_end(&push->code);
	filter->insns = push->code.insns;
	filter->n = push->code.n;
	filter->thread = push->code.thread;
	return NULL;
}

void rs_script_push_not(struct rs_script *script)
{
	if (script->push)
		script->push->off = "the source can't do it";
}

/* ---- as text ------------------------------------------------------------------------------ */

static void explain_clause(const struct push *push, const struct told *told, char *line,
			   size_t room)
{
	const struct place at = told->at;

	if (push->off)
		snprintf(line, room, "  not pushed down: %s\n", push->off);
	else if (told->pushed == PUSHED_WHOLE)
		snprintf(line, room, "  pushed down: its predicate\n");
	else if (told->pushed == PUSHED_PART)
		snprintf(line, room, "  pushed down: its predicate, up to line %u, column %u: %s\n",
			 at.line, at.column, told->why);
	else
		snprintf(line, room, "  not pushed down: line %u, column %u: %s\n", at.line,
			 at.column, told->why);
}

void rs_script_push_explain(const struct rs_script *script, struct rs_out *out)
{
	char line[256];

	for (const struct clause *clause = script->clauses; clause && script->push;
	     clause = clause->next) {
		if (script->push->told[clause->index].pushed == PUSHED_NONE)
			continue;
		rs_out_line(out);
		rs_out_text(out, clause->patterns->text);
		rs_out_text(out, clause->patterns->next ? ", ...\n" : "\n");
		explain_clause(script->push, &script->push->told[clause->index], line,
			       sizeof(line));
		rs_out_line(out);
		rs_out_text(out, line);
	}
}
