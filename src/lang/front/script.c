/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program as a whole: its options and errors, the probes that its clauses match, and the stages
 * one after the other. Clauses are matched, checked and compiled in the program's order, for that
 * is the order in which variables come to be.
 */
#include "lang/vm/internal.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "lang/vm/runtime.h"

/* ---- what the stages share ---------------------------------------------------------------- */

#define COLUMNS_SHOWN 200 /* of a line with a mistake */

/* The line of a place, and what moves a caret below its column; false: it is not in our text. */
static bool source_line(const struct rs_script *script, struct place at, char *line, char *caret)
{
	const char *text = script->config.text, *end = text + script->config.len, *stop;
	size_t len;

	if (script->file != script->config.name || at.column > COLUMNS_SHOWN)
		return false;
	for (uint32_t i = 1; i < at.line && text; i++) {
		text = memchr(text, '\n', (size_t)(end - text));
		text = text ? text + 1 : NULL;
	}
	if (!text || text == end)
		return false;
	stop = memchr(text, '\n', (size_t)(end - text));
	len = (size_t)((stop ? stop : end) - text);
	if (len > COLUMNS_SHOWN)
		len = COLUMNS_SHOWN;
	memcpy(line, text, len);
	line[len] = '\0';
	for (size_t i = 0; i + 1 < at.column; i++)
		caret[i] = ' ';
	caret[at.column ? at.column - 1 : 0] = '\0';
	for (size_t i = 0; i < len; i++)
		line[i] = line[i] == '\t' ? ' ' : line[i];
	rs_utf8_mend(line, len);
	return true;
}

struct rs_error *lang_error(const struct rs_script *script, struct place at, const char *tag,
			    const char *format, ...)
{
	char message[512], line[COLUMNS_SHOWN + 1], caret[COLUMNS_SHOWN + 2];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	rs_utf8_mend(message, strlen(message)); /* a program's bytes may stand in it */
	if (!source_line(script, at, line, caret))
		return rs_error_create(RS_USAGE, "%s:%u:%u: [%s] %s", script->file, at.line,
				       at.column, tag, message);
	return rs_error_create(RS_USAGE, "%s:%u:%u: [%s] %s\n    %s\n    %s^", script->file,
			       at.line, at.column, tag, message, line, caret);
}

bool vector_room(struct rs_script *script, void **at, uint32_t n, uint32_t *room, size_t bytes)
{
	uint32_t more = *room ? *room * 2 : 8;
	void *grown;

	if (n < *room)
		return true;
	grown = rs_arena_alloc(&script->arena, more * bytes);
	if (!grown)
		return false;
	if (n)
		memcpy(grown, *at, n * bytes);
	*at = grown;
	*room = more;
	return true;
}

/* Changes, insertions and deletions of a letter between two words of moderate length. */
static uint32_t distance_of(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	uint32_t row[34];

	if (n > 32 || m > 32)
		return UINT32_MAX;
	for (size_t j = 0; j <= m; j++)
		row[j] = (uint32_t)j;
	for (size_t i = 1; i <= n; i++) {
		uint32_t diagonal = row[0];

		row[0] = (uint32_t)i;
		for (size_t j = 1; j <= m; j++) {
			uint32_t change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
			if (change < row[j])
				row[j] = change;
		}
	}
	return row[m];
}

void nearest_try(const char *written, const char *name, const char **best, uint32_t *distance)
{
	uint32_t here = distance_of(written, name);

	if (here < *distance && here < strlen(written)) {
		*distance = here;
		*best = name;
	}
}

bool variable_place(struct rs_script *script, struct variable *variable)
{
	bool dynamic = variable->is_array || variable->scope == SCOPE_SELF;
	uint32_t *slots = &script->n_slots[dynamic ? SCOPE_SELF : variable->scope];
	uint32_t *bytes = &script->object_bytes[variable->scope == SCOPE_THIS];

	if (*slots == LANG_SLOTS_MAX)
		return false;
	if (!dynamic && type_is_object(&variable->type)) {
		if (*bytes > LANG_OBJECTS_MAX - LANG_OBJECT_MAX)
			return false;
		variable->at = *bytes;
		*bytes += ((uint32_t)type_bytes(script, &variable->type) + 15) & ~15u;
	}
	variable->slot = (*slots)++;
	return true;
}

/* ---- options ------------------------------------------------------------------------------ */

static const struct option_row {
	const char *name;
	uint64_t least, most, standard;
	uint64_t cap; /* the most that the program itself may set; 0: `most` */
} option_rows[OPT_COUNT] = {
	[OPT_AGGSIZE] = { "aggsize", 4096, UINT64_C(1) << 40, UINT64_C(256) << 20,
			  UINT64_C(1) << 30 },
	[OPT_AGGSORTKEY] = { "aggsortkey", 0, 1, 0 },
	[OPT_AGGSORTKEYPOS] = { "aggsortkeypos", 0, LANG_KEYS_MAX - 1, 0 },
	[OPT_AGGSORTPOS] = { "aggsortpos", 0, LANG_ARGS_MAX - 1, 0 },
	[OPT_AGGSORTREV] = { "aggsortrev", 0, 1, 0 },
	[OPT_DEFAULTARGS] = { "defaultargs", 0, 1, 0 },
	[OPT_DYNVARSIZE] = { "dynvarsize", 256, UINT64_C(1) << 40, UINT64_C(64) << 20,
			     UINT64_C(256) << 20 },
	[OPT_JSON] = { "json", 0, 1, 0 },
	[OPT_NOPUSHDOWN] = { "nopushdown", 0, 1, 0 },
	[OPT_NSPEC] = { "nspec", 0, 4096, 1, 64 },
	[OPT_QUIET] = { "quiet", 0, 1, 0 },
	[OPT_SPECSIZE] = { "specsize", 64, UINT64_C(1) << 32, UINT64_C(1) << 20,
			   UINT64_C(16) << 20 },
	[OPT_STRSIZE] = { "strsize", 8, 4096, 256 },
	[OPT_TARGET] = { "target", 1, INT32_MAX, 0 },
	[OPT_ZDEFS] = { "zdefs", 0, 1, 0 },
};

/* They size and time what DTrace has between kernel and user, or are of stacks; here there is
 * nothing of the kind. */
static const char no_effect[] = " bufsize bufpolicy bufresize aggrate switchrate statusrate "
				"cleanrate bufhost destructive stackframes ustackframes "
				"jstackframes jstackstrsize stackindent ";

/* A number with k, m, g; a time is not needed by any of ours. */
static bool option_value(const char *text, uint64_t *value)
{
	static const char units[] = "kmgt";
	const char *unit;
	char *end;

	*value = strtoull(text, &end, 0);
	if (end == text || *text == '-')
		return !strcmp(text, "true") || !strcmp(text, "on")	? (*value = 1, true)
		       : !strcmp(text, "false") || !strcmp(text, "off") ? (*value = 0, true)
									: false;
	if (!*end)
		return true;
	unit = strchr(units, tolower((unsigned char)*end));
	if (!unit || end[1] || *value >> 24)
		return false;
	*value <<= 10 * (unit - units + 1);
	return true;
}

struct rs_error *script_set_option(struct rs_script *script, struct place at, const char *text,
				   bool outside)
{
	size_t len = strcspn(text, "=");
	uint64_t value = 1;
	const char *best = NULL;
	uint32_t distance = NEAREST_MAX + 1;
	char name[32] = " ";

	if (len && len < sizeof(name) - 2) {
		memcpy(name + 1, text, len);
		memcpy(name + 1 + len, " ", 2);
		if (strstr(no_effect, name))
			return NULL;
		name[1 + len] = '\0';
	}
	for (uint32_t i = 0; i < OPT_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		if (strcmp(row->name, name + 1))
			continue;
		if ((text[len] && !option_value(text + len + 1, &value)) || value < row->least ||
		    value > row->most)
			return lang_error(script, at, "D_PRAGMA_OPTSET",
					  "option %s takes a number from %llu to %llu", row->name,
					  (unsigned long long)row->least,
					  (unsigned long long)row->most);
		if (!outside && script->options_fixed >> i & 1)
			return NULL; /* the command line wins */
		if (!outside && row->cap && value > row->cap)
			return lang_error(script, at, "D_PRAGMA_OPTSET",
					  "a program sets option %s to %llu at most; -x %s=%s on "
					  "the command line may set more",
					  row->name, (unsigned long long)row->cap, row->name,
					  text + len + 1);
		if (outside)
			script->options_fixed |= 1u << i;
		script->options[i] = value;
		return NULL;
	}
	for (uint32_t i = 0; i < OPT_COUNT; i++)
		nearest_try(name + 1, option_rows[i].name, &best, &distance);
	return lang_error(script, at, "D_PRAGMA_OPTSET", "there is no option '%.64s'%s%s%s", text,
			  best ? "; did you mean '" : "", best ? best : "", best ? "'?" : "");
}

bool option_at_run(const char *name)
{
	static const char names[] = " quiet aggsortkey aggsortkeypos aggsortpos aggsortrev ";
	char word[32];
	size_t len = strcspn(name, "=");

	if (!len || len + 3 > sizeof(word))
		return false;
	snprintf(word, sizeof(word), " %.*s ", (int)len, name);
	return strstr(names, word) || strstr(no_effect, word);
}

static struct rs_error *options_init(struct rs_script *script)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < OPT_COUNT; i++)
		script->options[i] = option_rows[i].standard;
	for (uint32_t i = 0; i < script->config.n_options && !err; i++)
		err = script_set_option(script, (struct place){ 1, 1 }, script->config.options[i],
					true);
	return err;
}

/* ---- probes ------------------------------------------------------------------------------- */

static struct probe *probe_add(struct rs_script *script, const char *provider, const char *module,
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

/* DTrace's own three, then the events of all schemas, each probe once. */
static struct rs_error *probes_init(struct rs_script *script)
{
	static const char *const own[] = { "BEGIN", "END", "ERROR" };

	for (size_t i = 0; i < 3; i++) {
		if (!probe_add(script, "dtrace", "", "", own[i]))
			return rs_error_no_memory();
	}
	for (uint32_t i = 0; i < script->config.n_schemas; i++) {
		const struct rs_schema *schema = script->config.schemas[i];

		for (uint32_t j = 0; j < rs_schema_count(schema); j++) {
			struct rs_error *err =
				probe_of_event(script, rs_schema_event(schema, j), NULL);

			if (err)
				return err;
		}
	}
	return NULL;
}

static bool same_layout(const struct rs_event *a, const struct rs_event *b)
{
	if (a->n_fields != b->n_fields)
		return false;
	for (uint16_t i = 0; i < a->n_fields; i++) {
		if (strcmp(a->fields[i].name, b->fields[i].name) ||
		    a->fields[i].type != b->fields[i].type ||
		    a->fields[i].show != b->fields[i].show)
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

struct rs_error *probe_of_event(struct rs_script *script, const struct rs_event *event,
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
		probe = probe_add(script, event->provider, event->class_name, event->function,
				  event->name);
		if (!probe)
			return rs_error_no_memory();
		probe->public.event = event;
	}
	if (index)
		*index = i;
	return layout_add(script, &script->probes.at[i], event);
}

bool probe_has_arg(const struct rs_script *script, const struct rs_event *event,
		   const struct arg_ref *ref)
{
	for (uint32_t i = 0; i < script->matched.n; i++) {
		if (!strcmp(script->matched.at[i]->probe, event->probe) &&
		    arg_field(script->matched.at[i], ref))
			return true;
	}
	for (uint32_t i = 0; i < script->probes.n; i++) {
		const struct probe *probe = &script->probes.at[i];

		if (!probe->public.event || strcmp(probe->public.event->probe, event->probe))
			continue;
		for (uint32_t j = 0; j < probe->layouts.n; j++) {
			if (arg_field(probe->layouts.at[j], ref))
				return true;
		}
	}
	return false;
}

/* A description that is a number is the probe's that -l shows with it: its name stands for it. */
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

/* The events that the source makes because the program names them. */
static struct rs_error *probes_make(struct rs_script *script, const struct clause *clause)
{
	for (const struct pattern *p = clause->patterns; p; p = p->next) {
		const struct rs_event *event = NULL;
		struct rs_error *err = NULL, *told;

		if (!pattern_is_event(p))
			continue;
		told = script->config.make(script->config.make_ctx, p->text, clause->has_copyinstr,
					   &event);
		if (told)
			err = lang_error(script, p->at, "D_PDESC_INVAL", "%s", rs_error_text(told));
		rs_error_free(told);
		if (!err && event)
			err = probe_of_event(script, event, NULL);
		if (err)
			return err;
	}
	return NULL;
}

/* The last field of a description, and whether the others before it can match (provider, "", "").
 */
static bool own_probe(const char *text, const char *provider, const char *name)
{
	struct rs_event event = {
		.provider = provider, .class_name = "", .function = "", .name = name
	};

	return rs_probe_match(text, &event);
}

/* tick-10ms, tick-5 (Hz), profile-97: the period; false: it is none. */
static bool tick_period(const char *name, int64_t *period_ns, bool *all_cpus)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 },
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
		      { "day", 86400000000000 } };
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
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(units[i].name, end) && __builtin_mul_overflow(number, units[i].ns, &ns))
			return false;
	}
	*period_ns = (int64_t)ns;
	return ns && ns <= INT64_MAX / 4;
}

/* The tick that a description names, made where it is not there; false: it names none. */
static bool tick_of(struct rs_script *script, const struct pattern *pattern, uint32_t *probe,
		    struct rs_error **err)
{
	const char *colon = strrchr(pattern->text, ':');
	const char *name = colon ? colon + 1 : pattern->text;
	struct tick *tick;
	int64_t period_ns;
	bool all_cpus;

	if (!tick_period(name, &period_ns, &all_cpus) || !own_probe(pattern->text, "profile", name))
		return false;
	if (period_ns < LANG_TICK_NS_MIN) {
		*err = lang_error(script, pattern->at, "D_PDESC_INVAL",
				  "%s: %d ns is the shortest period", name, LANG_TICK_NS_MIN);
		return true;
	}
	for (uint32_t i = 0; i < script->ticks.n; i++) {
		*probe = script->ticks.at[i].probe;
		if (!strcmp(script->probes.at[*probe].public.name, name))
			return true;
	}
	tick = VECTOR_ADD(script, &script->ticks);
	if (!tick || !probe_add(script, "profile", "", "", name)) {
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
			return NULL; /* two of its descriptions match the same probe */
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

/* With zdefs: what the description matches elsewhere, for the types of arguments. */
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
	const char *name = colon ? colon + 1 : pattern->text, *best = NULL;
	uint32_t distance = NEAREST_MAX + 1;
	const char *probe = NULL;

	if (script->config.may_match_nothing || script->options[OPT_ZDEFS])
		return NULL;
	for (uint32_t i = 0; i < script->probes.n; i++) {
		const char *before = best;

		nearest_try(name, script->probes.at[i].public.name, &best, &distance);
		if (best != before)
			probe = script->probes.at[i].public.event
					? script->probes.at[i].public.event->probe
					: best;
	}
	return lang_error(script, pattern->at, "D_PDESC_ZERO",
			  "'%s' matches no probe%s%s%s; -l lists them", pattern->text,
			  probe ? "; did you mean '" : "", probe ? probe : "", probe ? "'?" : "");
}

static struct rs_error *match_pattern(struct rs_script *script, const struct clause *clause,
				      const struct pattern *pattern)
{
	uint32_t tick = 0;
	struct rs_error *err = NULL;
	bool any = false;

	if (tick_of(script, pattern, &tick, &err)) {
		script->matched_other = true;
		return err ? err : probe_clause(script, tick, clause);
	}
	for (uint32_t i = 0; i < script->probes.n && !err; i++) {
		const struct rs_script_probe *probe = &script->probes.at[i].public;

		if (script->probes.at[i].tick)
			continue;
		if (probe->event ? !rs_probe_match(pattern->text, probe->event)
				 : !own_probe(pattern->text, "dtrace", probe->name))
			continue;
		any = true;
		for (uint32_t j = 0; j < script->probes.at[i].layouts.n && !err; j++)
			err = match_event(script, script->probes.at[i].layouts.at[j]);
		if (probe->event)
			; /* its arguments are checked */
		else if (i == PROBE_ERROR)
			script->matched_error = true;
		else
			script->matched_other = true;
		if (!err)
			err = probe_clause(script, i, clause);
	}
	if (!err && !any)
		err = no_match(script, pattern);
	if (!err && !any)
		err = match_known(script, pattern);
	return err;
}

struct rs_error *script_match(struct rs_script *script, struct clause *clause)
{
	struct rs_error *err = NULL;

	script->matched.n = 0;
	script->matched_other = script->matched_error = false;
	for (const struct pattern *p = clause->patterns; p && !err; p = p->next)
		err = match_pattern(script, clause, p);
	if (script->matched.n && script->matched_error)
		script->matched_other = true;
	return err;
}

/* ---- the stages --------------------------------------------------------------------------- */

/* An argument that nothing asks for is most often a mistake. */
static struct rs_error *unused_arguments(const struct rs_script *script)
{
	for (uint32_t i = 0; i < script->config.n_args && i < 64; i++) {
		if (!(script->macros_used >> i & 1))
			return rs_error_create(RS_USAGE,
					       "[D_MACRO_UNUSED] argument '%s' is not used: there "
					       "is no $%u in the program",
					       script->config.args[i], i + 1);
	}
	return NULL;
}

static struct rs_error *compile(struct rs_script *script)
{
	struct rs_error *err = options_init(script);

	if (!err)
		err = parse_program(script);
	if (!err && !script->options[OPT_DEFAULTARGS])
		err = unused_arguments(script);
	if (!err)
		err = probes_init(script);
	if (!err)
		err = probes_by_id(script);
	for (struct clause *c = script->clauses; c && !err && script->config.make; c = c->next)
		err = probes_make(script, c);
	for (struct variable *v = script->variables; v && !err; v = v->next) {
		if (!v->inlined && !variable_place(script, v))
			err = rs_error_create(RS_USAGE, "%s: more than %d variables", script->file,
					      LANG_SLOTS_MAX);
	}
	for (struct clause *clause = script->clauses; clause && !err; clause = clause->next) {
		err = script_match(script, clause);
		if (!err)
			err = check_clause(script, clause);
		if (!err)
			err = compile_clause(script, clause);
		if (!err)
			err = verify_clause(script, clause);
	}
	return err;
}

struct rs_error *rs_script_compile(const struct rs_script_config *config, struct rs_script **out)
{
	struct rs_script *script;
	struct rs_error *err;

	if (config->len > LANG_TEXT_MAX)
		return rs_error_create(RS_USAGE, "%s: a program of more than %u bytes",
				       config->name, LANG_TEXT_MAX);
	script = calloc(1, sizeof(*script));
	if (!script)
		return rs_error_no_memory();
	script->config = *config;
	script->file = config->name;
	script->clauses_end = &script->clauses;
	err = compile(script);
	if (err)
		rs_script_destroy(script);
	else
		*out = script;
	return err;
}

void rs_script_destroy(struct rs_script *script)
{
	if (!script)
		return;
	runtime_destroy(script);
	push_destroy(script->push);
	for (struct clause *clause = script->clauses; clause; clause = clause->next) {
		free(clause->code);
		free(clause->places);
		free(clause->acts);
	}
	rs_arena_deinit(&script->arena);
	free(script);
}

/* ---- what it says of itself --------------------------------------------------------------- */

bool rs_script_is_quiet(const struct rs_script *script)
{
	return script->options[OPT_QUIET];
}

bool pattern_is_event(const struct pattern *pattern)
{
	static const char *const own[] = { "BEGIN", "END", "ERROR" };
	const char *colon = strrchr(pattern->text, ':');
	const char *name = colon ? colon + 1 : pattern->text;
	int64_t period_ns;
	bool all_cpus;

	for (size_t i = 0; i < 3; i++) {
		if (!strcmp(name, own[i]) && own_probe(pattern->text, "dtrace", name))
			return false;
	}
	return !tick_period(name, &period_ns, &all_cpus);
}

bool rs_script_has_events(const struct rs_script *script)
{
	for (const struct clause *clause = script->clauses; clause; clause = clause->next) {
		for (const struct pattern *p = clause->patterns; p; p = p->next) {
			if (pattern_is_event(p))
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
