/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the parts of a checked clause that the machine can evaluate without running its code
 * (vm/fast.c). The code may evaluate a comparison again, which has no effect.
 */
#include "lang/front/tree.h"
#include "lang/vm/builtin.h"

/* A comparison and, with its sides exchanged, the instruction that it becomes. */
static const struct comparison {
	enum opcode as_signed, as_unsigned;
	enum op mirrored;
} comparisons[] = {
	[OP_EQ] = { I_EQ, I_EQ, OP_EQ },   [OP_NE] = { I_NE, I_NE, OP_NE },
	[OP_LT] = { I_LTS, I_LTU, OP_GT }, [OP_LE] = { I_LES, I_LEU, OP_GE },
	[OP_GT] = { I_GTS, I_GTU, OP_LT }, [OP_GE] = { I_GES, I_GEU, OP_LE },
};

static bool is_argument(const struct node *node)
{
	return node->refers == REFERS_ARG && rs_lang_type_is_scalar(&node->type);
}

/* args.x == 5, 5 < args.x */
static bool test_of(const struct node *node, struct shortcut_test *test)
{
	const struct node *argument = node->a, *number = node->b;
	enum op op = node->op;

	if (node->kind != N_BINARY || op < OP_EQ || op > OP_GE)
		return false;
	if (!is_argument(argument)) {
		argument = node->b;
		number = node->a;
		op = comparisons[op].mirrored;
	}
	if (!is_argument(argument) || (number->refers != REFERS_ENUM && number->kind != N_INT))
		return false;
	test->is_enum = number->refers == REFERS_ENUM;
	test->value = test->is_enum ? number->index : number->value;
	test->arg = argument->index;
	test->op = rs_lang_type_common(node->a->type, node->b->type).is_signed
			   ? comparisons[op].as_signed
			   : comparisons[op].as_unsigned;
	return true;
}

/* Collects the tests at the start of a && b && ... Returns whether these are the whole
 * predicate. */
static bool tests_of(const struct node *node, struct shortcut *shortcut)
{
	if (node->kind == N_BINARY && node->op == OP_LAND)
		return tests_of(node->a, shortcut) && tests_of(node->b, shortcut);
	if (shortcut->n_tests == SHORTCUT_TESTS ||
	    !test_of(node, &shortcut->tests[shortcut->n_tests]))
		return false;
	shortcut->n_tests++;
	return true;
}

/* Returns whether a key depends only on the probe, the stream and the CPU. */
static bool is_steady(const struct node *node)
{
	if (node->kind == N_INT || node->kind == N_TEXT)
		return true;
	return node->refers == REFERS_BUILTIN && rs_lang_builtins[node->index].pure &&
	       !rs_lang_builtins[node->index].varies;
}

/* Records a body whose only statement is an aggregation with steady keys and at most one
 * argument. */
static void aggregation_of(const struct node *node, struct shortcut *shortcut)
{
	const struct node *value;

	if (!node || node->next || node->kind != N_AGGREGATE)
		return;
	for (const struct node *key = node->a->args; key; key = key->next) {
		if (!is_steady(key))
			return;
	}
	value = node->b->args;
	if (value && (value->next || !is_argument(value) || value->type.kind != TYPE_INT))
		return;
	shortcut->has_value = value;
	shortcut->value = value ? value->index : 0;
	shortcut->type = value ? value->type : TYPE_OF_INT64;
	shortcut->adds = true;
}

void rs_lang_shortcut_make(struct clause *clause)
{
	struct shortcut *shortcut = &clause->shortcut;

	shortcut->whole = !clause->predicate || tests_of(clause->predicate, shortcut);
	if (shortcut->whole)
		aggregation_of(clause->body, shortcut);
}
