/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides which parts of a program a source executes. For each event of the source it emits the
 * clauses that match; a record that no clause matches is dropped. Clauses that only aggregate come
 * first, and BPF executes them completely (rows.c). For the others BPF keeps the record if their
 * predicate holds, as far as BPF can evaluate it (code.c).
 *
 *	event -> of another kind? next event
 *	         clause that aggregates: predicate -> holds: rows
 *	         clause ...              -> undecided: keep the record, add no rows
 *	         clause: predicate -> holds or undecided: keep the record, add the rows
 *	         clause: ...
 *	         drop the record
 *
 * The program evaluates each record that it receives again: a filter may keep too many records,
 * never too few. The id of a record whose rows were added carries RS_FILTER_DONE; such an event is
 * bound to the other clauses only.
 */
#include "lang/bpf/push.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/bpf/sums.h"

#define EVENTS	 64 /* of a source, a bit each */
#define PUSH_END 24 /* instructions reserved for rs_push_end() */

/* How much of a clause was pushed down; the worst over its events. The order matters. */
enum outcome {
	PUSHED_NONE, /* it matches no event of the source */
	PUSHED_ALL,
	PUSHED_WHOLE, /* the predicate */
	PUSHED_PART,
	PUSHED_NOT,
};

struct verdict {
	enum outcome pushed;
	const char *why;
	struct place at;
	const char *adds_not; /* why its aggregations are not pushed down, or NULL */
	struct place adds_at;
};

/* script->pushed */
struct push {
	struct pushed ops;
	struct push_code code;
	struct push_sums sums;
	struct rs_error *(*settle)(void *ctx, struct rs_script *script, int64_t before_ns);
	uint32_t provider;
	struct verdict *verdicts; /* by clause */
	uint64_t *done;		  /* by clause: events, by a bit each */
	uint64_t needed;
	const char *off; /* why nothing is pushed down, or NULL */
};

static struct push *push_of(const struct rs_script *script)
{
	return (struct push *)script->pushed;
}

static void push_destroy(struct pushed *pushed)
{
	struct push *push = (struct push *)pushed;

	rs_push_sums_deinit(&push->sums);
	free(push->verdicts);
	free(push->done);
	free(push);
}

static uint64_t bit_of(const struct rs_event *event)
{
	return UINT64_C(1) << (event->id & (EVENTS - 1));
}

/* ---- a clause for one event --------------------------------------------------------------- */

static void note(struct push *push, const struct clause *clause, enum outcome pushed,
		 const char *why, struct place at)
{
	struct verdict *verdict = &push->verdicts[clause->index];

	if (pushed <= verdict->pushed)
		return;
	verdict->pushed = pushed;
	verdict->why = why;
	verdict->at = at;
}

static void note_outcome(struct push *push, const struct clause *clause,
			 const struct push_outcome *outcome)
{
	enum outcome pushed = PUSHED_WHOLE;

	if (!clause->test_end)
		note(push, clause, PUSHED_NOT, "it has no predicate", clause->at);
	else if (outcome->why)
		pushed = outcome->rejects ? PUSHED_PART : PUSHED_NOT;
	if (clause->test_end)
		note(push, clause, pushed, outcome->why, outcome->at);
}

static void note_adds_not(struct push *push, const struct clause *clause, const char *why,
			  struct place at)
{
	push->verdicts[clause->index].adds_not = why;
	push->verdicts[clause->index].adds_at = at;
}

/* How far the code and the rows are, so that a part can be undone. */
struct mark {
	uint32_t n, n_jumps, n_sums, used;
};

static struct mark mark(const struct push *push)
{
	return (struct mark){ push->code.n, push->code.n_jumps, push->sums.rows.n,
			      push->sums.rows.used };
}

static void back_to(struct push *push, struct mark mark)
{
	push->code.n = mark.n;
	push->code.n_jumps = mark.n_jumps;
	push->code.full = false;
	push->sums.rows.n = mark.n_sums;
	push->sums.rows.used = mark.used;
}

/* Emits a clause that BPF executes completely. Emits nothing if BPF cannot. */
static struct rs_error *put_sums(struct rs_script *script, const struct clause *clause,
				 const struct rs_event *event)
{
	struct push *push = push_of(script);
	struct push_code *code = &push->code;
	struct mark before = mark(push);
	struct push_outcome outcome;
	const char *what;
	struct rs_error *err;

	if (!rs_push_sums_of(script, clause))
		return NULL;
	if (push->sums.why_not || !rs_lang_bind_suits(script, clause, event, &what)) {
		note_adds_not(push, clause,
			      push->sums.why_not ? push->sums.why_not
						 : "an event lacks one of its arguments",
			      clause->at);
		return NULL;
	}
	err = rs_push_translate(code, script, clause, event, 0, clause->n_code, &push->sums.rows,
				&outcome);
	if (err)
		return err;
	if (outcome.why || code->full || code->n > PUSH_INSNS - PUSH_END) {
		note_adds_not(push, clause, outcome.why ? outcome.why : "its code does not fit",
			      outcome.why ? outcome.at : clause->at);
		back_to(push, before);
		return NULL;
	}
	rs_push_land(code, PUSH_REJECT, before.n_jumps);
	push->done[clause->index] |= bit_of(event);
	note(push, clause, PUSHED_ALL, NULL, clause->at);
	return NULL;
}

/* Emits the clause's predicate. *decides: some path rejects the record. */
static struct rs_error *put_clause(struct rs_script *script, const struct clause *clause,
				   const struct rs_event *event, bool *decides)
{
	struct push *push = push_of(script);
	struct push_code *code = &push->code;
	uint32_t from = code->n_jumps;
	struct push_outcome outcome;
	const char *what = "";
	struct rs_error *err;

	*decides = false;
	if (!rs_lang_bind_suits(script, clause, event, &what)) {
		note(push, clause, PUSHED_NOT, "an event lacks one of its arguments", clause->at);
		rs_push_goto(code, code->keep);
		return NULL;
	}
	err = rs_push_translate(code, script, clause, event, 0, clause->test_end, NULL, &outcome);
	if (err)
		return err;
	if (code->full) {
		note(push, clause, PUSHED_NOT, "its code does not fit", clause->at);
		return NULL;
	}
	note_outcome(push, clause, &outcome);
	if (outcome.ends)
		rs_push_goto(code, code->keep);
	rs_push_land(code, PUSH_REJECT, from);
	*decides = outcome.rejects;
	return NULL;
}

/* ---- an event ----------------------------------------------------------------------------- */

static bool is_done(const struct push *push, const struct clause *clause,
		    const struct rs_event *event)
{
	return push->done[clause->index] & bit_of(event);
}

/* Emits the clauses that only aggregate. They come first: nothing after them can undo their
 * rows. */
static struct rs_error *put_all_sums(struct rs_script *script, const struct rs_event *event)
{
	struct push *push = push_of(script);
	struct rs_error *err = NULL;
	uint32_t n = 0;

	push->code.keep = PUSH_KEEP;
	for (const struct clause *clause = script->clauses; clause; clause = clause->next) {
		if (rs_lang_bind_matches(clause, event))
			n += rs_push_sums_of(script, clause);
	}
	if (!push->sums.why_not)
		rs_push_rows_begin(&push->code, n);
	for (const struct clause *clause = script->clauses; clause && !err; clause = clause->next) {
		if (rs_lang_bind_matches(clause, event))
			err = put_sums(script, clause, event);
	}
	return err;
}

/* Emits the other clauses. Sets *any if there are any, and *decide if each of them may reject the
 * record. */
static struct rs_error *put_others(struct rs_script *script, const struct rs_event *event,
				   bool *any, bool *decide)
{
	struct push *push = push_of(script);
	struct rs_error *err = NULL;
	bool decides;

	*any = false;
	*decide = true;
	push->code.keep = push->sums.rows.used ? PUSH_KEEP_REST : PUSH_KEEP;
	for (const struct clause *clause = script->clauses; clause && !err; clause = clause->next) {
		if (!rs_lang_bind_matches(clause, event) || is_done(push, clause, event))
			continue;
		err = put_clause(script, clause, event, &decides);
		*any = true;
		*decide = *decide && decides && !push->code.full;
	}
	return err;
}

/* Undoes the clauses that BPF executes for an event, because its code does not fit. */
static void undo(struct rs_script *script, const struct rs_event *event)
{
	struct push *push = push_of(script);

	for (const struct clause *clause = script->clauses; clause; clause = clause->next) {
		if (!is_done(push, clause, event))
			continue;
		push->done[clause->index] &= ~bit_of(event);
		note(push, clause, PUSHED_NOT, "its code does not fit", clause->at);
	}
}

static struct rs_error *put_event(struct rs_script *script, const struct rs_event *event)
{
	struct push *push = push_of(script);
	struct push_code *code = &push->code;
	bool others, decide, adds;
	struct mark before, sums;
	struct rs_error *err;

	push->sums.rows.used = 0;
	before = mark(push);
	rs_push_event(code, event->id);
	err = put_all_sums(script, event);
	adds = push->sums.rows.used;
	if (!adds) { /* and no code that empties the rows */
		back_to(push, before);
		rs_push_event(code, event->id);
	}
	sums = mark(push);
	if (!err)
		err = put_others(script, event, &others, &decide);
	if (err || (!others && !adds)) {
		back_to(push, before);
		return err;
	}
	push->needed |= bit_of(event);
	if (adds && !decide) { /* every record is needed */
		back_to(push, sums);
		rs_push_goto(code, PUSH_KEEP_REST);
	}
	if (adds)
		rs_push_rows_end(code, push->sums.rows.used, decide);
	else if (decide)
		rs_push_goto(code, PUSH_DONE);
	if ((adds || decide) && !code->full && code->n <= PUSH_INSNS - PUSH_END) {
		rs_push_land(code, PUSH_SKIP, before.n_jumps);
		return NULL;
	}
	if (adds)
		undo(script, event);
	back_to(push, before); /* every record is needed, or the code does not fit */
	return NULL;
}

/* ---- while it runs ------------------------------------------------------------------------ */

static bool has_done(const struct pushed *pushed, const struct clause *clause,
		     const struct rs_event *event)
{
	const struct push *push = (const struct push *)pushed;

	return RS_ID_PROVIDER(event->id) == push->provider &&
	       (event->id & RS_ID_N_MAX & ~(uint64_t)(EVENTS - 1)) == RS_FILTER_DONE &&
	       is_done(push, clause, event);
}

static struct rs_error *settle(struct rs_script *script, uint32_t tick, int64_t at_ns)
{
	const struct push *push = push_of(script);

	if (!push->sums.rows.n || (at_ns != INT64_MAX && !push->sums.ticks[tick]))
		return NULL;
	return push->settle(push->sums.ctx, script, at_ns);
}

/* ---- the program -------------------------------------------------------------------------- */

static struct rs_error *begin(struct rs_script *script, const struct rs_push_options *options)
{
	struct push *push = push_of(script);

	push->verdicts = calloc(script->n_clauses + 1, sizeof(*push->verdicts));
	push->done = calloc(script->n_clauses + 1, sizeof(*push->done));
	if (!push->verdicts || !push->done)
		return rs_error_no_memory();
	push->off = script->options[OPT_NOPUSHDOWN] ? "-x nopushdown" : NULL;
	push->settle = options->sums;
	push->provider = options->provider;
	push->sums.vm = options->vm;
	push->sums.ctx = options->ctx;
	if (!options->sums)
		push->sums.why_not =
			options->sums_not ? options->sums_not : "the source does not support it";
	if (push->off)
		push->sums.why_not = push->off;
	rs_push_begin(&push->code);
	return rs_push_sums_begin(script, &push->sums);
}

struct rs_error *rs_script_push(struct rs_script *script, const struct rs_push_options *options,
				struct rs_filter *filter)
{
	struct push *push = calloc(1, sizeof(*push));
	uint32_t begun;
	struct rs_error *err;

	*filter = (struct rs_filter){ .wanted = ~UINT64_C(0) };
	if (!push)
		return rs_error_no_memory();
	if (script->pushed)
		push_destroy(script->pushed);
	push->ops = (struct pushed){ has_done, settle, push_destroy };
	script->pushed = &push->ops;
	err = begin(script, options);
	begun = push->code.n;
	for (uint32_t i = 0; !err && i < rs_schema_count(options->schema); i++) {
		const struct rs_event *event = rs_schema_event(options->schema, i);

		if (RS_ID_PROVIDER(event->id) == options->provider &&
		    (event->id & RS_ID_N_MAX) < EVENTS)
			err = put_event(script, event);
	}
	if (err || push->off)
		return err;
	filter->wanted = push->needed;
	if (push->code.n == begun)
		return NULL;
	rs_push_end(&push->code);
	filter->insns = push->code.insns;
	filter->n = push->code.n;
	filter->thread = push->code.thread;
	rs_push_sums_filter(script, &push->sums, filter);
	return NULL;
}

void rs_script_push_cancel(struct rs_script *script)
{
	struct push *push = push_of(script);

	if (!push)
		return;
	push->off = "the source does not support it";
	push->sums.rows.n = 0;
	memset(push->done, 0, script->n_clauses * sizeof(*push->done));
}

void rs_script_receive(struct rs_script *script, const struct rs_filter_row *row)
{
	rs_push_sums_receive(script, &push_of(script)->sums, row);
}

/* ---- as text ------------------------------------------------------------------------------ */

static void explain_clause(const struct push *push, const struct clause *clause, struct rs_out *out)
{
	const struct verdict *verdict = &push->verdicts[clause->index];
	const struct place at = verdict->at;
	char line[256];

	if (push->off)
		snprintf(line, sizeof(line), "  not pushed down: %s\n", push->off);
	else if (verdict->pushed == PUSHED_ALL)
		snprintf(line, sizeof(line), "  pushed down: its %saggregations\n",
			 clause->test_end ? "predicate and its " : "");
	else if (verdict->pushed == PUSHED_WHOLE)
		snprintf(line, sizeof(line), "  pushed down: its predicate\n");
	else if (verdict->pushed == PUSHED_PART)
		snprintf(line, sizeof(line),
			 "  pushed down: its predicate, up to line %u, column %u: %s\n", at.line,
			 at.column, verdict->why);
	else
		snprintf(line, sizeof(line), "  not pushed down: line %u, column %u: %s\n", at.line,
			 at.column, verdict->why);
	rs_out_line(out);
	rs_out_text(out, line);
	if (push->off || !verdict->adds_not ||
	    (verdict->why && !strcmp(verdict->why, verdict->adds_not)))
		return; /* already printed */
	snprintf(line, sizeof(line), "  its aggregations are not: line %u, column %u: %s\n",
		 verdict->adds_at.line, verdict->adds_at.column, verdict->adds_not);
	rs_out_line(out);
	rs_out_text(out, line);
}

void rs_script_push_explain(const struct rs_script *script, struct rs_out *out)
{
	const struct push *push = push_of(script);

	for (const struct clause *clause = script->clauses; clause && push; clause = clause->next) {
		if (push->verdicts[clause->index].pushed == PUSHED_NONE)
			continue;
		rs_out_line(out);
		rs_out_text(out, clause->patterns->text);
		rs_out_text(out, clause->patterns->next ? ", ...\n" : "\n");
		explain_clause(push, clause, out);
	}
}
