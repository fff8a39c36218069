/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What most events come to without the machine. A predicate, or what it begins with, that compares
 * arguments and numbers is decided on the payload; an aggregation whose keys are of the probe and
 * of who speaks goes to the row that the last such event went to. Made when an event is bound, for
 * then it is known where its arguments lie; the result is the machine's own, which it is tested
 * against.
 */
#include "lang/vm/runtime.h"

#include <string.h>

/* ---- predicates --------------------------------------------------------------------------- */

static bool is_number(const struct node *node, const struct binding *binding, uint64_t *value)
{
	if (node->refers == REFERS_ENUM) {
		*value = binding->enums[node->index];
		return true;
	}
	*value = node->value;
	return node->kind == N_INT;
}

static bool is_argument(const struct node *node)
{
	return node->refers == REFERS_ARG && type_is_scalar(&node->type);
}

static enum op mirrored(enum op op)
{
	switch (op) {
	case OP_LT:
		return OP_GT;
	case OP_LE:
		return OP_GE;
	case OP_GT:
		return OP_LT;
	case OP_GE:
		return OP_LE;
	default:
		return op;
	}
}

/* args.x == 5, 5 < args.x */
static bool test_of(const struct node *node, const struct binding *binding, struct fast_test *test)
{
	const struct node *argument = node->a;
	const struct rs_field *field;

	if (node->kind != N_BINARY || node->op < OP_EQ || node->op > OP_GE)
		return false;
	test->op = node->op;
	if (!is_argument(node->a)) {
		argument = node->b;
		test->op = mirrored(node->op);
	}
	if (!is_argument(argument) ||
	    !is_number(argument == node->a ? node->b : node->a, binding, &test->value))
		return false;
	field = binding->fields[argument->index];
	if (!field || field->type == RS_TYPE_TEXT || field->show == RS_SHOW_TSC)
		return false;
	test->is_signed = type_common(node->a->type, node->b->type).is_signed;
	test->offset = field->offset;
	test->type = field->type;
	return true;
}

/* Of a && b && ... what it begins with; true: that is all of it. */
static bool tests_of(const struct node *node, const struct binding *binding, struct fast *fast)
{
	if (node->kind == N_BINARY && node->op == OP_LAND)
		return tests_of(node->a, binding, fast) && tests_of(node->b, binding, fast);
	if (fast->n_tests == FAST_TESTS || !test_of(node, binding, &fast->tests[fast->n_tests]))
		return false;
	fast->n_tests++;
	return true;
}

/* As rs_field_value(), for the types that most comparisons are of without a call. */
static uint64_t load(const struct fast_test *test, const uint8_t *payload)
{
	const uint8_t *at = payload + test->offset;
	uint64_t wide;
	uint32_t narrow;

	if (test->type == RS_TYPE_U64) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	if (test->type == RS_TYPE_U32) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	return rs_field_value(&(struct rs_field){ .type = test->type, .offset = test->offset },
			      payload);
}

static bool holds(const struct fast_test *test, const uint8_t *payload)
{
	uint64_t a = load(test, payload), b = test->value;
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (test->op) {
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	case OP_LT:
		return test->is_signed ? x < y : a < b;
	case OP_LE:
		return test->is_signed ? x <= y : a <= b;
	case OP_GT:
		return test->is_signed ? x > y : a > b;
	default:
		return test->is_signed ? x >= y : a >= b;
	}
}

bool fast_rejects(const struct fast *fast, const struct rs_view *view)
{
	for (uint8_t i = 0; i < fast->n_tests; i++) {
		if (!holds(&fast->tests[i], view->payload))
			return true;
	}
	return false;
}

/* ---- aggregations ------------------------------------------------------------------------- */

/* A key that is the same as long as probe, stream and CPU are. */
static bool is_steady(const struct node *node)
{
	if (node->kind == N_INT || node->kind == N_TEXT)
		return true;
	return node->refers == REFERS_BUILTIN && builtins[node->index].pure &&
	       !builtins[node->index].varies;
}

/* The body's only statement is an aggregation with steady keys, of an argument or of nothing. */
static void aggregation_of(const struct clause *clause, const struct binding *binding,
			   struct fast *fast)
{
	const struct node *node = clause->body, *value;

	if (!node || node->next || node->kind != N_AGGREGATE)
		return;
	for (const struct node *key = node->a->args; key; key = key->next) {
		if (!is_steady(key))
			return;
	}
	value = node->b->args;
	if (value && (value->next || !is_argument(value) || value->type.kind != TYPE_INT))
		return;
	if (value) {
		const struct rs_field *field = binding->fields[value->index];

		if (!field || field->type == RS_TYPE_TEXT || field->show == RS_SHOW_TSC)
			return;
	}
	fast->value = value ? binding->fields[value->index] : NULL;
	fast->value_type = value ? value->type : TYPE_OF_INT64;
	fast->adds = true;
}

bool fast_adds(struct fast *fast, const struct rs_view *view, const struct agg_table *table)
{
	int64_t value = 0;

	if (fast->stream != view->stream || fast->cpu != view->cpu ||
	    fast->generation != table->generation)
		return false;
	if (fast->value)
		value = (int64_t)type_cut(fast->value_type,
					  rs_field_value(fast->value, view->payload));
	agg_update(fast->row, value);
	return true;
}

void fast_keep(struct fast *fast, const struct rs_view *view, const struct agg_table *table)
{
	fast->stream = view->stream;
	fast->cpu = view->cpu;
	fast->generation = table->generation;
	fast->row = table->last_row;
}

struct rs_error *fast_make(struct rs_script *script, const struct binding *binding,
			   const struct clause *clause, struct fast **out)
{
	struct fast fast = { .whole = true };

	*out = NULL;
	if (clause->predicate) /* what is tested twice does nothing twice: it is only looked at */
		fast.whole = tests_of(clause->predicate, binding, &fast);
	if (fast.whole)
		aggregation_of(clause, binding, &fast);
	if (!fast.n_tests && !fast.adds)
		return NULL;
	*out = rs_arena_alloc(&script->arena, sizeof(fast));
	if (!*out)
		return rs_error_no_memory();
	**out = fast;
	return NULL;
}
