/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves the properties of a clause's code on which the machine relies, independently of the code's
 * origin: operands are within their tables; jumps go forward to an instruction, with an identical
 * stack layout; a backward jump belongs to a walk that counts down; each instruction finds its
 * operands on the stack; the stack stays within its limit; the last instruction is END.
 */
#include "lang/vm/builtin.h"
#include "lang/vm/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *takes, *gives;
} ops[] = {
#define OP(name, takes, gives, help) { #name, takes, gives },
#include "lang/vm/ops.def"
#undef OP
};

/* The types on the stack at a place, as letters; n < 0: the place is unreachable. */
struct shape {
	int n;
	char types[LANG_STACK_MAX];
	uint32_t keys[LANG_STACK_MAX]; /* of a tuple: the operands of its KEY */
};

struct verifier {
	const struct rs_script *script;
	const struct type **slots[3]; /* the variables' types, by scope; dynamic ones are self's */
	uint32_t tuple;		      /* of the last popped key */
	const struct clause *clause;
	struct shape now;
	struct shape **at;		    /* at jump targets, set at the jump */
	struct shape *head[LANG_WALKS_MAX]; /* of the walks, at their STEP */
	uint32_t pc;
};

static struct rs_error *refuse(const struct verifier *v, const char *what)
{
	return rs_lang_error(
		v->script, v->clause->at, "D_UNKNOWN",
		"the verifier rejects the compiled code (a defect of ringside): instruction %u, %s",
		v->pc, what);
}

static struct rs_error *pop(struct verifier *v, char type)
{
	if (!v->now.n || v->now.types[v->now.n - 1] != type)
		return refuse(v, "the stack lacks its operands");
	v->now.n--;
	if (type == 'k')
		v->tuple = v->now.keys[v->now.n];
	return NULL;
}

static struct rs_error *push(struct verifier *v, char type)
{
	if (v->now.n == LANG_STACK_MAX)
		return refuse(v, "the stack is too deep: split the expression");
	v->now.keys[v->now.n] = type == 'k' ? v->tuple : 0;
	v->now.types[v->now.n++] = type;
	return NULL;
}

/* Returns whether two paths to a place have the same stack layout. */
static bool same_shape(const struct shape *a, const struct shape *b)
{
	return a->n == b->n && !memcmp(a->types, b->types, (size_t)a->n) &&
	       !memcmp(a->keys, b->keys, (size_t)a->n * sizeof(*a->keys));
}

static char letter(struct type type)
{
	return type.kind == TYPE_STRING ? 's' : 'i';
}

static bool width_is_good(uint8_t n)
{
	n &= 0x7f;
	return n == 1 || n == 2 || n == 4 || n == 8;
}

/* Returns whether a variable of this kind exists: 'i', 's', 'o' for an object; 0: any. */
static bool slot_is(const struct verifier *v, uint32_t scope, uint32_t slot, char kind)
{
	const struct type *type = slot < v->script->n_slots[scope] ? v->slots[scope][slot] : NULL;

	if (!type)
		return false;
	return !kind || kind == (rs_lang_type_is_object(type) ? 'o' : letter(*type));
}

static char letter_of_slot(uint8_t op)
{
	return op == I_LOADS || op == I_STORES || op == I_DLOADS || op == I_DSTORES ? 's' : 'i';
}

/* Returns whether the operands are within their tables. */
static bool operands(const struct verifier *v, const struct insn *insn)
{
	const struct rs_script *script = v->script;
	struct prototype prototype;
	uint32_t k = insn->k;

	switch ((enum opcode)insn->op) {
	case I_CONST:
		return k < script->ints.n;
	case I_TEXT:
		return k < script->texts.n;
	case I_ARG:
		return k < script->args.n && script->args.at[k].type.kind == TYPE_INT;
	case I_ARGTEXT:
		return k < script->args.n && script->args.at[k].type.kind == TYPE_STRING;
	case I_ARGENUM:
		return k < script->args.n;
	case I_ENUM:
		return k < script->enums.n;
	case I_VARI:
	case I_VARS:
		if (k >= rs_lang_n_builtins)
			return false;
		rs_lang_prototype_read(rs_lang_builtins[k].prototype, &prototype);
		return (prototype.result.kind == TYPE_STRING) == (insn->op == I_VARS);
	case I_MACRO:
		return k < 10;
	case I_LOADI:
	case I_LOADS:
	case I_STOREI:
	case I_STORES:
		return (insn->n == SCOPE_GLOBAL || insn->n == SCOPE_THIS) &&
		       slot_is(v, insn->n, k, letter_of_slot(insn->op));
	case I_DLOADI:
	case I_DLOADS:
	case I_DSTOREI:
	case I_DSTORES:
		return slot_is(v, SCOPE_SELF, k, letter_of_slot(insn->op));
	case I_KEY:
		return (k >> 16 & 0xff) <= LANG_KEYS_MAX && k >> 24 <= 2 &&
		       (k >> 24 == 2 || slot_is(v, SCOPE_SELF, k & 0xffff, 0));
	case I_CALL:
		return k < rs_lang_n_functions;
	case I_DO:
		return k < script->actions.n;
	case I_VARIABLE:
		return k < script->guest_variables.n;
	case I_MLOADI:
	case I_MSTOREI:
		return width_is_good(insn->n) &&
		       (insn->k & 0xff) + (insn->k >> 8) <= (insn->n & 0x7fu) * 8;
	case I_WALK:
		return insn->n < LANG_WALKS_MAX && k && k <= LANG_WALK_STEPS;
	case I_STEP:
	case I_AGAIN:
		return insn->n < LANG_WALKS_MAX;
	case I_MSTORES:
		return k && k <= LANG_OBJECT_MAX;
	case I_COPY:
	case I_DADDR:
	case I_DFREE:
		return k <= LANG_OBJECT_MAX;
	case I_CUT:
		return (insn->n & 0x7f) == 1 || (insn->n & 0x7f) == 2 || (insn->n & 0x7f) == 4;
	default:
		return true;
	}
}

/* Returns the properties of a tuple: its variable, the number of keys, which of them are
 * strings, the owner. */
static uint32_t tuple_of(uint32_t slot, uint32_t n, uint32_t texts, uint32_t owner)
{
	return slot | n << 16 | (texts & ((1u << n) - 1)) << 20 | owner << 28;
}

/* Returns whether a tuple belongs to the variable that uses it. */
static bool tuple_is_of(const struct verifier *v, uint32_t slot)
{
	return v->tuple >> 28 != 2 && (v->tuple & 0xffff) == slot;
}

static bool tuple_is_of_aggregation(const struct verifier *v, const struct aggregation *agg)
{
	uint32_t texts = 0;

	for (uint32_t i = 0; i < LANG_KEYS_MAX && i < agg->n_keys; i++)
		texts |= (uint32_t)(agg->keys[i].kind == TYPE_STRING) << i;
	return v->tuple == tuple_of(v->tuple & 0xffff, agg->n_keys, texts, 2);
}

static bool object_is_of(const struct verifier *v, uint32_t bytes)
{
	uint32_t slot = v->tuple & 0xffff;

	return v->tuple >> 28 != 2 && slot_is(v, SCOPE_SELF, slot, 'o') &&
	       rs_lang_type_bytes(v->script, v->slots[SCOPE_SELF][slot]) == bytes;
}

static struct rs_error *pop_key(struct verifier *v, const struct insn *insn)
{
	struct rs_error *err = NULL;

	for (uint32_t i = insn->k >> 16 & 0xff; i-- && !err;)
		err = pop(v, insn->n >> i & 1 ? 's' : 'i');
	v->tuple = tuple_of(insn->k & 0xffff, insn->k >> 16 & 0xff, insn->n, insn->k >> 24);
	return err ? err : push(v, 'k');
}

static struct rs_error *pop_call(struct verifier *v, const struct insn *insn)
{
	struct prototype prototype;
	struct rs_error *err = NULL;

	rs_lang_prototype_read(rs_lang_functions[insn->k].prototype, &prototype);
	if (insn->n < prototype.n_needed || insn->n > prototype.n_args)
		return refuse(v, "a call with a wrong number of arguments");
	for (uint32_t i = insn->n; i-- && !err;)
		err = pop(v, letter(prototype.args[i]));
	return err ? err : push(v, letter(prototype.result));
}

static struct rs_error *pop_action(struct verifier *v, const struct insn *insn)
{
	const struct action *action = &v->script->actions.at[insn->k];
	struct rs_error *err = NULL;

	for (uint32_t i = action->n_args; i-- && !err;)
		err = pop(v, letter(action->types[i]));
	if (!err && action->has_key)
		err = pop(v, 'k');
	if (!err && action->has_key && !tuple_is_of_aggregation(v, action->aggregations[0]))
		err = refuse(v, "keys that are not the aggregation's");
	return err;
}

/* Checks a jump: the target has the stack layout of this place. */
static struct rs_error *jump(struct verifier *v, uint32_t to)
{
	struct shape *shape;

	if (to <= v->pc || to >= v->clause->n_code)
		return refuse(v, "a jump that goes back, or out of the code");
	shape = v->at[to];
	if (shape) {
		if (!same_shape(shape, &v->now))
			return refuse(v, "paths that join with different stack layouts");
		return NULL;
	}
	shape = malloc(sizeof(*shape));
	if (!shape)
		return rs_error_no_memory();
	*shape = v->now;
	v->at[to] = shape;
	return NULL;
}

/* Checks the only backward jump: to a STEP with a counter that is set right before it, and nowhere
 * between the STEP and the jump. So each iteration decrements a counter that was set once. */
static struct rs_error *loop_begin(struct verifier *v)
{
	struct shape *shape = malloc(sizeof(*shape));

	if (!shape)
		return rs_error_no_memory();
	*shape = v->now;
	free(v->head[v->clause->code[v->pc].n]);
	v->head[v->clause->code[v->pc].n] = shape;
	return NULL;
}

static struct rs_error *loop_end(struct verifier *v, const struct insn *insn)
{
	const struct insn *code = v->clause->code;
	const struct shape *shape = v->head[insn->n];

	if (!insn->k || insn->k >= v->pc || code[insn->k].op != I_STEP ||
	    code[insn->k].n != insn->n || code[insn->k - 1].op != I_WALK ||
	    code[insn->k - 1].n != insn->n)
		return refuse(v, "a backward jump that belongs to no walk");
	if (code[insn->k].k <= v->pc) /* its end would jump into it */
		return refuse(v, "a walk that ends within itself");
	for (uint32_t i = insn->k + 1; i < v->pc; i++) {
		if ((code[i].op == I_WALK || code[i].op == I_STEP || code[i].op == I_AGAIN) &&
		    code[i].n == insn->n)
			return refuse(v, "a walk within a walk with the same counter");
	}
	if (!shape || !same_shape(shape, &v->now))
		return refuse(v, "paths that join with different stack layouts");
	return NULL;
}

/* The steps of nested walks multiply. */
static struct rs_error *loops_bounded(struct verifier *v)
{
	const struct clause *clause = v->clause;

	for (v->pc = 0; v->pc < clause->n_code; v->pc++) {
		uint64_t steps = clause->code[v->pc].k;

		if (clause->code[v->pc].op != I_WALK)
			continue;
		for (uint32_t i = v->pc + 1; i < clause->n_code; i++) {
			const struct insn *insn = &clause->code[i];

			if (insn->op == I_AGAIN && insn->k && insn->k <= v->pc)
				steps *= clause->code[insn->k - 1].k;
			if (steps > LANG_WALK_STEPS)
				return refuse(v, "walks of too many steps");
		}
	}
	return NULL;
}

static struct rs_error *step(struct verifier *v, const struct insn *insn)
{
	struct rs_error *err = NULL;
	const char *takes, *gives;

	if (insn->op == I_KEY)
		return pop_key(v, insn);
	if (insn->op == I_CALL)
		return pop_call(v, insn);
	if (insn->op == I_DO)
		return pop_action(v, insn);
	takes = ops[insn->op].takes;
	gives = ops[insn->op].gives;
	for (size_t i = strlen(takes); i-- && !err;)
		err = pop(v, takes[i]);
	if (!err && takes[0] == 'k' && gives[0] != 'k' &&
	    (insn->op == I_DADDR || insn->op == I_DFREE ? !object_is_of(v, insn->k)
							: !tuple_is_of(v, insn->k)))
		err = refuse(v, "keys that are not the variable's");
	for (size_t i = 0; gives[i] && !err; i++)
		err = push(v, gives[i]);
	if (!err && (insn->op == I_JUMP || insn->op == I_JZERO || insn->op == I_JNZERO ||
		     insn->op == I_STEP))
		err = jump(v, insn->k);
	if (!err && insn->op == I_STEP)
		err = loop_begin(v);
	if (!err && insn->op == I_AGAIN)
		err = loop_end(v, insn);
	return err;
}

/* Checks an instruction by its operands, even if it is unreachable, because the push-down reads all
 * code. */
static struct rs_error *instruction(const struct verifier *v, const struct insn *insn)
{
	if (insn->op >= I_COUNT)
		return refuse(v, "no such instruction");
	return operands(v, insn) ? NULL : refuse(v, "an operand beyond its table");
}

/* At the target of a jump, the instruction before must leave the same stack layout. */
static struct rs_error *join(struct verifier *v)
{
	struct shape *shape = v->at[v->pc];

	if (shape && v->now.n < 0)
		v->now = *shape;
	else if (shape && !same_shape(shape, &v->now))
		return refuse(v, "paths that join with different stack layouts");
	return NULL;
}

static bool verifier_init(struct verifier *v)
{
	bool good;

	v->at = calloc(v->clause->n_code + 1, sizeof(struct shape *));
	good = v->at;
	for (uint32_t i = 0; i < 3; i++) {
		v->slots[i] = calloc(v->script->n_slots[i] + 1, sizeof(struct type *));
		good &= v->slots[i] != NULL;
	}
	for (const struct variable *var = v->script->variables; var && good; var = var->next) {
		bool dynamic = var->is_array || var->scope == SCOPE_SELF;

		if (!var->inlined)
			v->slots[dynamic ? SCOPE_SELF : var->scope][var->slot] = &var->type;
	}
	return good;
}

static void verifier_deinit(struct verifier *v)
{
	for (uint32_t i = 0; v->at && i <= v->clause->n_code; i++)
		free(v->at[i]);
	free(v->at);
	for (uint32_t i = 0; i < LANG_WALKS_MAX; i++)
		free(v->head[i]);
	for (uint32_t i = 0; i < 3; i++)
		free(v->slots[i]);
}

struct rs_error *rs_lang_verify_clause(const struct rs_script *script, const struct clause *clause)
{
	struct verifier v = { .script = script, .clause = clause };
	struct rs_error *err = NULL;

	if (!verifier_init(&v))
		err = rs_error_no_memory();
	for (v.pc = 0; v.pc < clause->n_code && !err; v.pc++) {
		const struct insn *insn = &clause->code[v.pc];

		err = instruction(&v, insn);
		if (!err)
			err = join(&v);
		if (err || v.now.n < 0) /* unreachable */
			continue;
		if (v.pc == clause->test_end && v.now.n)
			err = refuse(&v, "a predicate that leaves values on the stack");
		if (!err)
			err = step(&v, insn);
		if (!err && insn->op == I_END && (v.now.n || v.pc + 1 != clause->n_code))
			err = refuse(&v, "an end in the middle");
		if (insn->op == I_JUMP || insn->op == I_AGAIN)
			v.now.n = -1;
	}
	if (!err && (!clause->n_code || clause->code[clause->n_code - 1].op != I_END))
		err = refuse(&v, "no end");
	if (!err)
		err = loops_bounded(&v);
	verifier_deinit(&v);
	return err;
}

/* ---- as text ------------------------------------------------------------------------------ */

void rs_script_disassemble(const struct rs_script *script, struct rs_out *out)
{
	for (const struct clause *clause = script->clauses; clause; clause = clause->next) {
		char line[128];

		for (const struct pattern *p = clause->patterns; p; p = p->next) {
			rs_out_line(out);
			rs_out_text(out, p == clause->patterns ? "" : ", ");
			rs_out_text(out, p->text);
		}
		rs_out_text(out, "\n");
		for (uint32_t i = 0; i < clause->n_code; i++) {
			const struct insn *insn = &clause->code[i];

			snprintf(line, sizeof(line), "%6u  %-8s %3u %8u  (line %u)%s\n", i,
				 ops[insn->op].name, insn->n, insn->k, clause->places[i].line,
				 i < clause->test_end ? " predicate" : "");
			rs_out_line(out);
			rs_out_text(out, line);
		}
	}
}
