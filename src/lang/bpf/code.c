/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translates the machine's instructions into BPF. The entry of the machine's stack at depth n has
 * its own register or, beyond the registers, a place in the frame, so the stack layout is identical
 * at every control-flow join of code that the machine's verifier accepts. A known number is written
 * only when a register must hold it; strings are supported only if they are constants.
 *
 *	r1 record   r2 id   r6 r7 r8 r5 the stack   r0 r9 r3 r4 temporary
 *	frame: the r3 and r4 passed in, then the rest of the stack
 *
 * An instruction that needs the program itself becomes a jump that keeps the record. Nothing before
 * it had an effect, because rows (rows.c) are added only when all of them are complete; so the
 * program can start over with the same event.
 */
#include "lang/bpf/stack.h"

#include <stdlib.h>
#include <string.h>

#include "lang/vm/builtin.h"

/* ---- an event's values -------------------------------------------------------------------- */

static void load_field(struct translation_of *t, const struct rs_field *field)
{
	static const uint8_t sizes[] = { [1] = BPF_B, [2] = BPF_H, [4] = BPF_W, [8] = BPF_DW };
	uint32_t bytes = rs_type_bytes(field->type);
	uint32_t at = RS_FILTER_HEAD * 8 + field->offset;
	uint8_t reg = rs_push_stack_next(t);

	if (field->show == RS_SHOW_TSC) {
		rs_push_stack_leave(t, "it reads the time of a stamp");
		return;
	}
	if (at + bytes > RS_FILTER_WORDS * 8) {
		rs_push_stack_leave(t, "the argument is too far from the start of the record");
		return;
	}
	if (!rs_push_stack_room(t))
		return;
	load(t->code, sizes[bytes], reg, RECORD, (int)at);
	if (field->type >= RS_TYPE_S8)
		widen(t->code, reg, bytes, true);
	rs_push_stack_register(t, reg);
}

static void argument(struct translation_of *t, uint32_t ref)
{
	const struct rs_field *field = rs_lang_arg_field(t->event, &t->script->args.at[ref]);

	if (field && !rs_type_is_tail(field->type))
		load_field(t, field);
	else
		rs_push_stack_known(t, 0);
}

/* Matches rs_lang_bind_fields() in vm/bind.c. */
static void enumerator(struct translation_of *t, uint32_t which)
{
	const struct enum_ref *ref = &t->script->enums.at[which];
	const struct rs_field *field = rs_lang_arg_field(t->event, &t->script->args.at[ref->arg]);
	const struct rs_enum *row = field && !rs_type_is_tail(field->type)
					    ? rs_lang_enum_find(field->values, ref->name)
					    : NULL;

	rs_push_stack_known(t, row ? row->value : UINT64_MAX);
}

static void variable_cpu(struct translation_of *t)
{
	uint8_t reg = rs_push_stack_next(t);

	load(t->code, BPF_DW, reg, FRAME, AT_CPU);
	rs_push_stack_register(t, reg);
}

/* Each record begins with its thread ID. */
static void variable_tid(struct translation_of *t)
{
	uint8_t reg = rs_push_stack_next(t);

	load(t->code, BPF_W, reg, RECORD, RS_FILTER_HEAD * 8);
	widen(t->code, reg, 4, true);
	rs_push_stack_register(t, reg);
}

static void variable_pid(struct translation_of *t)
{
	uint8_t reg = rs_push_stack_next(t);

	t->code->thread = true;
	load(t->code, BPF_DW, reg, FRAME, AT_WHO);
	alu_imm(t->code, BPF_RSH, reg, 32);
	skip_if(t->code, BPF_JNE, reg, 0, 1);
	rs_push_goto(t->code, t->code->keep);
	rs_push_stack_register(t, reg);
}

/* The program may find an unknown vCPU or process elsewhere, so the record is kept for it. */
static void variable_vcpu(struct translation_of *t)
{
	uint8_t reg = rs_push_stack_next(t);

	t->code->thread = true;
	load(t->code, BPF_DW, reg, FRAME, AT_WHO);
	widen(t->code, reg, 4, true);
	skip_if(t->code, BPF_JSGE, reg, 0, 1);
	rs_push_goto(t->code, t->code->keep);
	rs_push_stack_register(t, reg);
}

static void variable_id(struct translation_of *t)
{
	for (uint32_t i = 0; i < t->script->probes.n; i++) {
		const struct rs_script_probe *probe = &t->script->probes.at[i].public;

		if (probe->event && !strcmp(probe->event->probe, t->event->probe)) {
			rs_push_stack_known(t, probe->id);
			return;
		}
	}
	rs_push_stack_leave(t, "'id' is not known yet");
}

/* Variables that the source lacks (dom, stackdepth) stay with the program, which reports that. */
static const struct {
	const char *name;
	void (*push)(struct translation_of *t);
} variables[] = {
	{ "cpu", variable_cpu },   { "tid", variable_tid }, { "pid", variable_pid },
	{ "vcpu", variable_vcpu }, { "id", variable_id },
};

static void builtin(struct translation_of *t, uint32_t index)
{
	struct prototype prototype;

	rs_lang_prototype_read(rs_lang_builtins[index].prototype, &prototype);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		if (strcmp(variables[i].name, prototype.name))
			continue;
		if (rs_push_stack_room(t))
			variables[i].push(t);
		return;
	}
	rs_push_stack_leave(t, strstr(prototype.name, "timestamp")
				       ? "it reads the time"
				       : "it reads a variable of the program");
}

/* As a key: the reader of the sum looks up the thread's VM. */
static void text_of_vm(struct translation_of *t)
{
	uint8_t reg = rs_push_stack_next(t);

	if (!rs_push_stack_room(t))
		return;
	t->code->thread = true;
	load(t->code, BPF_DW, reg, RECORD, RS_FILTER_WHO * 8);
	skip_if(t->code, BPF_JNE, reg, 0, 1);
	rs_push_goto(t->code, t->code->keep);
	rs_push_stack_later(t, reg, LATER_VM, NULL);
}

/* stringof(args.x) as a key: the reader of the sum looks up the enumeration's name. */
static void text_of_argument(struct translation_of *t, const struct insn *insn)
{
	const struct rs_field *field = rs_lang_arg_field(t->event, &t->script->args.at[insn->k]);

	if (!field) {
		rs_push_stack_text(t, "", 0);
		return;
	}
	if (!t->rows || rs_type_is_tail(field->type) || field->show == RS_SHOW_NAME) {
		rs_push_stack_leave(t, "it reads the text of an argument");
		return;
	}
	load_field(t, field);
	if (!t->live)
		return;
	t->stack[t->depth - 1].text = true;
	t->stack[t->depth - 1].later = LATER_FIELD;
	t->stack[t->depth - 1].field = field;
}

static void builtin_text(struct translation_of *t, uint32_t index)
{
	const struct rs_event *event = t->event;
	const struct {
		const char *name, *text;
	} texts[] = { { "probeprov", event->provider },
		      { "probemod", event->class_name },
		      { "probefunc", event->function },
		      { "probename", event->name } };
	struct prototype prototype;

	rs_lang_prototype_read(rs_lang_builtins[index].prototype, &prototype);
	if (t->rows && !strcmp(prototype.name, "vm")) {
		text_of_vm(t);
		return;
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!strcmp(texts[i].name, prototype.name)) {
			rs_push_stack_text(t, texts[i].text, SIZE_MAX);
			return;
		}
	}
	rs_push_stack_leave(t, "it needs a name that only the program has");
}

/* ---- operators ---------------------------------------------------------------------------- */

static const uint8_t alu_of[I_COUNT] = {
	[I_ADD] = BPF_ADD,  [I_SUB] = BPF_SUB,	[I_MUL] = BPF_MUL,  [I_AND] = BPF_AND,
	[I_OR] = BPF_OR,    [I_XOR] = BPF_XOR,	[I_SHL] = BPF_LSH,  [I_SHRS] = BPF_ARSH,
	[I_SHRU] = BPF_RSH, [I_DIVU] = BPF_DIV, [I_MODU] = BPF_MOD, [I_DIVS] = BPF_DIV,
	[I_MODS] = BPF_MOD, [I_EQ] = BPF_JEQ,	[I_NE] = BPF_JNE,   [I_LTS] = BPF_JSLT,
	[I_LES] = BPF_JSLE, [I_GTS] = BPF_JSGT, [I_GES] = BPF_JSGE, [I_LTU] = BPF_JLT,
	[I_LEU] = BPF_JLE,  [I_GTU] = BPF_JGT,	[I_GEU] = BPF_JGE,
};

static bool is_shift(enum opcode op)
{
	return op == I_SHL || op == I_SHRS || op == I_SHRU;
}

static void arithmetic(struct translation_of *t, enum opcode op)
{
	uint32_t right = t->depth - 1, left = t->depth - 2;
	const struct entry b = t->stack[right];
	uint8_t reg = rs_push_stack_get(t, left, T0);

	if (b.known && is_shift(op)) {
		alu_imm(t->code, alu_of[op], reg, (int32_t)(b.value & 63));
	} else if (b.known && is_small(b.value)) {
		alu_imm(t->code, alu_of[op], reg, (int32_t)b.value);
	} else {
		uint8_t with = rs_push_stack_get(t, right, T1);

		if (is_shift(op))
			alu_imm(t->code, BPF_AND, with, 63);
		alu(t->code, alu_of[op], reg, with);
	}
	t->depth--;
	rs_push_stack_set(t, left, reg);
}

/* A division by zero goes to the program, which raises the fault. */
static void guard(struct translation_of *t, const struct entry *b, uint8_t divisor)
{
	if (b->known && b->value)
		return;
	skip_if(t->code, BPF_JNE, divisor, 0, 1);
	rs_push_goto(t->code, t->code->keep);
}

static void absolute(struct push_code *c, uint8_t to, uint8_t from)
{
	move(c, to, from);
	skip_if(c, BPF_JSGE, to, 0, 1);
	negate(c, to);
}

/* Before its version 4, BPF divides unsigned numbers only, so this handles the signs. */
static void divide(struct translation_of *t, enum opcode op)
{
	uint32_t right = t->depth - 1, left = t->depth - 2;
	const struct entry entry = t->stack[right];
	uint8_t a = rs_push_stack_get(t, left, T0), b = rs_push_stack_get(t, right, T1);

	guard(t, &entry, b);
	if (op == I_DIVU || op == I_MODU) {
		move(t->code, T3, a);
		alu(t->code, alu_of[op], T3, b);
	} else {
		absolute(t->code, T2, b);
		absolute(t->code, T3, a);
		alu(t->code, alu_of[op], T3, T2);
		move(t->code, T2, a); /* a remainder has the sign of the dividend */
		if (op == I_DIVS)
			alu(t->code, BPF_XOR, T2, b);
		skip_if(t->code, BPF_JSGE, T2, 0, 1);
		negate(t->code, T3);
	}
	t->depth--;
	rs_push_stack_set(t, left, T3);
}

static void unary(struct translation_of *t, enum opcode op)
{
	uint32_t top = t->depth - 1;
	uint8_t reg = rs_push_stack_get(t, top, T0);

	if (op == I_NEG) {
		negate(t->code, reg);
	} else if (op == I_INV) {
		alu_imm(t->code, BPF_XOR, reg, -1);
	} else { /* I_NOT */
		move(t->code, T1, reg);
		alu_imm(t->code, BPF_MOV, reg, 1);
		skip_if(t->code, BPF_JEQ, T1, 0, 1);
		alu_imm(t->code, BPF_MOV, reg, 0);
	}
	rs_push_stack_set(t, top, reg);
}

static void cut(struct translation_of *t, uint8_t n)
{
	uint32_t top = t->depth - 1;
	uint8_t reg;

	if (t->stack[top].known) {
		t->stack[top].value =
			rs_lang_type_cut(INT_OF(n & 0x7f, n & 0x80), t->stack[top].value);
		return;
	}
	reg = rs_push_stack_get(t, top, T0);
	widen(t->code, reg, n & 0x7f, n & 0x80);
	rs_push_stack_set(t, top, reg);
}

/* ---- comparisons and branches ------------------------------------------------------------- */

static const uint8_t opposite[256] = {
	[BPF_JEQ] = BPF_JNE,   [BPF_JNE] = BPF_JEQ,   [BPF_JSLT] = BPF_JSGE, [BPF_JSGE] = BPF_JSLT,
	[BPF_JSGT] = BPF_JSLE, [BPF_JSLE] = BPF_JSGT, [BPF_JLT] = BPF_JGE,   [BPF_JGE] = BPF_JLT,
	[BPF_JGT] = BPF_JLE,   [BPF_JLE] = BPF_JGT,
};

/* Pops two values and emits a jump on their comparison. The target is set later. */
static void jump_compared(struct translation_of *t, uint8_t op)
{
	uint32_t right = t->depth - 1, left = t->depth - 2;
	const struct entry b = t->stack[right];
	bool small = b.known && is_small(b.value);
	uint8_t with, reg;

	rs_push_stack_settle(t, left); /* first: it may use the registers of the two */
	with = small ? 0 : rs_push_stack_get(t, right, T1);
	reg = rs_push_stack_get(t, left, T0);
	t->depth -= 2;
	if (small)
		put(t->code, BPF_JMP | BPF_K | op, reg, 0, 0, (int32_t)b.value);
	else
		put(t->code, BPF_JMP | BPF_X | op, reg, with, 0, 0);
}

static void jump_zero(struct translation_of *t, uint8_t op)
{
	uint8_t reg;

	rs_push_stack_settle(t, t->depth - 1);
	reg = rs_push_stack_get(t, --t->depth, T1);
	put(t->code, BPF_JMP | BPF_K | op, reg, 0, 0, 0);
}

/* Makes the last instruction jump to the code of a machine instruction. */
static void to_spot(struct translation_of *t, uint32_t to)
{
	if (t->code->full)
		return;
	t->fixups[t->n_fixups++] = (struct fixup){ t->code->n - 1, to };
	t->spots[to].depth = (int16_t)t->depth;
}

static bool has_text(const struct translation_of *t, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++) {
		if (t->stack[i].text)
			return true;
	}
	return false;
}

/* Translates the branch at t->pc, on the last comparison (op) or on the value at the top (0). */
static void branch(struct translation_of *t, const struct insn *insn, uint8_t op)
{
	uint32_t takes = op ? 2 : 1;

	if (insn->op != I_TRUTH &&
	    (insn->k > t->to || insn->k <= t->pc || has_text(t, t->depth - takes))) {
		rs_push_stack_leave(t, "it chooses between strings");
		return;
	}
	if (insn->op == I_JNZERO)
		op ? jump_compared(t, op) : jump_zero(t, BPF_JNE);
	else
		op ? jump_compared(t, opposite[op]) : jump_zero(t, BPF_JEQ);
	if (insn->op != I_TRUTH) {
		to_spot(t, insn->k);
		return;
	}
	rs_push_label_last(t->code, PUSH_REJECT);
	t->outcome->rejects = true;
}

static void jump(struct translation_of *t, const struct insn *insn)
{
	if (insn->k > t->to || insn->k <= t->pc || has_text(t, t->depth)) {
		rs_push_stack_leave(t, "it chooses between strings");
		return;
	}
	rs_push_stack_settle(t, t->depth);
	put(t->code, BPF_JMP | BPF_JA, 0, 0, 0, 0);
	to_spot(t, insn->k);
	t->live = false;
}

static bool is_branch(enum opcode op)
{
	return op == I_JZERO || op == I_JNZERO || op == I_TRUTH;
}

/* A comparison before a branch becomes a jump, not a number. */
static void comparison(struct translation_of *t, enum opcode op)
{
	uint32_t after = t->pc + 1, left = t->depth - 2;

	if (after < t->to && !t->spots[after].target && is_branch(t->clause->code[after].op)) {
		t->pc = after;
		branch(t, &t->clause->code[after], alu_of[op]);
		return;
	}
	jump_compared(t, alu_of[op]);
	t->depth = left;
	if (!t->code->full)
		t->code->insns[t->code->n - 1].off = 2;
	alu_imm(t->code, BPF_MOV, T0, 0);
	put(t->code, BPF_JMP | BPF_JA, 0, 0, 1, 0);
	alu_imm(t->code, BPF_MOV, T0, 1);
	rs_push_stack_register(t, T0);
}

static void compare_texts(struct translation_of *t)
{
	const struct entry *a = &t->stack[t->depth - 2], *b = &t->stack[t->depth - 1];
	size_t least = a->len < b->len ? a->len : b->len;
	int order;

	if (a->later || b->later) {
		rs_push_stack_leave(t, "it needs a name that only the program has");
		return;
	}

	order = memcmp(a->s, b->s, least);
	if (!order)
		order = (a->len > b->len) - (a->len < b->len);
	t->depth -= 2;
	rs_push_stack_known(t, (uint64_t)(int64_t)(order < 0 ? -1 : order > 0));
}

/* ---- clauses ------------------------------------------------------------------------------ */

static const char *reason(enum opcode op)
{
	switch (op) {
	case I_LOADI:
	case I_LOADS:
	case I_DLOADI:
	case I_DLOADS:
	case I_KEY:
	case I_DADDR:
		return "it reads variables of the program";
	case I_STOREI:
	case I_STORES:
	case I_DSTOREI:
	case I_DSTORES:
	case I_DFREE:
	case I_MSTOREI:
	case I_MSTORES:
	case I_COPY:
		return "it writes variables";
	case I_CALL:
		return "it calls a function";
	case I_DO:
		return "it does more than aggregate";
	default:
		return "it needs the program's memory";
	}
}

static void push_copy(struct translation_of *t)
{
	const struct entry top = t->stack[t->depth - 1];

	if (!rs_push_stack_room(t))
		return;
	if (top.known)
		t->stack[t->depth++] = top;
	else
		rs_push_stack_register(t, rs_push_stack_get(t, t->depth - 1, T0));
}

/* A function longer than 80 lines, because it is one switch over the opcodes. */
static void step(struct translation_of *t, const struct insn *insn)
{
	switch ((enum opcode)insn->op) {
	case I_CONST:
		rs_push_stack_known(t, t->script->ints.at[insn->k]);
		break;
	case I_TEXT:
		rs_push_stack_text(t, t->script->texts.at[insn->k].text,
				   t->script->texts.at[insn->k].len);
		break;
	case I_ARG:
		argument(t, insn->k);
		break;
	case I_ARGTEXT:
	case I_ARGENUM:
		text_of_argument(t, insn);
		break;
	case I_ENUM:
		enumerator(t, insn->k);
		break;
	case I_VARI:
		builtin(t, insn->k);
		break;
	case I_VARS:
		builtin_text(t, insn->k);
		break;
	case I_DUPI:
		push_copy(t);
		break;
	case I_POPI:
	case I_POPS:
		t->depth--;
		break;
	case I_ADD:
	case I_SUB:
	case I_MUL:
	case I_AND:
	case I_OR:
	case I_XOR:
	case I_SHL:
	case I_SHRS:
	case I_SHRU:
		arithmetic(t, insn->op);
		break;
	case I_DIVS:
	case I_DIVU:
	case I_MODS:
	case I_MODU:
		divide(t, insn->op);
		break;
	case I_NEG:
	case I_INV:
	case I_NOT:
		unary(t, insn->op);
		break;
	case I_CUT:
		cut(t, insn->n);
		break;
	case I_EQ:
	case I_NE:
	case I_LTS:
	case I_LES:
	case I_GTS:
	case I_GES:
	case I_LTU:
	case I_LEU:
	case I_GTU:
	case I_GEU:
		comparison(t, insn->op);
		break;
	case I_COMPARE:
		compare_texts(t);
		break;
	case I_JUMP:
		jump(t, insn);
		break;
	case I_JZERO:
	case I_JNZERO:
	case I_TRUTH:
		branch(t, insn, 0);
		break;
	case I_END:
		break;
	default:
		if (t->rows && insn->op == I_KEY)
			rs_push_rows_key(t, insn);
		else if (t->rows && insn->op == I_DO)
			rs_push_rows_add(t, insn);
		else
			rs_push_stack_leave(t, reason(insn->op));
	}
}

/* The stack is the same for jumps to this place and for the code before it. */
static void arrive(struct translation_of *t)
{
	struct spot *spot = &t->spots[t->pc];

	if (spot->depth < 0) {
		spot->insn = t->code->n;
		return;
	}
	if (t->live)
		rs_push_stack_settle(t, t->depth);
	for (uint32_t i = 0; !t->live && i < (uint32_t)spot->depth; i++)
		t->stack[i] = (struct entry){ .text = false };
	t->depth = (uint32_t)spot->depth;
	t->live = true;
	spot->insn = t->code->n;
}

static void fix(struct translation_of *t)
{
	for (uint32_t i = 0; i < t->n_fixups && !t->code->full; i++) {
		const struct fixup *fixup = &t->fixups[i];

		t->code->insns[fixup->insn].off =
			(int16_t)(t->spots[fixup->to].insn - fixup->insn - 1);
	}
}

static bool init(struct translation_of *t)
{
	uint32_t n = t->clause->n_code + 1;

	t->spots = calloc(n, sizeof(*t->spots));
	t->fixups = calloc(n, sizeof(*t->fixups));
	if (!t->spots || !t->fixups)
		return false;
	for (uint32_t i = 0; i < n; i++)
		t->spots[i].depth = -1;
	for (uint32_t i = t->from; i < t->to; i++) {
		const struct insn *insn = &t->clause->code[i];

		if ((insn->op == I_JUMP || insn->op == I_JZERO || insn->op == I_JNZERO ||
		     insn->op == I_STEP || insn->op == I_AGAIN) &&
		    insn->k < n)
			t->spots[insn->k].target = true;
	}
	return true;
}

struct rs_error *rs_push_translate(struct push_code *code, struct rs_script *script,
				   const struct clause *clause, const struct rs_event *event,
				   uint32_t from, uint32_t to, struct push_rows *rows,
				   struct push_outcome *outcome)
{
	struct translation_of t = { .code = code,
				    .script = script,
				    .clause = clause,
				    .event = event,
				    .outcome = outcome,
				    .rows = rows,
				    .from = from,
				    .to = to,
				    .live = true };

	*outcome = (struct push_outcome){ 0 };
	if (!init(&t)) {
		free(t.spots);
		free(t.fixups);
		return rs_error_no_memory();
	}
	for (t.pc = from; t.pc < to && !code->full; t.pc++) {
		arrive(&t);
		if (t.live)
			step(&t, &clause->code[t.pc]);
	}
	t.pc = to;
	if (!code->full)
		arrive(&t);
	outcome->ends = t.live;
	fix(&t);
	free(t.spots);
	free(t.fixups);
	return NULL;
}
