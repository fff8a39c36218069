/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks calls: functions, actions and aggregations with their arguments, and the order in which a
 * clause may speculate, record and commit.
 */
#include "lang/front/check.h"
#include "lang/front/words.h"
#include "base/count.h"
#include "base/hist.h"
#include "lang/vm/aggregate.h"
#include "lang/vm/builtin.h"
#include "lang/vm/format.h"

#include <stdio.h>
#include <string.h>

/* ---- functions ---------------------------------------------------------------------------- */

/* Functions of DTrace that are not available here. */
static const struct {
	const char *names; /* each surrounded by blanks */
	const char *why;
} absent[] = {
	{ " jstack ", "events have no stacks" },
	{ " copyout copyoutstr memref "
	  "mutex_owned mutex_owner mutex_type_adaptive mutex_type_spin rw_iswriter "
	  "rw_read_held rw_write_held progenyof getmajor getminor ddi_pathname "
	  "msgdsize msgsize d_path ",
	  "a trace has no memory contents" },
	{ " raise stop system freopen ftruncate chill panic breakpoint ",
	  "it would change the observed system" },
};

/* Actions. Each has its own check of arguments. */
static const struct action_row {
	const char *name;
	enum action_kind kind;
	uint8_t n_min, n_max;
	bool records; /* prints, or changes what is printed */
	const char *tag;
	void (*check)(struct checker *c, struct node *call, struct action *action);
	const char *args, *help; /* for rs_lang_action_word() */
} * action_find(const char *name);
static const char *action_name(size_t index); /* NULL past the last */

static const char *why_absent(const char *name)
{
	char word[64];
	size_t len = strlen(name);

	if (len + 3 > sizeof(word))
		return NULL;
	word[0] = word[len + 1] = ' ';
	memcpy(word + 1, name, len);
	word[len + 2] = '\0';
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		if (strstr(absent[i].names, word))
			return absent[i].why;
	}
	return NULL;
}

static uint32_t count_args(const struct node *call)
{
	uint32_t n = 0;

	for (const struct node *arg = call->args; arg; arg = arg->next)
		n++;
	return n;
}

/* Reports a wrong number of arguments. The message says how many are expected: 1, or 1 to 3. */
static void wrong_count(struct checker *c, const struct node *call, const char *tag, uint8_t n_min,
			uint8_t n_max)
{
	FAIL(c, call->at, tag, "%s() takes %s, not %u", call->text,
	     RS_COUNT_RANGE(n_min, n_max, "argument"), count_args(call));
}

static int aggregate_find(const char *name)
{
	for (int i = 0; i < N_AGG_FUNCTIONS; i++) {
		if (!strcmp(rs_agg_functions[i].name, name))
			return i;
	}
	return -1;
}

static void no_function(struct checker *c, const struct node *call)
{
	struct nearest nearest = { .written = call->text };
	const char *why = why_absent(call->text);

	if (why) {
		FAIL(c, call->at, "D_FUNC_UNDEF", "%s() is not available: %s", call->text, why);
		return;
	}
	if (action_find(call->text)) {
		FAIL(c, call->at, "D_CG_EXPR", "%s() is an action: use it as a statement",
		     call->text);
		return;
	}
	if (aggregate_find(call->text) >= 0) {
		FAIL(c, call->at, "D_FUNC_IDKIND",
		     "%s() is an aggregating function: write @name[keys] = %s(...)", call->text,
		     call->text);
		return;
	}
	for (uint32_t i = 0; i < rs_lang_n_functions; i++) {
		struct prototype prototype;

		rs_lang_prototype_read(rs_lang_functions[i].prototype, &prototype);
		rs_lang_nearest_try(&nearest, prototype.name, NULL);
	}
	for (size_t i = 0; action_name(i); i++)
		rs_lang_nearest_try(&nearest, action_name(i), NULL);
	FAIL(c, call->at, "D_FUNC_UNDEF", "there is no function '%s'%s", call->text,
	     rs_lang_nearest_text(&nearest));
}

/* Returns whether stringof() can convert it: a string, an argument, characters in memory. */
static bool has_text(const struct node *node)
{
	const struct type *type = &node->type;

	if (type->kind == TYPE_POINTER || type->kind == TYPE_ARRAY)
		return (type->to->kind == TYPE_INT && type->to->bytes == 1) ||
		       (type->kind == TYPE_POINTER && type->to->kind == TYPE_VOID);
	return type->kind == TYPE_STRING || (type->kind == TYPE_INT && node->refers == REFERS_ARG);
}

/* stringof(args.reason): the name of the value in its enumeration. */
static void check_stringof(struct checker *c, struct node *call)
{
	if (count_args(call) != 1) {
		FAIL(c, call->at, "D_PROTO_LEN", "stringof() takes one argument");
		return;
	}
	rs_lang_check_node(c, call->args);
	if (!c->err && !has_text(call->args))
		FAIL(c, call->at, "D_STRINGOF_TYPE",
		     "stringof() takes an argument, a string or the address of characters; "
		     "lltostr() "
		     "converts a number");
	call->type = TYPE_OF_STRING;
}

/* A parameter of type address accepts a pointer, an array and a string. */
static bool accepts(const struct type *parameter, const struct type *have)
{
	if (parameter->kind == TYPE_POINTER)
		return have->kind == TYPE_POINTER || have->kind == TYPE_ARRAY ||
		       have->kind == TYPE_STRING;
	return have->kind == parameter->kind;
}

void rs_lang_check_call(struct checker *c, struct node *call)
{
	struct prototype prototype;
	uint32_t n = count_args(call), i;

	if (!strcmp(call->text, "stringof")) {
		check_stringof(c, call);
		return;
	}
	if (n == 2 && !strcmp(call->text, "strtok")) {
		rs_lang_check_node(c, call->args);
		if (call->args->kind == N_INT && !call->args->value) {
			call->text = "strtok_next"; /* strtok(NULL, ...) continues */
			call->args = call->args->next;
			n = 1;
		}
	}
	for (i = 0; i < rs_lang_n_functions; i++) {
		if (rs_lang_prototype_is(rs_lang_functions[i].prototype, call->text))
			break;
	}
	if (i == rs_lang_n_functions) {
		no_function(c, call);
		return;
	}
	rs_lang_prototype_read(rs_lang_functions[i].prototype, &prototype);
	if (n < prototype.n_needed || n > prototype.n_args)
		FAIL(c, call->at, "D_PROTO_LEN", "%s: wrong number of arguments: %u",
		     rs_lang_functions[i].prototype, n);
	call->index = i;
	call->type = prototype.result;
	call->type.hex = rs_lang_functions[i].hex;
	n = 0;
	for (struct node *arg = call->args; arg && !c->err; arg = arg->next, n++) {
		rs_lang_check_node(c, arg);
		if (prototype.args[n].kind == TYPE_STRING)
			rs_lang_check_text(c, arg);
		if (!c->err && !accepts(&prototype.args[n], &arg->type))
			FAIL(c, arg->at, "D_PROTO_ARG", "argument %u has the wrong type: %s", n + 1,
			     rs_lang_functions[i].prototype);
	}
}

/* ---- aggregations ------------------------------------------------------------------------- */

static struct aggregation *aggregation_find(const struct rs_script *script, const char *name)
{
	struct aggregation *agg = script->aggregations;

	while (agg && strcmp(agg->name, name))
		agg = agg->next;
	return agg;
}

/* The parameters of aggregating functions: constants of 16 or 32 bits, as DTrace packs them. */
static int64_t parameter(struct checker *c, struct node *arg, const char *what, int64_t least,
			 int64_t most, const char *type_tag, const char *value_tag)
{
	rs_lang_check_node(c, arg);
	if (c->err)
		return 0;
	if (!rs_lang_fold(arg) || arg->kind != N_INT)
		FAIL(c, arg->at, type_tag, "the %s must be a constant", what);
	else if ((int64_t)arg->value < least || (int64_t)arg->value > most)
		FAIL(c, arg->at, value_tag, "the %s must be from %lld to %lld", what,
		     (long long)least, (long long)most);
	return (int64_t)arg->value;
}

/* lquantize(x, base, limit [, step [, by]]) */
static struct node *lquantize(struct checker *c, struct node *arg, struct aggregation *agg)
{
	int64_t base, limit, step = 1, levels;
	struct place at = arg->at;

	base = parameter(c, arg, "base", INT32_MIN, INT32_MAX, "D_LQUANT_BASETYPE",
			 "D_LQUANT_BASEVAL");
	limit = parameter(c, arg->next, "limit", INT32_MIN, INT32_MAX, "D_LQUANT_LIMTYPE",
			  "D_LQUANT_LIMVAL");
	if (base >= limit)
		FAIL(c, arg->next->at, "D_LQUANT_MISMATCH",
		     "the limit must be greater than the base");
	arg = arg->next->next;
	if (arg) {
		step = parameter(c, arg, "step", 1, UINT16_MAX, "D_LQUANT_STEPTYPE",
				 "D_LQUANT_STEPVAL");
		if (step > limit - base)
			FAIL(c, arg->at, "D_LQUANT_STEPLARGE",
			     "the step exceeds the range from base to limit");
	}
	if (c->err)
		return NULL;
	levels = (limit - base) / step;
	if (levels > LANG_BINS_MAX)
		FAIL(c, at, "D_LQUANT_STEPSMALL", "the step makes %lld bins; the maximum is %d",
		     (long long)levels, LANG_BINS_MAX);
	agg->params[0] = base;
	agg->params[1] = step;
	agg->params[2] = levels;
	agg->n_data = (uint32_t)levels + 2;
	return arg ? arg->next : NULL;
}

/* Computes the starts of the bins: powers of the factor, with steps between each two of them. */
static void llquantize_bounds(struct checker *c, struct place at, struct aggregation *agg)
{
	int64_t factor = agg->params[0], high = agg->params[2], steps = agg->params[3];
	int64_t value = 1, bounds[LANG_BINS_MAX];
	uint32_t n = 0;

	for (int64_t order = 0; order < agg->params[1]; order++) {
		if (__builtin_mul_overflow(value, factor, &value))
			goto too_large;
	}
	for (int64_t order = agg->params[1]; order <= high; order++) {
		int64_t end, step;

		if (__builtin_mul_overflow(value, factor, &end))
			goto too_large;
		step = end > steps ? end / steps : 1;
		for (; value < end; value += step) {
			if (n + 1 >= LANG_BINS_MAX)
				goto too_large;
			bounds[n++] = value;
		}
		value = end;
	}
	bounds[n++] = value;
	agg->bounds = rs_arena_alloc(&c->script->arena, n * sizeof(*bounds));
	if (!agg->bounds) {
		c->err = rs_error_no_memory();
		return;
	}
	memcpy(agg->bounds, bounds, n * sizeof(*bounds));
	agg->n_data = n + 1;
	return;
too_large:
	FAIL(c, at, "D_LLQUANT_HIGHVAL", "the bins exceed 64 bits, or number more than %d",
	     LANG_BINS_MAX);
}

/* llquantize(x, factor, low, high, steps [, by]) */
static struct node *llquantize(struct checker *c, struct node *arg, struct aggregation *agg)
{
	static const struct {
		const char *what, *type_tag, *value_tag;
		int64_t least, most;
	} rows[] = {
		{ "factor", "D_LLQUANT_FACTORTYPE", "D_LLQUANT_FACTORVAL", 2, UINT16_MAX },
		{ "low", "D_LLQUANT_LOWTYPE", "D_LLQUANT_LOWVAL", 0, UINT16_MAX },
		{ "high", "D_LLQUANT_HIGHTYPE", "D_LLQUANT_HIGHVAL", 0, UINT16_MAX },
		{ "steps", "D_LLQUANT_NSTEPTYPE", "D_LLQUANT_NSTEPVAL", 1, UINT16_MAX },
	};
	struct place at = arg->at;

	for (uint32_t i = 0; i < 4; i++, arg = arg->next)
		agg->params[i] = parameter(c, arg, rows[i].what, rows[i].least, rows[i].most,
					   rows[i].type_tag, rows[i].value_tag);
	if (c->err)
		return NULL;
	if (agg->params[1] >= agg->params[2])
		FAIL(c, at, "D_LLQUANT_LOWVAL", "the low power must be less than the high power");
	if (agg->params[3] < agg->params[0])
		FAIL(c, at, "D_LLQUANT_FACTORNSTEPS",
		     "the number of steps must be at least the factor");
	else if (agg->params[3] % agg->params[0])
		FAIL(c, at, "D_LLQUANT_FACTOREVEN",
		     "the number of steps must be a multiple of the factor");
	if (!c->err)
		llquantize_bounds(c, at, agg);
	return arg;
}

/* Checks the arguments of an aggregating function. Constants go to agg. */
static void aggregate_args(struct checker *c, struct node *call, struct aggregation *agg,
			   struct action *action)
{
	struct node *value = call->args, *by = value ? value->next : NULL;

	agg->n_data = rs_agg_functions[agg->function].n_data;
	switch (agg->function) {
	case AGG_LQUANTIZE:
		by = lquantize(c, by, agg);
		break;
	case AGG_LLQUANTIZE:
		by = llquantize(c, by, agg);
		break;
	case AGG_PERCENTILE: /* p(99, x): the second argument is the value */
		agg->params[0] = parameter(c, value, "percentile", 0, 100, "D_PERCENTILE_TYPE",
					   "D_PERCENTILE_VAL");
		agg->n_data = AGG_HIST_AT + RS_HIST_BUCKETS;
		call->args = value = by;
		by = NULL;
		break;
	case AGG_TOPK: /* topk(10, x) */
		agg->params[0] = parameter(c, value, "number of values", 1, LANG_TOP_MAX,
					   "D_TOPK_TYPE", "D_TOPK_VAL");
		agg->n_data = agg_top_words((uint32_t)agg->params[0]);
		call->args = value = by;
		by = NULL;
		break;
	default:
		break;
	}
	if (!value || c->err)
		return;
	rs_lang_check_node(c, value);
	if (!c->err && value->type.kind != TYPE_INT)
		FAIL(c, value->at, "D_AGG_SCALAR", "%s() takes numbers", call->text);
	action->types[action->n_args++] = value->type;
	value->next = by; /* the remaining arguments are evaluated: the value and its increment */
	if (!by || c->err)
		return;
	rs_lang_check_node(c, by);
	if (!c->err && by->type.kind != TYPE_INT)
		FAIL(c, by->at, "D_AGG_SCALAR", "the increment of %s() must be a number",
		     call->text);
	action->types[action->n_args++] = by->type;
	by->next = NULL;
}

/* Returns the aggregation with this name, which is created if it does not exist. */
static struct aggregation *aggregation_make(struct checker *c, const struct node *node,
					    const struct aggregation *spec)
{
	struct aggregation *agg = aggregation_find(c->script, spec->name);

	if (agg) {
		if (agg->function != spec->function ||
		    memcmp(agg->params, spec->params, sizeof(agg->params)))
			FAIL(c, node->at, "D_AGG_REDEF",
			     "@%s has another function, or other parameters, elsewhere",
			     spec->name);
		rs_lang_check_same_keys(c, node, spec->keys, spec->n_keys, agg->keys, agg->n_keys);
		return agg;
	}
	agg = rs_arena_alloc(&c->script->arena, sizeof(*agg));
	if (!agg) {
		c->err = rs_error_no_memory();
		return NULL;
	}
	*agg = *spec;
	agg->normal = 1;
	agg->index = c->script->n_aggregations++;
	agg->next = NULL;
	for (struct aggregation **end = &c->script->aggregations;; end = &(*end)->next) {
		if (!*end) {
			*end = agg;
			return agg;
		}
	}
}

static struct action *action_new(struct checker *c, struct node *node, const struct action *action)
{
	struct action *slot = c->err ? NULL : VECTOR_ADD(c->script, &c->script->actions);

	if (!slot) {
		if (!c->err)
			c->err = rs_error_no_memory();
		return NULL;
	}
	*slot = *action;
	node->index = c->script->actions.n - 1;
	return slot;
}

/* @a[1, 2] = quantize(x) */
static void not_aggregating(struct checker *c, struct place at)
{
	char names[128] = "";

	for (size_t i = 0, len = 0; i < N_AGG_FUNCTIONS; i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", i ? ", " : "",
					rs_agg_functions[i].name);
	FAIL(c, at, "D_AGG_FUNC", "an aggregation is assigned one of these functions: %s", names);
}

void rs_lang_check_aggregate(struct checker *c, struct node *node)
{
	struct aggregation spec = { .name = node->a->text };
	struct action action = { .kind = ACT_AGGREGATE };
	struct node *call = node->b;
	uint32_t n, n_named = 0;
	int row;

	if (call->kind != N_CALL || (row = aggregate_find(call->text)) < 0) {
		not_aggregating(c, node->b->at);
		return;
	}
	n = count_args(call);
	if (n < rs_agg_functions[row].n_min || n > rs_agg_functions[row].n_max) {
		wrong_count(c, call, "D_PROTO_LEN", rs_agg_functions[row].n_min,
			    rs_agg_functions[row].n_max);
		return;
	}
	if (c->speculates)
		FAIL(c, node->at, "D_AGG_SPEC", "a clause may not aggregate after speculate()");
	if (c->commits)
		FAIL(c, node->at, "D_AGG_COMM", "a clause may not aggregate after commit()");
	spec.function = (enum agg_function)row;
	spec.n_keys = rs_lang_check_keys(c, node->a->args, spec.keys);
	for (struct node *key = node->a->args; key && !c->err; key = key->next)
		rs_lang_check_named_key(c, key, &spec.keys[n_named++]);
	aggregate_args(c, call, &spec, &action);
	if (c->err)
		return;
	action.aggregations[0] = aggregation_make(c, node->a, &spec);
	action.n_aggregations = 1;
	action.has_key = spec.n_keys > 0;
	action_new(c, node, &action);
}

/* ---- actions ------------------------------------------------------------------------------ */

static struct aggregation *aggregation_arg(struct checker *c, const struct node *arg,
					   const char *type_tag, const char *bad_tag)
{
	struct aggregation *agg;

	if (!arg || arg->kind != N_AGG || arg->args) {
		FAIL(c, arg ? arg->at : (struct place){ 1, 1 }, type_tag,
		     "expected an aggregation, as in @name");
		return NULL;
	}
	agg = aggregation_find(c->script, arg->text);
	if (!agg)
		FAIL(c, arg->at, bad_tag, "@%s is not assigned before this point", arg->text);
	return agg;
}

/* Checks the arguments that are evaluated at run time, and stores their types in the action. */
static void evaluated(struct checker *c, struct node *call, struct node *first,
		      struct action *action)
{
	call->args = first;
	for (struct node *arg = first; arg && !c->err; arg = arg->next) {
		rs_lang_check_node(c, arg);
		if (!c->err && !rs_lang_type_is_scalar(&arg->type) &&
		    arg->type.kind != TYPE_STRING && !rs_lang_type_is_object(&arg->type))
			FAIL(c, arg->at, "D_PROTO_ARG", "this expression has no value");
		if (action->n_args < LANG_ARGS_MAX)
			action->types[action->n_args++] = arg->type;
	}
}

static bool format_of(struct checker *c, const struct node *call, struct action *action)
{
	const struct node *text = call->args;

	if (text->kind != N_TEXT) {
		FAIL(c, text->at, "D_PRINTF_ARG_FMT", "the format must be a string constant");
		return false;
	}
	if (!text->len) {
		FAIL(c, text->at, "D_PRINTF_FMT_EMPTY", "the format is empty");
		return false;
	}
	if (!c->err)
		c->err = rs_lang_format_parse(c->script, text->at, text->text, text->len,
					      &action->format);
	return !c->err;
}

static void conversion_check(struct checker *c, const struct conversion *conversion,
			     const struct node *arg, uint32_t number)
{
	bool text = strchr(CONVERSIONS_OF_TEXT, conversion->letter);

	if (c->err)
		return;
	if (rs_lang_type_is_object(&arg->type) || text != (arg->type.kind == TYPE_STRING))
		FAIL(c, arg->at, "D_PRINTF_ARG_TYPE", "conversion #%u, %%%c, takes %s%s", number,
		     conversion->letter, text ? "strings" : "numbers",
		     text && arg->refers == REFERS_ARG ? "; stringof() gives an argument's name"
						       : "");
}

/* Converts arrays of characters that the format prints as strings. */
static void texts(struct checker *c, struct action *action, struct node *arg)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < action->format->n && arg && !c->err; i++) {
		const struct conversion *conversion = &action->format->conversions[i];
		int skip = conversion->width_given + conversion->precision_given;

		for (; conversion->letter && arg && skip; skip--, n++)
			arg = arg->next;
		if (!conversion->letter || !arg)
			continue;
		if (strchr(CONVERSIONS_OF_TEXT, conversion->letter))
			rs_lang_check_text(c, arg);
		action->types[n++] = arg->type;
		arg = arg->next;
	}
}

static void check_printf(struct checker *c, struct node *call, struct action *action)
{
	struct node *arg;
	uint32_t number = 0;

	if (!format_of(c, call, action))
		return;
	evaluated(c, call, call->args->next, action);
	arg = call->args;
	texts(c, action, arg);
	for (uint32_t i = 0; i < action->format->n && !c->err; i++) {
		const struct conversion *conversion = &action->format->conversions[i];

		if (!conversion->letter)
			continue;
		number++;
		if (conversion->aggregate)
			FAIL(c, call->at, "D_PRINTF_AGG_CONV", "%%@ is available in printa() only");
		for (int star = conversion->width_given + conversion->precision_given; star;
		     star--) {
			if (!arg)
				FAIL(c, call->at, "D_PRINTF_DYN_PROTO",
				     "conversion #%u lacks the argument for its *", number);
			else if (arg->type.kind != TYPE_INT)
				FAIL(c, arg->at, "D_PRINTF_DYN_TYPE",
				     "the argument for a * must be a number");
			arg = arg ? arg->next : NULL;
		}
		if (!arg)
			FAIL(c, call->at, "D_PRINTF_ARG_PROTO",
			     "conversion #%u, %%%c, has no argument", number, conversion->letter);
		else
			conversion_check(c, conversion, arg, number);
		arg = arg ? arg->next : NULL;
	}
	if (arg)
		FAIL(c, arg->at, "D_PRINTF_ARG_EXTRA", "there are more arguments than conversions");
}

static void check_printa_format(struct checker *c, const struct node *call,
				const struct action *action)
{
	const struct aggregation *agg = action->aggregations[0];
	uint32_t key = 0;

	for (uint32_t i = 0; i < action->format->n && !c->err; i++) {
		const struct conversion *conversion = &action->format->conversions[i];
		bool text;

		if (!conversion->letter)
			continue;
		text = strchr(CONVERSIONS_OF_TEXT, conversion->letter);
		if (conversion->width_given || conversion->precision_given)
			FAIL(c, call->at, "D_PRINTF_DYN_PROTO", "printa() has no arguments for *");
		if (conversion->aggregate && text)
			FAIL(c, call->at, "D_PRINTF_ARG_TYPE",
			     "%%@%c: an aggregation's value is a number", conversion->letter);
		if (conversion->aggregate)
			continue;
		if (key >= agg->n_keys)
			FAIL(c, call->at, "D_PRINTF_ARG_PROTO",
			     "@%s has too few keys for the format: %u", agg->name, agg->n_keys);
		else if (text != (agg->keys[key].kind == TYPE_STRING))
			FAIL(c, call->at, "D_PRINTF_ARG_TYPE",
			     "%%%c does not fit the type of key %u of @%s%s", conversion->letter,
			     key + 1, agg->name,
			     text ? "" : "; (int)args.x as the key keeps the number of a name");
		key++;
	}
}

static void check_printa(struct checker *c, struct node *call, struct action *action)
{
	struct node *arg = call->args;

	if (arg->kind != N_AGG) {
		if (!format_of(c, call, action))
			return;
		arg = arg->next;
	}
	if (!arg)
		FAIL(c, call->at, "D_PRINTA_PROTO",
		     "printa() needs an aggregation, as in printa(@name)");
	for (; arg && !c->err; arg = arg->next) {
		struct aggregation *agg =
			aggregation_arg(c, arg, "D_PRINTA_AGGARG", "D_PRINTA_AGGBAD");
		const struct aggregation *first = action->aggregations[0];

		if (!agg)
			return;
		if (first)
			rs_lang_check_same_keys(c, arg, agg->keys, agg->n_keys, first->keys,
						first->n_keys);
		action->aggregations[action->n_aggregations++] = agg;
	}
	if (action->format && !c->err)
		check_printa_format(c, call, action);
	call->args = NULL;
}

static void check_one_aggregation(struct checker *c, struct node *call, struct action *action)
{
	static const struct {
		enum action_kind kind;
		const char *type_tag, *bad_tag, *value_tag;
	} tags[] = {
		{ ACT_TRUNC, "D_TRUNC_AGGARG", "D_TRUNC_AGGBAD", "D_TRUNC_SCALAR" },
		{ ACT_CLEAR, "D_CLEAR_AGGARG", "D_CLEAR_AGGBAD", "" },
		{ ACT_NORMALIZE, "D_NORMALIZE_AGGARG", "D_NORMALIZE_AGGBAD", "D_NORMALIZE_SCALAR" },
		{ ACT_DENORMALIZE, "D_NORMALIZE_AGGARG", "D_NORMALIZE_AGGBAD", "" },
	};
	size_t i = 0;

	while (tags[i].kind != action->kind)
		i++;
	action->aggregations[0] = aggregation_arg(c, call->args, tags[i].type_tag, tags[i].bad_tag);
	action->n_aggregations = 1;
	evaluated(c, call, call->args->next, action);
	if (!c->err && call->args && call->args->type.kind != TYPE_INT)
		FAIL(c, call->args->at, tags[i].value_tag, "%s() takes a number", call->text);
}

static void check_number(struct checker *c, struct node *call, struct action *action)
{
	evaluated(c, call, call->args, action);
	if (!c->err && call->args->type.kind != TYPE_INT)
		FAIL(c, call->args->at, "D_PROTO_ARG", "%s() takes a number", call->text);
}

static void check_trace(struct checker *c, struct node *call, struct action *action)
{
	if (call->args->kind == N_AGG)
		FAIL(c, call->args->at, "D_TRACE_VOID",
		     "%s() cannot print an aggregation: use printa()", call->text);
	evaluated(c, call, call->args, action);
	if (!c->err && rs_lang_type_is_object(&call->args->type) &&
	    rs_lang_type_bytes(c->script, &call->args->type) > LANG_OBJECTS_MAX)
		FAIL(c, call->args->at, "D_DECL_ARRBIG", "the output of %s() exceeds %u bytes",
		     call->text, LANG_OBJECTS_MAX);
}

static void check_setopt(struct checker *c, struct node *call, struct action *action)
{
	evaluated(c, call, call->args, action);
	for (const struct node *arg = call->args; arg && !c->err; arg = arg->next) {
		if (arg->type.kind != TYPE_STRING)
			FAIL(c, arg->at, "D_PROTO_ARG",
			     "setopt() takes strings: a name and a value");
	}
}

/* tracemem(where, bytes [, of them]) */
static void check_tracemem(struct checker *c, struct node *call, struct action *action)
{
	struct node *where = call->args, *size = where->next, *some = size->next;

	rs_lang_check_node(c, size);
	if (!c->err && (!rs_lang_fold(size) || size->kind != N_INT || !size->value ||
			size->value > LANG_OBJECT_MAX))
		FAIL(c, size->at, "D_TRACEMEM_SIZE",
		     "tracemem() takes a constant number of bytes, 1 to %u", LANG_OBJECT_MAX);
	if (c->err)
		return;
	action->bytes = (uint32_t)size->value;
	where->next = some;
	evaluated(c, call, where, action);
	if (!c->err && !rs_lang_type_is_scalar(&where->type) &&
	    !rs_lang_type_is_object(&where->type))
		FAIL(c, where->at, "D_TRACEMEM_ADDR", "tracemem() needs an address");
	if (!c->err && some && some->type.kind != TYPE_INT)
		FAIL(c, some->at, "D_TRACEMEM_DYNSIZE", "the number of bytes must be a number");
}

/* stack([frames]), ustack([frames [, bytes of strings]]) */
static void check_stack(struct checker *c, struct node *call, struct action *action)
{
	bool user = call->text[0] == 'u';
	uint32_t n = 0;

	for (struct node *arg = call->args; arg && !c->err; arg = arg->next, n++) {
		rs_lang_check_node(c, arg);
		if (!c->err &&
		    (!rs_lang_fold(arg) || arg->kind != N_INT || (int64_t)arg->value < 0 ||
		     arg->value > INT32_MAX || (!n && !arg->value)))
			FAIL(c, arg->at,
			     n	    ? "D_USTACK_STRSIZE"
			     : user ? "D_USTACK_FRAMES"
				    : "D_STACK_SIZE",
			     "%s() takes a constant number of %s", call->text,
			     n ? "bytes" : "frames");
	}
	action->user = user;
	action->bytes = call->args && !c->err ? (uint32_t)call->args->value : 0;
	call->args = NULL;
	action->n_args = 0;
}

static const struct action_row actions[] = {
	{ "printf", ACT_PRINTF, 1, LANG_ARGS_MAX, true, "D_PROTO_LEN", check_printf,
	  "(format, ...)", "Prints values by a format" },
	{ "trace", ACT_TRACE, 1, 1, true, "D_PROTO_LEN", check_trace, "(x)", "Prints a value" },
	{ "print", ACT_PRINT, 1, 1, true, "D_PROTO_LEN", check_trace, "(x)",
	  "Prints a value and its type" },
	{ "exit", ACT_EXIT, 1, 1, true, "D_PROTO_LEN", check_number, "(status)",
	  "Fires END and ends the program" },
	{ "printa", ACT_PRINTA, 1, LANG_ARGS_MAX, true, "D_PRINTA_PROTO", check_printa,
	  "([format,] @a, ...)",
	  "Prints the rows of aggregations, side by side if their keys are equal" },
	{ "trunc", ACT_TRUNC, 1, 2, true, "D_TRUNC_PROTO", check_one_aggregation, "(@a [, n])",
	  "Keeps the n greatest rows, or with -n the n least" },
	{ "clear", ACT_CLEAR, 1, 1, true, "D_CLEAR_PROTO", check_one_aggregation, "(@a)",
	  "Sets all values of an aggregation to 0" },
	{ "normalize", ACT_NORMALIZE, 2, 2, true, "D_NORMALIZE_PROTO", check_one_aggregation,
	  "(@a, n)", "Divides the printed values of an aggregation by n" },
	{ "denormalize", ACT_DENORMALIZE, 1, 1, true, "D_NORMALIZE_PROTO", check_one_aggregation,
	  "(@a)", "Ends the division of normalize()" },
	{ "speculate", ACT_SPECULATE, 1, 1, false, "D_PROTO_LEN", check_number, "(n)",
	  "Holds back the output of the rest of the clause" },
	{ "commit", ACT_COMMIT, 1, 1, false, "D_PROTO_LEN", check_number, "(n)",
	  "Prints the output that speculation n holds back" },
	{ "discard", ACT_DISCARD, 1, 1, false, "D_PROTO_LEN", check_number, "(n)",
	  "Discards the output that speculation n holds back" },
	{ "setopt", ACT_SETOPT, 1, 2, true, "D_PROTO_LEN", check_setopt, "(option [, value])",
	  "Sets an option for the rest of the run" },
	{ "tracemem", ACT_TRACEMEM, 2, 3, true, "D_TRACEMEM_ARGS", check_tracemem,
	  "(address, bytes [, n])", "Prints the bytes at an address, at most n of them" },
	{ "stack", ACT_STACK, 0, 1, true, "D_STACK_PROTO", check_stack, "([n])",
	  "Prints the stack of a stopped guest's thread in the kernel" },
	{ "ustack", ACT_STACK, 0, 2, true, "D_USTACK_PROTO", check_stack, "([n])",
	  "Prints the stack of a stopped guest's thread in user mode" },
};
#define N_ACTIONS (sizeof(actions) / sizeof(actions[0]))

static const struct action_row *action_find(const char *name)
{
	for (size_t i = 0; i < N_ACTIONS; i++) {
		if (!strcmp(actions[i].name, name))
			return &actions[i];
	}
	return NULL;
}

static const char *action_name(size_t index)
{
	return index < N_ACTIONS ? actions[index].name : NULL;
}

bool rs_lang_action_word(uint32_t index, struct rs_lang_word *word)
{
	const struct action_row *row = &actions[index < N_ACTIONS ? index : 0];

	return rs_lang_word_set(word, action_name(index), row->args, row->help);
}

/* Checks the order: a clause speculates before it records, and commits before it records again. */
static void check_order(struct checker *c, const struct node *call, const struct action_row *row)
{
	bool records = c->clause->records;

	if (row->kind == ACT_SPECULATE) {
		if (c->speculates)
			FAIL(c, call->at, "D_SPEC_SPEC", "a clause may call speculate() only once");
		if (c->commits)
			FAIL(c, call->at, "D_SPEC_COMM",
			     "a clause may not call speculate() after commit()");
		if (records)
			FAIL(c, call->at, "D_SPEC_DREC",
			     "a clause may not call speculate() after it has recorded data");
		c->speculates = true;
	} else if (row->kind == ACT_COMMIT) {
		if (c->commits)
			FAIL(c, call->at, "D_COMM_COMM", "a clause may call commit() only once");
		if (records)
			FAIL(c, call->at, "D_COMM_DREC",
			     "a clause may not call commit() after it has recorded data");
		c->commits = true;
	} else if (row->records) {
		if (c->commits)
			FAIL(c, call->at, "D_DREC_COMM",
			     "a clause may not call %s() after commit()", call->text);
		if (row->kind == ACT_EXIT && c->speculates)
			FAIL(c, call->at, "D_EXIT_SPEC",
			     "a clause may not call exit() after speculate()");
		c->clause->records = true;
	}
}

/* Checks f(x) as a statement. Returns false if it is not an action. */
bool rs_lang_check_action(struct checker *c, struct node *call)
{
	const struct action_row *row = action_find(call->text);
	struct action action = { 0 };
	uint32_t n = count_args(call);

	if (!row)
		return false;
	action.kind = row->kind;

	if (n < row->n_min || n > row->n_max) {
		wrong_count(c, call, row->tag, row->n_min, row->n_max);
		return true;
	}
	check_order(c, call, row);
	if (!c->err)
		row->check(c, call, &action);
	call->type = TYPE_OF_VOID;
	call->is_action = true;
	action_new(c, call, &action);
	return true;
}
