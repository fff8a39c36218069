/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks statements: the predicate, branches, walks, actions. */
#include "lang/front/check.h"

#include <string.h>

static void check_statements(struct checker *c, struct node *first);

/* Checks each branch separately. Afterwards, the clause may have executed either branch. */
static void check_if(struct checker *c, struct node *node)
{
	struct checker before = *c, after;
	bool recorded = c->clause->records, records;

	rs_lang_check_node(c, node->a);
	if (!c->err && node->a->type.kind != TYPE_INT)
		FAIL(c, node->a->at, "D_OP_SCALAR", "the condition of if must be a number");
	check_statements(c, node->b);
	after = *c;
	records = c->clause->records;
	c->speculates = before.speculates;
	c->commits = before.commits;
	c->clause->records = recorded;
	check_statements(c, node->c);
	c->speculates |= after.speculates;
	c->commits |= after.commits;
	c->clause->records |= records;
}

/* walk (first, next, max) { ... }: the body has the current value in `it`. */
static void check_walk(struct checker *c, struct node *node)
{
	uint64_t steps = c->steps;

	if ((int64_t)node->value < 1 || node->value > LANG_WALK_STEPS ||
	    node->value * steps > LANG_WALK_STEPS) {
		FAIL(c, node->at, "D_WALK_MAX",
		     "a walk has 1 to %u steps, multiplied by those of the walks around it",
		     LANG_WALK_STEPS);
		return;
	}
	if (c->clause->n_walks++ == LANG_WALKS_MAX)
		FAIL(c, node->at, "D_WALK_MAX", "a clause may contain at most %u walks",
		     LANG_WALKS_MAX);
	rs_lang_check_node(c, node->a);
	if (!c->err && !rs_lang_type_is_scalar(&node->a->type))
		FAIL(c, node->a->at, "D_WALK_TYPE", "a walk follows pointers or numbers");
	if (c->err)
		return;
	node->text = rs_lang_check_hidden(c, node->a->type);
	rs_lang_check_put(node->b, "it", node->text);
	rs_lang_check_put(node->c, "it", node->text);
	rs_lang_check_node(c, node->b);
	if (!c->err && (node->b->type.kind != node->a->type.kind ||
			(node->a->type.kind == TYPE_POINTER &&
			 !rs_lang_type_same(&node->a->type, &node->b->type))))
		FAIL(c, node->b->at, "D_WALK_TYPE",
		     "the next value has another type than the first");
	node->variable = c->err ? NULL : rs_lang_variable_find(c->script, SCOPE_THIS, node->text);
	c->steps = steps * node->value;
	check_statements(c, node->c);
	c->steps = steps;
}

/* sym(x) as a statement traces its result. */
static bool shows_symbol(const char *name)
{
	static const char *const names[] = {
		"sym", "func", "mod", "usym", "ufunc", "umod", "uaddr"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(names[i], name))
			return true;
	}
	return false;
}

static void check_symbol(struct checker *c, struct node *node)
{
	struct node *call = rs_arena_alloc(&c->script->arena, sizeof(*call));

	if (!call) {
		c->err = rs_error_no_memory();
		return;
	}
	*call = *node;
	call->next = NULL;
	*node = (struct node){
		.kind = N_CALL, .at = call->at, .text = "trace", .args = call, .next = node->next
	};
	rs_lang_check_action(c, node);
}

static void check_statements(struct checker *c, struct node *first)
{
	for (struct node *node = first; node && !c->err; node = node->next) {
		if (node->kind == N_AGGREGATE)
			rs_lang_check_aggregate(c, node);
		else if (node->kind == N_IF)
			check_if(c, node);
		else if (node->kind == N_AGG)
			FAIL(c, node->at, "D_AGG_NULL", "@%s alone has no effect", node->text);
		else if (node->kind == N_WALK)
			check_walk(c, node);
		else if (node->kind == N_CALL && shows_symbol(node->text))
			check_symbol(c, node);
		else if (node->kind != N_CALL || !rs_lang_check_action(c, node))
			rs_lang_check_node(c, node);
	}
}

struct rs_error *rs_lang_check_clause(struct rs_script *script, struct clause *clause)
{
	struct checker c = { .script = script, .clause = clause, .steps = 1 };

	if (clause->predicate) {
		rs_lang_check_node(&c, clause->predicate);
		if (!c.err && clause->predicate->type.kind != TYPE_INT)
			FAIL(&c, clause->predicate->at, "D_PRED_SCALAR",
			     "a predicate must be a number: compare the string");
	}
	check_statements(&c, clause->body);
	return c.err;
}
