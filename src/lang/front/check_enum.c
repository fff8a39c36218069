/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arguments whose values have names in an enumeration of the schema. A name becomes the number in
 * the event's own enumeration; the argument becomes the name where a string is expected.
 */
#include "lang/front/check.h"
#include "lang/front/guest_type.h"

#include <string.h>
#include <strings.h>

#include "lang/vm/machine.h"

/* ---- a name for a number ------------------------------------------------------------------ */

/* Looks a name up in the enumerations of the matched events. Returns 1 if found, 0 if not, -1 if
 * the values differ. */
static int enum_value(const struct rs_script *script, const char *name, uint64_t *value)
{
	bool any = false;

	for (uint32_t i = 0; i < script->matched.n; i++) {
		const struct rs_event *event = script->matched.at[i];

		for (uint16_t j = 0; j < event->n_fields; j++) {
			const struct rs_enum *row =
				rs_lang_enum_find(event->fields[j].values, name);

			if (!row)
				continue;
			if (any && row->value != *value)
				return -1;
			*value = row->value;
			any = true;
		}
	}
	return any;
}

/* As above, in the enumerations of the guest's types. */
static int guest_value(struct checker *c, const char *name, uint64_t *value)
{
	int64_t number = 0;
	int found = rs_lang_guest_enumerator(c->script, name, &number);

	*value = (uint64_t)number;
	return found > 1 ? -1 : found;
}

bool rs_lang_check_enumerator(struct checker *c, struct node *node)
{
	const struct enum_name *name = c->script->front->enum_names;
	uint64_t value = 0;
	int found;

	while (name && strcmp(name->name, node->text))
		name = name->next;
	if (name || !strcmp(node->text, "NULL")) {
		node->kind = N_INT;
		node->value = name ? (uint64_t)name->value : 0;
		node->type = TYPE_OF_INT;
		return true;
	}
	if (rs_lang_machine_register(node->text, &value)) {
		node->kind = N_INT;
		node->value = value;
		node->type = TYPE_OF_INT;
		return true;
	}
	found = enum_value(c->script, node->text, &value);
	if (!found)
		found = guest_value(c, node->text, &value);
	if (found < 0)
		FAIL(c, node->at, "D_IDENT_AMBIG",
		     "'%s' has different values in the matched probes, or in the guest's types: "
		     "compare it directly with the argument, or write the number",
		     node->text);
	if (found <= 0)
		return found != 0;
	node->kind = N_INT;
	node->value = value;
	node->type = value + INT32_MAX + UINT64_C(1) > UINT32_MAX ? TYPE_OF_UINT64 : TYPE_OF_INT;
	return true;
}

/* Makes the name a reference that each event resolves in the argument's enumeration. */
static void enum_operand(struct checker *c, const struct node *arg, struct node *name)
{
	struct enum_ref *ref = VECTOR_ADD(c->script, &c->script->enums);

	if (!ref) {
		c->err = rs_error_no_memory();
		return;
	}
	*ref = (struct enum_ref){ arg->index, name->text };
	name->refers = REFERS_ENUM;
	name->index = c->script->enums.n - 1;
	name->type = TYPE_OF_INT64;
}

void rs_lang_check_enum_operand(struct checker *c, const struct node *arg, struct node *name)
{
	struct rs_script *script = c->script;
	bool any = false;

	if (c->err || name->kind != N_NAME || arg->refers != REFERS_ARG ||
	    script->args.at[arg->index].raw ||
	    rs_lang_variable_find(script, SCOPE_GLOBAL, name->text))
		return;
	for (uint32_t i = 0; i < script->matched.n; i++) {
		const struct rs_field *field =
			rs_lang_arg_field(script->matched.at[i], &script->args.at[arg->index]);

		any |= field && rs_lang_enum_find(field->values, name->text);
	}
	if (any)
		enum_operand(c, arg, name);
}

/* ---- a name in place of a string ---------------------------------------------------------- */

/* Returns the argument that a node refers to; NULL if it is not an argument or is arg0, which is
 * 64 bits. */
static const struct arg_ref *argument_of(const struct checker *c, const struct node *node)
{
	const struct arg_ref *ref;

	if (node->refers != REFERS_ARG || node->type.kind != TYPE_INT)
		return NULL;
	ref = &c->script->args.at[node->index];
	return ref->raw ? NULL : ref;
}

/* Returns the enumeration of the argument in the i-th matched event, or NULL. */
static const struct rs_enum *names_in(const struct checker *c, const struct arg_ref *ref,
				      uint32_t i)
{
	const struct rs_field *field = rs_lang_arg_field(c->script->matched.at[i], ref);

	return field ? field->values : NULL;
}

static bool is_named(const struct checker *c, const struct node *node)
{
	const struct arg_ref *ref = argument_of(c, node);

	for (uint32_t i = 0; ref && i < c->script->matched.n; i++) {
		if (names_in(c, ref, i))
			return true;
	}
	return false;
}

/* Replaces args.x with stringof(args.x). */
static void become_name(struct checker *c, struct node *node)
{
	struct node *arg = rs_arena_alloc(&c->script->arena, sizeof(*arg));

	if (!arg) {
		c->err = rs_error_no_memory();
		return;
	}
	*arg = *node;
	arg->next = NULL;
	*node = (struct node){ .kind = N_CALL,
			       .at = node->at,
			       .next = node->next,
			       .text = "stringof",
			       .args = arg,
			       .type = TYPE_OF_STRING };
}

void rs_lang_check_named_key(struct checker *c, struct node *key, struct type *type)
{
	if (c->err || !is_named(c, key))
		return;
	become_name(c, key);
	*type = TYPE_OF_STRING;
}

/* Returns whether an enumeration has exactly one value of a name. */
static bool is_single(const struct rs_enum *values, const struct rs_enum *found)
{
	for (const struct rs_enum *row = values; row->name; row++) {
		if (row != found && !strcasecmp(row->name, found->name))
			return false;
	}
	return true;
}

/* Replaces the string with its number if that is the same in all events. */
static bool become_enumerator(struct checker *c, struct node *arg, struct node *text)
{
	const struct arg_ref *ref = argument_of(c, arg);
	struct nearest nearest = { .written = text->text };
	const char *first = "";
	bool any = false, single = true;

	for (uint32_t i = 0; i < c->script->matched.n; i++) {
		const struct rs_enum *values = names_in(c, ref, i);
		const struct rs_enum *found = rs_lang_enum_find(values, text->text);

		any |= found != NULL;
		single &= !found || is_single(values, found);
		for (const struct rs_enum *row = values; row && row->name; row++) {
			rs_lang_nearest_try(&nearest, row->name, NULL);
			first = *first ? first : row->name;
		}
	}
	if (!any)
		FAIL(c, text->at, "D_OP_INCOMPAT", "the argument has no value named '%s'%s%s%s",
		     text->text, nearest.distance ? "" : "; its names are like '",
		     nearest.distance ? rs_lang_nearest_text(&nearest) : first,
		     nearest.distance ? "" : "'");
	if (!any || !single)
		return false;
	text->kind = N_NAME;
	enum_operand(c, arg, text);
	return true;
}

void rs_lang_check_named_text(struct checker *c, struct node *node)
{
	bool left = node->b->type.kind == TYPE_STRING;
	struct node *arg = left ? node->a : node->b, *text = left ? node->b : node->a;

	if (c->err || text->type.kind != TYPE_STRING || !is_named(c, arg))
		return;
	if (text->kind == N_TEXT && (node->op == OP_EQ || node->op == OP_NE) &&
	    become_enumerator(c, arg, text))
		return;
	if (!c->err)
		become_name(c, arg);
}
