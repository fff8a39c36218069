/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Resolves the names of a clause and determines the type of each expression. An argument must exist
 * in all probes that the clause matches, with one type. A variable exists from its first assignment
 * on, in program order, and has the type of that value. As in the parser, the first error is kept,
 * and code after it has no effect.
 */
#include "lang/front/check.h"

#include <string.h>

#include "base/count.h"
#include "lang/vm/builtin.h"

/* ---- arguments ---------------------------------------------------------------------------- */

static struct type field_type(const struct rs_field *field)
{
	if (rs_type_is_tail(field->type) || field->show == RS_SHOW_NAME)
		return TYPE_OF_STRING;
	if (field->show == RS_SHOW_TSC)
		return TYPE_OF_INT64;
	return (struct type){ .kind = TYPE_INT,
			      .bytes = (uint8_t)rs_type_bytes(field->type),
			      .is_signed = field->type >= RS_TYPE_S8,
			      .hex = field->show == RS_SHOW_HEX };
}

/* Returns the type of an argument. An event that lacks it, or has another type, is an error. */
static struct type arg_type(struct checker *c, struct place at, const struct arg_ref *ref)
{
	struct rs_script *script = c->script;
	struct type type = TYPE_OF_INT64;
	const struct rs_event *first = NULL;

	if (script->front->matched_other || !script->matched.n) {
		FAIL(c, at, "D_ARGS_NONE", "BEGIN, END and ticks have no arguments");
		return type;
	}
	for (uint32_t i = 0; i < script->matched.n; i++) {
		const struct rs_event *event = script->matched.at[i];
		const struct rs_field *field = rs_lang_arg_field(event, ref);
		struct type here;

		if (!field && rs_lang_probe_has_arg(script, event, ref))
			continue;
		if (!field && ref->name) {
			struct nearest nearest = { .written = ref->name };

			for (uint16_t j = 0; j < event->n_fields; j++)
				rs_lang_nearest_try(&nearest, event->fields[j].name, NULL);
			FAIL(c, at, "D_TYPE_MEMBER", "%s has no argument '%s'%s", event->probe,
			     ref->name, rs_lang_nearest_text(&nearest));
			return type;
		}
		if (!field) {
			FAIL(c, at, "D_ARGS_IDX", "%s has %s: there is no args[%u]", event->probe,
			     RS_COUNT_OF(event->n_fields, "argument"), ref->index);
			return type;
		}
		here = field_type(field);
		if (!first) {
			type = here;
			first = event;
		} else if (here.kind != type.kind) {
			FAIL(c, at, "D_ARGS_MULTI",
			     "the argument is text in one of %s and %s, a number in the other: "
			     "describe the probes more narrowly",
			     first->probe, event->probe);
		} else if (here.bytes != type.bytes || here.is_signed != type.is_signed) {
			/* Returns the type that can hold both. */
			uint8_t bytes = here.bytes > type.bytes ? here.bytes : type.bytes;

			type.is_signed |= here.is_signed;
			type.bytes = bytes;
		}
		type.hex &= here.hex;
	}
	return type;
}

static uint32_t arg_add(struct checker *c, const struct arg_ref *ref)
{
	struct rs_script *script = c->script;
	struct arg_ref *slot;

	for (uint32_t i = 0; i < script->args.n; i++) {
		const struct arg_ref *have = &script->args.at[i];

		if (have->raw == ref->raw && have->index == ref->index &&
		    (have->name == ref->name ||
		     (have->name && ref->name && !strcmp(have->name, ref->name))) &&
		    have->type.kind == ref->type.kind && have->type.bytes == ref->type.bytes &&
		    have->type.is_signed == ref->type.is_signed)
			return i;
	}
	slot = VECTOR_ADD(script, &script->args);
	if (!slot) {
		if (!c->err)
			c->err = rs_error_no_memory();
		return 0;
	}
	*slot = *ref;
	return script->args.n - 1;
}

static void check_arg(struct checker *c, struct node *node, struct arg_ref ref)
{
	ref.type = arg_type(c, node->at, &ref);
	node->refers = REFERS_ARG;
	node->index = arg_add(c, &ref);
	node->type = ref.type;
}

/* arg0..arg9: 64 bits of any type; 0 if the event has fewer arguments. */
static bool check_raw_arg(struct checker *c, struct node *node)
{
	struct arg_ref ref = { .raw = true, .type = TYPE_OF_INT64 };

	if (strncmp(node->text, "arg", 3) || node->text[3] < '0' || node->text[3] > '9' ||
	    node->text[4])
		return false;
	ref.index = (uint32_t)(node->text[3] - '0');
	node->type = TYPE_OF_INT64;
	if (c->script->front->matched_error) {
		node->refers = REFERS_ERROR;
		node->index = ref.index;
		return true;
	}
	for (uint32_t i = 0; i < c->script->matched.n; i++) {
		const struct rs_field *field = rs_lang_arg_field(c->script->matched.at[i], &ref);

		if (field && rs_type_is_tail(field->type))
			FAIL(c, node->at, "D_ARGS_TYPE", "%s of %s is text: write args.%s",
			     node->text, c->script->matched.at[i]->probe, field->name);
	}
	node->refers = REFERS_ARG;
	node->index = arg_add(c, &ref);
	return true;
}

/* ---- names -------------------------------------------------------------------------------- */

static bool builtin_find(const char *name, uint32_t *index, struct type *type)
{
	for (uint32_t i = 0; i < rs_lang_n_builtins; i++) {
		if (rs_lang_prototype_is(rs_lang_builtins[i].prototype, name)) {
			struct prototype prototype;

			rs_lang_prototype_read(rs_lang_builtins[i].prototype, &prototype);
			*index = i;
			*type = prototype.result;
			return true;
		}
	}
	return false;
}

/* Replaces the name of an inline with its expression. */
static void expand(struct checker *c, struct node *node, struct variable *variable)
{
	struct node *next = node->next, *value;
	struct type type = variable->type;
	struct place at = node->at;

	if (variable->busy || ++c->script->front->expansions > INLINES_MAX) {
		FAIL(c, node->at, "D_SYNTAX",
		     "inline '%s' refers to itself, or expands to too much", variable->name);
		return;
	}
	value = rs_lang_node_clone(c, variable->inlined);
	if (!value)
		return;
	variable->busy = true;
	rs_lang_check_node(c, value);
	variable->busy = false;
	if (!c->err && value->type.kind != type.kind) {
		FAIL(c, node->at, "D_OP_INCOMPAT",
		     "the value of inline '%s' does not have its declared type", variable->name);
		return;
	}
	if (rs_lang_type_is_scalar(&type)) {
		*node = (struct node){ .kind = N_CAST, .at = at, .a = value, .type = type };
		rs_lang_fold(node);
	} else {
		*node = *value;
	}
	node->next = next;
}

static void undefined(struct checker *c, const struct node *node)
{
	static const char absent[] = " ppid uid gid curpsinfo curlwpsinfo curcpu errno "
				     "vtimestamp caller ucaller ipl root cwd zonename "
				     "regs ";
	struct nearest nearest = { .written = node->text };
	const char *known = strstr(absent, node->text);
	struct prototype prototype;

	if (known && known[-1] == ' ' && known[strlen(node->text)] == ' ') {
		FAIL(c, node->at, "D_VAR_UNSUP", "'%s' is not available; tid, vm, vcpu and cpu are",
		     node->text);
		return;
	}
	for (uint32_t i = 0; i < rs_lang_n_builtins; i++) {
		rs_lang_prototype_read(rs_lang_builtins[i].prototype, &prototype);
		rs_lang_nearest_try(&nearest, prototype.name, NULL);
	}
	for (const struct variable *v = c->script->variables; v; v = v->next) {
		if (v->scope == SCOPE_GLOBAL)
			rs_lang_nearest_try(&nearest, v->name, NULL);
	}
	FAIL(c, node->at, "D_IDENT_UNDEF",
	     "'%s' is neither a variable of D nor assigned before this point%s", node->text,
	     rs_lang_nearest_text(&nearest));
}

static void check_name(struct checker *c, struct node *node)
{
	struct variable *variable = rs_lang_variable_find(c->script, SCOPE_GLOBAL, node->text);

	if (check_raw_arg(c, node))
		return;
	if (!strcmp(node->text, "args")) {
		FAIL(c, node->at, "D_ARGS_TYPE", "write args.name or args[0]");
		return;
	}
	if (variable && variable->inlined && !variable->busy) { /* it hides a variable of D */
		expand(c, node, variable);
		return;
	}
	if (strncmp(node->text, "xdt_", 4) && builtin_find(node->text, &node->index, &node->type)) {
		node->refers = REFERS_BUILTIN;
		return;
	}
	if (variable && variable->inlined) {
		expand(c, node, variable); /* reports a self-reference */
	} else if (variable) {
		if (variable->is_array)
			FAIL(c, node->at, "D_ARR_BADREF",
			     "'%s' is an array: write its keys in brackets", node->text);
		node->refers = REFERS_VARIABLE;
		node->variable = variable;
		node->type = variable->type;
	} else if (!rs_lang_check_enumerator(c, node)) {
		undefined(c, node);
	}
}

static void check_scoped(struct checker *c, struct node *node)
{
	struct variable *variable = rs_lang_variable_find(c->script, node->scope, node->text);

	if (!variable) {
		FAIL(c, node->at, "D_VAR_UNDEF", "%s->%s is not assigned before this point",
		     node->scope == SCOPE_SELF ? "self" : "this", node->text);
		return;
	}
	if (variable->is_array)
		FAIL(c, node->at, "D_ARR_BADREF", "'%s' is an array: write its keys in brackets",
		     node->text);
	node->refers = REFERS_VARIABLE;
	node->variable = variable;
	node->type = variable->type;
}

/* ---- arrays ------------------------------------------------------------------------------- */

/* Checks keys and stores their types. Returns their number. */
uint8_t rs_lang_check_keys(struct checker *c, struct node *args, struct type *keys)
{
	uint8_t n = 0;

	for (struct node *arg = args; arg && !c->err; arg = arg->next) {
		if (n == LANG_KEYS_MAX) {
			FAIL(c, arg->at, "D_PROTO_LEN", "there are more than %d keys",
			     LANG_KEYS_MAX);
			break;
		}
		if (arg->kind == N_AGG)
			FAIL(c, arg->at, "D_KEY_TYPE", "a key must be a number or a string");
		rs_lang_check_node(c, arg);
		rs_lang_check_text(c, arg);
		if (!c->err && !rs_lang_type_is_scalar(&arg->type) && arg->type.kind != TYPE_STRING)
			FAIL(c, arg->at, "D_KEY_TYPE", "a key must be a number or a string");
		keys[n++] = arg->type.kind == TYPE_POINTER ? TYPE_OF_UINT64 : arg->type;
	}
	return n;
}

void rs_lang_check_same_keys(struct checker *c, const struct node *node, const struct type *have,
			     uint8_t n_have, const struct type *expected, uint8_t n_expected)
{
	char got[TYPE_TEXT_MAX], expected_text[TYPE_TEXT_MAX];

	if (n_have != n_expected)
		FAIL(c, node->at, "D_PROTO_LEN",
		     "the number of keys of %s is %u elsewhere and %u here", node->text, n_expected,
		     n_have);
	for (uint8_t i = 0; !c->err && i < n_have; i++) {
		if (have[i].kind != expected[i].kind)
			FAIL(c, node->at, "D_PROTO_ARG",
			     "key %u of %s has type %s elsewhere and %s "
			     "here",
			     i + 1u, node->text, rs_lang_type_text(expected[i], expected_text),
			     rs_lang_type_text(have[i], got));
	}
}

/* x[1, 2], self->x[1]. With `made`, a new array gets that type. */
static void check_array(struct checker *c, struct node *node, const struct type *made)
{
	struct node *base = node->a;
	enum scope scope = base->kind == N_SCOPED ? base->scope : SCOPE_GLOBAL;
	struct type keys[LANG_KEYS_MAX];
	struct variable *variable;
	uint8_t n_keys;

	if (base->kind != N_NAME && base->kind != N_SCOPED) {
		FAIL(c, node->at, "D_ARR_BADREF", "only a variable can have keys");
		return;
	}
	if (scope == SCOPE_THIS) {
		FAIL(c, node->at, "D_ARR_LOCAL",
		     "this->%s[]: associative arrays are global or self-> variables", base->text);
		return;
	}
	n_keys = rs_lang_check_keys(c, node->args, keys);
	if (!n_keys)
		FAIL(c, node->at, "D_ARR_BADREF", "there is no key between the brackets");
	variable = rs_lang_variable_find(c->script, scope, base->text);
	if (!variable && made && !c->err) {
		variable = rs_lang_variable_make(c, base->text, scope, *made, true);
		if (variable) {
			variable->n_keys = n_keys;
			memcpy(variable->keys, keys, sizeof(keys));
		}
	}
	if (!variable) {
		FAIL(c, node->at, "D_IDENT_UNDEF", "'%s[]' is not assigned before this point",
		     base->text);
		return;
	}
	if (!variable->is_array) {
		FAIL(c, node->at, "D_ARR_BADREF", "'%s' is not an array", base->text);
		return;
	}
	node->text = base->text;
	rs_lang_check_same_keys(c, node, keys, n_keys, variable->keys, variable->n_keys);
	node->refers = REFERS_VARIABLE;
	node->variable = variable;
	node->type = variable->type;
}

static bool is_args(const struct node *node)
{
	return node->kind == N_NAME && !strcmp(node->text, "args");
}

/* Returns whether x[1] is an element of an associative array: the name has keys, or is unknown. */
static bool is_associative(const struct checker *c, const struct node *base)
{
	const struct variable *variable;

	if (base->kind != N_NAME && base->kind != N_SCOPED)
		return false;
	variable = rs_lang_variable_find(
		c->script, base->kind == N_SCOPED ? base->scope : SCOPE_GLOBAL, base->text);
	return !variable || variable->is_array ||
	       (!variable->inlined && !rs_lang_type_is_object(&variable->type) &&
		variable->type.kind != TYPE_POINTER);
}

/* uregs[R_RAX] looks like an array, but is a function. */
static bool is_uregs(const struct checker *c, const struct node *base)
{
	return base->kind == N_NAME && !strcmp(base->text, "uregs") &&
	       !rs_lang_variable_find(c->script, SCOPE_GLOBAL, "uregs");
}

static void check_index(struct checker *c, struct node *node)
{
	if (is_uregs(c, node->a)) {
		node->kind = N_CALL;
		node->text = node->a->text;
		node->a = NULL;
		rs_lang_check_call(c, node);
		return;
	}
	if (!is_args(node->a)) {
		if (is_associative(c, node->a))
			check_array(c, node, NULL);
		else
			rs_lang_check_element(c, node);
		return;
	}
	if (!node->args || node->args->next) {
		FAIL(c, node->at, "D_ARGS_IDX", "args[] takes one index");
		return;
	}
	rs_lang_check_node(c, node->args);
	if (!c->err && (!rs_lang_fold(node->args) || node->args->kind != N_INT ||
			node->args->value >= RS_FIELDS_MAX)) {
		FAIL(c, node->at, "D_ARGS_IDX",
		     "the index of args[] must be a constant less than %d", RS_FIELDS_MAX);
		return;
	}
	check_arg(c, node, (struct arg_ref){ .index = (uint32_t)node->args->value });
}

static void check_member(struct checker *c, struct node *node)
{
	if (is_args(node->a))
		check_arg(c, node, (struct arg_ref){ .name = node->text });
	else
		rs_lang_check_object_member(c, node);
}

/* ---- assignments -------------------------------------------------------------------------- */

/* Checks the left side of =. A new variable gets the type `made`. */
static void check_target(struct checker *c, struct node *node, const struct type *made)
{
	uint32_t index;
	struct type type;

	switch (node->kind) {
	case N_NAME:
		if (builtin_find(node->text, &index, &type) || !strcmp(node->text, "args") ||
		    check_raw_arg(c, node)) {
			FAIL(c, node->at, "D_OP_WRITE", "'%s' is read-only", node->text);
			return;
		}
		if (made && !rs_lang_variable_find(c->script, SCOPE_GLOBAL, node->text))
			rs_lang_variable_make(c, node->text, SCOPE_GLOBAL, *made, false);
		rs_lang_check_node(c, node);
		break;
	case N_SCOPED:
		if (made && !rs_lang_variable_find(c->script, node->scope, node->text))
			rs_lang_variable_make(c, node->text, node->scope, *made, false);
		rs_lang_check_node(c, node);
		break;
	case N_INDEX:
		if (is_args(node->a))
			FAIL(c, node->at, "D_OP_WRITE", "args is read-only");
		else if (is_associative(c, node->a))
			check_array(c, node, made);
		else
			rs_lang_check_element(c, node);
		break;
	case N_MEMBER:
		if (is_args(node->a))
			FAIL(c, node->at, "D_OP_WRITE", "args is read-only");
		else
			rs_lang_check_object_member(c, node);
		break;
	case N_DEREF:
		rs_lang_check_deref(c, node);
		break;
	case N_GUEST:
		FAIL(c, node->at, "D_OP_WRITE", "%s is read-only: it is a variable of the guest",
		     node->text);
		return;
	default:
		FAIL(c, node->at, "D_OP_LVAL", "the left side of = is not a variable");
		return;
	}
	if (!c->err && node->refers != REFERS_VARIABLE && node->refers != REFERS_MEMORY)
		FAIL(c, node->at, "D_OP_LVAL", "the left side of = is not a variable");
	if (!c->err && node->type.kind == TYPE_ARRAY)
		FAIL(c, node->at, "D_OP_ARRFUN",
		     "an array cannot be assigned: assign its elements");
}

/* A constant 0 in place of a string is the empty string. */
static void null_text(struct node *node)
{
	if (node->kind == N_INT && !node->value) {
		node->kind = N_TEXT;
		node->text = "";
		node->len = 0;
		node->type = TYPE_OF_STRING;
	}
}

/* A constant 0 is the null pointer and, in place of a struct, no struct. */
static bool is_null(const struct node *node)
{
	return node->kind == N_INT && !node->value;
}

static bool assignable(const struct node *left, const struct node *right)
{
	const struct type *to = &left->type, *from = &right->type;

	if (to->kind == TYPE_POINTER && from->kind == TYPE_POINTER)
		return to->to->kind == TYPE_VOID || from->to->kind == TYPE_VOID ||
		       rs_lang_type_same(to, from);
	if (to->kind == TYPE_POINTER && from->kind == TYPE_ARRAY)
		return rs_lang_type_same(to->to, from->to);
	if (to->kind == TYPE_POINTER)
		return is_null(right);
	if (to->kind == TYPE_RECORD)
		return rs_lang_type_same(to, from) ||
		       (is_null(right) && left->refers == REFERS_VARIABLE &&
			(left->variable->is_array || left->variable->scope == SCOPE_SELF));
	return to->kind == from->kind;
}

/* An array in an expression is a pointer to its first element. */
static struct type decayed(struct type type)
{
	if (type.kind == TYPE_ARRAY)
		return (struct type){ .kind = TYPE_POINTER, .bytes = 8, .to = type.to };
	return type;
}

static void check_compound(struct checker *c, const struct node *node)
{
	const struct type *to = &node->a->type;
	bool adds = node->op == OP_ADD || node->op == OP_SUB;
	char left[TYPE_TEXT_MAX];

	if (to->kind == TYPE_POINTER && adds && node->b->type.kind == TYPE_INT)
		return;
	if (to->kind != TYPE_INT || node->b->type.kind != TYPE_INT)
		FAIL(c, node->at, "D_OP_INCOMPAT",
		     "'%s=' takes numbers, but the variable has type %s", rs_lang_op_text(node->op),
		     rs_lang_type_text(*to, left));
	if ((node->op == OP_DIV || node->op == OP_MOD) && node->b->kind == N_INT && !node->b->value)
		FAIL(c, node->b->at, "D_DIV_ZERO", "division by zero");
}

static void check_assign(struct checker *c, struct node *node)
{
	char left[TYPE_TEXT_MAX], right[TYPE_TEXT_MAX];
	bool plain = node->op == OP_NONE;
	struct type made;

	if (node->b->kind == N_AGG)
		FAIL(c, node->b->at, "D_OP_VFPTR", "an aggregation has no value to assign");
	rs_lang_check_node(c, node->b);
	made = decayed(node->b->type);
	if (!plain) /* x += 1 where x is new: it was 0, of 64 bits */
		made = TYPE_OF_INT64;
	if (!c->err && made.kind == TYPE_VOID)
		FAIL(c, node->b->at, "D_OP_VFPTR", "this expression has no value to assign");
	if (!c->err && made.kind == TYPE_RECORD &&
	    rs_lang_type_bytes(c->script, &made) > LANG_OBJECT_MAX)
		FAIL(c, node->b->at, "D_DECL_ARRBIG",
		     "the struct exceeds %u bytes: keep its address", LANG_OBJECT_MAX);
	check_target(c, node->a, &made);
	if (c->err)
		return;
	if (plain && node->a->type.kind == TYPE_STRING)
		rs_lang_check_text(c, node->b);
	if (plain && node->a->type.kind == TYPE_STRING)
		null_text(node->b); /* self->name = 0 frees its memory */
	if (!plain)
		check_compound(c, node);
	else if (!assignable(node->a, node->b))
		FAIL(c, node->at, "D_OP_INCOMPAT", "cannot assign %s to %s",
		     rs_lang_type_text(node->b->type, right),
		     rs_lang_type_text(node->a->type, left));
	node->type = node->a->type;
}

static void check_post(struct checker *c, struct node *node)
{
	struct type made = TYPE_OF_INT64;

	check_target(c, node->a, &made);
	if (!c->err && !rs_lang_type_is_scalar(&node->a->type))
		FAIL(c, node->at, "D_OP_INT", "++ and -- take numbers");
	node->type = node->a->type;
}

/* ---- operators ---------------------------------------------------------------------------- */

static bool is_comparison(enum op op)
{
	return op >= OP_EQ && op <= OP_GE;
}

static bool is_logical(enum op op)
{
	return op == OP_LAND || op == OP_LOR || op == OP_LXOR;
}

/* p + 1, p - q, p == NULL, p && x. Returns true if the operands are pointers. */
static bool check_pointers(struct checker *c, struct node *node)
{
	struct type a = decayed(node->a->type), b = decayed(node->b->type);
	bool left = a.kind == TYPE_POINTER, right = b.kind == TYPE_POINTER;
	const struct type *to = left ? a.to : b.to;

	if ((!left && !right) || (!left && a.kind != TYPE_INT) || (!right && b.kind != TYPE_INT))
		return false;
	node->type = TYPE_OF_INT;
	if (is_logical(node->op))
		return true;
	if (is_comparison(node->op)) {
		if (left != right && !is_null(left ? node->b : node->a))
			FAIL(c, node->at, "D_OP_INCOMPAT",
			     "cannot compare a pointer with a number: cast one of them");
		return true;
	}
	if (node->op != OP_ADD && (node->op != OP_SUB || !left)) {
		FAIL(c, node->at, "D_OP_ARITH", "'%s' takes numbers", rs_lang_op_text(node->op));
		return true;
	}
	if (left && right && (node->op == OP_ADD || !rs_lang_type_same(&a, &b)))
		FAIL(c, node->at, "D_OP_INCOMPAT",
		     "only pointers of the same type can be subtracted");
	else if (!rs_lang_type_bytes(c->script, to) && to->kind != TYPE_VOID)
		FAIL(c, node->at, "D_OP_INCOMPLETE", "the pointer points to an incomplete type");
	node->type = left && right ? TYPE_OF_INT64 : left ? a : b;
	return true;
}

/* Returns whether the result is hexadecimal if its operands are: the difference of two addresses
 * is not. */
static bool is_hex(enum op op, bool a, bool b)
{
	switch (op) {
	case OP_BAND:
	case OP_BOR:
	case OP_BXOR:
		return a || b;
	case OP_ADD:
	case OP_SUB:
		return a != b;
	case OP_SHL:
	case OP_SHR:
		return a;
	default:
		return false;
	}
}

/* p->comm == "init", p->comm == q->comm: arrays of characters are compared as strings. */
static void compare_texts(struct checker *c, struct node *a, struct node *b)
{
	bool arrays = a->type.kind == TYPE_ARRAY && b->type.kind == TYPE_ARRAY;

	if (arrays || b->type.kind == TYPE_STRING)
		rs_lang_check_text(c, a);
	if (a->type.kind == TYPE_STRING)
		rs_lang_check_text(c, b);
}

static void check_binary(struct checker *c, struct node *node)
{
	bool compares = is_comparison(node->op);
	struct node *a = node->a, *b = node->b;

	if (compares && a->kind != N_NAME && b->kind == N_NAME) {
		rs_lang_check_node(c, a);
		rs_lang_check_enum_operand(c, a, b);
	} else if (compares && a->kind == N_NAME && b->kind != N_NAME) {
		rs_lang_check_node(c, b);
		rs_lang_check_enum_operand(c, b, a);
	}
	if (a->refers != REFERS_ENUM)
		rs_lang_check_node(c, a);
	if (b->refers != REFERS_ENUM)
		rs_lang_check_node(c, b);
	if (c->err)
		return;
	node->type = TYPE_OF_INT;
	if (compares)
		rs_lang_check_named_text(c, node);
	if (compares)
		compare_texts(c, a, b);
	if (c->err)
		return;
	if (node->op == OP_EQ || node->op == OP_NE) {
		if (b->type.kind == TYPE_STRING)
			null_text(a);
		else if (a->type.kind == TYPE_STRING)
			null_text(b);
	}
	if (compares && a->type.kind == TYPE_STRING && b->type.kind == TYPE_STRING)
		return;
	if (check_pointers(c, node))
		return;
	if (a->type.kind != TYPE_INT || b->type.kind != TYPE_INT) {
		if (a->type.kind != b->type.kind)
			FAIL(c, node->at, "D_OP_INCOMPAT",
			     "the operands of '%s' have different types: one is a number, the "
			     "other is not",
			     rs_lang_op_text(node->op));
		FAIL(c, node->at, is_logical(node->op) ? "D_OP_SCALAR" : "D_OP_ARITH",
		     "'%s' takes numbers", rs_lang_op_text(node->op));
		return;
	}
	if (!compares && !is_logical(node->op)) {
		node->type = node->op == OP_SHL || node->op == OP_SHR
				     ? rs_lang_type_promote(a->type)
				     : rs_lang_type_common(a->type, b->type);
		node->type.hex = is_hex(node->op, a->type.hex, b->type.hex);
	}
	if ((node->op == OP_DIV || node->op == OP_MOD) && rs_lang_fold(b) && b->kind == N_INT &&
	    !b->value)
		FAIL(c, b->at, "D_DIV_ZERO", "division by zero");
	rs_lang_fold(node);
}

static void check_unary(struct checker *c, struct node *node)
{
	rs_lang_check_node(c, node->a);
	if (!c->err && node->a->type.kind != TYPE_INT &&
	    (node->op != OP_NOT || !rs_lang_type_is_scalar(&node->a->type)))
		FAIL(c, node->at, node->op == OP_NOT ? "D_OP_SCALAR" : "D_OP_INT",
		     "'%s' takes numbers", rs_lang_op_text(node->op));
	node->type = node->op == OP_NOT ? TYPE_OF_INT : rs_lang_type_promote(node->a->type);
	rs_lang_fold(node);
}

static void check_cond(struct checker *c, struct node *node)
{
	rs_lang_check_node(c, node->a);
	rs_lang_check_node(c, node->b);
	rs_lang_check_node(c, node->c);
	if (c->err)
		return;
	if (!rs_lang_type_is_scalar(&node->a->type))
		FAIL(c, node->a->at, "D_OP_SCALAR", "the condition of '?' must be a number");
	if (node->b->type.kind == TYPE_POINTER && is_null(node->c))
		node->c->type = node->b->type;
	if (node->c->type.kind == TYPE_POINTER && is_null(node->b))
		node->b->type = node->c->type;
	if (node->b->type.kind != node->c->type.kind || node->b->type.kind == TYPE_VOID ||
	    (node->b->type.kind != TYPE_INT && !rs_lang_type_same(&node->b->type, &node->c->type)))
		FAIL(c, node->at, "D_OP_INCOMPAT", "the two results of '?' have different types");
	node->type = node->b->type.kind == TYPE_INT
			     ? rs_lang_type_common(node->b->type, node->c->type)
			     : node->b->type;
	rs_lang_fold(node);
}

static void check_cast(struct checker *c, struct node *node)
{
	char from[TYPE_TEXT_MAX], to[TYPE_TEXT_MAX];
	struct type have;

	rs_lang_check_node(c, node->a);
	have = decayed(node->a->type);
	if (!c->err && !(rs_lang_type_is_scalar(&have) && rs_lang_type_is_scalar(&node->type)) &&
	    !(have.kind == TYPE_STRING && node->type.kind == TYPE_STRING))
		FAIL(c, node->at, "D_CAST_INVAL", "cannot cast %s to %s%s",
		     rs_lang_type_text(node->a->type, from), rs_lang_type_text(node->type, to),
		     node->type.kind == TYPE_STRING ? "; stringof() or lltostr() make a string"
						    : "");
	rs_lang_fold(node);
}

static void check_sizeof(struct checker *c, struct node *node)
{
	struct type type = node->type;

	if (node->a) {
		rs_lang_check_node(c, node->a);
		type = node->a->type;
	}
	if (!c->err && node->a && node->a->kind == N_MEMBER && node->a->member &&
	    node->a->member->bits)
		FAIL(c, node->at, "D_SIZEOF_BITFIELD", "a bit-field has no size in bytes");
	else if (!c->err && !rs_lang_type_bytes(c->script, &type))
		FAIL(c, node->at, "D_SIZEOF_TYPE", "sizeof: this expression has no size");
	node->kind = N_INT;
	node->value = c->err ? 0 : rs_lang_type_bytes(c->script, &type);
	node->type = TYPE_OF_UINT64;
	node->a = NULL;
}

static void check_in_memory(struct checker *c, struct node *node)
{
	switch (node->kind) {
	case N_SIZEOF:
		check_sizeof(c, node);
		break;
	case N_OFFSETOF:
		rs_lang_check_offsetof(c, node);
		break;
	case N_DEREF:
		rs_lang_check_deref(c, node);
		break;
	case N_ADDRESS:
		rs_lang_check_address(c, node);
		break;
	case N_XLATE:
		rs_lang_check_xlate(c, node);
		break;
	default:
		FAIL(c, node->at, "D_SYNTAX",
		     "this must be a statement, not part of an expression");
		break;
	}
}

void rs_lang_check_node(struct checker *c, struct node *node)
{
	if (++c->script->front->visits > LANG_VISITS_MAX)
		FAIL(c, node->at, "D_SYNTAX",
		     "the program is too large once its inlines are expanded");
	if (c->err)
		return;
	switch (node->kind) {
	case N_INT:
		break;
	case N_TEXT:
		node->type = TYPE_OF_STRING;
		break;
	case N_NAME:
		check_name(c, node);
		break;
	case N_SCOPED:
		check_scoped(c, node);
		break;
	case N_INDEX:
		check_index(c, node);
		break;
	case N_MEMBER:
		check_member(c, node);
		break;
	case N_KERNEL:
		if (!builtin_find(node->text, &node->index, &node->type) ||
		    strncmp(node->text, "xdt_", 4))
			FAIL(c, node->at, "D_SYM_BADREF",
			     "`%s: of the kernel's variables only those of xdt are available",
			     node->text);
		node->refers = REFERS_BUILTIN;
		break;
	case N_GUEST:
		rs_lang_check_guest(c, node);
		break;
	case N_CALL:
		rs_lang_check_call(c, node);
		break;
	case N_UNARY:
		check_unary(c, node);
		break;
	case N_POST:
		check_post(c, node);
		break;
	case N_BINARY:
		check_binary(c, node);
		break;
	case N_ASSIGN:
		check_assign(c, node);
		break;
	case N_COND:
		check_cond(c, node);
		break;
	case N_COMMA:
		rs_lang_check_node(c, node->a);
		rs_lang_check_node(c, node->b);
		node->type = node->b->type;
		break;
	case N_CAST:
		check_cast(c, node);
		break;
	case N_AGG:
		FAIL(c, node->at, "D_OP_ACT",
		     "an aggregation has no value: print it with printa()");
		break;
	default:
		check_in_memory(c, node);
		break;
	}
}
