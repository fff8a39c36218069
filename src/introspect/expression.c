/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates DWARF's expressions on a stack of fixed size. */
#include "introspect/expression.h"

#include <dwarf.h>

#include "introspect/cursor.h"

#define STACK_MAX 32u
#define STEPS_MAX 512u /* limit of steps, since an expression may branch back */

struct evaluation {
	struct rs_cursor code;
	const uint8_t *begin;
	const struct rs_frame_registers *registers;
	struct rs_memory *memory;
	uint64_t stack[STACK_MAX];
	uint32_t n;
	bool failed;
};

static void push(struct evaluation *e, uint64_t value)
{
	if (e->n == STACK_MAX)
		e->failed = true;
	else
		e->stack[e->n++] = value;
}

static uint64_t pop(struct evaluation *e)
{
	if (e->n)
		return e->stack[--e->n];
	e->failed = true;
	return 0;
}

/* Pushes a copy of the value that is `depth` below the top. */
static void pick(struct evaluation *e, uint64_t depth)
{
	if (depth < e->n)
		push(e, e->stack[e->n - 1 - depth]);
	else
		e->failed = true;
}

static void push_register(struct evaluation *e, uint64_t number, int64_t offset)
{
	if (number < 32 && e->registers->known >> number & 1)
		push(e, e->registers->value[number] + (uint64_t)offset);
	else
		e->failed = true;
}

static void load(struct evaluation *e, uint64_t bytes)
{
	uint64_t value = 0, address = pop(e);

	if (!bytes || bytes > 8 || e->failed ||
	    rs_memory_read(e->memory, address, &value, bytes, NULL))
		e->failed = true;
	push(e, value);
}

static void branch(struct evaluation *e, int64_t distance)
{
	if (distance < e->begin - e->code.at || distance > e->code.end - e->code.at)
		e->failed = true;
	else
		e->code.at += distance;
}

/* Executes an operation that pushes a constant or a register. Returns false if it is another
 * one. */
static bool step_push(struct evaluation *e, uint8_t code)
{
	struct rs_cursor *c = &e->code;
	uint64_t number;

	if (code >= DW_OP_lit0 && code <= DW_OP_lit31) {
		push(e, (uint64_t)code - DW_OP_lit0);
	} else if (code >= DW_OP_breg0 && code <= DW_OP_breg31) {
		push_register(e, (uint64_t)code - DW_OP_breg0, rs_cursor_sleb(c));
	} else if (code == DW_OP_bregx) {
		number = rs_cursor_uleb(c);
		push_register(e, number, rs_cursor_sleb(c));
	} else if (code >= DW_OP_const1u && code <= DW_OP_const8s) {
		/* Operands of 1, 2, 4 and 8 bytes, each unsigned and signed. */
		uint32_t kind = (uint32_t)code - DW_OP_const1u, bytes = 1u << kind / 2;

		push(e, kind & 1 ? (uint64_t)rs_cursor_int(c, bytes) : rs_cursor_uint(c, bytes));
	} else if (code == DW_OP_constu) {
		push(e, rs_cursor_uleb(c));
	} else if (code == DW_OP_consts) {
		push(e, (uint64_t)rs_cursor_sleb(c));
	} else {
		return false;
	}
	return true;
}

/* Executes an operation that reorders the stack, reads memory, or jumps. Returns false if it is
 * another one. */
static bool step_move(struct evaluation *e, uint8_t code)
{
	uint64_t a, b, c;
	int64_t distance;

	switch (code) {
	case DW_OP_dup:
		pick(e, 0);
		return true;
	case DW_OP_over:
		pick(e, 1);
		return true;
	case DW_OP_pick:
		pick(e, rs_cursor_uint(&e->code, 1));
		return true;
	case DW_OP_drop:
		pop(e);
		return true;
	case DW_OP_swap:
		a = pop(e), b = pop(e);
		push(e, a), push(e, b);
		return true;
	case DW_OP_rot:
		a = pop(e), b = pop(e), c = pop(e);
		push(e, a), push(e, c), push(e, b);
		return true;
	case DW_OP_deref:
		load(e, 8);
		return true;
	case DW_OP_deref_size:
		load(e, rs_cursor_uint(&e->code, 1));
		return true;
	case DW_OP_skip:
	case DW_OP_bra:
		distance = rs_cursor_int(&e->code, 2);
		if (code == DW_OP_skip || pop(e))
			branch(e, distance);
		return true;
	default:
		return code == DW_OP_nop;
	}
}

/* Executes an operation on one number. Returns false if it is another one. */
static bool step_one(struct evaluation *e, uint8_t code)
{
	int64_t a;

	switch (code) {
	case DW_OP_abs:
		a = (int64_t)pop(e);
		push(e, a < 0 ? -(uint64_t)a : (uint64_t)a);
		return true;
	case DW_OP_neg:
		push(e, -pop(e));
		return true;
	case DW_OP_not:
		push(e, ~pop(e));
		return true;
	case DW_OP_plus_uconst:
		push(e, pop(e) + rs_cursor_uleb(&e->code));
		return true;
	default:
		return false;
	}
}

static uint64_t divide(struct evaluation *e, int64_t a, int64_t b)
{
	if (!b || (b == -1 && a == INT64_MIN)) {
		e->failed = true;
		return 0;
	}
	return (uint64_t)(a / b);
}

/* Executes an operation on two numbers. Returns false if it is another one. */
static bool step_two(struct evaluation *e, uint8_t code)
{
	uint64_t b = pop(e), a = pop(e), r;
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (code) {
	case DW_OP_plus:
		r = a + b;
		break;
	case DW_OP_minus:
		r = a - b;
		break;
	case DW_OP_mul:
		r = a * b;
		break;
	case DW_OP_div:
		r = divide(e, sa, sb);
		break;
	case DW_OP_mod:
		r = b ? a % b : (e->failed = true);
		break;
	case DW_OP_and:
		r = a & b;
		break;
	case DW_OP_or:
		r = a | b;
		break;
	case DW_OP_xor:
		r = a ^ b;
		break;
	case DW_OP_shl:
		r = b < 64 ? a << b : 0;
		break;
	case DW_OP_shr:
		r = b < 64 ? a >> b : 0;
		break;
	case DW_OP_shra:
		r = (uint64_t)(sa >> (b < 64 ? b : 63));
		break;
	case DW_OP_eq:
		r = sa == sb;
		break;
	case DW_OP_ge:
		r = sa >= sb;
		break;
	case DW_OP_gt:
		r = sa > sb;
		break;
	case DW_OP_le:
		r = sa <= sb;
		break;
	case DW_OP_lt:
		r = sa < sb;
		break;
	case DW_OP_ne:
		r = sa != sb;
		break;
	default:
		return false;
	}
	push(e, r);
	return true;
}

bool rs_expression_evaluate(const uint8_t *bytes, size_t n,
			    const struct rs_frame_registers *registers, struct rs_memory *memory,
			    const uint64_t *cfa, uint64_t *value)
{
	struct evaluation e = { .code = { bytes, bytes + n, false },
				.begin = bytes,
				.registers = registers,
				.memory = memory };

	if (cfa)
		push(&e, *cfa);
	for (uint32_t steps = 0; e.code.at < e.code.end; steps++) {
		uint8_t code = (uint8_t)rs_cursor_uint(&e.code, 1);

		if (steps == STEPS_MAX || (!step_push(&e, code) && !step_move(&e, code) &&
					   !step_one(&e, code) && !step_two(&e, code)))
			return false;
		if (e.failed || e.code.failed)
			return false;
	}
	*value = pop(&e);
	return !e.failed;
}
