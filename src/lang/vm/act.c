/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The actions of a clause and its output. The output is buffered until the clause has ended; then
 * it is printed, or added to the clause's speculation.
 */
#include <stdio.h>

#include "lang/vm/guest.h"
#include "lang/vm/json.h"
#include "lang/vm/memory.h"

static struct speculation *speculation_of(struct firing *f, uint64_t number)
{
	if (!number || number > f->script->options[OPT_NSPEC] ||
	    !f->rt->speculations[number - 1].active)
		return NULL;
	return &f->rt->speculations[number - 1];
}

static void speculation_end(struct speculation *speculation)
{
	rs_lang_text_deinit(&speculation->text);
	speculation->active = false;
}

static void heading(struct rs_script *script)
{
	struct runtime *rt = script->runtime;

	if (rt->heading || script->options[OPT_QUIET] || script->options[OPT_JSON])
		return;
	rt->heading = true;
	rs_out_line(rt->io.out);
	rs_out_text(rt->io.out, "CPU     ID                    FUNCTION:NAME\n");
}

static void commit(struct firing *f, uint64_t number)
{
	struct speculation *speculation = speculation_of(f, number);

	if (!speculation)
		return;
	if (speculation->text.len) {
		heading(f->script);
		rs_out_long(f->rt->io.out, speculation->text.at, speculation->text.len);
	}
	if (speculation->text.full)
		f->rt->speculation_drops++;
	speculation_end(speculation);
}

static void aggregate(struct firing *f, const struct action *action, const struct value *args)
{
	const struct value none = { .s = "" };
	const struct value *key = action->has_key ? args : &none;
	const struct value *value = args + action->has_key;

	rs_agg_add(&f->rt->aggs, action->aggregations[0], key,
		   action->n_args ? (int64_t)value[0].i : 0,
		   action->n_args > 1 ? (int64_t)value[1].i : 1);
}

static void quit(struct firing *f, uint64_t status)
{
	f->rt->exiting = true;
	f->rt->status = (int)status;
	if (f->rt->io.stop)
		*f->rt->io.stop = true;
}

/* setopt(): sets an option while the program runs, even one that the command line set. */
static void set_option(struct firing *f, const struct action *action, const struct value *args)
{
	char text[128];
	struct rs_error *err = NULL;
	bool good;

	if (action->n_args > 1)
		snprintf(text, sizeof(text), "%.*s=%.*s", (int)args[0].len, args[0].s,
			 (int)args[1].len, args[1].s);
	else
		snprintf(text, sizeof(text), "%.*s", (int)args[0].len, args[0].s);
	good = rs_lang_option_at_run(text);
	if (good)
		err = rs_lang_option_set(f->script, (struct place){ 1, 1 }, text, true);
	if (!good || err)
		rs_lang_report(f->script, "couldn't set option \"%.*s\" to \"%.*s\": %s",
			       (int)args[0].len, args[0].s,
			       action->n_args > 1 ? (int)args[1].len : 0,
			       action->n_args > 1 ? args[1].s : "",
			       good ? "Invalid value for specified option"
				    : "Operation illegal when tracing is active");
	rs_error_free(err);
}

static void stack(struct firing *f, const struct action *action)
{
	struct value text;

	if (rs_lang_guest_stack(f, action->user, action->bytes, &text))
		rs_lang_text_add(&f->rt->text, text.s, text.len);
}

/* trace(): prints the bytes of a struct or an array. */
static void trace(struct firing *f, const struct action *action, const struct value *args)
{
	const struct type *type = &action->types[0];
	uint64_t bytes;
	const char *at;

	if (!rs_lang_type_is_object(type)) {
		rs_lang_format_trace(&f->rt->text, *type, args, f->script->options[OPT_QUIET]);
		return;
	}
	bytes = rs_lang_type_bytes(f->script, type);
	at = rs_lang_memory_at(f, args[0].i, bytes, false);
	if (at)
		rs_lang_format_bytes(&f->rt->text, at, bytes);
}

static void trace_memory(struct firing *f, const struct action *action, const struct value *args)
{
	uint64_t bytes = action->bytes;
	const char *at;

	if (action->n_args > 1 && args[1].i < bytes)
		bytes = args[1].i;
	at = rs_lang_memory_at(f, args[0].i, bytes, false);
	if (at)
		rs_lang_format_bytes(&f->rt->text, at, bytes);
}

/* printa() has no limit, as the rows at the end have none; but many of them in a walk do. */
static void print_aggregations(struct firing *f, const struct action *action)
{
	struct text *text = &f->rt->text;
	size_t before = text->len, most = text->most;

	text->full |= before > LANG_PRINTA_FROM;
	text->most = SIZE_MAX / 2;
	if (!action->format && !f->script->options[OPT_JSON])
		rs_lang_text_add(text, "\n", 1);
	rs_agg_print(f->script, text, action->aggregations, action->n_aggregations, action->format);
	text->most = most + (text->len - before);
}

/* Performs actions that print differently in JSON. Returns false for other actions. */
static bool do_json(struct firing *f, const struct action *action, const struct value *args)
{
	struct text *text = &f->rt->text;
	size_t from = text->len;

	switch (action->kind) {
	case ACT_PRINTF:
		rs_lang_format_values(text, action->format, action->types, args);
		rs_lang_json_wrap(f, "printf", from);
		return true;
	case ACT_TRACE:
		rs_lang_json_trace(f, "trace", &action->types[0], args);
		return true;
	case ACT_PRINT:
		rs_lang_json_trace(f, "print", &action->types[0], args);
		return true;
	case ACT_TRACEMEM:
		trace_memory(f, action, args);
		rs_lang_json_wrap(f, "tracemem", from);
		return true;
	case ACT_STACK:
		stack(f, action);
		rs_lang_json_wrap(f, "stack", from);
		return true;
	default:
		return false;
	}
}

void rs_lang_do_action(struct firing *f, const struct action *action, const struct value *args)
{
	struct rs_script *script = f->script;
	struct aggregation *agg = action->aggregations[0];
	struct text *text = &f->rt->text;
	struct speculation *speculation;

	f->recorded |= action->kind != ACT_AGGREGATE && action->kind != ACT_SPECULATE &&
		       action->kind != ACT_COMMIT && action->kind != ACT_DISCARD;
	if (script->options[OPT_JSON] && do_json(f, action, args))
		return;
	switch (action->kind) {
	case ACT_AGGREGATE:
		aggregate(f, action, args);
		break;
	case ACT_PRINTF:
		rs_lang_format_values(text, action->format, action->types, args);
		break;
	case ACT_TRACE:
		trace(f, action, args);
		break;
	case ACT_PRINT:
		rs_lang_print_value(f, &action->types[0], args);
		break;
	case ACT_TRACEMEM:
		trace_memory(f, action, args);
		break;
	case ACT_STACK:
		stack(f, action);
		break;
	case ACT_EXIT:
		quit(f, args[0].i);
		break;
	case ACT_PRINTA:
		print_aggregations(f, action);
		break;
	case ACT_TRUNC:
		rs_agg_trunc(script, agg, action->n_args ? (int64_t)args[0].i : 0);
		break;
	case ACT_CLEAR:
		rs_agg_clear(&f->rt->aggs, agg);
		break;
	case ACT_NORMALIZE:
		if ((int64_t)args[0].i > 0)
			agg->normal = args[0].i;
		else
			f->fault = args[0].i ? FAULT_ILLOP : FAULT_DIVZERO;
		break;
	case ACT_DENORMALIZE:
		agg->normal = 1;
		break;
	case ACT_SPECULATE:
		/* 0 or an inactive one: the clause's output is discarded */
		f->speculation = args[0].i && args[0].i <= script->options[OPT_NSPEC]
					 ? (uint32_t)args[0].i
					 : UINT32_MAX;
		break;
	case ACT_COMMIT:
		commit(f, args[0].i);
		break;
	case ACT_DISCARD:
		speculation = speculation_of(f, args[0].i);
		if (speculation)
			speculation_end(speculation);
		break;
	case ACT_SETOPT:
		set_option(f, action, args);
		break;
	}
}

/* "  0      1                           :BEGIN ": the start of a clause's output in DTrace's
 * form. */
static void opening(const struct firing *f, struct text *text)
{
	const struct rs_script_probe *probe = &f->probe->public;
	char name[2 * RS_WORD_MAX + 2], cpu[12] = "0";

	snprintf(name, sizeof(name), "%s:%s", probe->function, probe->name);
	if (f->view && f->view->cpu < 0)
		snprintf(cpu, sizeof(cpu), "-");
	else if (f->view)
		snprintf(cpu, sizeof(cpu), "%d", f->view->cpu);
	rs_lang_text_print(text, "%3s %6u %32s ", cpu, probe->id, name);
}

static void speculate(struct firing *f, const struct text *printed)
{
	struct speculation *speculation = speculation_of(f, f->speculation);
	size_t before;

	if (!speculation)
		return;
	speculation->text.most = f->script->options[OPT_SPECSIZE];
	if (f->script->options[OPT_JSON]) {
		before = speculation->text.len;
		rs_lang_json_clause(f, printed, &speculation->text);
		if (speculation->text.full) /* no part of a line */
			speculation->text.len = before;
		return;
	}
	if (!f->script->options[OPT_QUIET])
		opening(f, &speculation->text);
	rs_lang_text_add(&speculation->text, printed->at, printed->len);
	if (!f->script->options[OPT_QUIET])
		rs_lang_text_add(&speculation->text, "\n", 1);
}

void rs_lang_output(struct firing *f)
{
	struct runtime *rt = f->rt;
	struct text *printed = &rt->text;

	if (printed->full) {
		rt->output_drops++;
		if (f->script->options[OPT_JSON]) /* a part would not be JSON */
			return;
	}
	if (f->speculation) {
		speculate(f, printed);
		return;
	}
	if (f->script->options[OPT_JSON]) {
		struct text line = { .most = SIZE_MAX / 2 };

		if (printed->len || !f->script->options[OPT_QUIET])
			rs_lang_json_clause(f, printed, &line);
		rs_out_long(rt->io.out, line.at ? line.at : "", line.len);
		rs_lang_text_deinit(&line);
		return;
	}
	if (!f->script->options[OPT_QUIET]) {
		struct text line = { .most = LANG_OUTPUT_MAX };

		heading(f->script);
		opening(f, &line);
		rs_out_long(rt->io.out, line.at, line.len);
		rs_lang_text_deinit(&line);
	}
	if (printed->len)
		rs_out_long(rt->io.out, printed->at, printed->len);
	if (!f->script->options[OPT_QUIET])
		rs_out_long(rt->io.out, "\n", 1);
}
