/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds types and variables of the guest, and converts their types to types of D. The guest's type
 * information is untrusted: a chain of types is bounded, a struct that contains itself is refused,
 * the total number of members is bounded, and a member must lie within its struct, because the
 * program may have a copy of the struct.
 */
#include "lang/front/guest_type.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MAX   16u		/* nested pointers and arrays */
#define NESTED_MAX  64u		/* nested structs */
#define BYTES_MAX   (1u << 30)	/* members of one type */
#define MEMBERS_MAX (1u << 18)	/* members of all types that a program uses */
#define WHY_MAX	    512u

/* ---- lookup of names ---------------------------------------------------------------------- */

struct search {
	struct rs_script *script;
	const char *module; /* NULL: any */
	enum rs_cname what;
	const char *name;
	char why[WHY_MAX];
	struct nearest nearest;
	/* The result of a lookup. */
	struct rs_types *of;
	uint32_t set; /* its index */
	uint64_t id;
	struct rs_cvariable variable;
};

static void add_why(struct search *s, const char *text)
{
	size_t len = strlen(s->why);

	snprintf(s->why + len, sizeof(s->why) - len, "%s%s", len ? "; " : "", text);
}

static bool try_name(void *ctx, const char *name)
{
	rs_lang_nearest_try(ctx, name, NULL);
	return true;
}

/* Searches one set of types. Returns whether the search ends there. */
static bool search_in(struct search *s, uint32_t index)
{
	const struct rs_script_config *config = &s->script->config;
	struct rs_types *types = NULL;
	const char *name = NULL;
	char text[WHY_MAX / 4];
	bool found = false;
	struct rs_error *err = config->types(config->make_ctx, index, &name, &types);

	if (index < LANG_GUEST_TYPES_MAX)
		s->script->front->guest_types[index] = types;
	if (!err && types)
		err = s->what == RS_CNAME_VARIABLE
			      ? types->ops->variable(types, s->name, &s->variable, &found)
			      : types->ops->find(types, s->what, s->name, &s->id, &found);
	if (err) {
		add_why(s, rs_error_text(err));
		found = rs_error_code(err) == RS_USAGE && types; /* it is ambiguous there */
		rs_error_free(err);
		return found;
	}
	if (found) {
		s->of = types;
		s->set = index;
		return true;
	}
	if (types) {
		snprintf(text, sizeof(text), "%s has no such %s", name,
			 s->what == RS_CNAME_VARIABLE ? "variable" : "type");
		add_why(s, text);
		types->ops->names(types, s->what, try_name, &s->nearest);
	}
	return false;
}

/* Searches all sets, or the set that qualifies the name. */
static void search(struct search *s)
{
	const struct rs_script_config *config = &s->script->config;
	char names[WHY_MAX / 2] = "", text[WHY_MAX];
	const char *name;
	bool any = false;

	s->nearest.written = s->name;
	for (uint32_t i = 0; config->types; i++) {
		size_t len = strlen(names);

		name = NULL;
		rs_error_free(config->types(config->make_ctx, i, &name, NULL));
		if (!name)
			break;
		snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "", name);
		if (s->module && strcmp(s->module, name) != 0)
			continue;
		any = true;
		if (search_in(s, i))
			return;
	}
	if (!any && s->module) {
		snprintf(text, sizeof(text), "there are no %s of '%s'; the known sets are %s",
			 s->what == RS_CNAME_VARIABLE ? "variables" : "types", s->module,
			 *names ? names : "nothing");
		add_why(s, text);
	}
	snprintf(s->why + strlen(s->why), sizeof(s->why) - strlen(s->why), "%s",
		 rs_lang_nearest_text(&s->nearest));
}

/* ---- records ------------------------------------------------------------------------------ */

static bool same_record(const void *item, const void *key)
{
	const struct record *one = item, *other = key;

	return one->of == other->of && one->id == other->id;
}

static struct record *record_of(struct rs_script *script, struct rs_types *of,
				const struct rs_ctype *type)
{
	const struct record key = { .of = of, .id = type->id };
	uint64_t hash = rs_hash_pair((uintptr_t)of, type->id);
	struct record *record = rs_map_find(&script->front->guests, hash, same_record, &key);

	if (record)
		return record;
	record = rs_arena_alloc(&script->arena, sizeof(*record));
	if (!record || !rs_map_reserve(&script->front->guests))
		return NULL;
	*record = (struct record){ .tag = type->name,
				   .is_union = type->kind == RS_CTYPE_UNION,
				   .complete = type->bytes && type->bytes <= BYTES_MAX,
				   .bytes = (uint32_t)type->bytes,
				   .align = 1,
				   .of = of,
				   .id = type->id };
	rs_map_add(&script->front->guests, hash, record);
	return record;
}

static struct rs_error *type_of(struct rs_script *script, struct rs_types *of, uint64_t id,
				uint32_t depth, struct type *type);

/* Sets the target of a pointer, or the element of an array. */
static struct rs_error *target_of(struct rs_script *script, struct rs_types *of, uint64_t id,
				  uint32_t depth, struct type *type)
{
	struct type *to = rs_arena_alloc(&script->arena, sizeof(*to));

	type->to = to;
	return to ? type_of(script, of, id, depth + 1, to) : rs_error_no_memory();
}

static struct rs_error *array_of(struct rs_script *script, struct rs_types *of,
				 const struct rs_ctype *from, uint32_t depth, struct type *type)
{
	struct rs_error *err = target_of(script, of, from->to, depth, type);
	uint64_t bytes = err ? 0 : rs_lang_type_bytes(script, type->to);

	type->kind = TYPE_ARRAY;
	type->n = (uint32_t)from->n;
	if (!err && (!bytes || from->n > BYTES_MAX / bytes))
		*type = TYPE_OF_VOID;
	return err;
}

/* Converts a type. A type that D cannot read becomes void, which has an address and no value. */
static struct rs_error *type_of(struct rs_script *script, struct rs_types *of, uint64_t id,
				uint32_t depth, struct type *type)
{
	struct rs_ctype from;

	*type = TYPE_OF_VOID;
	if (depth > DEPTH_MAX || !of->ops->get(of, id, &from))
		return NULL;
	switch (from.kind) {
	case RS_CTYPE_INT:
		*type = INT_OF((uint8_t)from.bytes, from.is_signed);
		return NULL;
	case RS_CTYPE_POINTER:
		*type = (struct type){ .kind = TYPE_POINTER, .bytes = 8, .guest = true };
		return target_of(script, of, from.to, depth, type);
	case RS_CTYPE_ARRAY:
		return array_of(script, of, &from, depth, type);
	case RS_CTYPE_STRUCT:
	case RS_CTYPE_UNION:
		*type = (struct type){ .kind = TYPE_RECORD };
		type->record = record_of(script, of, &from);
		return type->record ? NULL : rs_error_no_memory();
	default:
		return NULL;
	}
}

/* ---- members ------------------------------------------------------------------------------ */

struct loading {
	struct rs_script *script;
	struct record *record;
	struct member **end;
	struct rs_error *err;
};

static struct member *add_member(struct loading *l, const struct member *from)
{
	struct member *member = NULL;

	if (++l->script->front->n_guest_members > MEMBERS_MAX)
		l->err = rs_error_create(RS_USAGE, "the types of the guest that the program uses "
						   "have more than %u members",
					 MEMBERS_MAX);
	else if (!(member = rs_arena_alloc(&l->script->arena, sizeof(*member))))
		l->err = rs_error_no_memory();
	if (!member)
		return NULL;
	*member = *from;
	member->next = NULL;
	*l->end = member;
	l->end = &member->next;
	return member;
}

/* Makes a bit-field of the smallest unit that holds it. Returns false if none does. */
static bool bits_of(const struct rs_cmember *from, struct member *member)
{
	uint32_t at = from->bit_offset % 8, bytes = 1;

	while (bytes < 8 && at + from->bits > bytes * 8)
		bytes *= 2;
	if (member->type.kind != TYPE_INT || at + from->bits > bytes * 8)
		return false;
	member->type.bytes = (uint8_t)bytes;
	member->bits = (uint8_t)from->bits;
	member->at = (uint8_t)at;
	return true;
}

/* Adds the members of an unnamed struct to the outer struct. */
static void add_inner(struct loading *l, const struct member *unnamed)
{
	for (const struct member *m = unnamed->type.record->members; m && !l->err; m = m->next) {
		struct member here = *m;

		here.offset += unnamed->offset;
		add_member(l, &here);
	}
}

static bool add(void *ctx, const struct rs_cmember *from)
{
	struct loading *l = ctx;
	struct record *record = l->record;
	struct member member = { .name = from->name, .offset = (uint32_t)(from->bit_offset / 8) };
	const struct type *inner = &member.type;
	uint64_t bytes;

	if (from->bit_offset / 8 > record->bytes)
		return true;
	l->err = type_of(l->script, record->of, from->type, 0, &member.type);
	if (l->err || (from->bits && !bits_of(from, &member)))
		return !l->err;
	while (inner->kind == TYPE_ARRAY)
		inner = inner->to;
	if (inner->kind == TYPE_RECORD)
		l->err = rs_lang_guest_load(l->script, inner->record);
	bytes = rs_lang_type_bytes(l->script, &member.type);
	if (l->err || member.offset + bytes > record->bytes)
		return !l->err;
	if (rs_lang_type_align(&member.type) > record->align)
		record->align = rs_lang_type_align(&member.type);
	if (*member.name)
		add_member(l, &member);
	else if (member.type.kind == TYPE_RECORD)
		add_inner(l, &member);
	return !l->err;
}

struct rs_error *rs_lang_guest_load(struct rs_script *script, struct record *record)
{
	struct loading l = { .script = script, .record = record, .end = &record->members };

	if (!record->of || record->loaded || !record->complete)
		return NULL;
	if (script->front->guest_depth == NESTED_MAX)
		return rs_error_create(RS_USAGE, "a struct of the guest nests more than %u structs",
				       NESTED_MAX);
	record->loaded = true;
	script->front->guest_depth++;
	record->of->ops->members(record->of, record->id, add, &l);
	script->front->guest_depth--;
	return l.err;
}

/* ---- names in the program ----------------------------------------------------------------- */

static const char *kept(struct rs_script *script, const char *why)
{
	const char *text = rs_arena_text(&script->arena, why, strlen(why));

	return text ? text : "out of memory";
}

struct rs_error *rs_lang_guest_complete(struct rs_script *script, struct record *record)
{
	struct search s = { .script = script,
			    .module = record->module,
			    .what = record->is_union ? RS_CNAME_UNION : RS_CNAME_STRUCT,
			    .name = record->tag };
	struct rs_ctype type;

	if (!script->config.types || record->complete || record->busy || record->why ||
	    !*record->tag)
		return NULL;
	if (record->of && record->of->name) /* a declaration; another set may define it */
		s.module = record->of->name;
	search(&s);
	if (!s.of) {
		record->why = kept(script, s.why);
		return NULL;
	}
	if (!s.of->ops->get(s.of, s.id, &type) || !type.bytes || type.bytes > BYTES_MAX) {
		record->why = "its type is damaged or too large";
		return NULL;
	}
	record->of = s.of;
	record->id = type.id;
	record->bytes = (uint32_t)type.bytes;
	record->complete = true;
	return NULL;
}

struct rs_error *rs_lang_guest_complete_all(struct rs_script *script)
{
	struct rs_error *err = NULL;

	for (struct record *r = script->front->records; r && !err; r = r->next)
		err = rs_lang_guest_complete(script, r);
	return err;
}

struct rs_error *rs_lang_guest_typedef(struct rs_script *script, const char *module,
				       const char *name, struct type *type, bool *found,
				       const char **why)
{
	struct search s = {
		.script = script, .module = module, .what = RS_CNAME_TYPEDEF, .name = name
	};

	search(&s);
	*found = s.of;
	*why = s.of ? NULL : kept(script, s.why);
	return s.of ? type_of(script, s.of, s.id, 0, type) : NULL;
}

/* Returns the program's row of a variable: the one with this text, or a new one. */
static struct guest_variable *row_of(struct rs_script *script, const char *text, uint32_t *index)
{
	struct guest_variable *row;

	for (*index = 0; *index < script->guest_variables.n; ++*index) {
		row = &script->guest_variables.at[*index];
		if (!strcmp(row->text, text))
			return row;
	}
	row = VECTOR_ADD(script, &script->guest_variables);
	if (row)
		*row = (struct guest_variable){ .text = text };
	return row;
}

struct rs_error *rs_lang_guest_variable(struct rs_script *script, struct node *node,
					const char **why)
{
	struct search s = { .script = script,
			    .module = rs_arena_text(&script->arena, node->text, node->len),
			    .what = RS_CNAME_VARIABLE,
			    .name = node->text + node->len + 1 };
	struct guest_variable *row;

	if (!s.module)
		return rs_error_no_memory();
	search(&s);
	if (!s.of) {
		*why = kept(script, s.why);
		return NULL;
	}
	row = row_of(script, node->text, &node->index);
	if (!row)
		return rs_error_no_memory();
	row->set = s.set;
	row->variable = s.variable;
	node->type = TYPE_OF_VOID;
	return s.variable.has_type ? type_of(script, s.of, s.variable.type, 0, &node->type) : NULL;
}

int rs_lang_guest_enumerator(struct rs_script *script, const char *name, int64_t *value)
{
	struct rs_types **opened = script->front->guest_types;
	int found = 0;

	for (uint32_t i = 0; i < LANG_GUEST_TYPES_MAX && !found; i++) {
		if (opened[i])
			found = opened[i]->ops->enumerator(opened[i], name, value);
	}
	return found;
}
