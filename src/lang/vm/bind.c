/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binds events: determines the clauses that an event fires, and the position of each argument of
 * the program in its payload. An event is bound when it first arrives, because a source may find
 * new ones while it runs. An event without the arguments that a clause was compiled for does not
 * fire that clause, and a message reports that.
 */
#include "lang/vm/runtime.h"

#include <stdint.h>

static size_t place_of(const struct rs_event *event)
{
	return ((uintptr_t)event >> 4 ^ (uintptr_t)event >> 12) & (BINDINGS - 1);
}

/* Returns whether the event has the arguments of the clause. If not, sets *what to a missing
 * one. */
bool rs_lang_bind_suits(const struct rs_script *script, const struct clause *clause,
			const struct rs_event *event, const char **what)
{
	for (uint32_t i = 0; i < clause->n_code; i++) {
		const struct insn *insn = &clause->code[i];
		const struct arg_ref *ref;
		const struct rs_field *field;
		bool text;

		if (insn->op != I_ARG && insn->op != I_ARGTEXT && insn->op != I_ARGENUM)
			continue;
		ref = &script->args.at[insn->k];
		field = rs_lang_arg_field(event, ref);
		text = field && (rs_type_is_tail(field->type) || field->show == RS_SHOW_NAME);
		*what = ref->name ? ref->name : "args[]";
		if (!field && rs_lang_probe_has_arg(script, event, ref))
			continue;
		if (ref->raw ? field && rs_type_is_tail(field->type)
			     : !field || text != (ref->type.kind == TYPE_STRING))
			return false;
	}
	return true;
}

bool rs_lang_bind_matches(const struct clause *clause, const struct rs_event *event)
{
	for (const struct pattern *p = clause->patterns; p; p = p->next) {
		if (rs_probe_match(p->text, event))
			return true;
	}
	return false;
}

static struct rs_error *bind_clauses(struct rs_script *script, struct binding *binding)
{
	struct runtime *rt = script->runtime;
	const char *what = "";

	binding->bound =
		rs_arena_alloc(&script->arena, (script->n_clauses + 1) * sizeof(*binding->bound));
	if (!binding->bound)
		return rs_error_no_memory();
	for (struct clause *clause = script->clauses; clause; clause = clause->next) {
		if (!rs_lang_bind_matches(clause, binding->event) ||
		    (script->pushed &&
		     script->pushed->has_done(script->pushed, clause, binding->event)))
			continue;
		if (rs_lang_bind_suits(script, clause, binding->event, &what))
			binding->bound[binding->n_bound++] =
				(struct bound){ .clause = clause, .epid = ++rt->n_epids };
		else
			rs_lang_report(script,
				       "%s has no argument '%s': the clause in line %u skips this "
				       "event",
				       binding->event->probe, what, clause->at.line);
	}
	return NULL;
}

static struct rs_error *bind_fields(struct rs_script *script, struct binding *binding)
{
	uint32_t n = script->args.n, n_enums = script->enums.n;

	binding->fields = rs_arena_alloc(&script->arena, (n + 1) * sizeof(*binding->fields));
	binding->enums = rs_arena_alloc(&script->arena, (n_enums + 1) * sizeof(*binding->enums));
	if (!binding->fields || !binding->enums)
		return rs_error_no_memory();
	for (uint32_t i = 0; i < n; i++)
		binding->fields[i] = rs_lang_arg_field(binding->event, &script->args.at[i]);
	for (uint32_t i = 0; i < n_enums; i++) {
		const struct enum_ref *ref = &script->enums.at[i];
		const struct rs_field *field = binding->fields[ref->arg];
		const struct rs_enum *row =
			field ? rs_lang_enum_find(field->values, ref->name) : NULL;

		binding->enums[i] = row ? row->value : UINT64_MAX; /* which no argument has */
	}
	return NULL;
}

static struct rs_error *bind_new(struct rs_script *script, const struct rs_event *event,
				 struct binding **out)
{
	struct binding *binding = rs_arena_alloc(&script->arena, sizeof(*binding));
	struct rs_error *err;

	if (!binding)
		return rs_error_no_memory();
	binding->event = event;
	err = rs_lang_probe_of_event(script, event, &binding->probe);
	if (!err)
		err = bind_clauses(script, binding);
	if (!err)
		err = bind_fields(script, binding);
	for (uint32_t i = 0; i < binding->n_bound && !err; i++)
		err = rs_lang_fast_make(script, binding, binding->bound[i].clause,
					&binding->bound[i].fast);
	if (err)
		return err;
	binding->next = script->runtime->bindings;
	script->runtime->bindings = binding;
	*out = binding;
	return NULL;
}

const struct binding *rs_lang_bind_event(struct rs_script *script, const struct rs_event *event)
{
	struct runtime *rt = script->runtime;
	struct binding **cached = &rt->cache[place_of(event)];
	struct binding *binding;

	if (*cached && (*cached)->event == event)
		return *cached;
	for (binding = rt->bindings; binding && binding->event != event;)
		binding = binding->next;
	if (!binding) {
		rt->err = bind_new(script, event, &binding);
		if (rt->err)
			return NULL;
	}
	*cached = binding;
	return binding;
}

/* Binds the clauses of BEGIN, END, ERROR or a tick, and numbers them. */
static struct rs_error *bind_special(struct rs_script *script, uint32_t index, struct bound **out,
				     uint32_t *n)
{
	const struct probe *probe = &script->probes.at[index];

	*out = rs_arena_alloc(&script->arena, (probe->n_clauses + 1) * sizeof(**out));
	if (!*out)
		return rs_error_no_memory();
	for (*n = 0; *n < probe->n_clauses; ++*n)
		(*out)[*n] = (struct bound){ script->clause_at.at[probe->clauses[*n]],
					     ++script->runtime->n_epids, NULL };
	return NULL;
}

struct rs_error *rs_lang_bind_program(struct rs_script *script)
{
	struct runtime *rt = script->runtime;
	uint32_t n = script->ticks.n;
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < 3 && !err; i++)
		err = bind_special(script, i, &rt->special[i], &rt->n_special[i]);
	rt->tick_bound = rs_arena_alloc(&script->arena, (n + 1) * sizeof(*rt->tick_bound));
	rt->n_tick_bound = rs_arena_alloc(&script->arena, (n + 1) * sizeof(*rt->n_tick_bound));
	if (!rt->tick_bound || !rt->n_tick_bound)
		return err ? err : rs_error_no_memory();
	for (uint32_t i = 0; i < n && !err; i++)
		err = bind_special(script, script->ticks.at[i].probe, &rt->tick_bound[i],
				   &rt->n_tick_bound[i]);
	return err;
}
