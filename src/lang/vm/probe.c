/* SPDX-License-Identifier: BSD-2-Clause */
/* The probes that clauses match: those of the language, ticks, and the events of the sources; and
 * the arguments of events. */
#include "lang/vm/builtin.h"
#include "lang/vm/program.h"
#include "lang/vm/word.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- arguments ---------------------------------------------------------------------------- */

const struct rs_field *rs_lang_arg_field(const struct rs_event *event, const struct arg_ref *ref)
{
	for (uint16_t i = 0; ref->name && i < event->n_fields; i++) {
		if (!strcmp(event->fields[i].name, ref->name))
			return &event->fields[i];
	}
	return !ref->name && ref->index < event->n_fields ? &event->fields[ref->index] : NULL;
}

const struct rs_enum *rs_lang_enum_find(const struct rs_enum *values, const char *name)
{
	/* kvmexit and the kernel write EXIT_REASON_HLT, DTrace's users EXIT_HLT. */
	static const char *const prefixes[] = { "", "EXIT_REASON_", "EXIT_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t len = strlen(prefixes[i]);

		if (strncasecmp(name, prefixes[i], len))
			continue;
		for (const struct rs_enum *row = values; row && row->name; row++) {
			if (!strcasecmp(row->name, name + len))
				return row;
		}
	}
	return NULL;
}

/* ---- probes ------------------------------------------------------------------------------- */

/* Returns whether a description matches the probe (provider, "", "", name). */
bool rs_lang_probe_is_own(const char *text, const char *provider, const char *name)
{
	struct rs_event event = {
		.provider = provider, .class_name = "", .function = "", .name = name
	};

	return rs_probe_match(text, &event);
}

static const struct {
	const char *name;
	uint64_t ns;
} tick_units[] = {
	{ "ns", 1 },
	{ "nsec", 1 },
	{ "us", 1000 },
	{ "usec", 1000 },
	{ "ms", 1000000 },
	{ "msec", 1000000 },
	{ "s", 1000000000 },
	{ "sec", 1000000000 },
	{ "m", 60000000000 },
	{ "min", 60000000000 },
	{ "h", 3600000000000 },
	{ "hour", 3600000000000 },
	{ "d", 86400000000000 },
	{ "day", 86400000000000 },
};
#define N_TICK_UNITS (sizeof(tick_units) / sizeof(tick_units[0]))

bool rs_lang_tick_word(uint32_t index, struct rs_lang_word *word)
{
	if (index == N_TICK_UNITS)
		return rs_lang_word_set(word, "hz", "", "");
	return index < N_TICK_UNITS && rs_lang_word_set(word, tick_units[index].name, "", "");
}

/* tick-10ms, tick-5 (Hz), profile-97 */
bool rs_lang_tick_period(const char *name, int64_t *period_ns, bool *all_cpus)
{
	uint64_t number, ns = 0;
	char *end;

	*all_cpus = !strncmp(name, "profile-", 8);
	if (!*all_cpus && strncmp(name, "tick-", 5))
		return false;
	name += *all_cpus ? 8 : 5;
	if (!isdigit((unsigned char)*name))
		return false;
	number = strtoull(name, &end, 10);
	if (!number)
		return false;
	if (!*end || !strcmp(end, "hz"))
		ns = number > 1000000000 ? 0 : 1000000000 / number;
	for (size_t i = 0; i < N_TICK_UNITS; i++) {
		if (!strcmp(tick_units[i].name, end) &&
		    __builtin_mul_overflow(number, tick_units[i].ns, &ns))
			return false;
	}
	*period_ns = (int64_t)ns;
	return ns && ns <= INT64_MAX / 4;
}

bool rs_lang_pattern_is_event(const struct pattern *pattern)
{
	static const char *const own[] = { "BEGIN", "END", "ERROR" };
	const char *colon = strrchr(pattern->text, ':');
	const char *name = colon ? colon + 1 : pattern->text;
	int64_t period_ns;
	bool all_cpus;

	for (size_t i = 0; i < 3; i++) {
		if (!strcmp(name, own[i]) && rs_lang_probe_is_own(pattern->text, "dtrace", name))
			return false;
	}
	return !rs_lang_tick_period(name, &period_ns, &all_cpus);
}

struct probe *rs_lang_probe_add(struct rs_script *script, const char *provider, const char *module,
				const char *function, const char *name)
{
	struct probe *probe = VECTOR_ADD(script, &script->probes);

	if (!probe)
		return NULL;
	*probe = (struct probe){ .public = { .id = script->probes.n,
					     .provider = provider,
					     .module = module,
					     .function = function,
					     .name = name } };
	return probe;
}

static bool same_values(const struct rs_enum *a, const struct rs_enum *b)
{
	if (!a || !b)
		return a == b;
	while (a->name && b->name && a->value == b->value && !strcmp(a->name, b->name))
		a++, b++;
	return !a->name && !b->name;
}

static bool same_layout(const struct rs_event *a, const struct rs_event *b)
{
	if (a->n_fields != b->n_fields)
		return false;
	for (uint16_t i = 0; i < a->n_fields; i++) {
		if (strcmp(a->fields[i].name, b->fields[i].name) ||
		    a->fields[i].type != b->fields[i].type ||
		    a->fields[i].show != b->fields[i].show ||
		    !same_values(a->fields[i].values, b->fields[i].values))
			return false;
	}
	return true;
}

static struct rs_error *layout_add(struct rs_script *script, struct probe *probe,
				   const struct rs_event *event)
{
	const struct rs_event **slot;

	for (uint32_t i = 0; i < probe->layouts.n; i++) {
		if (same_layout(probe->layouts.at[i], event))
			return NULL;
	}
	slot = VECTOR_ADD(script, &probe->layouts);
	if (!slot)
		return rs_error_no_memory();
	*slot = event;
	return NULL;
}

struct rs_error *rs_lang_probe_of_event(struct rs_script *script, const struct rs_event *event,
					uint32_t *index)
{
	struct probe *probe;
	uint32_t i;

	for (i = 0; i < script->probes.n; i++) {
		const struct rs_event *have = script->probes.at[i].public.event;

		if (have && (have == event || !strcmp(have->probe, event->probe)))
			break;
	}
	if (i == script->probes.n) {
		probe = rs_lang_probe_add(script, event->provider, event->class_name,
					  event->function, event->name);
		if (!probe)
			return rs_error_no_memory();
		probe->public.event = event;
	}
	if (index)
		*index = i;
	return layout_add(script, &script->probes.at[i], event);
}

bool rs_lang_probe_has_arg(const struct rs_script *script, const struct rs_event *event,
			   const struct arg_ref *ref)
{
	for (uint32_t i = 0; i < script->matched.n; i++) {
		if (!strcmp(script->matched.at[i]->probe, event->probe) &&
		    rs_lang_arg_field(script->matched.at[i], ref))
			return true;
	}
	for (uint32_t i = 0; i < script->probes.n; i++) {
		const struct probe *probe = &script->probes.at[i];

		if (!probe->public.event || strcmp(probe->public.event->probe, event->probe))
			continue;
		for (uint32_t j = 0; j < probe->layouts.n; j++) {
			if (rs_lang_arg_field(probe->layouts.at[j], ref))
				return true;
		}
	}
	return false;
}

/* ---- matched events ----------------------------------------------------------------------- */

bool rs_script_has_events(const struct rs_script *script)
{
	for (const struct clause *clause = script->clauses; clause; clause = clause->next) {
		for (const struct pattern *p = clause->patterns; p; p = p->next) {
			if (rs_lang_pattern_is_event(p))
				return true;
		}
	}
	return false;
}

bool rs_script_has_ticks(const struct rs_script *script)
{
	return script->ticks.n;
}

uint32_t rs_script_matched(const struct rs_script *script, uint32_t from_line, uint32_t to_line)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < script->probes.n; i++) {
		const struct probe *probe = &script->probes.at[i];

		for (uint32_t j = 0; j < probe->n_clauses; j++) {
			uint32_t line = script->clause_at.at[probe->clauses[j]]->at.line;

			n += line >= from_line && line <= to_line;
		}
	}
	return n;
}

bool rs_script_probe_at(const struct rs_script *script, uint32_t index,
			struct rs_script_probe *probe)
{
	for (uint32_t i = 0; i < script->probes.n; i++) {
		if (script->probes.at[i].n_clauses && !index--) {
			*probe = script->probes.at[i].public;
			return true;
		}
	}
	return false;
}

const struct rs_event *rs_script_probe_layout(const struct rs_script *script, uint32_t id,
					      uint32_t n)
{
	const struct probe *probe = &script->probes.at[id - 1];

	return n < probe->layouts.n ? probe->layouts.at[n] : NULL;
}

void rs_script_narrow(struct rs_script *script, struct rs_query *query)
{
	bool all = false; /* ::: matches every event */
	uint32_t n = 0;

	if (script->ticks.n) /* they depend on the time of every event */
		return;
	for (const struct clause *clause = script->clauses; clause; clause = clause->next) {
		for (const struct pattern *p = clause->patterns; p; p = p->next) {
			if (!rs_lang_pattern_is_event(p))
				continue;
			all |= !p->text[strspn(p->text, ":")];
			if (n < RS_QUERY_GLOBS_MAX)
				query->globs[n] = p->text;
			n++;
		}
	}
	if (!n)
		query->globs[n++] = "dtrace:::"; /* no events but losses */
	query->n_globs = n <= RS_QUERY_GLOBS_MAX && !all ? n : 0;
}

/* Returns whether an instruction reads the thread, its stack, a name or a variable of its program,
 * or makes the key of self->. */
static bool uses_thread(const struct rs_script *script, const struct insn *insn)
{
	if (insn->op == I_VARIABLE)
		return true;
	if (insn->op == I_CALL)
		return rs_lang_functions[insn->k].guest;
	if (insn->op == I_DO)
		return script->actions.at[insn->k].kind == ACT_STACK;
	if (insn->op == I_VARI || insn->op == I_VARS)
		return rs_lang_builtins[insn->k].thread;
	return insn->op == I_KEY && (insn->k & 3u << 24) == LANG_KEY_SELF;
}

bool rs_script_uses_thread(const struct rs_script *script)
{
	for (const struct clause *c = script->clauses; c; c = c->next) {
		for (uint32_t i = 0; i < c->n_code; i++) {
			if (uses_thread(script, &c->code[i]))
				return true;
		}
	}
	return false;
}
