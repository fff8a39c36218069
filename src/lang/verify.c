/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves of a clause's code what the machine relies on, whatever made the code: operands are within
 * their tables, jumps go forward to an instruction and agree on the stack there, what goes back is
 * a walk that counts down, each instruction finds on the stack what it takes, the stack is never
 * higher than its limit, and the last instruction is the end.
 */
#include "lang/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *takes, *gives;
} ops[] = {
#define OP(name, takes, gives, help) { #name, takes, gives },
#include "lang/ops.def"
#undef OP
};

/* The stack's types at a place, as letters; n < 0: nobody comes there. */
struct shape {
	int n;
	char types[LANG_STACK_MAX];
};

struct verifier {
	const struct rs_script *script;
	const struct clause *clause;
	struct shape now;
	struct shape **at;		    /* where jumps land: made when the jump is seen */
	struct shape *head[LANG_WALKS_MAX]; /* of the walks, at their STEP */
	uint32_t pc;
};

static struct rs_error *refuse(const struct verifier *v, const char *what)
{
	return lang_error(v->script, v->clause->at, "D_UNKNOWN",
			  "the compiler made code that the verifier refuses: instruction %u, %s",
			  v->pc, what);
}

static struct rs_error *pop(struct verifier *v, char type)
{
	if (!v->now.n || v->now.types[v->now.n - 1] != type)
		return refuse(v, "the stack lacks what it takes");
	v->now.n--;
	return NULL;
}

static struct rs_error *push(struct verifier *v, char type)
{
	if (v->now.n == LANG_STACK_MAX)
		return refuse(v, "the stack is too high: split the expression");
	v->now.types[v->now.n++] = type;
	return NULL;
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

/* Whether the operands are within the tables they point into. */
static bool operands(const struct verifier *v, const struct insn *insn)
{
	const struct rs_script *script = v->script;
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
		return k < n_builtins;
	case I_MACRO:
		return k < 10;
	case I_LOADI:
	case I_LOADS:
	case I_STOREI:
	case I_STORES:
		return (insn->n == SCOPE_GLOBAL || insn->n == SCOPE_THIS) &&
		       k < script->n_slots[insn->n];
	case I_DLOADI:
	case I_DLOADS:
	case I_DSTOREI:
	case I_DSTORES:
		return k < script->n_slots[SCOPE_SELF];
	case I_KEY:
		return (k >> 16 & 0xff) <= LANG_KEYS_MAX;
	case I_CALL:
		return k < n_functions;
	case I_DO:
		return k < script->actions.n;
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

static struct rs_error *take_key(struct verifier *v, const struct insn *insn)
{
	struct rs_error *err = NULL;

	for (uint32_t i = insn->k >> 16 & 0xff; i-- && !err;)
		err = pop(v, insn->n >> i & 1 ? 's' : 'i');
	return err ? err : push(v, 'k');
}

static struct rs_error *take_call(struct verifier *v, const struct insn *insn)
{
	struct prototype prototype;
	struct rs_error *err = NULL;

	prototype_read(functions[insn->k].prototype, &prototype);
	if (insn->n < prototype.n_needed || insn->n > prototype.n_args)
		return refuse(v, "a call with a wrong number of arguments");
	for (uint32_t i = insn->n; i-- && !err;)
		err = pop(v, letter(prototype.args[i]));
	return err ? err : push(v, letter(prototype.result));
}

static struct rs_error *take_action(struct verifier *v, const struct insn *insn)
{
	const struct action *action = &v->script->actions.at[insn->k];
	struct rs_error *err = NULL;

	for (uint32_t i = action->n_args; i-- && !err;)
		err = pop(v, letter(action->types[i]));
	if (!err && action->has_key)
		err = pop(v, 'k');
	return err;
}

/* A jump: the stack there is the stack here. */
static struct rs_error *jump(struct verifier *v, uint32_t to)
{
	struct shape *shape;

	if (to <= v->pc || to >= v->clause->n_code)
		return refuse(v, "a jump that goes back or out");
	shape = v->at[to];
	if (shape) {
		if (shape->n != v->now.n || memcmp(shape->types, v->now.types, (size_t)v->now.n))
			return refuse(v, "two ways to one place with different stacks");
		return NULL;
	}
	shape = malloc(sizeof(*shape));
	if (!shape)
		return rs_error_no_memory();
	*shape = v->now;
	v->at[to] = shape;
	return NULL;
}

/* The only way back: to a STEP whose counter is set right before it, and nowhere between the two.
 * So each round takes one from a counter that was set once. */
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
		return refuse(v, "a way back to no walk");
	for (uint32_t i = insn->k + 1; i < v->pc; i++) {
		if ((code[i].op == I_WALK || code[i].op == I_STEP || code[i].op == I_AGAIN) &&
		    code[i].n == insn->n)
			return refuse(v, "a walk within a walk with the same counter");
	}
	if (!shape || shape->n != v->now.n || memcmp(shape->types, v->now.types, (size_t)v->now.n))
		return refuse(v, "two ways to one place with different stacks");
	return NULL;
}

/* Walks within walks multiply. */
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

	if (insn->op >= I_COUNT)
		return refuse(v, "no such instruction");
	if (!operands(v, insn))
		return refuse(v, "an operand beyond its table");
	if (insn->op == I_KEY)
		return take_key(v, insn);
	if (insn->op == I_CALL)
		return take_call(v, insn);
	if (insn->op == I_DO)
		return take_action(v, insn);
	takes = ops[insn->op].takes;
	gives = ops[insn->op].gives;
	for (size_t i = strlen(takes); i-- && !err;)
		err = pop(v, takes[i]);
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

/* Where a jump lands, what came from above must have the same stack. */
static struct rs_error *meet(struct verifier *v)
{
	struct shape *shape = v->at[v->pc];

	if (shape && v->now.n < 0)
		v->now = *shape;
	else if (shape &&
		 (shape->n != v->now.n || memcmp(shape->types, v->now.types, (size_t)v->now.n)))
		return refuse(v, "two ways to one place with different stacks");
	return NULL;
}

struct rs_error *verify_clause(const struct rs_script *script, const struct clause *clause)
{
	struct verifier v = { .script = script, .clause = clause };
	struct rs_error *err = NULL;

	v.at = calloc(clause->n_code + 1, sizeof(struct shape *));
	if (!v.at)
		return rs_error_no_memory();
	for (v.pc = 0; v.pc < clause->n_code && !err; v.pc++) {
		const struct insn *insn = &clause->code[v.pc];

		err = meet(&v);
		if (err || v.now.n < 0) /* nobody comes here */
			continue;
		if (v.pc == clause->test_end && v.now.n)
			err = refuse(&v, "a predicate that leaves something on the stack");
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
	for (uint32_t i = 0; i < LANG_WALKS_MAX; i++)
		free(v.head[i]);
	for (uint32_t i = 0; i <= clause->n_code; i++)
		free(v.at[i]);
	free(v.at);
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
