/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks objects in memory: members, elements, pointers, offsetof, translators. An address is a
 * number (vm/memory.h) of any value; the machine checks it at each access. Variables of the guest
 * are objects at an address that the machine finds.
 */
#include "lang/front/check.h"
#include "lang/front/guest_type.h"

#include <stdio.h>
#include <string.h>

#include "base/count.h"

/* ---- copies of trees ---------------------------------------------------------------------- */

/* Copies an expression that stands in several places, because each copy is checked separately.
 * Returns NULL if out of memory, or if the program is too large. */
struct node *rs_lang_node_clone(struct checker *c, const struct node *from)
{
	struct node *node;

	if (!from || c->err)
		return NULL;
	if (++c->script->front->visits > LANG_VISITS_MAX)
		FAIL(c, from->at, "D_SYNTAX",
		     "the program is too large once its inlines are expanded");
	node = c->err ? NULL : rs_arena_alloc(&c->script->arena, sizeof(*node));
	if (!node) {
		if (!c->err)
			c->err = rs_error_no_memory();
		return NULL;
	}
	*node = *from;
	node->a = rs_lang_node_clone(c, from->a);
	node->b = rs_lang_node_clone(c, from->b);
	node->c = rs_lang_node_clone(c, from->c);
	node->args = node->next = NULL;
	for (struct node **end = &node->args; (from = end == &node->args ? from->args : from->next);
	     end = &(*end)->next) {
		*end = rs_lang_node_clone(c, from);
		if (!*end)
			break;
	}
	return node;
}

/* ---- members and elements ----------------------------------------------------------------- */

/* Returns the type that ->, [] and * lead to: a pointer's or, of an array, its elements'. */
static const struct type *target_of(const struct type *type)
{
	return type->kind == TYPE_POINTER || type->kind == TYPE_ARRAY ? type->to : NULL;
}

static bool is_complete(struct checker *c, struct place at, const struct type *type)
{
	struct record *record = type->record;
	char text[TYPE_TEXT_MAX];

	if (type->kind != TYPE_RECORD)
		return !c->err;
	if (!c->err)
		c->err = rs_lang_guest_complete(c->script, record);
	if (!c->err)
		c->err = rs_lang_guest_load(c->script, record);
	if (!record->complete)
		FAIL(c, at, "D_OP_INCOMPLETE", "%s is incomplete: %s",
		     rs_lang_type_text(*type, text),
		     record->why ? record->why : "declare its members");
	return !c->err;
}

static void check_xlate_member(struct checker *c, struct node *node);

static void no_member(struct checker *c, const struct node *node, const struct record *record)
{
	struct nearest nearest = { .written = node->text };

	for (const struct member *m = record->members; m; m = m->next)
		rs_lang_nearest_try(&nearest, m->name, NULL);
	FAIL(c, node->at, "D_TYPE_MEMBER", "%s %s%s%s has no member '%s'%s",
	     record->is_union ? "union" : "struct", record->of ? record->of->name : "",
	     record->of ? "`" : "", *record->tag ? record->tag : "{}", node->text,
	     rs_lang_nearest_text(&nearest));
}

/* Converts an array of characters to a string where a string is expected. */
void rs_lang_check_text(struct checker *c, struct node *node)
{
	const struct type *type = &node->type;
	struct node *array;

	if (c->err || type->kind != TYPE_ARRAY || type->to->kind != TYPE_INT ||
	    type->to->bytes != 1)
		return;
	array = rs_arena_alloc(&c->script->arena, sizeof(*array));
	if (!array) {
		c->err = rs_error_no_memory();
		return;
	}
	*array = *node;
	array->next = NULL;
	*node = (struct node){ .kind = N_CALL,
			       .at = node->at,
			       .next = node->next,
			       .text = "stringof",
			       .args = array,
			       .type = TYPE_OF_STRING };
}

/* kernel`x, FILE`x */
void rs_lang_check_guest(struct checker *c, struct node *node)
{
	const char *why = NULL;

	if (!c->err)
		c->err = rs_lang_guest_variable(c->script, node, &why);
	if (why)
		FAIL(c, node->at, "D_SYM_BADREF", "there is no variable %s: %s", node->text, why);
	if (!c->err && node->type.kind == TYPE_VOID && c->addressed != node)
		FAIL(c, node->at, "D_OP_VFPTR",
		     "%s has no type that D can read: cast its address, as in *(uint64_t *)&%s",
		     node->text, node->text);
	node->refers = REFERS_MEMORY;
}

/* a.x, a->x */
void rs_lang_check_object_member(struct checker *c, struct node *node)
{
	const struct type *of;
	char text[TYPE_TEXT_MAX];

	if (node->a->kind == N_XLATE) {
		check_xlate_member(c, node);
		return;
	}
	rs_lang_check_node(c, node->a);
	if (c->err)
		return;
	of = &node->a->type;
	if (node->op == OP_ARROW) {
		if (!target_of(of))
			FAIL(c, node->at, "D_OP_PTR", "-> takes a pointer, not %s",
			     rs_lang_type_text(*of, text));
		else
			of = target_of(of);
	}
	if (!c->err && of->kind != TYPE_RECORD)
		FAIL(c, node->at, "D_OP_SOU",
		     "%s has no members: only structs, unions and args have",
		     rs_lang_type_text(*of, text));
	if (c->err || !is_complete(c, node->at, of))
		return;
	node->member = rs_lang_member_find(of->record, node->text);
	if (!node->member) {
		no_member(c, node, of->record);
		return;
	}
	if (node->member->type.kind == TYPE_VOID && c->addressed != node)
		FAIL(c, node->at, "D_OP_VFPTR",
		     "'%s' is of a type that D does not have, such as a floating-point number; &%s "
		     "is its address",
		     node->text, node->text);
	node->refers = REFERS_MEMORY;
	node->type = node->member->type;
}

/* a[i] of an array or through a pointer. */
void rs_lang_check_element(struct checker *c, struct node *node)
{
	const struct type *to;

	rs_lang_check_node(c, node->a);
	if (c->err)
		return;
	to = target_of(&node->a->type);
	if (!to) {
		FAIL(c, node->at, "D_ARR_BADREF",
		     "the expression before [ is neither an array nor a pointer");
		return;
	}
	if (!node->args || node->args->next) {
		FAIL(c, node->at, "D_ARR_BADREF", "an array takes one index between the brackets");
		return;
	}
	rs_lang_check_node(c, node->args);
	if (!c->err && node->args->type.kind != TYPE_INT)
		FAIL(c, node->args->at, "D_ARR_BADREF", "the index of an array must be a number");
	if (!c->err && to->kind == TYPE_VOID)
		FAIL(c, node->at, "D_DEREF_VOID", "cannot dereference a void pointer");
	if (c->err || !is_complete(c, node->at, to))
		return;
	if (node->a->type.kind == TYPE_ARRAY && node->a->type.n && rs_lang_fold(node->args) &&
	    node->args->kind == N_INT && node->args->value >= node->a->type.n)
		FAIL(c, node->args->at, "D_ARR_BADREF",
		     "the index is out of range: the array has %s, from 0",
		     RS_COUNT_OF(node->a->type.n, "element"));
	node->refers = REFERS_MEMORY;
	node->type = *to;
}

void rs_lang_check_deref(struct checker *c, struct node *node)
{
	const struct type *to;
	char text[TYPE_TEXT_MAX];

	rs_lang_check_node(c, node->a);
	if (c->err)
		return;
	to = target_of(&node->a->type);
	if (!to)
		FAIL(c, node->at, "D_DEREF_NONPTR", "* takes a pointer, not %s",
		     rs_lang_type_text(node->a->type, text));
	else if (to->kind == TYPE_VOID)
		FAIL(c, node->at, "D_DEREF_VOID", "cannot dereference a void pointer");
	if (c->err || !is_complete(c, node->at, to))
		return;
	node->refers = REFERS_MEMORY;
	node->type = *to;
}

/* Returns whether the expression lies in a variable of D, which may move or disappear. */
static bool is_in_variable(const struct node *node)
{
	while (node->refers == REFERS_MEMORY) {
		if (node->kind == N_DEREF || node->kind == N_GUEST)
			return false;
		if (node->kind == N_MEMBER && node->op == OP_ARROW)
			return false;
		if (node->kind == N_INDEX && node->a->type.kind == TYPE_POINTER)
			return false;
		node = node->a;
	}
	return node->refers == REFERS_VARIABLE;
}

void rs_lang_check_address(struct checker *c, struct node *node)
{
	struct type *to = rs_arena_alloc(&c->script->arena, sizeof(*to));

	c->addressed = node->a;
	rs_lang_check_node(c, node->a);
	if (!to && !c->err)
		c->err = rs_error_no_memory();
	if (c->err)
		return;
	if (node->a->refers == REFERS_MEMORY && node->a->member && node->a->member->bits &&
	    node->a->kind == N_MEMBER)
		FAIL(c, node->at, "D_ADDROF_BITFIELD", "a bit-field has no address");
	else if (is_in_variable(node->a))
		FAIL(c, node->at, "D_ADDROF_VAR",
		     "a variable of D has no address; alloca() gives memory that has one");
	else if (node->a->refers != REFERS_MEMORY)
		FAIL(c, node->at, "D_ADDROF_LVAL", "only objects in memory have an address");
	*to = node->a->type;
	node->type = (struct type){ .kind = TYPE_POINTER, .bytes = 8, .to = to };
}

/* Adds the offset of a struct's member. Sets *type to the member's type. */
static void member_offset(struct checker *c, const struct node *node, struct type *type,
			  uint64_t *offset)
{
	const struct member *member;
	char text[TYPE_TEXT_MAX];

	if (type->kind == TYPE_RECORD && type->record->why)
		is_complete(c, node->at, type);
	if (type->kind != TYPE_RECORD || !type->record->complete) {
		FAIL(c, node->at, "D_OFFSETOF_TYPE", "%s has no members",
		     rs_lang_type_text(*type, text));
		return;
	}
	if (!is_complete(c, node->at, type))
		return;
	member = rs_lang_member_find(type->record, node->text);
	if (!member) {
		no_member(c, node, type->record);
		return;
	}
	if (member->bits)
		FAIL(c, node->at, "D_OFFSETOF_BITFIELD", "a bit-field has no offset in bytes");
	*offset += member->offset;
	*type = member->type;
}

/* offsetof (struct x, a.b[2].c): the path is a list of members and indices. */
void rs_lang_check_offsetof(struct checker *c, struct node *node)
{
	struct type type = node->type;
	uint64_t offset = 0;

	member_offset(c, node, &type, &offset);
	for (struct node *step = node->args; step && !c->err; step = step->next) {
		if (step->kind == N_MEMBER) {
			member_offset(c, step, &type, &offset);
			continue;
		}
		if (type.kind != TYPE_ARRAY || (type.n && step->value >= type.n)) {
			FAIL(c, step->at, "D_ARR_BADREF", "there is no such element");
			break;
		}
		type = *type.to;
		offset += step->value * rs_lang_type_bytes(c->script, &type);
	}
	node->kind = N_INT;
	node->value = offset;
	node->type = TYPE_OF_UINT64;
	node->args = NULL;
}

/* ---- translators -------------------------------------------------------------------------- */

static struct node *node_make(struct checker *c, enum node_kind kind, struct place at)
{
	struct node *node = c->err ? NULL : rs_arena_alloc(&c->script->arena, sizeof(*node));
	static struct node none;

	if (!node) {
		if (!c->err)
			c->err = rs_error_no_memory();
		none = (struct node){ .kind = N_INT };
		return &none;
	}
	node->kind = kind;
	node->at = at;
	return node;
}

/* Creates a this-> variable with a name that no program can write. */
const char *rs_lang_check_hidden(struct checker *c, struct type type)
{
	char name[32];
	int len = snprintf(name, sizeof(name), "(%u)", c->script->front->n_hidden++);
	const char *kept = rs_arena_text(&c->script->arena, name, (size_t)len);

	if (!kept) {
		if (!c->err)
			c->err = rs_error_no_memory();
		return "";
	}
	rs_lang_variable_make(c, kept, SCOPE_THIS, type, false);
	return kept;
}

static struct node *hidden_node(struct checker *c, const char *name, struct place at)
{
	struct node *node = node_make(c, N_SCOPED, at);

	node->scope = SCOPE_THIS;
	node->text = name;
	return node;
}

static struct node *assign_node(struct checker *c, struct node *to, struct node *value)
{
	struct node *node = node_make(c, N_ASSIGN, value->at);

	node->a = to;
	node->b = value;
	return node;
}

void rs_lang_check_put(struct node *node, const char *input, const char *name)
{
	for (; node; node = node->next) {
		if (node->kind == N_NAME && !strcmp(node->text, input)) {
			node->kind = N_SCOPED;
			node->scope = SCOPE_THIS;
			node->text = name;
		}
		rs_lang_check_put(node->a, input, name);
		if (node->kind == N_WALK && !strcmp(input, "it"))
			continue; /* the inner walk has its own `it` */
		rs_lang_check_put(node->b, input, name);
		rs_lang_check_put(node->c, input, name);
		rs_lang_check_put(node->args, input, name);
	}
}

static bool converts(const struct type *from, const struct type *to)
{
	if (from->kind == TYPE_INT && to->kind == TYPE_INT)
		return true; /* numbers of different widths are compatible */
	if (from->kind == TYPE_POINTER && to->kind == TYPE_POINTER)
		return rs_lang_type_same(from, to) || to->to->kind == TYPE_VOID;
	return rs_lang_type_same(from, to);
}

/* Finds the translator of xlate <T> (a), and its struct: T or what T points to. */
static const struct translator *translator_find(struct checker *c, struct node *node)
{
	const struct type *to = node->type.kind == TYPE_POINTER ? node->type.to : &node->type;
	const struct translator *t = c->script->front->translators, *near = NULL;
	char from[TYPE_TEXT_MAX], text[TYPE_TEXT_MAX];

	if (to->kind != TYPE_RECORD) {
		FAIL(c, node->at, "D_XLATE_SOU", "only a struct or a union can be translated to");
		return NULL;
	}
	if (c->xlates > XLATES_MAX) {
		FAIL(c, node->at, "D_SYNTAX", "the translator refers to itself");
		return NULL;
	}
	rs_lang_check_node(c, node->a);
	for (; t && !c->err; t = t->next) {
		if (t->to != to->record)
			continue;
		if (rs_lang_type_same(&t->from, &node->a->type))
			return t;
		if (converts(&node->a->type, &t->from))
			near = t;
	}
	if (!near)
		FAIL(c, node->at, "D_XLATE_NONE", "there is no translator from %s to %s",
		     rs_lang_type_text(node->a->type, from), rs_lang_type_text(*to, text));
	return near;
}

static struct node *translated(struct checker *c, const struct translation *t, const char *input,
			       const char *name)
{
	struct node *value = rs_lang_node_clone(c, t->value);

	rs_lang_check_put(value, input, name);
	return value;
}

static void check_translation(struct checker *c, const struct translation *t,
			      const struct node *value)
{
	char from[TYPE_TEXT_MAX], to[TYPE_TEXT_MAX];

	if (!c->err && value->type.kind != t->member->type.kind)
		FAIL(c, value->at, "D_XLATE_INCOMPAT",
		     "'%s' has type %s, but its translation has type %s", t->member->name,
		     rs_lang_type_text(t->member->type, to), rs_lang_type_text(value->type, from));
}

/* Replaces the node with a comma expression of two. */
static void become_comma(struct node *node, struct node *first, struct node *second)
{
	struct node *next = node->next;

	*node = (struct node){
		.kind = N_COMMA, .at = node->at, .a = first, .b = second, .next = next
	};
}

/* xlate <T> (a)->x: stores a, then evaluates the expression for x. */
static void check_xlate_member(struct checker *c, struct node *node)
{
	struct node *xlate = node->a;
	const struct translator *translator = translator_find(c, xlate);
	const struct translation *t = translator ? translator->translations : NULL;
	struct node *value, *keep;
	struct type type;
	const char *name;

	if (c->err)
		return;
	if ((xlate->type.kind == TYPE_POINTER) != (node->op == OP_ARROW))
		FAIL(c, node->at, node->op == OP_ARROW ? "D_OP_PTR" : "D_OP_SOU",
		     "write xlate <T> (...).x or xlate <T *> (...)->x");
	if (!rs_lang_member_find(translator->to, node->text))
		no_member(c, node, translator->to);
	while (t && strcmp(t->member->name, node->text))
		t = t->next;
	if (!t && !c->err)
		FAIL(c, node->at, "D_XLATE_NOCONV", "the translator has no member '%s'",
		     node->text);
	if (c->err)
		return;
	name = rs_lang_check_hidden(c, translator->from);
	keep = assign_node(c, hidden_node(c, name, node->at), xlate->a);
	value = translated(c, t, translator->input, name);
	rs_lang_check_node(c, keep);
	c->xlates++;
	if (!c->err)
		rs_lang_check_node(c, value);
	c->xlates--;
	check_translation(c, t, value);
	if (c->err)
		return;
	type = t->member->type;
	if (type.kind == TYPE_INT) {
		struct node *cast = node_make(c, N_CAST, node->at);

		cast->a = value;
		cast->type = type;
		value = cast;
	}
	become_comma(node, keep, value);
	node->type = type;
}

/* xlate <T> (a) as a value: translates each member into a T that lasts for the firing. */
void rs_lang_check_xlate(struct checker *c, struct node *node)
{
	const struct translator *translator = translator_find(c, node);
	struct type type = { .kind = TYPE_RECORD }, result_type = node->type;
	const char *name, *made;
	struct node *all;

	if (c->err)
		return;
	type.record = translator->to;
	name = rs_lang_check_hidden(c, translator->from);
	made = rs_lang_check_hidden(c, type);
	all = assign_node(c, hidden_node(c, name, node->at), node->a);
	rs_lang_check_node(c, all);
	for (const struct translation *t = translator->translations; t && !c->err; t = t->next) {
		struct node *value = translated(c, t, translator->input, name);
		struct node *member = node_make(c, N_MEMBER, node->at), *set, *both;

		c->xlates++;
		rs_lang_check_node(c, value);
		c->xlates--;
		check_translation(c, t, value);
		if (c->err)
			return;
		member->a = hidden_node(c, made, node->at);
		member->op = OP_DOT;
		member->text = t->member->name;
		set = assign_node(c, member, value);
		rs_lang_check_node(c, set);
		both = node_make(c, N_COMMA, node->at);
		both->a = all;
		both->b = set;
		both->type = set->type;
		all = both;
	}
	become_comma(node, all, hidden_node(c, made, node->at));
	rs_lang_check_node(c, node->b);
	/* The value of a struct, and of a pointer to it, is its address. */
	node->type = result_type;
}
