/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A running program as a sink: BEGIN; for each event the due ticks and the matching clauses; at the
 * end END and the remaining aggregations.
 */
#include "lang/vm/json.h"
#include "base/count.h"
#include "lang/vm/machine.h"
#include "lang/vm/memory.h"
#include "lang/vm/word.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM_SEED UINT64_C(0x9e3779b97f4a7c15)

/* ---- faults ------------------------------------------------------------------------------- */

static const char *const faults[] = {
	[FAULT_NONE] = "unknown fault",
	[FAULT_BADADDR] = "invalid address",
	[FAULT_ILLOP] = "illegal operation",
	[FAULT_DIVZERO] = "divide-by-zero",
	[FAULT_NOSCRATCH] = "out of scratch space",
	[FAULT_TUPOFLOW] = "tuple stack overflow",
};

bool rs_lang_fault_word(uint32_t index, struct rs_lang_word *word)
{
	for (uint32_t i = FAULT_NONE + 1; i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (faults[i] && !index--)
			return rs_lang_word_set(word, faults[i], "", "");
	}
	return false;
}

static void fault(struct firing *f, const struct clause *clause, uint32_t pc)
{
	const struct rs_script_probe *probe = &f->probe->public;
	struct runtime *rt = f->rt;
	struct firing error = { .script = f->script,
				.rt = rt,
				.probe = &f->script->probes.at[PROBE_ERROR],
				.now_ns = f->now_ns };
	char details[32] = "", where[32] = "predicate";

	rs_lang_machine_refuse(f, faults[f->fault]);
	if (clause->acts[pc])
		snprintf(where, sizeof(where), "action #%u", clause->acts[pc]);
	if (f->fault == FAULT_BADADDR)
		snprintf(details, sizeof(details), " (0x%llx)", (unsigned long long)f->fault_value);
	if (!rt->in_error) { /* a fault in ERROR is only reported */
		uint64_t arguments[] = { 0,  f->bound->epid, clause->acts[pc],
					 pc, f->fault,	     f->fault_value };

		memcpy(error.error, arguments, sizeof(arguments));
		rt->in_error = true;
		rs_lang_fire(&error, rt->special[PROBE_ERROR], rt->n_special[PROBE_ERROR]);
		rt->in_error = false;
	}
	rs_lang_report(
		f->script,
		"error on enabled probe ID %u (ID %u: %s:%s:%s:%s): %s%s in %s at DIF offset %u, "
		"line %u, column %u",
		f->bound->epid, probe->id, probe->provider, probe->module, probe->function,
		probe->name, faults[f->fault], details, where, pc, clause->places[pc].line,
		clause->places[pc].column);
}

/* Evaluates a clause without the machine. Returns false if the machine is needed. */
static bool view_done(struct runtime *rt, const struct rs_view *view, struct fast *fast)
{
	return rs_lang_fast_rejects(fast, view) ||
	       (fast->adds && rs_lang_fast_adds(fast, view, &rt->aggs));
}

static bool fast_done(struct firing *f, struct fast *fast)
{
	return view_done(f->rt, f->view, fast);
}

/* ---- firing ------------------------------------------------------------------------------- */

void rs_lang_fire(struct firing *f, const struct bound *bound, uint32_t n)
{
	struct runtime *rt = f->rt;
	size_t scratch_before = rt->scratch_used;
	uint32_t n_locals = f->script->n_slots[SCOPE_THIS];

	if (!rt->in_error) {
		rt->scratch_used = rt->scratch_kept = scratch_before = 0;
		rt->alloca_used = 0;
		for (uint32_t i = 0; i < n_locals; i++) /* "" of a string, and 0 */
			rt->locals[i] = (struct value){ .s = NULL, .len = 0 };
		if (f->script->object_bytes[1])
			memset(rt->object_locals, 0, f->script->object_bytes[1]);
	}
	for (uint32_t i = 0; i < n && (!rt->exiting || rt->ended); i++) {
		const struct clause *clause = bound[i].clause;
		uint32_t pc = 0;
		bool done;

		if (bound[i].fast && fast_done(f, bound[i].fast))
			continue;
		f->bound = &bound[i];
		f->fault = FAULT_NONE;
		f->recorded = !clause->has_body;
		f->speculation = 0;
		rt->text.len = 0;
		rt->text.full = false;
		rt->text.most = LANG_OUTPUT_MAX;
		rt->aggs.last_row = NULL;
		done = rs_lang_run_clause(f, clause, &pc);
		if (done && bound[i].fast && bound[i].fast->adds && rt->aggs.last_row)
			rs_lang_fast_keep(bound[i].fast, f->view, &rt->aggs);
		if (f->fault)
			fault(f, clause, pc);
		else if (done && f->recorded)
			rs_lang_output(f);
	}
	rt->scratch_used = scratch_before;
	if (rt->scratch_kept > scratch_before) /* by ERROR */
		rt->scratch_kept = scratch_before;
}

static void fire_special(struct rs_script *script, uint32_t which)
{
	struct runtime *rt = script->runtime;
	struct firing f = {
		.script = script, .rt = rt, .probe = &script->probes.at[which], .now_ns = rt->now_ns
	};

	rs_lang_fire(&f, rt->special[which], rt->n_special[which]);
}

/* ---- ticks -------------------------------------------------------------------------------- */

static void ticks_next(struct rs_script *script)
{
	script->runtime->next_tick_ns = INT64_MAX;
	for (uint32_t i = 0; i < script->ticks.n; i++) {
		if (script->ticks.at[i].next_ns < script->runtime->next_tick_ns)
			script->runtime->next_tick_ns = script->ticks.at[i].next_ns;
	}
}

/*
 * Limits the ticks in a gap between events: so many fire after an event, and the rest until the
 * next event are skipped. Only events count, so a live run and its trace agree.
 */
static bool tick_passed_over(struct tick *tick, int64_t now_ns)
{
	uint64_t due;

	if (tick->fired < LANG_TICKS_MAX)
		return false;
	due = (uint64_t)((now_ns - tick->next_ns) / tick->period_ns) + 1;
	tick->skipped += due;
	if (__builtin_mul_overflow((int64_t)due, tick->period_ns, &now_ns) ||
	    __builtin_add_overflow(tick->next_ns, now_ns, &tick->next_ns))
		tick->next_ns = INT64_MAX;
	return true;
}

static struct rs_error *settle(struct rs_script *script, uint32_t tick, int64_t at_ns)
{
	return script->pushed ? script->pushed->settle(script, tick, at_ns) : NULL;
}

static void tick_fire(struct rs_script *script, uint32_t index)
{
	struct runtime *rt = script->runtime;
	struct tick *tick = &script->ticks.at[index];
	struct firing f = { .script = script,
			    .rt = rt,
			    .probe = &script->probes.at[tick->probe],
			    .now_ns = tick->next_ns };

	rt->err = rs_error_first(rt->err, settle(script, index, tick->next_ns));
	rt->now_ns = tick->next_ns;
	tick->fired++;
	if (__builtin_add_overflow(tick->next_ns, tick->period_ns, &tick->next_ns))
		tick->next_ns = INT64_MAX;
	rs_lang_fire(&f, rt->tick_bound[index], rt->n_tick_bound[index]);
}

void rs_script_advance(struct rs_script *script, int64_t now_ns)
{
	struct runtime *rt = script->runtime;
	uint32_t n = 0;

	while (rt->next_tick_ns <= now_ns && !rt->exiting) {
		int64_t at = rt->next_tick_ns;

		/* Ctrl-C must not wait for such a gap. */
		if (++n % LANG_TICKS_POLL == 0 && rt->io.stop && *rt->io.stop)
			break;
		for (uint32_t i = 0; i < script->ticks.n && !rt->exiting; i++) {
			if (script->ticks.at[i].next_ns == at &&
			    !tick_passed_over(&script->ticks.at[i], now_ns))
				tick_fire(script, i);
		}
		ticks_next(script);
		if (rt->next_tick_ns == INT64_MAX)
			break;
	}
	if (n && rt->io.at_once)
		rs_out_write(rt->io.out); /* an error stays, for the next flush */
}

/* Fires the ticks that are due before an event, which ends the gap. */
static void ticks_until(struct rs_script *script, int64_t now_ns)
{
	rs_script_advance(script, now_ns);
	for (uint32_t i = 0; i < script->ticks.n; i++)
		script->ticks.at[i].fired = 0;
}

void rs_script_set_end(struct rs_script *script, int64_t end_ns)
{
	script->runtime->end_ns = end_ns;
}

int64_t rs_script_next_tick(const struct rs_script *script)
{
	return script->runtime->exiting ? INT64_MAX : script->runtime->next_tick_ns;
}

/* ---- the sink ----------------------------------------------------------------------------- */

static struct rs_script *script_of(struct rs_sink *sink)
{
	return ((struct sink_of *)sink)->script;
}

static struct rs_error *script_events(struct rs_sink *sink, const struct rs_view *views, size_t n)
{
	struct rs_script *script = script_of(sink);
	struct runtime *rt = script->runtime;

	for (size_t i = 0; i < n && !rt->exiting && !rt->err; i++) {
		const struct binding *binding = rs_lang_bind_event(script, views[i].event);
		struct firing f;
		uint32_t done = 0;

		if (!binding)
			break;
		if (script->ticks.n)
			ticks_until(script, views[i].ts_ns);
		if (views[i].event->kind == RS_KIND_LOSS)
			rt->lost += rs_view_loss(&views[i]).count;
		rt->now_ns = views[i].ts_ns;
		while (done < binding->n_bound && binding->bound[done].fast &&
		       view_done(rt, &views[i], binding->bound[done].fast))
			done++;
		if (done == binding->n_bound)
			continue;
		f = (struct firing){ .script = script,
				     .rt = rt,
				     .view = &views[i],
				     .binding = binding,
				     .probe = &script->probes.at[binding->probe],
				     .now_ns = views[i].ts_ns };
		rs_lang_fire(&f, binding->bound + done, binding->n_bound - done);
	}
	if (rt->err) {
		struct rs_error *err = rt->err;

		rt->err = NULL;
		return err;
	}
	return rt->io.at_once ? rs_out_flush(rt->io.out) : NULL;
}

bool rs_script_holds(struct rs_script *script, const struct rs_view *view, bool *holds)
{
	const struct binding *binding = rs_lang_bind_event(script, view->event);
	struct runtime *rt = script->runtime;
	struct firing f;
	uint32_t pc;

	if (!binding || binding->n_bound != 1) {
		rs_error_free(rt->err);
		rt->err = NULL;
		return false;
	}
	f = (struct firing){ .script = script,
			     .rt = rt,
			     .view = view,
			     .binding = binding,
			     .probe = &script->probes.at[binding->probe],
			     .bound = &binding->bound[0],
			     .now_ns = view->ts_ns };
	rt->scratch_used = rt->scratch_kept = rt->alloca_used = 0;
	*holds = rs_lang_run_predicate(&f, f.bound->clause, &pc);
	return !f.fault;
}

static void report_drops(struct rs_script *script)
{
	const struct runtime *rt = script->runtime;
	const struct {
		uint64_t n;
		const char *what, *more;
	} drops[] = {
		{ rt->output_drops, "drop", " on CPU 0 (a clause printed too much)" },
		{ rt->aggs.drops, "aggregation drop", " on CPU 0 (-x aggsize)" },
		{ rt->dynamics.drops, "dynamic variable drop", " (-x dynvarsize)" },
		{ rt->speculation_drops, "speculative drop", " (-x specsize)" },
		{ rt->speculation_none, "failed speculation",
		  " (no speculative buffer available; -x nspec)" },
	};

	for (size_t i = 0; i < sizeof(drops) / sizeof(drops[0]); i++) {
		if (drops[i].n)
			rs_lang_report(script, "%s%s", RS_COUNT_OF(drops[i].n, drops[i].what),
				       drops[i].more);
	}
	for (uint32_t i = 0; i < script->ticks.n; i++) {
		const struct tick *tick = &script->ticks.at[i];

		if (tick->skipped)
			rs_lang_report(script, "%s of %s skipped in gaps between events",
				       RS_COUNT_OF(tick->skipped, "firing"),
				       script->probes.at[tick->probe].public.name);
	}
}

/* Fires END; prints an empty line, as DTrace does, and the remaining aggregations. */
static struct rs_error *script_end(struct rs_sink *sink)
{
	struct rs_script *script = script_of(sink);
	struct runtime *rt = script->runtime;
	struct rs_error *err;

	if (rt->ended)
		return NULL;
	if (rt->end_ns > rt->now_ns && !rt->exiting && !(rt->io.stop && *rt->io.stop)) {
		rs_script_advance(script, rt->end_ns);
		rt->now_ns = rt->exiting ? rt->now_ns : rt->end_ns;
	}
	if (!rt->exiting)
		rt->err = rs_error_first(rt->err, settle(script, 0, INT64_MAX));
	rt->ended = true;
	fire_special(script, PROBE_END);
	if (!script->options[OPT_JSON])
		rs_out_long(rt->io.out, "\n", 1);
	for (struct aggregation *agg = script->aggregations; agg; agg = agg->next) {
		if (agg->printed)
			continue;
		rt->text.len = 0;
		rt->text.full = false;
		rt->text.most = SIZE_MAX / 2; /* without a limit */
		rs_agg_print(script, &rt->text, &agg, 1, NULL);
		if (script->options[OPT_JSON])
			rs_lang_text_add(&rt->text, "\n", 1);
		rs_out_long(rt->io.out, rt->text.at, rt->text.len);
		rt->output_drops += rt->text.full;
	}
	report_drops(script);
	err = rs_error_first(rt->err, rs_out_flush(rt->io.out));
	rt->err = NULL;
	return err;
}

static const struct rs_sink_ops script_ops = {
	.name = "script",
	.events = script_events,
	.end = script_end,
};

static struct rs_error *runtime_create(struct rs_script *script)
{
	const uint64_t *options = script->options;
	struct runtime *rt = calloc(1, sizeof(*rt));
	uint32_t n_globals = script->n_slots[SCOPE_GLOBAL];

	if (!rt)
		return rs_error_no_memory();
	script->runtime = rt;
	rt->sink.sink.ops = &script_ops;
	rt->sink.script = script;
	rt->globals = calloc(n_globals + 1, sizeof(*rt->globals));
	rt->locals = calloc(script->n_slots[SCOPE_THIS] + 1, sizeof(*rt->locals));
	rt->scratch = malloc(LANG_SCRATCH);
	rt->object_globals = calloc(1, script->object_bytes[0] + 1);
	rt->object_locals = calloc(1, script->object_bytes[1] + 1);
	rt->speculations = calloc(options[OPT_NSPEC] + 1, sizeof(*rt->speculations));
	rt->aggs.last_rows = calloc(script->n_aggregations + 1, sizeof(*rt->aggs.last_rows));
	if (!rt->globals || !rt->locals || !rt->aggs.last_rows || !rt->scratch ||
	    !rt->speculations || !rt->object_globals || !rt->object_locals)
		return rs_error_no_memory();
	for (const struct variable *v = script->variables; v; v = v->next) {
		struct global *global = &rt->globals[v->slot];

		if (v->scope != SCOPE_GLOBAL || v->is_array || v->inlined ||
		    v->type.kind != TYPE_STRING)
			continue;
		global->text = rs_arena_alloc(&script->arena, options[OPT_STRSIZE]);
		if (!global->text)
			return rs_error_no_memory();
		global->value.s = global->text;
	}
	if (options[OPT_JSON]) {
		struct rs_error *err = rs_lang_json_init(&rt->json);

		if (err)
			return err;
	}
	rt->dynamics.most = options[OPT_DYNVARSIZE];
	rt->aggs.most = options[OPT_AGGSIZE];
	rt->random = RANDOM_SEED;
	ticks_next(script);
	return NULL;
}

struct rs_error *rs_script_start(struct rs_script *script, const struct rs_script_io *io,
				 struct rs_sink **sink)
{
	struct rs_error *err = runtime_create(script);

	if (err)
		return err;
	script->runtime->io = *io;
	err = rs_lang_bind_program(script);
	if (err)
		return err;
	fire_special(script, PROBE_BEGIN);
	*sink = &script->runtime->sink.sink;
	return io->at_once ? rs_out_flush(io->out) : NULL;
}

int rs_script_status(const struct rs_script *script)
{
	return script->runtime ? script->runtime->status : 0;
}

uint64_t rs_script_lost(const struct rs_script *script)
{
	return script->runtime ? script->runtime->lost : 0;
}

bool rs_script_dropped(const struct rs_script *script)
{
	const struct runtime *rt = script->runtime;

	return rt && (rt->output_drops || rt->aggs.drops || rt->dynamics.drops ||
		      rt->speculation_drops || rt->speculation_none);
}

static void runtime_destroy(struct rs_script *script)
{
	struct runtime *rt = script->runtime;

	if (!rt)
		return;
	for (uint64_t i = 0; rt->speculations && i < script->options[OPT_NSPEC]; i++)
		rs_lang_text_deinit(&rt->speculations[i].text);
	rs_lang_dynamic_deinit(&rt->dynamics);
	rs_agg_table_deinit(&rt->aggs);
	rs_lang_text_deinit(&rt->text);
	rs_out_deinit(&rt->json);
	free(rt->speculations);
	free(rt->scratch);
	free(rt->object_globals);
	free(rt->object_locals);
	free(rt->locals);
	free(rt->globals);
	rs_error_free(rt->err);
	free(rt);
	script->runtime = NULL;
}

void rs_script_destroy(struct rs_script *script)
{
	if (!script)
		return;
	runtime_destroy(script);
	if (script->pushed)
		script->pushed->destroy(script->pushed);
	for (struct clause *clause = script->clauses; clause; clause = clause->next) {
		free(clause->code);
		free(clause->places);
		free(clause->acts);
	}
	rs_arena_deinit(&script->arena);
	free(script);
}
