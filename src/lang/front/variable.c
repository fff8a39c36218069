/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds, creates and places the variables of a program. */
#include "lang/front/check.h"

#include <string.h>

struct variable *rs_lang_variable_find(const struct rs_script *script, enum scope scope,
				       const char *name)
{
	struct variable *variable = script->variables;

	while (variable && (variable->scope != scope || strcmp(variable->name, name)))
		variable = variable->next;
	return variable;
}

bool rs_lang_variable_place(struct rs_script *script, struct variable *variable)
{
	bool dynamic = variable->is_array || variable->scope == SCOPE_SELF;
	uint32_t *slots = &script->n_slots[dynamic ? SCOPE_SELF : variable->scope];
	uint32_t *bytes = &script->object_bytes[variable->scope == SCOPE_THIS];

	if (*slots == LANG_SLOTS_MAX || (rs_lang_type_is_object(&variable->type) &&
					 rs_lang_type_bytes(script, &variable->type) >
						 LANG_OBJECT_MAX))
		return false;
	if (!dynamic && rs_lang_type_is_object(&variable->type)) {
		if (*bytes > LANG_OBJECTS_MAX - LANG_OBJECT_MAX)
			return false;
		variable->at = *bytes;
		*bytes += ((uint32_t)rs_lang_type_bytes(script, &variable->type) + 15) & ~15u;
	}
	variable->slot = (*slots)++;
	return true;
}

struct variable *rs_lang_variable_make(struct checker *c, const char *name, enum scope scope,
				       struct type type, bool is_array)
{
	struct variable *variable = rs_arena_alloc(&c->script->arena, sizeof(*variable));

	if (!variable) {
		if (!c->err)
			c->err = rs_error_no_memory();
		return NULL;
	}
	variable->name = name;
	variable->scope = scope;
	variable->type = type;
	variable->is_array = is_array;
	variable->next = c->script->variables;
	c->script->variables = variable;
	if (!rs_lang_variable_place(c->script, variable) && !c->err)
		c->err = rs_error_create(RS_USAGE,
					 "%s: too many variables: at most %d of a scope, and "
					 "%u bytes of structs and arrays",
					 c->script->file, LANG_SLOTS_MAX, LANG_OBJECTS_MAX);
	return variable;
}
