/* SPDX-License-Identifier: BSD-2-Clause */
/* Folds constant expressions. Arithmetic has 64 bits, as in the machine. */
#include "lang/front/tree.h"

static bool operate(enum op op, bool is_signed, uint64_t a, uint64_t b, uint64_t *value)
{
	int64_t x = (int64_t)a, y = (int64_t)b;

	switch (op) {
	case OP_ADD:
		*value = a + b;
		return true;
	case OP_SUB:
		*value = a - b;
		return true;
	case OP_MUL:
		*value = a * b;
		return true;
	case OP_DIV:
		if (!b || (is_signed && x == INT64_MIN && y == -1))
			return false; /* the fault occurs at run time */
		*value = is_signed ? (uint64_t)(x / y) : a / b;
		return true;
	case OP_MOD:
		if (!b || (is_signed && y == -1))
			return false;
		*value = is_signed ? (uint64_t)(x % y) : a % b;
		return true;
	case OP_BAND:
		*value = a & b;
		return true;
	case OP_BOR:
		*value = a | b;
		return true;
	case OP_BXOR:
		*value = a ^ b;
		return true;
	case OP_SHL:
		*value = a << (b & 63);
		return true;
	case OP_SHR:
		*value = is_signed ? (uint64_t)(x >> (b & 63)) : a >> (b & 63);
		return true;
	case OP_LAND:
		*value = a && b;
		return true;
	case OP_LOR:
		*value = a || b;
		return true;
	case OP_LXOR:
		*value = !a != !b;
		return true;
	case OP_EQ:
		*value = a == b;
		return true;
	case OP_NE:
		*value = a != b;
		return true;
	case OP_LT:
		*value = is_signed ? x < y : a < b;
		return true;
	case OP_LE:
		*value = is_signed ? x <= y : a <= b;
		return true;
	case OP_GT:
		*value = is_signed ? x > y : a > b;
		return true;
	case OP_GE:
		*value = is_signed ? x >= y : a >= b;
		return true;
	default:
		return false;
	}
}

static bool constant(const struct node *node)
{
	return node && node->kind == N_INT;
}

static void become(struct node *node, uint64_t value, struct type type)
{
	node->kind = N_INT;
	node->value = value;
	node->type = type;
	node->a = node->b = node->c = NULL;
}

static bool fold_unary(struct node *node)
{
	uint64_t a = node->a->value;

	if (!constant(node->a))
		return false;
	become(node,
	       node->op == OP_SUB   ? -a
	       : node->op == OP_INV ? ~a
	       : node->op == OP_NOT ? !a
				    : a,
	       node->op == OP_NOT ? TYPE_OF_INT : rs_lang_type_promote(node->a->type));
	return true;
}

static bool fold_binary(struct node *node)
{
	bool compares = node->op >= OP_EQ && node->op <= OP_GE;
	bool logical = node->op == OP_LAND || node->op == OP_LOR || node->op == OP_LXOR;
	struct type type;
	uint64_t value;

	if (!constant(node->a) || !constant(node->b))
		return false;
	type = node->op == OP_SHL || node->op == OP_SHR
		       ? rs_lang_type_promote(node->a->type)
		       : rs_lang_type_common(node->a->type, node->b->type);
	if (!operate(node->op, type.is_signed, node->a->value, node->b->value, &value))
		return false;
	become(node, value, compares || logical ? TYPE_OF_INT : type);
	return true;
}

/* The depth of the tree is that which the parser allows. */
bool rs_lang_fold(struct node *node)
{
	switch (node->kind) {
	case N_INT:
	case N_TEXT:
		return true;
	case N_UNARY:
		return rs_lang_fold(node->a) && fold_unary(node);
	case N_BINARY:
		return rs_lang_fold(node->a) && rs_lang_fold(node->b) && fold_binary(node);
	case N_CAST:
		if (!rs_lang_fold(node->a) || !constant(node->a) || node->type.kind != TYPE_INT)
			return false;
		become(node, rs_lang_type_cut(node->type, node->a->value), node->type);
		return true;
	case N_COND:
		if (!rs_lang_fold(node->a) || !constant(node->a) || !rs_lang_fold(node->b) ||
		    !rs_lang_fold(node->c) || !constant(node->b) || !constant(node->c))
			return false;
		become(node, node->a->value ? node->b->value : node->c->value,
		       rs_lang_type_common(node->b->type, node->c->type));
		return true;
	default:
		return false;
	}
}
