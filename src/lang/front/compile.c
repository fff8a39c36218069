/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiles the checked tree to code for a stack machine: the predicate of a clause, then its
 * statements, each of which leaves the stack unchanged. Only walks jump backward, and they count
 * down, so every clause terminates.
 */
#include "lang/front/tree.h"
#include "lang/vm/memory.h"

#include <string.h>

#include "base/vector.h"

struct compiler {
	struct rs_script *script;
	struct clause *clause;
	struct rs_error *err;
	uint32_t room, n_walks;
	uint16_t act; /* the current statement, from 1 */
};

static uint32_t emit(struct compiler *c, enum opcode op, uint32_t n, uint32_t k, struct place at)
{
	struct clause *clause = c->clause;
	uint32_t index = clause->n_code, code_room = c->room, places_room = c->room;

	if (c->err)
		return 0;
	if (index == LANG_CODE_MAX) {
		c->err = rs_lang_error(c->script, at, "D_SYNTAX",
				       "the clause exceeds %u instructions: split it",
				       LANG_CODE_MAX);
		return 0;
	}
	if (!RS_VECTOR_RESERVE(clause->code, code_room, index + 1) ||
	    !RS_VECTOR_RESERVE(clause->places, places_room, index + 1) ||
	    !RS_VECTOR_RESERVE(clause->acts, c->room, index + 1)) {
		c->err = rs_error_no_memory();
		return 0;
	}
	clause->code[index] = (struct insn){ (uint8_t)op, (uint8_t)n, k };
	clause->places[index] = at;
	clause->acts[index] = c->act;
	clause->n_code++;
	return index;
}

/* Sets the target of a jump to this place. */
static void land(struct compiler *c, uint32_t jump)
{
	if (!c->err)
		c->clause->code[jump].k = c->clause->n_code;
}

static void emit_int(struct compiler *c, uint64_t value, struct place at)
{
	uint64_t *slot;

	for (uint32_t i = 0; i < c->script->ints.n; i++) {
		if (c->script->ints.at[i] == value) {
			emit(c, I_CONST, 0, i, at);
			return;
		}
	}
	slot = VECTOR_ADD(c->script, &c->script->ints);
	if (!slot) {
		c->err = rs_error_no_memory();
		return;
	}
	*slot = value;
	emit(c, I_CONST, 0, c->script->ints.n - 1, at);
}

static void emit_text(struct compiler *c, const char *text, size_t len, struct place at)
{
	struct text_constant *slot = VECTOR_ADD(c->script, &c->script->texts);
	size_t most = c->script->options[OPT_STRSIZE] - 1;

	if (!slot) {
		c->err = rs_error_no_memory();
		return;
	}
	len = strnlen(text, len); /* a string of D ends at a NUL */
	*slot = (struct text_constant){ text, (uint32_t)(len < most ? len : most) };
	emit(c, I_TEXT, 0, c->script->texts.n - 1, at);
}

static void expression(struct compiler *c, const struct node *node);

/* ---- variables ---------------------------------------------------------------------------- */

static bool is_dynamic(const struct variable *variable)
{
	return variable->is_array || variable->scope == SCOPE_SELF;
}

static void cut(struct compiler *c, struct type type, struct place at)
{
	if (type.kind == TYPE_INT && type.bytes < 8)
		emit(c, I_CUT, type.bytes | (type.is_signed ? 0x80 : 0), 0, at);
}

/* Emits the code of a key: the variable, the thread, the tuple. */
static void key(struct compiler *c, const struct node *args, uint32_t flags, struct place at)
{
	uint32_t n = 0, texts = 0;

	for (const struct node *arg = args; arg; arg = arg->next, n++) {
		expression(c, arg);
		if (flags & LANG_KEY_AGGREGATION) /* the output shows it in the width of its type */
			cut(c, arg->type, arg->at);
		texts |= (uint32_t)(arg->type.kind == TYPE_STRING) << n;
	}
	emit(c, I_KEY, texts, flags | n << 16, at);
}

/* Returns the second operand of KEY: the number of the variable, the number of keys (from bit
 * 16) and their owner. */
static uint32_t key_flags(const struct variable *variable)
{
	return variable->slot | (variable->scope == SCOPE_SELF ? LANG_KEY_SELF : LANG_KEY_GLOBAL);
}

static void load(struct compiler *c, const struct node *node)
{
	const struct variable *variable = node->variable;
	bool text = variable->type.kind == TYPE_STRING;

	if (is_dynamic(variable)) {
		key(c, node->kind == N_INDEX ? node->args : NULL, key_flags(variable), node->at);
		emit(c, text ? I_DLOADS : I_DLOADI, 0, variable->slot, node->at);
		return;
	}
	emit(c, text ? I_LOADS : I_LOADI, variable->scope, variable->slot, node->at);
}

/* ---- memory ------------------------------------------------------------------------------- */

static void scale(struct compiler *c, const struct type *to, struct place at)
{
	uint64_t bytes = rs_lang_type_bytes(c->script, to);

	if (bytes > 1) {
		emit_int(c, bytes, at);
		emit(c, I_MUL, 0, 0, at);
	}
}

/* Emits the address of a struct or an array; with `makes`, the machine creates a missing object. */
static void variable_address(struct compiler *c, const struct node *node, bool makes)
{
	const struct variable *variable = node->variable;
	uint64_t region = variable->scope == SCOPE_THIS ? MEMORY_THIS : MEMORY_GLOBALS;

	if (!is_dynamic(variable)) {
		emit_int(c, region | variable->at, node->at);
		return;
	}
	key(c, node->kind == N_INDEX ? node->args : NULL, key_flags(variable), node->at);
	emit(c, I_DADDR, makes, (uint32_t)rs_lang_type_bytes(c->script, &variable->type), node->at);
}

/* Emits the value of a pointer or an array, which is its address. */
static void pointer(struct compiler *c, const struct node *node)
{
	expression(c, node);
	if (node->type.kind == TYPE_POINTER && node->type.guest)
		emit(c, I_GUEST, 0, 0, node->at);
}

/* Emits the address of an object. */
static void address(struct compiler *c, const struct node *node, bool makes)
{
	if (node->refers == REFERS_VARIABLE && rs_lang_type_is_object(&node->variable->type)) {
		variable_address(c, node, makes);
	} else if (node->refers != REFERS_MEMORY) {
		expression(c, node); /* a pointer's value, or the result of a function */
	} else if (node->kind == N_GUEST) {
		emit(c, I_VARIABLE, 0, node->index, node->at);
	} else if (node->kind == N_DEREF) {
		pointer(c, node->a);
	} else if (node->kind == N_MEMBER) {
		bool through = node->op == OP_ARROW && node->a->type.kind == TYPE_POINTER;

		if (through)
			pointer(c, node->a);
		else
			address(c, node->a, makes);
		if (node->member->offset) {
			emit_int(c, node->member->offset, node->at);
			emit(c, I_ADD, 0, 0, node->at);
		}
	} else { /* a[i] */
		if (node->a->type.kind == TYPE_ARRAY)
			address(c, node->a, makes);
		else
			pointer(c, node->a);
		expression(c, node->args);
		if (node->a->type.kind == TYPE_ARRAY && node->a->type.n)
			emit(c, I_BOUND, 0, node->a->type.n, node->args->at);
		scale(c, &node->type, node->at);
		emit(c, I_ADD, 0, 0, node->at);
	}
}

static uint32_t width(const struct type *type)
{
	return type->bytes | (type->is_signed ? 0x80u : 0);
}

/* Returns the operand of a bit-field: its bits << 8 | at. */
static uint32_t bits_of(const struct node *node)
{
	if (node->kind != N_MEMBER || !node->member->bits)
		return 0;
	return (uint32_t)node->member->bits << 8 | node->member->at;
}

/* Emits the load of an object: a number or a string; of a struct or an array, its address. */
static void load_memory(struct compiler *c, const struct node *node)
{
	address(c, node, false);
	if (node->type.kind == TYPE_STRING)
		emit(c, I_MLOADS, 0, (uint32_t)c->script->options[OPT_STRSIZE], node->at);
	else if (!rs_lang_type_is_object(&node->type))
		emit(c, I_MLOADI, width(&node->type), bits_of(node), node->at);
}

static void store_memory(struct compiler *c, const struct node *node)
{
	if (node->type.kind == TYPE_STRING)
		emit(c, I_MSTORES, 0, (uint32_t)c->script->options[OPT_STRSIZE], node->at);
	else
		emit(c, I_MSTOREI, width(&node->type), bits_of(node), node->at);
}

static enum opcode arithmetic(enum op op, bool is_signed)
{
	switch (op) {
	case OP_ADD:
		return I_ADD;
	case OP_SUB:
		return I_SUB;
	case OP_MUL:
		return I_MUL;
	case OP_DIV:
		return is_signed ? I_DIVS : I_DIVU;
	case OP_MOD:
		return is_signed ? I_MODS : I_MODU;
	case OP_BAND:
		return I_AND;
	case OP_BOR:
		return I_OR;
	case OP_BXOR:
		return I_XOR;
	case OP_SHL:
		return I_SHL;
	case OP_SHR:
		return is_signed ? I_SHRS : I_SHRU;
	case OP_EQ:
		return I_EQ;
	case OP_NE:
		return I_NE;
	case OP_LT:
		return is_signed ? I_LTS : I_LTU;
	case OP_LE:
		return is_signed ? I_LES : I_LEU;
	case OP_GT:
		return is_signed ? I_GTS : I_GTU;
	default:
		return is_signed ? I_GES : I_GEU;
	}
}

/* Emits the operand of += or ++, scaled to the elements of a pointer. */
static void operate(struct compiler *c, const struct node *node)
{
	struct type type = node->a->type;

	if (node->kind == N_POST)
		emit_int(c, 1, node->at);
	else
		expression(c, node->b);
	if (type.kind == TYPE_POINTER)
		scale(c, type.to, node->at);
	else if (node->kind != N_POST && node->op != OP_SHL && node->op != OP_SHR)
		type = rs_lang_type_common(type, node->b->type);
	emit(c, arithmetic(node->op, type.is_signed), 0, 0, node->at);
}

/* Assigns a struct: copies its bytes; 0 removes a dynamic one. */
static void assign_object(struct compiler *c, const struct node *node)
{
	const struct node *to = node->a;

	if (node->b->type.kind == TYPE_INT) {
		key(c, to->kind == N_INDEX ? to->args : NULL, key_flags(to->variable), node->at);
		emit(c, I_DFREE, 0, (uint32_t)rs_lang_type_bytes(c->script, &to->type), node->at);
		emit_int(c, MEMORY_ZEROS, node->at);
		return;
	}
	address(c, to, true);
	address(c, node->b, false);
	emit(c, I_COPY, 0, (uint32_t)rs_lang_type_bytes(c->script, &to->type), node->at);
}

static void assign_memory(struct compiler *c, const struct node *node)
{
	address(c, node->a, true);
	if (node->op != OP_NONE) {
		emit(c, I_DUPI, 0, 0, node->at);
		emit(c, I_MLOADI, width(&node->a->type), bits_of(node->a), node->at);
		operate(c, node);
	} else {
		expression(c, node->b);
	}
	cut(c, node->a->type, node->at);
	store_memory(c, node->a);
}

static void assign_variable(struct compiler *c, const struct node *node)
{
	const struct variable *variable = node->a->variable;
	bool text = variable->type.kind == TYPE_STRING, dynamic = is_dynamic(variable);

	if (dynamic)
		key(c, node->a->kind == N_INDEX ? node->a->args : NULL, key_flags(variable),
		    node->at);
	if (node->op != OP_NONE && dynamic) {
		emit(c, I_DUPK, 0, 0, node->at);
		emit(c, I_DLOADI, 0, variable->slot, node->at);
	} else if (node->op != OP_NONE) {
		load(c, node->a);
	}
	if (node->op != OP_NONE)
		operate(c, node);
	else
		expression(c, node->b);
	cut(c, variable->type, node->at);
	if (dynamic)
		emit(c, text ? I_DSTORES : I_DSTOREI, 0, variable->slot, node->at);
	else
		emit(c, text ? I_STORES : I_STOREI, variable->scope, variable->slot, node->at);
}

/* a = b, a += b, a++. Leaves the new value; a++ leaves the old one. */
static void assign(struct compiler *c, const struct node *node)
{
	const struct type *type = &node->a->type;

	if (rs_lang_type_is_object(type))
		assign_object(c, node);
	else if (node->a->refers == REFERS_MEMORY)
		assign_memory(c, node);
	else
		assign_variable(c, node);
	if (node->kind != N_POST)
		return;
	emit_int(c, 1, node->at);
	if (type->kind == TYPE_POINTER)
		scale(c, type->to, node->at);
	emit(c, node->op == OP_ADD ? I_SUB : I_ADD, 0, 0, node->at);
	cut(c, *type, node->at);
}

/* ---- expressions -------------------------------------------------------------------------- */

/* a && b, a || b: 0 or 1. Evaluates b only if a does not decide. */
static void logical(struct compiler *c, const struct node *node)
{
	enum opcode jump = node->op == OP_LAND ? I_JZERO : I_JNZERO;
	uint32_t first, second, end;

	expression(c, node->a);
	first = emit(c, jump, 0, 0, node->at);
	expression(c, node->b);
	second = emit(c, jump, 0, 0, node->at);
	emit_int(c, node->op == OP_LAND, node->at);
	end = emit(c, I_JUMP, 0, 0, node->at);
	land(c, first);
	land(c, second);
	emit_int(c, node->op != OP_LAND, node->at);
	land(c, end);
}

/* Returns the type that a pointer or an array leads to, or NULL if it is neither. */
static const struct type *pointee(const struct type *type)
{
	return type->kind == TYPE_POINTER || type->kind == TYPE_ARRAY ? type->to : NULL;
}

/* p + 1, 1 + p, p - 1, p - q, p < q. Returns false if no operand is a pointer. */
static bool pointer_arithmetic(struct compiler *c, const struct node *node)
{
	const struct type *left = pointee(&node->a->type), *right = pointee(&node->b->type);
	uint64_t bytes;

	if (!left && !right)
		return false;
	expression(c, node->a);
	if (!left && node->op == OP_ADD)
		scale(c, right, node->at);
	expression(c, node->b);
	if (left && !right && (node->op == OP_ADD || node->op == OP_SUB))
		scale(c, left, node->at);
	emit(c, arithmetic(node->op, false), 0, 0, node->at);
	bytes = left ? rs_lang_type_bytes(c->script, left) : 1;
	if (left && right && node->op == OP_SUB && bytes > 1) {
		emit_int(c, bytes, node->at);
		emit(c, I_DIVS, 0, 0, node->at);
	}
	return true;
}

static void binary(struct compiler *c, const struct node *node)
{
	struct type type;

	if (node->op == OP_LAND || node->op == OP_LOR) {
		logical(c, node);
		return;
	}
	if (node->op != OP_LXOR && pointer_arithmetic(c, node))
		return;
	expression(c, node->a);
	if (node->op == OP_LXOR)
		emit(c, I_NOT, 0, 0, node->at);
	expression(c, node->b);
	if (node->op == OP_LXOR) {
		emit(c, I_NOT, 0, 0, node->at);
		emit(c, I_NE, 0, 0, node->at);
		return;
	}
	if (node->a->type.kind == TYPE_STRING) {
		emit(c, I_COMPARE, 0, 0, node->at);
		emit_int(c, 0, node->at);
		emit(c, arithmetic(node->op, true), 0, 0, node->at);
		return;
	}
	type = node->op == OP_SHL || node->op == OP_SHR
		       ? rs_lang_type_promote(node->a->type)
		       : rs_lang_type_common(node->a->type, node->b->type);
	emit(c, arithmetic(node->op, type.is_signed), 0, 0, node->at);
}

static void conditional(struct compiler *c, const struct node *node)
{
	uint32_t other, end;

	expression(c, node->a);
	other = emit(c, I_JZERO, 0, 0, node->at);
	expression(c, node->b);
	end = emit(c, I_JUMP, 0, 0, node->at);
	land(c, other);
	expression(c, node->c);
	land(c, end);
}

/* stringof(p), stringof(a.name): the bytes up to a NUL or the end of the array. */
static void stringof_memory(struct compiler *c, const struct node *node)
{
	pointer(c, node);
	emit(c, I_MLOADS, 0, node->type.kind == TYPE_ARRAY ? node->type.n : 0, node->at);
}

static void call(struct compiler *c, const struct node *node)
{
	struct prototype prototype;
	uint32_t n = 0;

	if (!strcmp(node->text, "stringof")) {
		if (node->args->type.kind == TYPE_STRING)
			expression(c, node->args);
		else if (pointee(&node->args->type))
			stringof_memory(c, node->args);
		else
			emit(c, I_ARGENUM, 0, node->args->index, node->at);
		return;
	}
	rs_lang_prototype_read(rs_lang_functions[node->index].prototype, &prototype);
	for (const struct node *arg = node->args; arg; arg = arg->next, n++) {
		expression(c, arg);
		if (prototype.args[n].kind == TYPE_POINTER && arg->type.kind == TYPE_STRING)
			emit(c, I_TEXTAT, 0, 0, arg->at);
	}
	emit(c, I_CALL, n, node->index, node->at);
}

static void reference(struct compiler *c, const struct node *node)
{
	bool text = node->type.kind == TYPE_STRING;

	switch (node->refers) {
	case REFERS_VARIABLE:
		if (rs_lang_type_is_object(&node->type))
			address(c, node, false);
		else
			load(c, node);
		break;
	case REFERS_MEMORY:
		load_memory(c, node);
		break;
	case REFERS_BUILTIN:
		emit(c, text ? I_VARS : I_VARI, 0, node->index, node->at);
		break;
	case REFERS_ARG:
		emit(c, text ? I_ARGTEXT : I_ARG, 0, node->index, node->at);
		break;
	case REFERS_ENUM:
		emit(c, I_ENUM, 0, node->index, node->at);
		break;
	case REFERS_ERROR:
		emit(c, I_MACRO, 0, node->index, node->at);
		break;
	default:
		c->err =
			rs_error_create(RS_FAILED, "an unresolved name reached the code generator");
		break;
	}
}

static void pop(struct compiler *c, const struct node *node)
{
	emit(c, node->type.kind == TYPE_STRING ? I_POPS : I_POPI, 0, 0, node->at);
}

static void expression(struct compiler *c, const struct node *node)
{
	if (c->err)
		return;
	switch (node->kind) {
	case N_INT:
		emit_int(c, node->value, node->at);
		break;
	case N_TEXT:
		emit_text(c, node->text, node->len, node->at);
		break;
	case N_UNARY:
		expression(c, node->a);
		if (node->op != OP_ADD)
			emit(c,
			     node->op == OP_SUB	  ? I_NEG
			     : node->op == OP_INV ? I_INV
						  : I_NOT,
			     0, 0, node->at);
		break;
	case N_BINARY:
		binary(c, node);
		break;
	case N_ASSIGN:
	case N_POST:
		assign(c, node);
		break;
	case N_COND:
		conditional(c, node);
		break;
	case N_COMMA:
		expression(c, node->a);
		pop(c, node->a);
		expression(c, node->b);
		break;
	case N_CAST:
		expression(c, node->a);
		cut(c, node->type, node->at);
		break;
	case N_CALL:
		call(c, node);
		break;
	case N_ADDRESS:
		address(c, node->a, false);
		break;
	default:
		reference(c, node);
		break;
	}
}

/* ---- statements --------------------------------------------------------------------------- */

static void statements(struct compiler *c, const struct node *first);

static void if_statement(struct compiler *c, const struct node *node)
{
	uint32_t other, end;

	expression(c, node->a);
	other = emit(c, I_JZERO, 0, 0, node->at);
	statements(c, node->b);
	if (!node->c) {
		land(c, other);
		return;
	}
	end = emit(c, I_JUMP, 0, 0, node->at);
	land(c, other);
	statements(c, node->c);
	land(c, end);
}

/* it = first; at most `value` times, while it is not 0: the body; it = next. */
static void walk(struct compiler *c, const struct node *node)
{
	uint32_t counter = c->n_walks++, head, done;
	uint32_t slot = node->variable->slot;

	expression(c, node->a);
	cut(c, node->variable->type, node->at);
	emit(c, I_STOREI, SCOPE_THIS, slot, node->at);
	emit(c, I_POPI, 0, 0, node->at);
	emit(c, I_WALK, counter, (uint32_t)node->value, node->at);
	head = emit(c, I_STEP, counter, 0, node->at);
	emit(c, I_LOADI, SCOPE_THIS, slot, node->at);
	done = emit(c, I_JZERO, 0, 0, node->at);
	statements(c, node->c);
	expression(c, node->b);
	cut(c, node->variable->type, node->at);
	emit(c, I_STOREI, SCOPE_THIS, slot, node->at);
	emit(c, I_POPI, 0, 0, node->at);
	emit(c, I_AGAIN, counter, head, node->at);
	land(c, head);
	land(c, done);
}

/* Emits the arguments, each as wide as its type, then the action. */
static void action(struct compiler *c, const struct node *node, const struct node *args)
{
	for (const struct node *arg = args; arg; arg = arg->next) {
		expression(c, arg);
		cut(c, arg->type, arg->at);
	}
	emit(c, I_DO, 0, node->index, node->at);
}

static void statement(struct compiler *c, const struct node *node)
{
	if (node->kind == N_IF) {
		if_statement(c, node);
	} else if (node->kind == N_WALK) {
		walk(c, node);
	} else if (node->kind == N_AGGREGATE) {
		if (node->a->args)
			key(c, node->a->args, LANG_KEY_AGGREGATION, node->a->at);
		action(c, node, node->b->args);
	} else if (node->kind == N_CALL && node->is_action) {
		action(c, node, node->args);
	} else {
		expression(c, node);
		pop(c, node);
	}
}

static void statements(struct compiler *c, const struct node *first)
{
	for (const struct node *node = first; node && !c->err; node = node->next) {
		c->act++;
		statement(c, node);
	}
}

struct rs_error *rs_lang_compile_clause(struct rs_script *script, struct clause *clause)
{
	struct compiler c = { .script = script, .clause = clause };
	struct place at = clause->at;

	if (clause->predicate) {
		expression(&c, clause->predicate);
		emit(&c, I_TRUTH, 0, 0, clause->predicate->at);
	}
	clause->test_end = clause->n_code;
	statements(&c, clause->body);
	emit(&c, I_END, 0, 0, at);
	return c.err;
}
