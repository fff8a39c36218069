/* SPDX-License-Identifier: BSD-2-Clause */
/* Matches the descriptions of clauses with probes. The description of a tick creates its probe. */
#include "lang/front/tree.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds the events of all schemas, each probe once. */
static struct rs_error *events_of_schemas(struct rs_script *script)
{
	for (uint32_t i = 0; i < script->config.n_schemas; i++) {
		const struct rs_schema *schema = script->config.schemas[i];

		for (uint32_t j = 0; j < rs_schema_count(schema); j++) {
			struct rs_error *err =
				rs_lang_probe_of_event(script, rs_schema_event(schema, j), NULL);

			if (err)
				return err;
		}
	}
	return NULL;
}

/* Adds DTrace's own three probes, then the events of all schemas. */
static struct rs_error *probes_of_schemas(struct rs_script *script)
{
	static const char *const own[] = { "BEGIN", "END", "ERROR" };

	for (size_t i = 0; i < 3; i++) {
		if (!rs_lang_probe_add(script, "dtrace", "", "", own[i]))
			return rs_error_no_memory();
	}
	return events_of_schemas(script);
}

/* Replaces a description that is a number with the name of the probe that -l shows with that
 * number. */
static struct rs_error *probe_by_id(struct rs_script *script, struct pattern *pattern)
{
	char *end, text[4 * RS_WORD_MAX];
	unsigned long id = strtoul(pattern->text, &end, 10);
	const struct rs_script_probe *probe;

	if (!isdigit((unsigned char)*pattern->text) || *end || !id || id > script->probes.n)
		return NULL;
	probe = &script->probes.at[id - 1].public;
	snprintf(text, sizeof(text), "%s:%s:%s:%s", probe->provider, probe->module, probe->function,
		 probe->name);
	pattern->text = rs_arena_text(&script->arena, text, strlen(text));
	return pattern->text ? NULL : rs_error_no_memory();
}

static struct rs_error *probes_by_id(struct rs_script *script)
{
	struct rs_error *err = NULL;

	for (struct clause *clause = script->clauses; clause; clause = clause->next) {
		for (struct pattern *p = clause->patterns; p && !err; p = p->next)
			err = probe_by_id(script, p);
	}
	return err;
}

/* Returns the number of events in all schemas. */
static uint32_t events_count(const struct rs_script *script)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < script->config.n_schemas; i++)
		n += rs_schema_count(script->config.schemas[i]);
	return n;
}

/* Adds the events that the source creates because the program names them. For a description with a
 * glob these are several, of which it returns one. */
static struct rs_error *probes_make(struct rs_script *script, const struct clause *clause)
{
	for (const struct pattern *p = clause->patterns; p; p = p->next) {
		const uint32_t before = events_count(script);
		const struct rs_event *event = NULL;
		struct rs_error *err = NULL, *refused;

		if (!rs_lang_pattern_is_event(p))
			continue;
		refused = script->config.make(script->config.make_ctx, p->text,
					      clause->has_copyinstr, &event);
		if (refused)
			err = rs_lang_error(script, p->at, "D_PDESC_INVAL", "%s",
					    rs_error_text(refused));
		rs_error_free(refused);
		if (!err && event)
			err = rs_lang_probe_of_event(script, event, NULL);
		if (!err && events_count(script) > before + 1)
			err = events_of_schemas(script);
		if (err)
			return err;
	}
	return NULL;
}

struct rs_error *rs_lang_match_probes(struct rs_script *script)
{
	struct rs_error *err = probes_of_schemas(script);

	if (!err)
		err = probes_by_id(script);
	for (struct clause *c = script->clauses; c && !err && script->config.make; c = c->next)
		err = probes_make(script, c);
	return err;
}

/* Finds the tick that a description names, or creates it. Returns false if it names no tick. */
static bool tick_of(struct rs_script *script, const struct pattern *pattern, uint32_t *probe,
		    struct rs_error **err)
{
	const char *colon = strrchr(pattern->text, ':');
	const char *name = colon ? colon + 1 : pattern->text;
	struct tick *tick;
	int64_t period_ns;
	bool all_cpus;

	if (!rs_lang_tick_period(name, &period_ns, &all_cpus) ||
	    !rs_lang_probe_is_own(pattern->text, "profile", name))
		return false;
	if (period_ns < LANG_TICK_NS_MIN) {
		*err = rs_lang_error(script, pattern->at, "D_PDESC_INVAL",
				     "%s: the period must be at least %d ns", name,
				     LANG_TICK_NS_MIN);
		return true;
	}
	for (uint32_t i = 0; i < script->ticks.n; i++) {
		*probe = script->ticks.at[i].probe;
		if (!strcmp(script->probes.at[*probe].public.name, name))
			return true;
	}
	tick = VECTOR_ADD(script, &script->ticks);
	if (!tick || !rs_lang_probe_add(script, "profile", "", "", name)) {
		*err = rs_error_no_memory();
		return true;
	}
	*probe = script->probes.n - 1;
	*tick = (struct tick){
		.period_ns = period_ns, .next_ns = period_ns, .probe = *probe, .all_cpus = all_cpus
	};
	script->probes.at[*probe].tick = script->ticks.n;
	return true;
}

static struct rs_error *probe_clause(struct rs_script *script, uint32_t index,
				     const struct clause *clause)
{
	struct probe *probe = &script->probes.at[index];
	uint32_t *grown;

	for (uint32_t i = 0; i < probe->n_clauses; i++) {
		if (probe->clauses[i] == clause->index)
			return NULL; /* two descriptions of the clause match this probe */
	}
	if (!(probe->n_clauses & (probe->n_clauses - 1))) { /* full at each power of two */
		grown = rs_arena_alloc(&script->arena, 2 * (probe->n_clauses + 1) * sizeof(*grown));
		if (!grown)
			return rs_error_no_memory();
		if (probe->n_clauses)
			memcpy(grown, probe->clauses, probe->n_clauses * sizeof(*grown));
		probe->clauses = grown;
	}
	probe->clauses[probe->n_clauses++] = clause->index;
	return NULL;
}

static struct rs_error *match_event(struct rs_script *script, const struct rs_event *event)
{
	const struct rs_event **slot = VECTOR_ADD(script, &script->matched);

	if (!slot)
		return rs_error_no_memory();
	*slot = event;
	return NULL;
}

/* With zdefs: matches the known schemas of other sources, for the types of arguments. */
static struct rs_error *match_known(struct rs_script *script, const struct pattern *pattern)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < script->config.n_known; i++) {
		const struct rs_schema *schema = script->config.known[i];

		for (uint32_t j = 0; j < rs_schema_count(schema) && !err; j++) {
			if (rs_probe_match(pattern->text, rs_schema_event(schema, j)))
				err = match_event(script, rs_schema_event(schema, j));
		}
	}
	return err;
}

static struct rs_error *no_match(const struct rs_script *script, const struct pattern *pattern)
{
	const char *colon = strrchr(pattern->text, ':');
	struct nearest nearest = { .written = colon ? colon + 1 : pattern->text };

	if (script->config.may_match_nothing || script->options[OPT_ZDEFS])
		return NULL;
	for (uint32_t i = 0; i < script->probes.n; i++) {
		const struct rs_script_probe *probe = &script->probes.at[i].public;

		rs_lang_nearest_try(&nearest, probe->name,
				    probe->event ? probe->event->probe : NULL);
	}
	return rs_lang_error(script, pattern->at, "D_PDESC_ZERO",
			     "'%s' matches no probe%s; -l lists them", pattern->text,
			     rs_lang_nearest_text(&nearest));
}

static struct rs_error *match_pattern(struct rs_script *script, const struct clause *clause,
				      const struct pattern *pattern)
{
	uint32_t tick = 0;
	struct rs_error *err = NULL;
	bool any = false;

	if (tick_of(script, pattern, &tick, &err)) {
		script->front->matched_other = true;
		return err ? err : probe_clause(script, tick, clause);
	}
	for (uint32_t i = 0; i < script->probes.n && !err; i++) {
		const struct rs_script_probe *probe = &script->probes.at[i].public;

		if (script->probes.at[i].tick)
			continue;
		if (probe->event ? !rs_probe_match(pattern->text, probe->event)
				 : !rs_lang_probe_is_own(pattern->text, "dtrace", probe->name))
			continue;
		any = true;
		for (uint32_t j = 0; j < script->probes.at[i].layouts.n && !err; j++)
			err = match_event(script, script->probes.at[i].layouts.at[j]);
		if (probe->event)
			; /* the arguments of the event are checked */
		else if (i == PROBE_ERROR)
			script->front->matched_error = true;
		else
			script->front->matched_other = true;
		if (!err)
			err = probe_clause(script, i, clause);
	}
	if (!err && !any)
		err = no_match(script, pattern);
	if (!err && !any)
		err = match_known(script, pattern);
	return err;
}

struct rs_error *rs_lang_match_clause(struct rs_script *script, const struct clause *clause)
{
	struct rs_error *err = NULL;

	script->matched.n = 0;
	script->front->matched_other = script->front->matched_error = false;
	for (const struct pattern *p = clause->patterns; p && !err; p = p->next)
		err = match_pattern(script, clause, p);
	if (script->matched.n && script->front->matched_error)
		script->front->matched_other = true;
	return err;
}
